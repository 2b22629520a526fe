"""Read the formats of OpenDocument: texts (odt), presentations (odp), and the parts of a spreadsheet (ods) beside its cells.

Every element not known to be hidden is walked through, so new wrappers keep their text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from research.text import table_lines
from research.web import drawings, grid, locators
from research.web.locators import Part
from research.web.packages import BROKEN, Package
from research.web.sheets import SHARE, Beside
from research.web.table import MAX_COLUMNS, Table

if TYPE_CHECKING:
    from lxml.etree import _Element

SUFFIXES = (".odt", ".odp")

_SPACES = {
    name: f"{{urn:oasis:names:tc:opendocument:xmlns:{uri}:1.0}}"
    for name, uri in {
        "office": "office",
        "text": "text",
        "table": "table",
        "draw": "drawing",
        "style": "style",
        "presentation": "presentation",
        "number": "datastyle",
        "svg": "svg-compatible",
    }.items()
}


def _tag(name: str) -> str:
    space, _, local = name.partition(":")
    return _SPACES[space] + local


_DESCRIPTION = _tag("svg:desc")
"""The author's description of a picture or shape."""
_PARAGRAPHS = (_tag("text:p"), _tag("text:h"))
_SKIPPED = frozenset(
    map(
        _tag,
        ("text:tracked-changes", "text:note-citation", "text:ruby-text", "office:forms", "text:index-title-template"),
    )
)
_ATTACHED = frozenset(map(_tag, ("draw:text-box", "draw:custom-shape", "draw:rect", "draw:ellipse", "table:table")))
"""Separate blocks, although anchored in a paragraph."""
_LEFT_OUT = {
    _tag("office:annotation"): "comment",
    _tag("draw:image"): "picture",
    _tag("draw:object"): "embedded object",
    _tag("draw:object-ole"): "embedded object",
}
_CHARACTERS = {_tag("text:tab"): "\t", _tag("text:line-break"): "\n"}
_DRAW = _SPACES["draw"]
_CONTENT, _STYLES, _META, _MANIFEST = "content.xml", "styles.xml", "meta.xml", "META-INF/manifest.xml"
_REPEATED = 10_000
"""Most repetitions of a row of shares."""
_PARSED = 40_000_000
"""Largest spreadsheet parsed a second time, for text beside its cells."""
_HEADS = tuple(_tag(f"style:{kind}{side}") for kind in ("header", "footer") for side in ("", "-left", "-first"))


def document(
    data: bytes, suffix: str, refuse: Callable[[str], Exception]
) -> tuple[str, list[Part], list[Table], tuple[str, ...]]:
    """Return the title of a text or a presentation, its parts, its tables, and what was left out."""
    try:
        package = Package(data, refuse)
        if _MANIFEST in package.names and b":encryption-data" in package.read(_MANIFEST):
            raise refuse("is encrypted; save it without a password")
        reader = _Reader()
        body = next(package.xml(_CONTENT).iter(_tag("office:body")))
        meta = package.xml(_META) if _META in package.names else None
        title = (meta.findtext(".//{http://purl.org/dc/elements/1.1/}title") or "").strip() if meta is not None else ""
        parts = list(_slides(body, reader)) if suffix == ".odp" else [Part("", "\n\n".join(reader.blocks(body)))]
        parts = [Part("", text) for text in _heads(package, reader)] + parts
    except BROKEN as error:
        raise refuse(
            f"is a damaged {suffix[1:]} ({type(error).__name__}: {str(error)[:160]}); save it again"
        ) from error
    return title, parts, reader.tables, locators.left_out(reader.left_out)


def beside(package: Package) -> Beside:
    """Return the visible text of an ods file beside its cells.  Raises one of `BROKEN`."""
    found = Beside()
    if package.size(_CONTENT) > _PARSED:
        return found
    root, reader = package.xml(_CONTENT), _Reader()
    hides = {
        style.get(_tag("style:name"))
        for style in root.iter(_tag("style:style"))
        if any(each.get(_tag("table:display")) == "false" for each in style)
    }
    for sheet in root.iterfind(f"{_tag('office:body')}/*/{_tag('table:table')}"):
        name = sheet.get(_tag("table:name"), "")
        if sheet.get(_tag("table:style-name")) in hides:
            found.hidden.append(f"sheet {name}")
        shapes = (shape for around in sheet.iter() if not _is_drawn(around) for shape in around if _is_drawn(shape))
        found.lines[name] = [line for shape in shapes for line in reader.blocks(shape)]
        found.shown[name] = dict.fromkeys(_shares(sheet), SHARE)
        found.left_out["comment"] += sum(1 for _ in sheet.iter(_tag("office:annotation")))
    for text in _heads(package, reader):
        found.lines.setdefault(next(iter(found.lines), ""), []).append(text)
    found.left_out += reader.left_out
    return found


