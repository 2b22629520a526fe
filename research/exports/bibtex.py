"""The sources of a run as a bibliography for LaTeX: entries of biblatex, in UTF-8, for biber.

Source: the biblatex manual, "Database Guide" (types, fields, dates, names).
"""

# The kept libraries (bibtexparser, pybtex) write entries, and take what is inside a field as it is, so that the part
# that can go wrong would be ours all the same; the tests read with one of them what is written here.

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from research.exports import csl
from research.view import RunView

_KINDS = {
    "article-journal": "article", "article-magazine": "article", "article-newspaper": "article", "review": "article",
    "paper-conference": "inproceedings", "book": "book", "chapter": "incollection", "entry-encyclopedia": "inreference",
    "thesis": "thesis", "report": "report", "dataset": "dataset", "software": "software", "patent": "patent",
    "manuscript": "unpublished",
}  # fmt: skip
"""CSL type to biblatex; a page, a preprint and anything else is `online`, or `misc` without an address."""

_FIELDS = {
    "title": "title", "publisher": "publisher", "publisher-place": "location", "event-title": "eventtitle",
    "collection-title": "series", "genre": "type", "version": "version", "edition": "edition", "volume": "volume",
    "issue": "issue", "number": "number", "page": "pages", "ISBN": "isbn", "ISSN": "issn",
}  # fmt: skip

# A brace counts for the end of a field even behind a backslash, so none is written that is not ours.
_ESCAPES = str.maketrans(
    {
        "\\": r"\textbackslash{}", "{": r"\textbraceleft{}", "}": r"\textbraceright{}", "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
        **{sign: f"\\{sign}" for sign in "&%$#_"},
    }
)  # fmt: skip
_SEPARATOR = re.compile(r",|\band\b|^others$", re.IGNORECASE)
_VERBATIM = "!#$%&'()*+,-./:;=?@[]_~"


def render(view: RunView, *, everything: bool = False) -> str:
    """One entry for each source the report cites, after its number there; `everything`: for each that was seen."""
    return "\n".join(_entry(item) for item in csl.items(view, everything=everything))


def _entry(item: Mapping[str, Any]) -> str:
    address = "url" if csl.web(item.get("URL")) else "note"
    kind = _KINDS.get(item["type"], "online" if address == "url" else "misc")
    within = "journaltitle" if kind == "article" else "booktitle"
    if kind == "article" and "container-title" not in item:
        kind = "online" if address == "url" else "misc"  # an article has to name its journal
    if kind in ("online", "misc"):
        within = "organization"
    there = item.get("URL", "")
    fields = {
        **{role: " and ".join(map(_name, item.get(role, ()))) for role in ("author", "editor")},
        **{ours: escaped(item.get(theirs, "")) for theirs, ours in _FIELDS.items()},
        within: escaped(item.get("container-title", "")),
        "date": _date(item.get("issued")),
        "doi": quote(item.get("DOI", ""), safe=_VERBATIM),
        # biblatex takes addresses verbatim: what could end the field is percent-encoded, and nothing else is touched.
        address: quote(there, safe=_VERBATIM) if address == "url" else escaped(there),
        "urldate": _date(item["accessed"]),
    }
    lines = [f"  {name} = {{{value}}}," for name, value in fields.items() if value]
    return "\n".join([f"% [{item['citation-number']}]", f"@{kind}{{{item['id']},", *lines, "}"]) + "\n"


def escaped(text: str) -> str:
    """Text as LaTeX shows it as it is; letters of all scripts stay."""
    return text.translate(_ESCAPES)


def _name(name: Mapping[str, str]) -> str:
    """`von Last, Jr, First`; in braces what is one name and not several."""
    family = " ".join(_part(name[part]) for part in ("non-dropping-particle", "family") if part in name)
    given = " ".join(_part(name[part]) for part in ("given", "dropping-particle") if part in name)
    if not given:
        return f"{{{escaped(name.get('literal', ''))}{family}}}"
    return ", ".join(filter(None, [family, _part(name.get("suffix", "")), given]))


def _part(text: str) -> str:
    return f"{{{escaped(text)}}}" if _SEPARATOR.search(text) else escaped(text)


def _date(value: Mapping[str, Any] | None) -> str:
    """ISO 8601, as far as it is known."""
    parts: list[int] = value["date-parts"][0] if value else []
    return "-".join(f"{part:0{width}}" for part, width in zip(parts, (4, 2, 2), strict=False))
