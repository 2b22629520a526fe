"""The cited report as Markdown: front matter, body, numbered references, what was checked, plots.

One file by itself: plots stand in it as data.  The body and everything quoted are foreign; nothing of them becomes HTML,
a picture that is fetched, or a link with another scheme than the web's, whatever reads the file.
"""

from __future__ import annotations

import base64
import datetime
import json
import re
from collections import Counter
from collections.abc import Sequence
from typing import Literal

from research.text import clip
from research.types import Citation, Source
from research.view import RunView

STATUSES: dict[Literal["supported", "partial", "unsupported", "dead"], str] = {
    "supported": "supported",
    "partial": "partly supported",
    "unsupported": "not supported",
    "dead": "without a source",
}
"""How a cited statement stands to its source, in words."""

PLOTS = 8
PLOT_BYTES = 2_000_000
"""Of all plots together: what goes beyond either is left out and counted."""
_PNG = b"\x89PNG\r\n\x1a\n"
_LISTED = 10
"""Statements without a source, or addresses taken out, that are listed."""

# An invisible joiner parts what means something only when it stands together.  Unlike a backslash or an entity it does
# so in every dialect, within code and outside, whatever stands before it.
_JOINER = "\u2060"
_HTML = re.compile(r"<(?=[A-Za-z/!?])(?!https?://[^\s<>]*>)")
_IMAGE = re.compile(r"!(?=\[)")
_LINK = re.compile(r"(?<=\])(?=\(\s*(?!<?(?:https?://|mailto:|#))|:)", re.IGNORECASE)
"""A link to anything but the web, or the definition of one: it could also give a meaning to our `[1]`."""
_MARKUP = re.compile(r"([\\`*_\[\]<>&$~|])|^([-+#])|(?<=^\d)([.)])|(?<=^\d\d)([.)])")
_UNPRINTED = re.compile(r"[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


def markdown(view: RunView) -> str:
    """One file, readable by people, static-site generators and pandoc."""
    parts = [
        _front(view),
        f"# {plain(clip(' '.join(view.question.split()), 200))}",
        _closed(prose(view.report.strip())),
        _section("References", [_reference(source, view.citations) for source in view.cited_sources]),
        _section("Checked", _checked(view)),
        _section("Plots", _plots(view.images)),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def prose(text: str) -> str:
    """Markdown of a model: emphasis, lists, tables, code and web links stay, the rest shows as it was written."""
    return _LINK.sub(_JOINER, _IMAGE.sub(f"!{_JOINER}", _HTML.sub(f"<{_JOINER}", text)))


def _closed(text: str) -> str:
    """The same, with its last code block closed: an open one would swallow the references."""
    if "```" not in text and "~~~" not in text:
        return text
    from markdown_it import MarkdownIt

    last = MarkdownIt("commonmark").parse(f"{text}\n\n# Next")[-1]
    return f"{text}\n{last.markup}" if last.type == "fence" else text


def plain(text: str) -> str:
    """Text on one line that shows as it was written."""
    return _MARKUP.sub(lambda match: f"\\{match.group()}", " ".join(text.split()))


def _front(view: RunView) -> str:
    started = datetime.datetime.fromtimestamp(view.started, datetime.UTC)
    statuses = Counter(citation.status for citation in view.citations)
    front = {
        "title": view.question,
        "date": started.isoformat(timespec="seconds"),
        "run": view.run,
        "framework": view.recipe.framework,
        "context": view.recipe.context,
        "model": view.recipe.model,
        "recipe": view.recipe.hash,
        "status": view.status,
        "outcome": view.outcome,
        "rounds": view.round_count(),
        "model_calls": view.model_calls,
        "tool_calls": view.tool_calls,
        "prompt_tokens": view.prompt_tokens,
        "completion_tokens": view.completion_tokens,
        "tokens_estimated": view.estimated,
        "cost_usd": view.cost_usd,
        "seconds": round(view.seconds, 1),
        "citations": {status: statuses[status] for status in STATUSES},
    }
    # A JSON value is a YAML value, but for the characters that YAML wants written as numbers.
    lines = (f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in front.items())
    return "---\n" + _UNPRINTED.sub(lambda match: f"\\u{ord(match.group()):04x}", "\n".join(lines)) + "\n---"


def _section(heading: str, parts: Sequence[str]) -> str:
    return "\n\n".join([f"## {heading}", *parts]) if parts else ""


def _reference(source: Source, citations: Sequence[Citation]) -> str:
    """Number, title, address and how the statements that cite it stand; the quote; what it does not support."""
    own = [citation for citation in citations if citation.n == source.n]
    bad = [citation for citation in own if citation.status != "supported"]
    verdict = f" — {len(own) - len(bad)} of {_count(len(own), 'statement')} supported" if own else ""
    quote = "  \n".join(f"> {plain(row)}" for row in source.quote.splitlines() if row.strip())
    doubts = "\n".join(f"- {_doubt(citation)}" for citation in bad)
    head = f"[{source.n}] {plain(source.title)}. {_address(source.url)}{verdict}"
    return "\n\n".join(filter(None, [f"{head}\n{quote}".rstrip(), doubts]))


def _doubt(citation: Citation) -> str:
    reason = f": {plain(clip(citation.reason, 300))}" if citation.reason else ""
    return f"{STATUSES[citation.status]}{reason} (“{plain(clip(citation.claim, 300))}”)"


def _checked(view: RunView) -> list[str]:
    """How far the statements stand in the sources; empty when there was nothing to check."""
    statuses = Counter(citation.status for citation in view.citations)
    counts = ", ".join(f"{statuses[status]} {words}" for status, words in STATUSES.items() if statuses[status])
    dead = [f"[{c.n}] {plain(clip(c.claim, 300))}" for c in view.citations if c.status == "dead"]
    parts = []
    if view.citations:
        parts.append(f"{_count(len(view.citations), 'citation')} checked: {counts}.")
    if dead:
        parts.append("Cited numbers that no source has:\n\n" + _listed(dead))
    if view.uncited:
        parts.append(f"{_count(len(view.uncited), 'sentence')} without a source:\n\n" + _listed(
            [plain(clip(sentence, 300)) for sentence in view.uncited]
        ))  # fmt: skip
    if view.removed:
        parts.append(
            f"{_count(len(view.removed), 'address')} taken out that no source had shown:\n\n"
            + _listed([_code(clip(url, 300)) for url in view.removed])
        )
    return parts


def _plots(images: Sequence[bytes]) -> list[str]:
    """The plots as pictures that carry their own data."""
    drawn: list[str] = []
    room = PLOT_BYTES
    for image in images:
        if image.startswith(_PNG) and len(image) <= room and len(drawn) < PLOTS:
            room -= len(image)
            drawn.append(f"![Plot {len(drawn) + 1}](data:image/png;base64,{base64.b64encode(image).decode()})")
    left = len(images) - len(drawn)
    return [*drawn, *([f"{_count(left, 'plot')} not shown here: too large, too many, or no PNG."] if left else [])]


def _address(url: str) -> str:
    """A link where it leads to the web or into the library; text that does nothing otherwise."""
    return f"<{url}>" if re.fullmatch(r"(?:https?|library)://[^\s<>\x00-\x20\x7f]+", url) else _code(url)


def _code(text: str) -> str:
    return f"`{' '.join(text.replace('`', chr(0x2019)).split())}`"


def _listed(items: Sequence[str]) -> str:
    left = len(items) - _LISTED
    return "\n".join(f"- {item}" for item in [*items[:_LISTED], *([f"and {left} more"] if left > 0 else [])])


def _count(number: int, what: str) -> str:
    plural = "es" if what.endswith("s") else "s"
    return f"{number} {what}" + ("" if number == 1 else plural)