def _shares(sheet: _Element) -> Iterator[tuple[int, int]]:
    """Yield the row and column of each cell shown as a share."""
    down = 1
    for row in sheet.iter(_tag("table:table-row")):
        shares, across = list[int](), 1
        for cell in row.iter(_tag("table:table-cell"), _tag("table:covered-table-cell")):
            times = int(cell.get(_tag("table:number-columns-repeated"), "1"))
            if cell.get(_tag("office:value-type")) == "percentage":
                shares += range(across, across + min(times, MAX_COLUMNS))
            across += times
        times = int(row.get(_tag("table:number-rows-repeated"), "1"))
        yield from ((at, share) for at in range(down, down + min(times, _REPEATED)) for share in shares)
        down += times


def _is_drawn(element: _Element) -> bool:
    return str(element.tag).startswith(_DRAW)


def _heads(package: Package, reader: _Reader) -> list[str]:
    """Return the heads and feet of the pages, each once."""
    if _STYLES not in package.names:
        return []
    heads = package.xml(_STYLES).iter(*_HEADS)
    return list(dict.fromkeys(text for each in heads for text in reader.blocks(each)))


def _slides(body: _Element, reader: _Reader) -> Iterator[Part]:
    for number, page in enumerate(body.iter(_tag("draw:page")), 1):
        notes = page.find(_tag("presentation:notes"))
        if notes is not None:
            page.remove(notes)
        lines = list(reader.blocks(page, f"slide {number}"))
        said = list(reader.blocks(notes)) if notes is not None else []
        yield Part(f"slide {number}", "\n".join([*lines, *(["Notes:", *said] if said else [])]))


class _Reader:
    def __init__(self) -> None:
        self.tables: list[Table] = []
        self.left_out: Counter[str] = Counter()
        self._after: list[str] = []
        """Text boxes and notes of the current paragraph; they follow it."""

    def blocks(self, element: _Element, place: str = "") -> Iterator[str]:
        """Yield the paragraphs and tables of an element as Markdown; attachments follow it."""
        for child in element.iterchildren():
            if child.tag in _PARAGRAPHS:
                around, self._after = self._after, []
                text = " ".join("".join(self._inline(child)).split())
                level = child.get(_tag("text:outline-level"), "1") if child.tag == _PARAGRAPHS[1] else ""
                heading = f"{'#' * min(6, int(level))} " if text and level.isdecimal() else ""
                attached, self._after = self._after, around
                yield from filter(None, [heading + text, *attached])
            elif child.tag == _tag("table:table"):
                yield from filter(None, [self._table(child, place)])
            elif child.tag == _DESCRIPTION:
                yield from drawings.described("".join(map(str, child.itertext())))
            elif self._is_shown(child):
                yield from self.blocks(child, place)

    def _inline(self, element: _Element) -> Iterator[str]:
        yield element.text or ""
        for child in element.iterchildren():
            if child.tag == _tag("text:s"):
                yield " "
            elif child.tag in _CHARACTERS:
                yield _CHARACTERS[child.tag]
            elif child.tag == _DESCRIPTION:
                self._after += drawings.described("".join(map(str, child.itertext())))
            elif child.tag == _tag("text:note"):
                self._attach("Note: ", child)
            elif child.tag in _ATTACHED:
                self._attach("", child)
            elif self._is_shown(child):
                yield from self._inline(child)
            yield child.tail or ""

    def _attach(self, before: str, element: _Element) -> None:
        if text := "\n\n".join(self.blocks(element)):
            self._after.append(before + text)

    def _is_shown(self, element: _Element) -> bool:
        if element.tag in _LEFT_OUT:
            self.left_out[_LEFT_OUT[str(element.tag)]] += 1
            return False
        return isinstance(element.tag, str) and element.tag not in _SKIPPED

    def _table(self, element: _Element, place: str) -> str:
        rows = [list(self._cells(row)) for row in _within(element, _tag("table:table-row"))]
        while rows and not any(rows[-1]):
            rows.pop()
        name = f"table {len(self.tables) + 1}"
        found = grid.table([[cell or None for cell in row] for row in rows], f"{place} › {name}" if place else name)
        self.tables += [found] if found else []
        return "\n".join(table_lines(rows))

    def _cells(self, row: _Element) -> Iterator[str]:
        """Yield the texts of a row; a merged cell is repeated in its columns."""
        text = ""
        for cell in _within(row, _tag("table:table-cell"), _tag("table:covered-table-cell")):
            own = " ".join(" ".join(self.blocks(cell)).split())
            text = own or (text if cell.tag == _tag("table:covered-table-cell") else "")
            count = cell.get(_tag("table:number-columns-repeated"), "1")
            yield from [text] * (min(int(count), 500) if count.isdecimal() else 1)


def _within(element: _Element, *names: str) -> Iterator[_Element]:
    """Yield the rows of a table or the cells of a row, but not those of inner tables."""
    for child in element.iterchildren():
        if child.tag in names:
            yield child
        elif child.tag != _tag("table:table"):
            yield from _within(child, *names)
