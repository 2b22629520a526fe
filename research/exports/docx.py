"""The cited report as a Word document, with real styles, headings, lists and links, and Chinese in a Chinese font.

Format: ECMA-376 (Office Open XML), part 1: 17.3.2.26 (`rFonts`), 17.16.22 (`hyperlink`), 17.13.6 (bookmarks), 17.9
(numbering).  Opening the file fetches nothing: its only external references are links.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from research.citations.marks import SYMBOLS
from research.events.view import RunView
from research.exports.blocks import (
    WIDE,
    Align,
    Block,
    Code,
    Heading,
    Items,
    Paragraph,
    Quote,
    Rule,
    Span,
    Table,
    headings,
    is_task,
    visible,
    words,
)
from research.exports.document import COLOURS, Document, Reference, compose
from research.exports.formulas import formula
from research.exports.omml import omml
from research.exports.right_to_left import has_backwards, runs_backwards
from research.text import clip

if TYPE_CHECKING:
    from docx.text.paragraph import Paragraph as Lines

LONGEST = 150_000
"""Maximum characters of a report: about fifty pages, as in the PDF."""
_ROWS, _COLUMNS = 1_000, 40
"""Maximum size of a table; Word allows 63 columns."""
_LATIN, _CHINESE, _FIXED = "Calibri", "Microsoft YaHei", "Consolas"
"""Fonts of Microsoft Office; other programs substitute their own."""
_LINK, _QUIET = "1F5FA8", "5B636D"
_PROPERTY = 255
"""Characters of a property of the file."""
_AFTER_BIDI = [
    f"w:{name}"
    for name in "adjustRightInd snapToGrid spacing ind contextualSpacing mirrorIndents suppressOverlap jc textDirection "
    "textAlignment textboxTightWrap outlineLvl divId cnfStyle rPr sectPr pPrChange".split()
]
"""The properties after a paragraph's direction."""
_INDENT = 0.3
"""Inches per level of nesting."""


def docx(view: RunView) -> bytes:
    """Return the file, dated like the run."""
    return written(compose(view, LONGEST))


def written(document: Document) -> bytes:
    """Return the file."""
    writer = _Writer(document)
    writer.draw()
    out = io.BytesIO()
    writer.file.save(out)
    return out.getvalue()


