"""Read presentations (pptx): the words, tables and notes of each slide, in the order of the show."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from research.web import grid
from research.web.packages import BROKEN, Package
from research.web.places import Part
from research.web.table import Table

if TYPE_CHECKING:
    from lxml.etree import _Element

_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_P = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
_R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_DC = "{http://purl.org/dc/elements/1.1/}"
_MAIN, _CORE = "ppt/presentation.xml", "docProps/core.xml"


def slides(data: bytes, refuse: Callable[[str], Exception]) -> tuple[str, list[Part], list[Table]]:
    """Return the title of a presentation, its slides, and the tables on them."""
    try:
        package = Package(data, refuse)
        title = (package.xml(_CORE).findtext(f"{_DC}title") or "").strip() if _CORE in package.names else ""
        related = package.related(_MAIN)
        order = [each.get(f"{_R}id", "") for each in package.xml(_MAIN).iter(f"{_P}sldId")]
        parts, tables = [], list[Table]()
        for number, name in enumerate((related[each][1] for each in order if each in related), 1):
            words, found = _slide(package, name, f"slide {number}")
            parts.append(Part(f"slide {number}", words))
            tables += found
    except BROKEN as error:
        raise refuse(f"is a damaged pptx ({type(error).__name__}: {str(error)[:160]}); save it again") from error
    # What presentation programs call a new file is no title.
    return "" if title.casefold() in ("powerpoint presentation", "presentation") else title, parts, tables


def _slide(package: Package, name: str, place: str) -> tuple[str, list[Table]]:
    root = package.xml(name)
    tables: list[Table] = []
    lines: list[str] = []
    for body in root.iter(f"{_P}txBody", f"{_A}tbl"):
        if body.tag == f"{_P}txBody":
            heading = "# " if _is_title(body) else ""
            lines += [f"{heading}{line}" for line in _paragraphs(body)]
            continue
        rows = [[" ".join(_paragraphs(cell)) or None for cell in row.iter(f"{_A}tc")] for row in body.iter(f"{_A}tr")]
        lines += [f"| {' | '.join(cell or '' for cell in row)} |" for row in rows]
        found = grid.table(rows, f"{place} › table {len(tables) + 1}")
        tables += [found] if found else []
    for kind, other in package.related(name).values():
        if kind == "notesSlide" and other in package.names:
            notes = [line for body in package.xml(other).iter(f"{_P}txBody") for line in _paragraphs(body)]
            lines += ["Notes:", *notes] if any(not note.isdigit() for note in notes) else []
    return "\n".join(lines), tables


def _is_title(body: _Element) -> bool:
    shape = body.getparent()
    kinds = [each.get("type") for each in shape.iter(f"{_P}ph")] if shape is not None else []
    return any(kind in ("title", "ctrTitle") for kind in kinds)


def _paragraphs(body: _Element) -> Iterator[str]:
    for paragraph in body.iter(f"{_A}p"):
        pieces = [" " if each.tag == f"{_A}br" else each.text or "" for each in paragraph.iter(f"{_A}t", f"{_A}br")]
        if text := " ".join("".join(pieces).split()):
            yield text
