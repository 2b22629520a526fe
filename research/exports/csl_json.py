"""The sources of a run as CSL JSON, for Zotero, pandoc and citation processors.

Format: CSL 1.0.2, `csl-data.json`.  Metadata from services and pages is untrusted: only known fields of the right type are
kept, on one line and of bounded length.
"""

from __future__ import annotations

import datetime
import json
import re
import unicodedata
from collections.abc import Iterator, Mapping
from itertools import count
from string import ascii_lowercase
from typing import Any
from urllib.parse import urlsplit

from research.events.view import RunView
from research.text import clip, content_tokens
from research.types import Source
from research.web.url_guard import MEMORY

_TYPES = frozenset(
    "article article-journal article-magazine article-newspaper bill book broadcast chapter classic collection dataset "
    "document entry entry-dictionary entry-encyclopedia event figure graphic hearing interview legal_case legislation "
    "manuscript map motion_picture musical_score pamphlet paper-conference patent performance periodical "
    "personal_communication post post-weblog regulation report review review-book software song speech standard thesis "
    "treaty webpage".split()
)
_TEXTS = (
    "title",
    "container-title",
    "collection-title",
    "publisher",
    "publisher-place",
    "event-title",
    "genre",
    "language",
    "version",
    "edition",
    "volume",
    "issue",
    "number",
    "page",
    "ISBN",
    "ISSN",
    "PMID",
    "PMCID",
)
_NAME_PARTS = ("family", "given", "suffix", "dropping-particle", "non-dropping-particle", "literal")
_DOI = re.compile(r"10\.\d{4,9}/[^\s{}<>\"\\]+")
_LONGEST = 1_000
"""Characters of a field."""
_MOST_NAMES = 200


def render(view: RunView) -> str:
    """Return a JSON list with an item for each cited source."""
    return json.dumps(items(view), ensure_ascii=False, indent=2) + "\n"


def items(view: RunView) -> list[dict[str, Any]]:
    """Return the items of the cited sources in the order of the report; `id` is a key such as `vaswani2017attention`.

    A source has the same key in every export of the run.
    """
    day = datetime.datetime.fromtimestamp(view.started, datetime.UTC)
    known: dict[int, dict[str, Any]] = {}
    taken: set[str] = set()
    candidates: dict[str, Iterator[str]] = {}
    for source in view.seen_sources:
        item = _item(source, day)
        name = _key(item, source)
        key = next(key for key in candidates.setdefault(name, _candidates(name)) if key not in taken)
        taken.add(key)
        known[source.n] = {"id": key, **item}
    return [known[source.n] for source in view.cited_sources]


def _item(source: Source, day: datetime.datetime) -> dict[str, Any]:
    given = source.csl
    url = next((url for url in (source.url, given.get("URL")) if web(url)), line(source.url))
    kind = given.get("type")
    doi = _DOI.search(line(given.get("DOI")))
    item: dict[str, Any] = {
        "type": kind if isinstance(kind, str) and kind in _TYPES else "webpage" if web(url) else "document",
        **{name: line(given.get(name)) for name in _TEXTS},
        **{role: _names(given.get(role)) for role in ("author", "editor")},
        "issued": _date(given.get("issued")),
        "DOI": doi.group() if doi else "",
        "URL": "" if source.url.startswith(MEMORY) else url,
        "note": "; ".join(
            [*([f"Also at {', '.join(map(line, source.also))}"] if source.also else []), *map(line, source.notes)]
        ),
        "accessed": {"date-parts": [[day.year, day.month, day.day]]},
        "citation-number": source.n,
    }
    item["title"] = item["title"] or line(source.title) or url
    return {name: value for name, value in item.items() if value}


def web(url: object) -> bool:
    """Return whether the value is a web address with a valid host."""
    return isinstance(url, str) and re.fullmatch(r"https?://[^\s\x00-\x1f\x7f]+", url) is not None and _host(url) != ""


def _host(url: str) -> str:
    """Return the host of a url; empty if it has no valid one."""
    try:
        return urlsplit(url).hostname or ""
    except ValueError:  # a broken IPv6 address, or characters that NFKC turns into separators
        return ""


def line(value: object) -> str:
    """Return text or a number as one bounded line without control and direction characters; empty for other types."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    spaced = re.sub(r"\s+", " ", str(value))
    return clip("".join(c for c in spaced if unicodedata.category(c) not in ("Cc", "Cf", "Cs")).strip(), _LONGEST)


def _names(value: object) -> list[dict[str, str]]:
    found = []
    for each in value[:_MOST_NAMES] if isinstance(value, list) else ():
        parts = {"literal": each} if isinstance(each, str) else each if isinstance(each, Mapping) else {}
        name = {part: text for part in _NAME_PARTS if (text := line(parts.get(part)))}
        if "family" in name:
            name.pop("literal", None)
        elif whole := name.get("literal") or name.get("given"):
            name = {"literal": whole}
        else:
            continue
        found.append(name)
    return found


def _date(value: object) -> dict[str, Any] | None:
    """Return the valid ones of year, month and day; of a range, its start."""
    try:
        given = [int(part) for part in value["date-parts"][0][:3]]  # type: ignore[index]
    except (TypeError, KeyError, IndexError, ValueError, OverflowError):
        return None
    bounds = ((1, 9999), (1, 12), (1, 31))
    parts: list[int] = []
    for part, (lowest, highest) in zip(given, bounds, strict=False):
        if not lowest <= part <= highest:
            break
        parts.append(part)
    return {"date-parts": [parts]} if parts else None


def _key(item: Mapping[str, Any], source: Source) -> str:
    """Return family name, year and first word of the title in ASCII; the host replaces a missing name."""
    authors = item.get("author") or [{}]
    who = _ascii(authors[0].get("family") or authors[0].get("literal", "").rpartition(" ")[2])
    place = (_host(source.url) if web(source.url) else "").removeprefix("www.").partition(".")[0]
    year = str(item["issued"]["date-parts"][0][0]) if "issued" in item else ""
    word = next(filter(None, map(_ascii, content_tokens(item.get("title", "")))), "")
    return f"{who or _ascii(place) or 'source'}{year}{word}"[:60]


def _ascii(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", unicodedata.normalize("NFKD", text).lower())


def _candidates(key: str) -> Iterator[str]:
    """Yield `key`, `keya` … `keyz`, `key-27` …, to tell apart works of one author and year."""
    yield key
    yield from (f"{key}{letter}" for letter in ascii_lowercase)
    yield from (f"{key}-{number}" for number in count(27))
