"""The sources of a run as RIS, the format that every reference manager reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from research.events.view import RunView
from research.exports import csl_json

_KINDS = {
    "article-journal": "JOUR",
    "article-magazine": "MGZN",
    "article-newspaper": "NEWS",
    "book": "BOOK",
    "chapter": "CHAP",
    "dataset": "DATA",
    "paper-conference": "CONF",
    "patent": "PAT",
    "report": "RPRT",
    "software": "COMP",
    "thesis": "THES",
    "webpage": "ELEC",
}
"""RIS type by CSL type; any other is `GEN`."""
_FIELDS = {
    "title": "TI",
    "container-title": "T2",
    "publisher": "PB",
    "publisher-place": "CY",
    "volume": "VL",
    "issue": "IS",
    "page": "SP",
    "edition": "ET",
    "DOI": "DO",
    "ISBN": "SN",
    "ISSN": "SN",
    "URL": "UR",
    "language": "LA",
    "note": "N1",
}


def render(view: RunView) -> str:
    """Return a record for each cited source."""
    return "\n".join(f"{line}" for item in csl_json.items(view) for line in [*_record(item), ""])


def _record(item: Mapping[str, Any]) -> Iterator[str]:
    yield f"TY  - {_KINDS.get(item['type'], 'GEN')}"
    yield f"ID  - {item['id']}"
    for role, tag in (("author", "AU"), ("editor", "ED")):
        yield from (f"{tag}  - {_name(name)}" for name in item.get(role, ()))
    for ours, tag in _FIELDS.items():
        if value := item.get(ours):
            yield f"{tag}  - {value}"
    for name, tag in (("issued", "DA"), ("accessed", "Y2")):
        if parts := (item.get(name) or {}).get("date-parts"):
            yield f"{tag}  - {'/'.join(f'{part:02}' for part in parts[0])}{'/' * (3 - len(parts[0]))}"
            if tag == "DA":
                yield f"PY  - {parts[0][0]:04}"
    yield "ER  - "


def _name(name: Mapping[str, str]) -> str:
    family = " ".join(filter(None, (name.get("non-dropping-particle"), name.get("family") or name.get("literal"))))
    given = " ".join(filter(None, (name.get("given"), name.get("dropping-particle"))))
    return ", ".join(filter(None, (family, given, name.get("suffix"))))