class _Writer:
    def __init__(self, document: Document) -> None:
        self.document = document
        self.file = _file(document)
        self._known = {each.n for each in document.references}
        self._styles = {style.name: style.style_id for style in self.file.styles}
        self._levels = sorted({each.level for each in headings(document.body)})
        """Levels of the report's headings; the shallowest becomes the document's first."""
        self._end = self.file.element.body.sectPr
        """The last element of the body, cached: looking it up for each paragraph of a long report takes a minute."""

    def draw(self) -> None:
        document, say = self.document, self.document.say
        self.spans([Span(document.title)], "Title")
        self.blocks(document.body)
        self.note(document.left)
        for each in document.charts:
            self.spans([Span(each.title)], "Heading 1")
            self.plot(each.picture, each.told)
            if each.table:
                self.foreign_table(each.table)
        if document.references:
            self.spans([Span(say("References"))], "Heading 1")
            for source in document.references:
                self.reference(source)
        if document.checked:
            self.spans([Span(say("Checked"))], "Heading 1")
            for note in document.checked:
                self.spans([Span(note.text)])
                for item in note.items:
                    self.spans([Span(item, code=note.addresses)], "List Bullet")
        if document.plots or document.plots_left:
            self.spans([Span(say("Plots"))], "Heading 1")
            for number, plot in enumerate(document.plots, 1):
                self.plot(plot, say("Plot {n}", n=number))
            self.note(document.plots_left)
        if document.facts:
            self.spans([Span(say("How it was made"))], "Heading 1")
            self.table([[(Span(name),), (Span(value),)] for name, value in document.facts], headed=False)

    def blocks(self, blocks: Iterable[Block], style: str = "Normal", depth: int = 0) -> None:
        for block in blocks:
            match block:
                case Heading(level=level, spans=spans):
                    self.spans(spans, f"Heading {self._levels.index(level) + 1}", depth)
                case Paragraph(spans=spans):
                    self.spans(spans, style, depth)
                case Code(text=text):
                    self.spans([Span(text.expandtabs(4))], "Code", depth)
                case Rule():
                    self.rule()
                case Quote(blocks=inner):
                    self.blocks(inner, "Quote", depth + 1)
                case Items():
                    self.items(block, depth)
                case Table():
                    self.foreign_table(block)

    def items(self, block: Items, depth: int) -> None:
        """Draw a list; its numbers are text, because Word continues its own numbering across lists."""
        for number, item in enumerate(block.items, block.start or 0):
            first = item[0] if item and isinstance(item[0], Paragraph) else Paragraph(())
            if block.start is None and not is_task(item):
                self.spans(first.spans, ("List Bullet", "List Bullet 2", "List Bullet 3")[min(depth, 2)])
            else:
                mark = "" if is_task(item) else f"{number}."
                line = self.spans([Span(f"{mark}\t"), *first.spans], "List Paragraph", depth + 1)
                line.paragraph_format.first_line_indent = -self.inches(_INDENT)
            self.blocks(item[1:] if first.spans else item, "List Paragraph", depth + 1)

    def reference(self, each: Reference) -> None:
        line = self.spans(
            [Span(f"[{each.n}]\t"), Span(each.title, bold=True), *each.address_spans], "List Paragraph", 1
        )
        line.paragraph_format.first_line_indent = -self.inches(_INDENT)
        self.bookmark(line, each.n)
        if each.quote:
            self.spans([Span("\n".join(each.quote))], "Quote", 1)
        for text in filter(None, (each.verdict, each.notes)):
            self.spans([Span(text)], "List Paragraph", 1)
        for doubt in each.doubts:
            self.spans([Span(doubt)], "List Bullet 2")

    def note(self, text: str) -> None:
        if text:
            self.spans([Span(text, italic=True)])

    def plot(self, plot: bytes, name: str) -> None:
        picture = self.file.add_picture(io.BytesIO(plot))
        widest = self.inches(6)
        if picture.width > widest:
            picture.height = int(picture.height * widest / picture.width)
            picture.width = widest
        picture._inline.docPr.set("descr", name)

    def rule(self) -> None:
        line = self.spans(())
        border = _element("w:pBdr")
        border.append(_element("w:bottom", val="single", sz="4", space="1", color="C8CDD3"))
        line._p.get_or_add_pPr().append(border)

    def foreign_table(self, table: Table) -> None:
        say = self.document.say
        shown = min(len(table.head), _COLUMNS)
        if not shown:
            return
        rows = [row[:shown] for row in (table.head, *table.rows[:_ROWS])]
        self.table(rows, headed=True, align=table.align)
        for left, noun in ((len(table.rows) + 1 - len(rows), "row"), (len(table.head) - shown, "column")):
            if left:
                self.note(say("The rest of the table is not drawn here: {count}.", count=say.count(left, noun)))

    def table(self, rows: Sequence[Sequence[tuple[Span, ...]]], *, headed: bool, align: Sequence[Align] = ()) -> None:
        from docx.enum.text import WD_ALIGN_PARAGRAPH

        sides = {"center": WD_ALIGN_PARAGRAPH.CENTER, "right": WD_ALIGN_PARAGRAPH.RIGHT}
        table = self.file.add_table(0, len(rows[0]), "Table Grid" if headed else None)._tbl
        asked = [max(_breadth(row[column]) for row in rows[:50]) for column in range(len(rows[0]))]
        for column, grid in zip(asked, table.tblGrid.gridCol_lst, strict=True):
            grid.w = self.inches(6 * column / sum(asked))
        for place, row in enumerate(rows):
            added = _element("w:tr")
            if headed and place == 0:
                added.get_or_add_trPr().append(_element("w:tblHeader"))
            for column, spans in enumerate(row):
                cell = _element("w:tc")
                line = self.paragraph("Table Text")
                cell.append(line._p)
                added.append(cell)
                self.fill(line, [replace(span, bold=True) for span in spans] if headed and place == 0 else spans)
                if align and align[column] in sides:
                    line.alignment = sides[align[column]]
            table.append(added)
        self.spans((), "Table Text")

    def spans(self, spans: Iterable[Span], style: str = "Normal", depth: int = 0) -> Lines:
        line = self.paragraph(style)
        self._end.addprevious(line._p)
        if depth:
            line.paragraph_format.left_indent = self.inches(_INDENT * depth)
        self.fill(line, spans)
        return line

    def paragraph(self, style: str) -> Lines:
        """Return an empty paragraph that is not in the document yet."""
        from docx.text.paragraph import Paragraph as Lines

        line: Lines = Lines(_element("w:p"), self.file._body)
        line._p.style = self._styles[style]
        return line

    def fill(self, line: Lines, spans: Iterable[Span]) -> None:
        spans = list(spans)
        if runs_backwards("".join(span.text for span in spans)):
            line._p.get_or_add_pPr().insert_element_before(_element("w:bidi"), *_AFTER_BIDI)
        for span in spans:
            if span.formula and (made := formula(span.text, span.formula == "display")):
                line._p.append(omml(made, display=span.formula == "display"))
            elif span.href:
                target = self.file.part.relate_to(span.href, _HYPERLINK, is_external=True)
                self.link(line, span, {"r:id": target})
            elif span.cites in self._known:
                self.link(line, span, {"w:anchor": f"source-{span.cites}"})
            elif span.unsourced:
                _coloured(self.run(line, span), COLOURS["partial"])
            else:
                self.run(line, span)
            if span.cites and span.status:
                sign = self.run(line, Span(SYMBOLS[span.status]))
                _coloured(sign, COLOURS[span.status])

    def run(self, line: Lines, span: Span) -> Any:
        from docx.oxml.ns import qn

        run = line.add_run(visible(span.text))
        if has_backwards(span.text) and line._p.pPr is not None and line._p.pPr.find(qn("w:bidi")) is not None:
            run.font.rtl = True
        for look in ("bold", "italic", "strike"):
            if getattr(span, look):
                setattr(run.font, look, True)
        if span.code:
            run._r.style = self._styles["Code Text"]
        return run

    def link(self, line: Lines, span: Span, where: dict[str, str]) -> None:
        from docx.oxml.ns import qn

        run = self.run(line, span)
        _coloured(run, _LINK)
        run.underline = bool(span.href)
        link = _element("w:hyperlink")
        for name, value in where.items():
            link.set(qn(name), value)
        run._r.addprevious(link)
        link.append(run._r)

    def bookmark(self, line: Lines, n: int) -> None:
        start = _element("w:bookmarkStart", id=str(n), name=f"source-{n}")
        line._p.get_or_add_pPr().addnext(start)
        line._p.append(_element("w:bookmarkEnd", id=str(n)))

    @staticmethod
    def inches(number: float) -> Any:
        from docx.shared import Inches

        return Inches(number)


