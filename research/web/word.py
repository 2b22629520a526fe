"""Read a Word document: all text that its pages show, once and in order, wherever it is nested.

Every element not known to be hidden is walked through, so new wrappers keep their text.
"""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from research.text import table_lines
from research.web import drawings, grid, locators
from research.web.table import Table
from research.web.word_lists import Lists

if TYPE_CHECKING:
    from docx.document import Document
    from lxml.etree import _Element

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_MC = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
_V = "{urn:schemas-microsoft-com:vml}"

_DELETED = {f"{_W}{name}" for name in ("del", "moveFrom", "delText")}
_SKIPPED = {
    *(f"{_W}{name}" for name in ("pPr", "rPr", "sectPr", "tblPr", "tblGrid", "sdtPr", "instrText", "fldData", "rt")),
    f"{_MC}Fallback",
}
"""Properties, and content beside the visible text; `Fallback` repeats `Choice`."""
_LEFT_OUT = {
    "{http://schemas.openxmlformats.org/drawingml/2006/picture}pic": "picture",
    f"{_V}imagedata": "picture",
    f"{_W}object": "embedded object",
    f"{_W}altChunk": "embedded document",
}
_CHARACTERS = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-", "ptab": "\t"}
_RAISED = str.maketrans("0123456789+-−", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻")
_CITING = re.compile(r"\s{0,9}\[?\d[\d,;\s–-]{0,40}\]?\s{0,9}")
"""Matches raised text that cites a source."""
_ADDRESS = re.compile(r'HYPERLINK\s{1,9}"([^"]{1,2000})"')
_FIELD = re.compile(r"\x01([^\x01-\x03]{1,2000})\x02([^\x01-\x03]*)\x03")
"""Marks of a link field; a document cannot contain these characters."""
_UNMARKED = dict.fromkeys((1, 2, 3))
_NOTES = {"footnoteReference": "footnotes", "endnoteReference": "endnotes"}


class Read(Struct, frozen=True):
    """The parts read of a document."""

    title: str
    text: str
    tables: tuple[Table, ...]
    notes: tuple[str, ...]


def load_styles() -> None:
    """Preload the default styles, which `python-docx` otherwise reads from its file for documents without any."""
    from docx.parts.styles import StylesPart

    styles: Any = StylesPart
    found = styles._default_styles_xml()
    styles._default_styles_xml = classmethod(lambda part: found)


def markdown(data: bytes) -> str:
    """Return the body with links, superscripts as `<sup>`, and footnotes as `[^1]`, whose texts follow as `[^1]: …`."""
    import docx

    document = docx.Document(io.BytesIO(data))
    reader = _Reader(document, linked=True)
    return "\n\n".join([*reader.blocks(document.element.body), *reader.references()])


def read(data: bytes) -> Read:
    """Return the text of a docx; its notes say what was left out.  Raises what `python-docx` and lxml raise."""
    import docx

    document = docx.Document(io.BytesIO(data))
    reader = _Reader(document, linked=False)
    body = list(reader.blocks(document.element.body))
    head, foot = (list(dict.fromkeys(reader.beside(kind))) for kind in ("headerReference", "footerReference"))
    text = "\n\n".join([*head, *body, *foot])
    return Read((document.core_properties.title or "").strip(), text, tuple(reader.tables), reader.notes())


class _Reader:
    def __init__(self, document: Document, *, linked: bool) -> None:
        """`linked`: the text keeps its citations."""
        from docx.enum.style import WD_STYLE_TYPE

        self._linked = linked
        self._lists = Lists(document)
        self.tables: list[Table] = []
        self._part = document.part
        self._body = document.element.body
        # `block.style` searches all styles of the document for each paragraph.
        self._styles = {
            each.style_id: each.name or "" for each in document.styles if each.type == WD_STYLE_TYPE.PARAGRAPH
        }
        self._footnotes = {(kind, key): note for kind in _NOTES.values() for key, note in self._notes_of(kind)}
        self._targets = _targets(self._part)
        """Addresses of links, by id in the current part."""
        self._left_out: Counter[str] = Counter()
        self._after: list[str] = []
        """Text boxes and footnotes of the current paragraph or table; they follow it."""

    def notes(self) -> tuple[str, ...]:
        """Return what was left out, and why."""
        self._left_out["comment"] = sum(1 for _ in self._children("comments"))
        return locators.left_out(self._left_out)

    def beside(self, kind: str) -> Iterator[str]:
        """Yield the blocks of the headers or footers of all sections."""
        for each in self._body.iter(f"{_W}{kind}"):
            rel = self._part.rels.get(each.get(f"{_R}id", ""))
            if rel is not None and not rel.is_external:
                yield from self.blocks(rel.target_part.element)

    def blocks(self, element: _Element, inner: bool = False) -> Iterator[str]:
        """Yield paragraphs and tables as Markdown, each followed by its attachments.  `inner`: inside a cell or a box."""
        for child in element.iterchildren():
            found, around, self._after = "", self._after, []
            if child.tag == f"{_W}p":
                found = self._paragraph(child, inner)
            elif child.tag == f"{_W}tbl":
                found = self._table(child, inner)
            elif self._is_shown(child):
                yield from self.blocks(child, inner)
            attached, self._after = self._after, around
            yield from filter(None, [found, *attached])

    def _paragraph(self, element: _Element, inner: bool) -> str:
        text = "".join(self._inline(element)).strip()
        style = next((each.get(f"{_W}val", "") for each in element.iterfind(f"{_W}pPr/{_W}pStyle")), "")
        if self._linked:
            text = " ".join(_FIELD.sub(_link, text).translate(_UNMARKED).split())
        heading = "" if inner or not text else _heading(self._styles.get(style, ""))
        label = self._lists.label(element) if text else ""
        if label == "•":  # how Markdown list items begin
            label = "-" if self._linked else ""
        return heading + (f"{label} {text}" if label else text)

    def references(self) -> Iterator[str]:
        """Yield the footnotes and endnotes, each with the mark that refers to it."""
        for rel in self._part.rels.values():
            kind = rel.reltype.rpartition("/")[2]
            if kind in _NOTES.values():
                self._targets = _targets(rel.target_part)
                for key, note in self._notes_of(kind):
                    if text := " ".join(self.blocks(note, inner=True)):
                        yield f"{_mark(kind, key)}: {text}"

    def _inline(self, element: _Element) -> Iterator[str]:
        """Yield the text of a paragraph or a part of it."""
        if drawings.is_formula(element):
            parts = ("".join(self._inline(each)) for each in element if not str(each.tag).endswith("Pr"))
            yield drawings.formula(element, parts)
            return
        raised = any(each.get(f"{_W}val") == "superscript" for each in element.iterfind(f"{_W}rPr/{_W}vertAlign"))
        for child in element.iterchildren():
            name = str(child.tag).removeprefix(_W)
            if child.tag in (f"{_W}t", f"{drawings.M}t"):
                yield self._raised(child.text or "") if raised else child.text or ""
            elif self._linked and name in ("hyperlink", "instrText", "fldChar"):
                yield from self._address(child, name)
            elif name in _CHARACTERS:
                yield _CHARACTERS[name]
            elif name == "sym":
                yield self._symbol(child)
            elif name == "ddList":  # the choice of an old form field is an index
                entries = [each.get(f"{_W}val", "") for each in child.iterfind(f"{_W}listEntry")]
                chosen = next((each.get(f"{_W}val", "") for each in child.iterfind(f"{_W}result")), "0")
                yield next(iter(entries[int(chosen) :]), "") if chosen.isdecimal() else ""
            elif name in _NOTES:
                note = self._footnotes.get((_NOTES[name], child.get(f"{_W}id", "")))
                if note is not None and self._linked:
                    yield _mark(_NOTES[name], child.get(f"{_W}id", ""))
                elif note is not None:
                    self._attach("Note: ", note)
            elif name == "txbxContent":
                self._attach("", child)
            elif child.tag == drawings.SHAPE:
                self._after += drawings.described(child.get("descr") or "")
            elif child.tag in drawings.DRAWN:
                self._drawn(child)
            elif self._is_shown(child):
                yield from self._inline(child)

    def _address(self, element: _Element, name: str) -> Iterator[str]:
        """Yield a link, or a mark where a field with a link's address begins or ends."""
        if name == "hyperlink":
            words, target = "".join(self._inline(element)), self._targets.get(element.get(f"{_R}id", ""), "")
            yield f"[{words.strip()}]({target})" if target and words.strip() else words
        elif name == "instrText" and (found := _ADDRESS.search(element.text or "")):
            yield f"\x01{found[1]}\x02"
        elif element.get(f"{_W}fldCharType") == "end":
            yield "\x03"

    def _raised(self, text: str) -> str:
        if not self._linked:
            return text.translate(_RAISED)
        return f"<sup>{text.strip()}</sup>" if _CITING.fullmatch(text) else text

    def _attach(self, before: str, element: _Element) -> None:
        if text := "\n\n".join(self.blocks(element, inner=True)):
            self._after.append(before + text)

    def _drawn(self, element: _Element) -> None:
        """Attach the words and figures of a chart or a diagram."""
        from lxml import etree

        rel = self._part.rels.get(drawings.reference(element))
        if rel is not None and not rel.is_external:
            root = etree.fromstring(rel.target_part.blob, etree.XMLParser(resolve_entities=False, no_network=True))
            self._after.append("\n".join(drawings.chart(root)))

    def _is_shown(self, element: _Element) -> bool:
        if element.tag in _LEFT_OUT:
            self._left_out[_LEFT_OUT[str(element.tag)]] += 1
            return False
        if element.tag in _DELETED or element.tag in _SKIPPED or not isinstance(element.tag, str):
            return False
        hidden = element.find(f"{_W}rPr/{_W}vanish") if element.tag == f"{_W}r" else None
        if hidden is not None and hidden.get(f"{_W}val", "1") not in ("0", "false", "off"):
            self._left_out["hidden passage"] += 1
            return False
        return True

    def _symbol(self, element: _Element) -> str:
        code = element.get(f"{_W}char", "")
        found = chr(int(code, 16)) if len(code) == 4 else ""
        if found.isprintable() and found:
            return found
        self._left_out["symbol of a picture font"] += 1
        return "�"

    def _table(self, element: _Element, inner: bool) -> str:
        rows: list[list[str]] = []
        for row in _within(element, "tr"):
            if row.find(f"{_W}trPr/{_W}del") is None:
                rows.append(self._cells(row, rows[-1] if rows else []))
        if inner:  # a table in a cell of another has no separate place
            return "; ".join(", ".join(filter(None, row)) for row in rows)
        found = grid.table([[cell or None for cell in row] for row in rows], f"table {len(self.tables) + 1}")
        self.tables += [found] if found else []
        return "\n".join(table_lines(rows))

    def _cells(self, row: _Element, above: Sequence[str]) -> list[str]:
        """Return the texts of a row; a merged cell is repeated, so that each row and column is complete."""
        cells = [""] * _number(row.find(f"{_W}trPr/{_W}gridBefore"), 0)
        for cell in _within(row, "tc"):
            merged = cell.find(f"{_W}tcPr/{_W}vMerge")
            if merged is not None and merged.get(f"{_W}val") != "restart" and len(cells) < len(above):
                text = above[len(cells)]
            else:
                text = " ".join(" ".join(self.blocks(cell, inner=True)).split())
            cells += [text] * _number(cell.find(f"{_W}tcPr/{_W}gridSpan"), 1)
        return cells

    def _notes_of(self, kind: str) -> Iterator[tuple[str, _Element]]:
        for note in self._children(kind):
            if note.get(f"{_W}type", "normal") == "normal":
                yield note.get(f"{_W}id", ""), note

    def _children(self, kind: str) -> Iterator[_Element]:
        """Yield the entries of a part of the document, such as its footnotes."""
        from lxml import etree

        parser = etree.XMLParser(resolve_entities=False, no_network=True)
        for rel in self._part.rels.values():
            if rel.reltype.endswith(f"/{kind}") and not rel.is_external:
                part: Any = rel.target_part
                yield from etree.fromstring(part.blob, parser).iterchildren()


def _targets(part: Any) -> dict[str, str]:
    return {key: rel.target_ref for key, rel in part.rels.items() if rel.is_external}


def _mark(kind: str, key: str) -> str:
    """Return the mark of a note; endnotes are counted apart."""
    return f"[^{'e' if kind == 'endnotes' else ''}{key}]"


def _link(field: re.Match[str]) -> str:
    return f"[{field[2].strip()}]({field[1]})" if field[2].strip() else ""


def _within(element: _Element, name: str) -> Iterator[_Element]:
    """Yield the rows of a table or the cells of a row, those in content controls included, but not of inner tables."""
    for child in element.iterchildren():
        if child.tag == f"{_W}{name}":
            yield child
        elif child.tag not in (f"{_W}tc", f"{_W}tbl") and child.tag not in _DELETED:
            yield from _within(child, name)


def _number(element: _Element | None, usual: int) -> int:
    """Return an element's number of columns, at most as many as are kept."""
    value = element.get(f"{_W}val", "") if element is not None else ""
    return min(int(value), 500) if value.isdecimal() else usual


def _heading(style: str) -> str:
    """Return the markdown prefix for Word's styles `Title` and `Heading 1` to `Heading 6`, else ""."""
    level = "1" if style == "Title" else style.removeprefix("Heading ")
    return "#" * int(level) + " " if level in tuple("123456") else ""
