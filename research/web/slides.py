"""Read presentations (pptx): the words, tables, charts and notes of each slide, in the order of the show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from research.text import table_row
from research.web import drawings, grid, locators
from research.web.drawings import A, R, paragraphs
from research.web.locators import Part
from research.web.packages import BROKEN, Package, transitional
from research.web.table import Table

if TYPE_CHECKING:
    from lxml.etree import _Element

_P = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
_DC = "{http://purl.org/dc/elements/1.1/}"
_MAIN, _CORE = "ppt/presentation.xml", "docProps/core.xml"


def slides(data: bytes, refuse: Callable[[str], Exception]) -> tuple[str, list[Part], list[Table], tuple[str, ...]]:
    """Return the title of a presentation, its slides, the tables on them, and what was left out."""
    try:
        deck = _Deck(Package(transitional(data, refuse), refuse))
        parts = list(deck.parts())
    except BROKEN as error:
        raise refuse(f"is a damaged pptx ({type(error).__name__}: {str(error)[:160]}); save it again") from error
    return deck.title, parts, deck.tables, deck.notes()


class _Deck:
    def __init__(self, package: Package) -> None:
        self._package = package
        core = package.xml(_CORE).findtext(f"{_DC}title") if _CORE in package.names else ""
        self.title = (core or "").strip()
        self.tables: list[Table] = []
        self._hidden: list[str] = []
        self._left_out: Counter[str] = Counter()
        self._counted: Counter[str] = Counter()
        self._shown: set[str] = set()
        """Layouts whose own text, which is on each of their slides, has been read."""

    def parts(self) -> Iterator[Part]:
        related = self._package.related(_MAIN)
        order = [each.get(f"{R}id", "") for each in self._package.xml(_MAIN).iter(f"{_P}sldId")]
        for number, name in enumerate((related[each][1] for each in order if each in related), 1):
            place = f"slide {number}"
            yield Part(place, "\n".join(self._slide(name, place)))

    def notes(self) -> tuple[str, ...]:
        """Return what was left out, and which slides are not in the show."""
        return (*locators.left_out(self._left_out), *locators.hidden(self._hidden))

    def _slide(self, name: str, place: str) -> Iterator[str]:
        root = self._package.xml(name)
        if root.get("show") in ("0", "false"):
            self._hidden.append(place)
        yield from self._shapes(name, root, place)
        for kind, other in self._package.related(name).values():
            if other not in self._package.names:
                continue
            if kind == "notesSlide":
                notes = [line for body in self._package.xml(other).iter(f"{_P}txBody") for line in paragraphs(body)]
                yield from ["Notes:", *notes] if any(not note.isdigit() for note in notes) else []
            elif kind == "comments":
                self._left_out["comment"] += sum(1 for _ in self._package.xml(other).iter("{*}cm"))
            elif kind == "slideLayout":
                yield from self._behind(other, place)

    def _behind(self, name: str, place: str) -> Iterator[str]:
        """Yield the text of a layout and its master, with the first of their slides."""
        if name in self._shown:
            return
        self._shown.add(name)
        root = self._package.xml(name)
        for shape in list(root.iter(f"{_P}sp")):
            above = shape.getparent()
            if above is not None and next(shape.iter(f"{_P}ph"), None) is not None:  # only a placeholder's prompt
                above.remove(shape)
        yield from self._shapes(name, root, place)
        for kind, other in self._package.related(name).values():
            if kind == "slideMaster" and root.get("showMasterSp") not in ("0", "false"):
                yield from self._behind(other, place)

    def _shapes(self, name: str, root: _Element, place: str) -> Iterator[str]:
        self._left_out += drawings.pictures(root)
        for body in root.iter(f"{_P}txBody", f"{A}tbl", f"{_P}cNvPr", *drawings.DRAWN):
            if body.tag == f"{_P}cNvPr":
                yield from drawings.described(body.get("descr") or "")
            elif body.tag == f"{_P}txBody":
                heading = "# " if _is_title(body) else ""
                yield from (f"{heading}{line}" for line in paragraphs(body))
            elif body.tag == f"{A}tbl":
                yield from self._table(body, place)
            else:
                yield from drawings.drawn(self._package, name, body)

    def _table(self, element: _Element, place: str) -> Iterator[str]:
        rows = [[" ".join(paragraphs(cell)) or None for cell in row.iter(f"{A}tc")] for row in element.iter(f"{A}tr")]
        yield from (table_row(cell or "" for cell in row) for row in rows)
        if found := grid.table(rows, f"{place} › table {self._counted[place] + 1}"):
            self._counted[place] += 1
            self.tables.append(found)


def _is_title(body: _Element) -> bool:
    shape = body.getparent()
    kinds = [each.get("type") for each in shape.iter(f"{_P}ph")] if shape is not None else []
    return any(kind in ("title", "ctrTitle") for kind in kinds)