_HYPERLINK = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/hyperlink"


def _element(tag: str, /, **attributes: str) -> Any:
    from docx.oxml import OxmlElement
    from docx.oxml.ns import qn

    element = OxmlElement(tag)
    for key, value in attributes.items():
        element.set(qn(f"w:{key}"), value)
    return element


def _breadth(spans: Sequence[Span]) -> int:
    """Return the preferred width of a cell in letters, at most 40."""
    text = words(spans)
    return min(40, 3 + len(text) + len(WIDE.findall(text)))


def _coloured(run: Any, colour: str) -> None:
    from docx.shared import RGBColor

    run.font.color.rgb = RGBColor.from_string(colour)


def _file(document: Document) -> Any:
    """Return an empty document with its styles and properties."""
    import docx as library
    from docx.enum.style import WD_STYLE_TYPE
    from docx.oxml.ns import qn
    from docx.shared import Pt

    file = library.Document()
    styles = file.styles
    styles.add_style("Code", WD_STYLE_TYPE.PARAGRAPH).base_style = styles["Normal"]
    styles.add_style("Table Text", WD_STYLE_TYPE.PARAGRAPH).base_style = styles["Normal"]
    styles.add_style("Code Text", WD_STYLE_TYPE.CHARACTER)
    for name in ("Normal", "Title", *(f"Heading {level}" for level in range(1, 7)), "Code", "Code Text"):
        fixed = name.startswith("Code")
        fonts = styles[name].element.get_or_add_rPr().get_or_add_rFonts()
        fonts.attrib.clear()  # the template uses theme fonts, which have no Chinese
        for kind in ("ascii", "hAnsi", "cs", "eastAsia"):
            fonts.set(qn(f"w:{kind}"), _CHINESE if kind == "eastAsia" else _FIXED if fixed else _LATIN)
    sizes = {"Normal": 11, "Title": 22, "Heading 1": 16, "Heading 2": 14, "Heading 3": 12, "Code": 9, "Table Text": 10}
    for name, size in sizes.items():
        styles[name].font.size = Pt(size)
    for name in ("Title", *(f"Heading {level}" for level in range(1, 7))):
        _coloured(styles[name], "1F2328")
    _coloured(styles["Quote"], _QUIET)
    for name, after in (("Normal", 6), ("Table Text", 2), ("List Paragraph", 3), ("Title", 12)):
        styles[name].paragraph_format.space_after = Pt(after)
    chinese = document.say.language == "zh"
    languages = _element("w:lang", val="en-US", eastAsia="zh-CN")  # otherwise Word breaks Latin words
    normal = styles["Normal"].element.get_or_add_rPr()
    normal.append(languages)
    about = file.core_properties
    about.title, about.author, about.comments = clip(document.title, _PROPERTY), "Research Workbench", ""
    about.language = "zh-CN" if chinese else "en"
    about.created = about.modified = document.started.replace(tzinfo=None)
    return file
