"""The sources of a run as a LaTeX bibliography: biblatex entries in UTF-8, for biber.

Source: the biblatex manual, "Database Guide" (types, fields, dates, names).
"""

# bibtexparser and pybtex do not escape fields, the error-prone part, so they would not help here; the tests parse the
# output with one of them.

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from research.events.view import RunView
from research.exports import csl_json

_KINDS = {
    "article-journal": "article",
    "article-magazine": "article",
    "article-newspaper": "article",
    "review": "article",
    "paper-conference": "inproceedings",
    "book": "book",
    "chapter": "incollection",
    "entry-encyclopedia": "inreference",
    "thesis": "thesis",
    "report": "report",
    "dataset": "dataset",
    "software": "software",
    "patent": "patent",
    "manuscript": "unpublished",
}
"""biblatex type by CSL type.  Any other type becomes `online`, or `misc` without an address."""

_FIELDS = {
    "title": "title",
    "publisher": "publisher",
    "publisher-place": "location",
    "event-title": "eventtitle",
    "collection-title": "series",
    "genre": "type",
    "version": "version",
    "edition": "edition",
    "volume": "volume",
    "issue": "issue",
    "number": "number",
    "page": "pages",
    "ISBN": "isbn",
    "ISSN": "issn",
}

# A brace can end a field even after a backslash, so braces of the text are written as commands.
_ESCAPES = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "{": r"\textbraceleft{}",
        "}": r"\textbraceright{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        **{sign: f"\\{sign}" for sign in "&%$#_"},
    }
)
_SEPARATOR = re.compile(r",|\band\b|^others$", re.IGNORECASE)
_VERBATIM = "!#$%&'()*+,-./:;=?@[]_~"


def render(view: RunView) -> str:
    """Return an entry for each cited source, preceded by its number."""
    return "\n".join(map(_entry, csl_json.items(view)))


def _entry(item: Mapping[str, Any]) -> str:
    there = item.get("URL", "")
    online = "online" if csl_json.web(there) else "misc"
    kind = _KINDS.get(item["type"], online)
    within = "journaltitle" if kind == "article" else "booktitle"
    if kind == "article" and "container-title" not in item:
        kind = online  # an article entry requires its journal
    if kind in ("online", "misc"):
        within = "organization"
    notes = (item.get("note", ""), there if online == "misc" else "")
    fields = {
        **{role: " and ".join(map(_name, item.get(role, ()))) for role in ("author", "editor")},
        **{ours: escaped(item.get(theirs, "")) for theirs, ours in _FIELDS.items()},
        within: escaped(item.get("container-title", "")),
        "date": _date(item.get("issued")),
        "doi": quote(item.get("DOI", ""), safe=_VERBATIM),
        # biblatex reads addresses verbatim, so only characters that could end the field are percent-encoded.
        "url": quote(there, safe=_VERBATIM) if online == "online" else "",
        "note": escaped(" ".join(filter(None, notes))),
        "urldate": _date(item["accessed"]),
    }
    lines = [f"  {name} = {{{value}}}," for name, value in fields.items() if value]
    return "\n".join([f"% [{item['citation-number']}]", f"@{kind}{{{item['id']},", *lines, "}"]) + "\n"


def escaped(text: str) -> str:
    """Escape text so that LaTeX shows it literally; letters of all scripts stay."""
    return text.translate(_ESCAPES)


def _name(name: Mapping[str, str]) -> str:
    """Format a name as `von Last, Jr, First`, in braces if it would read as several names."""
    family = " ".join(_part(name[part]) for part in ("non-dropping-particle", "family") if part in name)
    given = " ".join(_part(name[part]) for part in ("given", "dropping-particle") if part in name)
    if not given:
        return f"{{{escaped(name.get('literal', ''))}{family}}}"
    return ", ".join(filter(None, [family, _part(name.get("suffix", "")), given]))


def _part(text: str) -> str:
    return f"{{{escaped(text)}}}" if _SEPARATOR.search(text) else escaped(text)


def _date(value: Mapping[str, Any] | None) -> str:
    """Format the known part of a date as ISO 8601."""
    parts: list[int] = value["date-parts"][0] if value else []
    return "-".join(f"{part:0{width}}" for part, width in zip(parts, (4, 2, 2), strict=False))
