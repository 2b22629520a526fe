"""Find sources in foreign tools' results: pages that were read, and entries of search results."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from research.text import clip
from research.types import Passage, ToolCall

MOST: Final = 50
"""Sources of one result."""
_QUOTE = 20_000
_URL: Final = re.compile(r"https?://[^\s<>\"'`|\\^{}]{3,2000}", re.I)
_URLS: Final = ("url", "link", "href", "source", "uri", "source_url", "page_url", "id")
_TITLES: Final = ("title", "name", "heading")
_TEXTS: Final = (
    *("content", "raw_content", "page_content", "text", "body", "snippet", "summary", "abstract", "description"),
    *("highlights", "excerpt", "answer", "markdown"),
)


def passages(call: ToolCall, text: str) -> list[Passage]:
    """Return the sources in a tool's result, each with the text that the agent saw of it.

    A call with one address in its arguments has read that page.  Otherwise the result is a list of entries: objects with an
    address in JSON, or the lines around each address.
    """
    if not text.strip():
        return []
    asked = [url for value in call.arguments.values() if isinstance(value, str) for url in _URL.findall(value)]
    if len(asked) == 1 and not any(key in ("query", "q", "search_query") for key in call.arguments):
        return [Passage(_trimmed(asked[0]), _first_line(text), clip(text, _QUOTE))]
    try:
        value = msgspec.json.decode(text)
    except (ValueError, RecursionError):
        found = list(_in_text(text))
    else:
        found = list(_in_json(value))
    return list({(each.url, each.quote): each for each in found}.values())[:MOST]


def _in_json(value: Any, depth: int = 0) -> Iterator[Passage]:
    if depth > 8:
        return
    if isinstance(value, list):
        for each in value:
            yield from _in_json(each, depth + 1)
        return
    if isinstance(value, str):
        yield from _in_text(value)
        return
    if not isinstance(value, dict):
        return
    url = next((value[key] for key in _URLS if isinstance(value.get(key), str) and _URL.match(value[key])), "")
    if not url:
        for each in value.values():
            yield from _in_json(each, depth + 1)
        return
    title = next((value[key] for key in _TITLES if isinstance(value.get(key), str)), "")
    texts = [value[key] for key in _TEXTS if value.get(key)]
    quote = "\n".join(each if isinstance(each, str) else msgspec.json.encode(each).decode() for each in texts)
    if quote or title:
        yield Passage(_trimmed(url), clip(title or url, 300), clip(quote or title, _QUOTE))


def _in_text(text: str) -> Iterator[Passage]:
    """Yield an entry for each address: its block, and the following blocks without an address."""
    blocks = [block for block in re.split(r"\n\s*\n", text) if block.strip()]
    if len(set(_URL.findall(text))) > 1 and all(len(set(_URL.findall(block))) != 1 for block in blocks):
        blocks = [line for line in text.split("\n") if line.strip()]
    url = ""
    quote: list[str] = []
    before: list[str] = []
    for block in blocks:
        addresses = list(dict.fromkeys(map(_trimmed, _URL.findall(block))))
        if not addresses:
            (quote if url else before).append(block)
            continue
        if url:
            yield _entry(url, quote)
        for each in addresses[:-1]:
            yield _entry(each, [block])
        url, quote, before = addresses[-1], [*before, block], []
    if url:
        yield _entry(url, quote)


def _entry(url: str, blocks: list[str]) -> Passage:
    text = "\n\n".join(blocks)
    return Passage(url, _first_line(_URL.sub("", text)) or url, clip(text, _QUOTE))


def _first_line(text: str) -> str:
    line = next((line for line in text.splitlines() if re.search(r"\w", line)), "")
    return clip(re.sub(r"^[\s#>*\-\[\]()|\d.:]+|[\s\[\]()|*:\-]+$", "", line), 200)


def _trimmed(url: str) -> str:
    url = url.rstrip(".,;:!?*_")
    while url.endswith((")", "]")) and url.count("(") < url.count(")") + url.count("]") - url.count("["):
        url = url[:-1]
    return url
