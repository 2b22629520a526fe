"""Documents of each format with a marker in every place that can hold text: `FORMATS[".odt"].write({"cell": "Zumbarik"})`."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from email.message import EmailMessage
from typing import Any

import pptx
import pyarrow as pa
import xlsxwriter
from lxml import etree
from msgspec import Struct
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.opc.package import Part
from pptx.opc.packuri import PackURI
from pptx.util import Inches
from pyarrow import parquet as pq

from tests.desk import zipped

Markers = Mapping[str, str]


class Format(Struct, frozen=True):
    """How documents of a format are written, and what becomes of the text in their places."""

    write: Callable[[Markers], bytes]
    shown: tuple[str, ...]
    """Places whose text is read."""
    said: Mapping[str, str] = {}
    """Places whose text is not read, and the words of the note that says so."""
    unseen: tuple[str, ...] = ()
    """Places whose text no reader shows."""


_OFFICE = "http://schemas.openxmlformats.org"
_REL = f"{_OFFICE}/officeDocument/2006/relationships"
_NAMES = " ".join(
    f'xmlns:{name}="{uri}"'
    for name, uri in {
        "w": f"{_OFFICE}/wordprocessingml/2006/main",
        "p": f"{_OFFICE}/presentationml/2006/main",
        "a": f"{_OFFICE}/drawingml/2006/main",
        "c": f"{_OFFICE}/drawingml/2006/chart",
        "dgm": f"{_OFFICE}/drawingml/2006/diagram",
        "m": f"{_OFFICE}/officeDocument/2006/math",
        "mc": f"{_OFFICE}/markup-compatibility/2006",
        "wp": f"{_OFFICE}/drawingml/2006/wordprocessingDrawing",
        "r": _REL,
        "a14": "http://schemas.microsoft.com/office/drawing/2010/main",
        "wps": "http://schemas.microsoft.com/office/word/2010/wordprocessingShape",
        "wpg": "http://schemas.microsoft.com/office/word/2010/wordprocessingGroup",
        "v": "urn:schemas-microsoft-com:vml",
    }.items()
)
_DIAGRAM = f"<dgm:dataModel {_NAMES}><dgm:ptLst><dgm:pt><dgm:t><a:p><a:r><a:t>{{}}</a:t></a:r></a:p></dgm:t></dgm:pt></dgm:ptLst></dgm:dataModel>"

# Word

_RUN = "<w:r><w:t>{}</w:t></w:r>"
_PARAGRAPH = f"<w:p>{_RUN}</w:p>"
_CELL = "<w:tc>{}</w:tc>"
_TABLE = f"<w:tbl><w:tr>{_CELL.format(_PARAGRAPH.format('head'))}{{}}</w:tr></w:tbl>"
_CONTROL = "<w:sdt><w:sdtContent>{}</w:sdtContent></w:sdt>"
_BOX = f"<w:txbxContent>{_PARAGRAPH}</w:txbxContent>"
_SHAPE = f"<wps:wsp><wps:txbx>{_BOX}</wps:txbx></wps:wsp>"
_OLD_BOX = f"<w:pict><v:shape><v:textbox>{_BOX}</v:textbox></v:shape></w:pict>"
_GRAPHIC = "<w:drawing><wp:inline><a:graphic><a:graphicData>{}</a:graphicData></a:graphic></wp:inline></w:drawing>"
_NEW_BOX = f"<mc:AlternateContent><mc:Choice>{_GRAPHIC.format(_SHAPE)}</mc:Choice><mc:Fallback>{_OLD_BOX}</mc:Fallback></mc:AlternateContent>"


def _p(inside: str) -> str:
    return f"<w:p>{inside}</w:p>"


def _r(inside: str) -> str:
    return f"<w:r>{inside}</w:r>"


_WORD = {
    "paragraph": _PARAGRAPH,
    "heading": f'<w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr>{_RUN}</w:p>',
    "link": _p(f"<w:hyperlink>{_RUN}</w:hyperlink>"),
    "insertion in a link": _p(f'<w:hyperlink><w:ins w:id="1">{_RUN}</w:ins></w:hyperlink>'),
    "move": _p(f'<w:moveTo w:id="3">{_RUN}</w:moveTo>'),
    "cell": _TABLE.format(_CELL.format(_PARAGRAPH)),
    "inner table": _TABLE.format(_CELL.format(_TABLE.format(_CELL.format(_PARAGRAPH)))),
    "text box": _p(_r(_NEW_BOX)),
    "old text box": _p(_r(_OLD_BOX)),
    "group of shapes": _p(_r(_GRAPHIC.format(f"<wpg:wgp><wpg:grpSp>{_SHAPE}</wpg:grpSp></wpg:wgp>"))),
    "text box in a cell": _TABLE.format(_CELL.format(_p(_r(_NEW_BOX)))),
    "control": _CONTROL.format(_PARAGRAPH),
    "control in a line": _p(_CONTROL.format(_RUN)),
    "control around a row": "<w:tbl>" + _CONTROL.format(f"<w:tr>{_CELL.format(_PARAGRAPH)}</w:tr>") + "</w:tbl>",
    "control around a cell": _TABLE.format(_CONTROL.format(_CELL.format(_PARAGRAPH))),
    "field": _p(f'<w:fldSimple w:instr="AUTHOR">{_RUN}</w:fldSimple>'),
    "tag": _p(f"<w:smartTag>{_RUN}</w:smartTag>"),
    "direction": _p(f'<w:bdo w:val="rtl">{_RUN}</w:bdo>'),
    "formula": _p("<m:oMathPara><m:oMath><m:r><m:t>{}</m:t></m:r></m:oMath></m:oMathPara>"),
    "base of a ruby": _p(_r(f"<w:ruby><w:rt/><w:rubyBase>{_RUN}</w:rubyBase></w:ruby>")),
    "footnote": _p(_r('<w:footnoteReference w:id="2"/>')),
    "endnote": _p(_r('<w:endnoteReference w:id="2"/>')),
    "diagram": _p(_r(_GRAPHIC.format('<dgm:relIds r:dm="diagramData"/>'))),
    "chart": _p(_r(_GRAPHIC.format('<c:chart r:id="chart"/>'))),
    "description of a picture": _p(
        _r('<w:drawing><wp:inline><wp:docPr id="1" name="x" descr="{}"/></wp:inline></w:drawing>')
    ),
    "header": "",
    "footer": "",
    "comment": _p(_r('<w:commentReference w:id="1"/>')),
    "embedded document": '<w:altChunk r:id="x"/>',
    "deletion": _p('<w:del w:id="4"><w:r><w:delText>{}</w:delText></w:r></w:del>'),
    "move away": _p(f'<w:moveFrom w:id="5">{_RUN}</w:moveFrom>'),
}


def _word(markers: Markers) -> bytes:
    body = "".join(_WORD[place].replace("{}", marker) for place, marker in markers.items())
    parts = {
        "footnotes": '<w:footnotes {}><w:footnote w:id="2">{}</w:footnote></w:footnotes>',
        "endnotes": '<w:endnotes {}><w:endnote w:id="2">{}</w:endnote></w:endnotes>',
        "comments": '<w:comments {}><w:comment w:id="1">{}</w:comment></w:comments>',
        "header": "<w:hdr {}>{}</w:hdr>",
        "footer": "<w:ftr {}>{}</w:ftr>",
    }
    written = {
        kind: form.format(_NAMES, _PARAGRAPH.format(marker))
        for kind, form in parts.items()
        if (marker := markers.get(kind if kind in markers else kind[:-1]))
    }
    written["diagramData"] = _DIAGRAM.format(markers.get("diagram", ""))
    written["chart"] = (
        f"<c:chartSpace {_NAMES}><c:ser><c:tx><c:v>{markers.get('chart', '')}</c:v></c:tx></c:ser></c:chartSpace>"
    )
    kind = "application/vnd.openxmlformats-officedocument.wordprocessingml"
    types = {"document": "document.main", "header": "header", "footer": "footer"}
    overrides = "".join(
        f'<Override PartName="/word/{name}.xml" ContentType="{kind}.{of}+xml"/>' for name, of in types.items()
    )
    sections = "".join(
        f'<w:{each}Reference w:type="default" r:id="{each}"/>' for each in ("header", "footer") if each in written
    )
    package = f"{_OFFICE}/package/2006"
    relations = "".join(f'<Relationship Id="{each}" Type="{_REL}/{each}" Target="{each}.xml"/>' for each in written)
    return zipped(
        {
            "[Content_Types].xml": f'<Types xmlns="{package}/content-types"><Default Extension="rels" ContentType="application/'
            'vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/>'
            f"{overrides}</Types>",
            "_rels/.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="r" Type="{_REL}/officeDocument" '
            'Target="word/document.xml"/></Relationships>',
            "word/_rels/document.xml.rels": f'<Relationships xmlns="{package}/relationships">{relations}</Relationships>',
            "word/document.xml": f"<w:document {_NAMES}><w:body>{body}<w:sectPr>{sections}</w:sectPr></w:body></w:document>",
            **{f"word/{name}.xml": text for name, text in written.items()},
        }
    )


# Presentations


def _slides(markers: Markers) -> bytes:
    deck: Any = pptx.Presentation()
    layout = deck.slide_layouts[1]
    slide = deck.slides.add_slide(layout)
    for place, marker in markers.items():
        _PLACES_OF_SLIDES[place](deck, slide, marker)
    written = io.BytesIO()
    deck.save(written)
    return written.getvalue()


def _box(shapes: Any, text: str) -> Any:
    box = shapes.add_textbox(Inches(1), Inches(1), Inches(2), Inches(1))
    box.text_frame.text = text
    return box


def _cell_of(slide: Any, text: str) -> None:
    slide.shapes.add_table(2, 2, Inches(1), Inches(1), Inches(4), Inches(1)).table.cell(1, 1).text = text


def _chart_of(slide: Any, title: str, category: str, name: str) -> None:
    data = CategoryChartData()
    data.categories = [category]
    data.add_series(name, (1,))
    size = Inches(1), Inches(1), Inches(3), Inches(2)
    chart = slide.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, *size, data).chart
    chart.has_title = True
    chart.chart_title.text_frame.text = title


def _raw(inside: str) -> Any:
    return etree.fromstring(
        f'<p:sp {_NAMES}><p:nvSpPr><p:cNvPr id="9" name="x"/><p:cNvSpPr/><p:nvPr/></p:nvSpPr><p:spPr/>'
        f"<p:txBody><a:p>{inside}</a:p></p:txBody></p:sp>"
    )


def _related(slide: Any, kind: str, text: str) -> str:
    part = Part(PackURI(f"/ppt/{kind}/{kind}1.xml"), "application/xml", slide.part.package, text.encode())
    return str(slide.part.relate_to(part, f"{_REL}/{kind}"))


def _diagram_of(slide: Any, text: str) -> None:
    key = _related(slide, "diagramData", _DIAGRAM.format(text))
    slide.shapes._spTree.append(
        etree.fromstring(f'<p:graphicFrame {_NAMES}><a:graphic><dgm:relIds r:dm="{key}"/></a:graphic></p:graphicFrame>')
    )


def _hidden_slide(deck: Any, text: str) -> None:
    slide = deck.slides.add_slide(deck.slide_layouts[1])
    slide.shapes.title.text = text
    slide._element.set("show", "0")


_PLACES_OF_SLIDES: dict[str, Callable[[Any, Any, str], object]] = {
    "title": lambda deck, slide, text: setattr(slide.shapes.title, "text", text),
    "body": lambda deck, slide, text: setattr(slide.placeholders[1], "text", text),
    "text box": lambda deck, slide, text: _box(slide.shapes, text),
    "group in a group": lambda deck, slide, text: _box(
        slide.shapes.add_group_shape().shapes.add_group_shape().shapes, text
    ),
    "cell": lambda deck, slide, text: _cell_of(slide, text),
    "notes": lambda deck, slide, text: setattr(slide.notes_slide.notes_text_frame, "text", text),
    "description of a shape": lambda deck, slide, text: _box(slide.shapes, "x")._element.nvSpPr.cNvPr.set(
        "descr", text
    ),
    "title of a chart": lambda deck, slide, text: _chart_of(slide, text, "x", "y"),
    "category": lambda deck, slide, text: _chart_of(slide, "x", text, "y"),
    "series": lambda deck, slide, text: _chart_of(slide, "x", "y", text),
    "layout": lambda deck, slide, text: slide.slide_layout.shapes._spTree.append(_raw(f"<a:r><a:t>{text}</a:t></a:r>")),
    "master": lambda deck, slide, text: deck.slide_master.shapes._spTree.append(_raw(f"<a:r><a:t>{text}</a:t></a:r>")),
    "field": lambda deck, slide, text: slide.shapes._spTree.append(_raw(f"<a:fld><a:t>{text}</a:t></a:fld>")),
    "formula": lambda deck, slide, text: slide.shapes._spTree.append(
        _raw(f"<a14:m><m:oMath><m:r><m:t>{text}</m:t></m:r></m:oMath></a14:m>")
    ),
    "diagram": lambda deck, slide, text: _diagram_of(slide, text),
    "hidden slide": lambda deck, slide, text: _hidden_slide(deck, text),
    "comment": lambda deck, slide, text: _related(
        slide, "comments", f"<p:cmLst {_NAMES}><p:cm><p:text>{text}</p:text></p:cm></p:cmLst>"
    ),
}

# Spreadsheets


def _sheets(markers: Markers) -> bytes:
    written = io.BytesIO()
    with xlsxwriter.Workbook(written, {"in_memory": True}) as book:
        sheet = book.add_worksheet("S")
        sheet.write_column(0, 0, ["Name", "alpha", "beta"])
        sheet.write_column(0, 1, ["Value", 1, 2])
        for row, (place, marker) in enumerate(markers.items(), 4):
            _PLACES_OF_SHEETS[place](book, sheet, row, marker)
    return written.getvalue()


def _rich(book: Any, sheet: Any, row: int, text: str) -> None:
    sheet.write_rich_string(row, 0, text[:3], book.add_format({"bold": True}), text[3:])


def _chart(book: Any, sheet: Any, row: int, text: str) -> None:
    chart = book.add_chart({"type": "column"})
    chart.add_series({"values": ["S", 1, 1, 2, 1]})
    chart.set_title({"name": text})
    sheet.insert_chart(row, 3, chart)


def _hidden_row(book: Any, sheet: Any, row: int, text: str) -> None:
    sheet.write(row, 0, text)
    sheet.set_row(row, None, None, {"hidden": True})


def _hidden_sheet(book: Any, sheet: Any, row: int, text: str) -> None:
    other = book.add_worksheet("H")
    other.write(0, 0, text)
    other.hide()


_PLACES_OF_SHEETS: dict[str, Callable[[Any, Any, int, str], object]] = {
    "cell": lambda book, sheet, row, text: sheet.write(row, 0, text),
    "rich text": _rich,
    "formula": lambda book, sheet, row, text: sheet.write_formula(row, 0, '="a"', None, text),
    "merged cells": lambda book, sheet, row, text: sheet.merge_range(row, 0, row, 1, text),
    "second line": lambda book, sheet, row, text: sheet.write(row, 0, f"x\n{text}"),
    "far cell": lambda book, sheet, row, text: sheet.write(row + 300, 30, text),
    "link": lambda book, sheet, row, text: sheet.write_url(row, 0, "http://a.example/", string=text),
    "hidden row": _hidden_row,
    "hidden sheet": _hidden_sheet,
    "text box": lambda book, sheet, row, text: sheet.insert_textbox(row, 3, text),
    "title of a chart": _chart,
    "head of the page": lambda book, sheet, row, text: sheet.set_header(f'&C&"Arial,Bold"{text}'),
    "comment": lambda book, sheet, row, text: sheet.write_comment(row, 0, text),
    "message of an input cell": lambda book, sheet, row, text: sheet.data_validation(
        row, 0, row, 0, {"validate": "any", "input_title": "T", "input_message": text}
    ),
}

# OpenDocument

_ODF = " ".join(
    f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{uri}:1.0"'
    for name, uri in {
        **{each: each for each in ("office", "table", "text", "style", "presentation")},
        "draw": "drawing",
        "svg": "svg-compatible",
    }.items()
)
_TEXT = "<text:p>{}</text:p>"
_ROW = "<table:table-row><table:table-cell>{}</table:table-cell></table:table-row>"
_TEXT_BOX = f"<draw:frame><draw:text-box>{_TEXT}</draw:text-box></draw:frame>"


def _open(kind: str, body: str, head: str = "", styles: str = "") -> bytes:
    return zipped(
        {
            "mimetype": f"application/vnd.oasis.opendocument.{kind}",
            "META-INF/manifest.xml": "<manifest/>",
            "content.xml": f"<office:document-content {_ODF}><office:automatic-styles>{styles}</office:automatic-styles>"
            f"<office:body><office:{kind}>{body}</office:{kind}></office:body></office:document-content>",
            "styles.xml": f"<office:document-styles {_ODF}><style:header><text:p>{head}</text:p></style:header>"
            "</office:document-styles>",
        }
    )


_ODT = {
    "paragraph": _TEXT,
    "heading": '<text:h text:outline-level="2">{}</text:h>',
    "list": f"<text:list><text:list-item>{_TEXT}</text:list-item></text:list>",
    "span": "<text:p>a <text:span>{}</text:span></text:p>",
    "cell": f"<table:table>{_ROW.format('<text:p>k</text:p>')}{_ROW.format(_TEXT)}</table:table>",
    "inner table": f"<table:table>{_ROW.format(f'<table:table>{_ROW.format(_TEXT)}</table:table>')}</table:table>",
    "text box": f"<text:p>{_TEXT_BOX}</text:p>",
    "shape": f"<text:p><draw:custom-shape>{_TEXT}</draw:custom-shape></text:p>",
    "note": f"<text:p>a<text:note><text:note-citation>1</text:note-citation><text:note-body>{_TEXT}</text:note-body></text:note></text:p>",
    "section": f"<text:section>{_TEXT}</text:section>",
    "index": f"<text:table-of-content><text:index-body>{_TEXT}</text:index-body></text:table-of-content>",
    "field": "<text:p><text:user-field-get>{}</text:user-field-get></text:p>",
    "base of a ruby": "<text:p><text:ruby><text:ruby-base>{}</text:ruby-base></text:ruby></text:p>",
    "description of a picture": "<text:p><draw:frame><svg:desc>{}</svg:desc></draw:frame></text:p>",
    "comment": f"<text:p>a<office:annotation>{_TEXT}</office:annotation></text:p>",
    "deletion": f"<text:tracked-changes><text:changed-region>{_TEXT}</text:changed-region></text:tracked-changes>",
}
_ODP = {
    "description of a picture": "<draw:frame><svg:desc>{}</svg:desc></draw:frame>",
    "title": _TEXT_BOX,
    "shape": f"<draw:custom-shape>{_TEXT}</draw:custom-shape>",
    "cell": f"<draw:frame><table:table>{_ROW.format(_TEXT)}</table:table></draw:frame>",
    "notes": f"<presentation:notes>{_TEXT_BOX}</presentation:notes>",
}
_ODS = {
    "cell": _TEXT,
    "second paragraph": f"<text:p>x</text:p>{_TEXT}",
    "link": "<text:p><text:a>{}</text:a></text:p>",
    "comment": f"<office:annotation>{_TEXT}</office:annotation><text:p>x</text:p>",
}


def _ods(markers: Markers) -> bytes:
    rows = "".join(
        _ROW.format(_ODS[place].replace("{}", marker)).replace("cell>", 'cell office:value-type="string">', 1)
        for place, marker in markers.items()
        if place in _ODS
    )
    drawn = _TEXT_BOX.format(markers["text box"]) if "text box" in markers else ""
    hidden = _ROW.replace("cell>", 'cell office:value-type="string">', 1).format(
        _TEXT.format(markers.get("hidden sheet", ""))
    )
    return _open(
        "spreadsheet",
        f'<table:table table:name="S"><table:shapes>{drawn}</table:shapes>{rows}</table:table>'
        f'<table:table table:name="H" table:style-name="h">{hidden}</table:table>',
        markers.get("head of the page", ""),
        '<style:style style:name="h"><style:table-properties table:display="false"/></style:style>',
    )


# Text with marks

_RTF = {
    "paragraph": r"{}\par ",
    "cell": r"\trowd k\cell {}\cell\row ",
    "footnote": r"a{\footnote {}} b\par ",
    "header": r"{\header {}\par}",
    "footer": r"{\footerf {}\par}",
    "link": r'{\field{\*\fldinst HYPERLINK "a"}{\fldrslt {}}}\par ',
    "text box": r"{\shp{\*\shpinst{\shptxt {}\par}}{\shprslt {\*\do{\dptxbxtext copy\par}}}}\par ",
    "bold": r"{\b {}}\par ",
    "comment": r"a{\*\annotation {}}\par ",
    "hidden": r"a{\v {}}\par ",
    "deletion": r"a{\deleted {}}\par ",
}
_HTML = {
    **{tag: f"<{tag}>{{}}</{tag}>" for tag in ("p", "h2", "div", "pre", "blockquote", "address", "center", "span", "small")},
    **{f"p with {tag}": f"<p>a <{tag}>{{}}</{tag}></p>" for tag in ("b", "code", "ins", "time", "abbr", "kbd", "q", "sup", "u")},
    "item": "<ul><li>{}</li></ul>",
    "cell": "<table><tr><th>a<th>b<tr><td>1<td>{}</table>",
    "caption of a table": "<table><caption>{}</caption><tr><td>1<td>2</table>",
    "inner table": "<table><tr><td><table><tr><td>{}</table><td>z</table>",
    "caption of a figure": "<figure><img src=x><figcaption>{}</figcaption></figure>",
    "description of a picture": "<p>a <img src=x alt={}></p>",
    "summary": "<details><summary>{}</summary>a</details>",
    "details": "<details><summary>a</summary>{}</details>",
    "term": "<dl><dt>{}<dd>x</dl>",
    "definition": "<dl><dt>x<dd>{}</dl>",
    "ruby": "<p><ruby>{}<rt>x</rt></ruby></p>",
    "formula": "<p><math><mi>{}</mi></math></p>",
    "drawing": "<svg><text>{}</text></svg>",
    "unknown tag": "<my-card><p>{}</p></my-card>",
    "bare": "{}",
    "tail of a comment": "<div><!-- a -->{}</div>",
    **{tag: f"<{tag}>{{}}</{tag}>" for tag in ("aside", "footer", "button", "textarea")},
    "input": "<form><input value={}></form>",
    "comment": "<!-- {} -->",
    "script": "<script>a = '{}'</script>",
    "template": "<template>{}</template>",
    "hidden": "<p hidden>{}</p>",
}  # fmt: skip


def _html(markers: Markers) -> bytes:
    filler = "<p>The harbour of Orvik has twelve berths, a crane and a small museum, which is open for visitors in summer.</p>"
    inside = "\n".join(_HTML[place].replace("{}", marker) for place, marker in markers.items())
    return f"<meta charset=utf-8><title>A page</title><body>{filler}{inside}{filler}".encode()


def _book(markers: Markers) -> bytes:
    page = "<html><body>{}</body></html>"
    return book(*(page.format(_HTML[place].replace("{}", marker)) for place, marker in markers.items()))


def book(*chapters: str) -> bytes:
    """Return a book with these pages."""
    numbers = range(len(chapters))
    items = "".join(f'<item id="c{n}" href="{n}.xhtml"/>' for n in numbers)
    spine = "".join(f'<itemref idref="c{n}" linear="{"no" if n % 2 else "yes"}"/>' for n in numbers)
    return zipped(
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": '<container><rootfiles><rootfile full-path="a.opf"/></rootfiles></container>',
            "a.opf": f'<package xmlns="http://www.idpf.org/2007/opf"><manifest>{items}</manifest><spine>{spine}</spine></package>',
            **{f"{n}.xhtml": chapter for n, chapter in enumerate(chapters)},
        }
    )


def _mail(markers: Markers) -> bytes:
    mail, inner = EmailMessage(), EmailMessage()
    said = dict.fromkeys(_MAIL, "x") | dict(markers)
    mail["Subject"], mail["From"], mail["Cc"] = (
        f"Über {said['subject']}",
        f"{said['from']} <a@b.c>",
        f"{said['cc']} <a@b.d>",
    )
    mail.set_content(said["text"], charset="iso-8859-1")
    mail.add_alternative(f"<p>{said['text']}<p>{said['only in html']}", subtype="html")
    mail.add_attachment(said["attached text"], filename="a.txt")
    mail.add_attachment(f"<p>{said['attached page']}", subtype="html", filename="b.html")
    mail.add_attachment(said["second text"], disposition="inline")
    data = _word({"cell": said["attached document"]})
    mail.add_attachment(data, maintype="application", subtype="octet-stream", filename="c.docx")
    inner["Subject"], inner["From"] = said["subject of an inner message"], "q@r.s"
    inner.set_content(said["inner message"])
    mail.add_attachment(inner)
    return mail.as_bytes()


_MAIL = (
    "subject",
    "from",
    "cc",
    "text",
    "only in html",
    "attached text",
    "attached page",
    "second text",
    "attached document",
    "subject of an inner message",
    "inner message",
)
_MARKDOWN = {
    "heading": "# {}",
    "underlined heading": "{}\n=====",
    "paragraph": "{}",
    "item": "- a\n  - {}",
    "cell": "| a | b |\n|---|---|\n| 1 | {} |",
    "code": "```\n{}\n```",
    "footnote": "a[^1]\n\n[^1]: {}",
    "link": "[{}](http://a.example)",
    "quotation": "> {}",
    "html": "<div>{}</div>",
    "definition": "Term\n: {}",
    "formula": "$${}$$",
}


def _joined(forms: Mapping[str, str], between: str, form: str) -> Callable[[Markers], bytes]:
    def write(markers: Markers) -> bytes:
        body = between.join(forms[place].replace("{}", marker) for place, marker in markers.items() if place in forms)
        return form.replace("{}", body).encode()

    return write


# Data and pages


def _csv(markers: Markers) -> bytes:
    title, head, cell, second, last, note = (markers.get(place, "x") for place in _CSV)
    return f'{title}\n\nName;{head};Preis\nMüller;{cell};1,50\n"Zwei\n{second}";b;2,00\nc;"d;{last}";3,00\n\nQuelle: {note}\n'.encode(
        "cp1252"
    )


_CSV = ("title", "head", "cell", "second line of a cell", "quoted cell", "note")


def _parquet(markers: Markers) -> bytes:
    text, item, field, name, code = (markers.get(place, "x") for place in _PARQUET)
    columns = {
        "text": [text, "a"],
        "list": [[item], ["c"]],
        "struct": [{"k": field}, {"k": "z"}],
        name: [1, 2],
        "dictionary": pa.array([code, "e"]).dictionary_encode(),
    }
    written = io.BytesIO()
    pq.write_table(pa.table(columns), written)
    return written.getvalue()


_PARQUET = ("text", "item of a list", "field of a struct", "name of a column", "dictionary")


def _json(markers: Markers) -> bytes:
    key, value, deep = (markers.get(place, "x") for place in _JSON)
    return json.dumps({key: value, "a": {"b": [{"c": [deep]}]}}).encode()


_JSON = ("key", "value", "deep value")


def _pdf(markers: Markers) -> bytes:
    texts = [
        ("text", "BT /F1 9 Tf 50 700 Td ({}) Tj ET"),
        ("small text", "BT /F1 3 Tf 50 690 Td ({}) Tj ET"),
        ("rotated text", "BT /F1 9 Tf 0 1 -1 0 30 300 Tm ({}) Tj ET"),
        ("cell", "BT /F1 9 Tf 50 600 Td (k) Tj ET BT /F1 9 Tf 200 600 Td ({}) Tj ET"),
    ]
    notes = {
        "value of a form": "/Subtype /Widget /FT /Tx /T (name) /V ({})",
        "choice of a form": "/Subtype /Widget /FT /Ch /T (city) /V ({})",
        "checked box": "/Subtype /Widget /FT /Btn /T (agree) /V /{} /AS /{}",
        "text box": "/Subtype /FreeText /Contents ({})",
        "comment": "/Subtype /Text /Contents ({})",
        "attached file": "/Subtype /FileAttachment /Contents ({})",
    }
    page = " ".join(form.replace("{}", markers[place]) for place, form in texts if place in markers)
    drawn = f"BT /F1 9 Tf 50 500 Td ({markers.get('form of the page', '')}) Tj ET"
    fonts = "/Resources << /Font << /F1 1 0 R >> /XObject << /X1 3 0 R >> >>"
    said = [
        f"<< /Type /Annot /Rect [0 0 9 9] /F 4 {form.replace('{}', markers[each])} >>"
        for each, form in notes.items()
        if each in markers
    ]
    ids = " ".join(f"{number} 0 R" for number in range(7, 7 + len(said)))
    objects = [
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        f"<< /Length {len(page) + 7} >>\nstream\n{page} /X1 Do\nendstream",
        f"<< /Length {len(drawn)} /Type /XObject /Subtype /Form /BBox [0 0 600 800] {fonts} >>\nstream\n{drawn}\nendstream",
        f"<< /Type /Page /Parent 5 0 R /MediaBox [0 0 612 792] /Contents 2 0 R /Annots [{ids}] {fonts} >>",
        "<< /Type /Pages /Kids [4 0 R] /Count 1 >>",
        "<< /Type /Catalog /Pages 5 0 R >>",
        *said,
    ]
    written, places = "%PDF-1.7\n", []
    for number, each in enumerate(objects, 1):
        places.append(len(written))
        written += f"{number} 0 obj\n{each}\nendobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    size = len(objects) + 1
    end = f"xref\n0 {size}\n0000000000 65535 f \n{table}trailer << /Size {size} /Root 6 0 R >>\nstartxref\n{len(written)}\n%%EOF\n"
    return (written + end).encode("latin-1")


def _notebook(markers: Markers) -> bytes:
    said = dict.fromkeys(_NOTEBOOK, "x") | dict(markers)
    results = [
        {"output_type": "stream", "name": "stdout", "text": ["a\n", said["printed"]]},
        {"output_type": "execute_result", "data": {"text/plain": said["result"], "text/html": f"<b>{said['result']}"}},
        {"output_type": "error", "ename": "ValueError", "evalue": said["error"], "traceback": []},
        {"output_type": "display_data", "data": {"image/png": "AA==", "text/plain": f"<Figure {said['figure']}>"}},
    ]
    cells = [
        {"cell_type": "markdown", "source": ["# Study\n", said["text"]]},
        {"cell_type": "code", "source": [f"print({said['code']!r})"], "outputs": results},
        {"cell_type": "raw", "source": said["raw text"]},
    ]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()


_NOTEBOOK = ("text", "code", "printed", "result", "error", "raw text", "figure")


def _but(places: Mapping[str, object], *others: str) -> tuple[str, ...]:
    return tuple(place for place in places if place not in others)


_MARGINS = dict.fromkeys(("aside", "footer", "button", "textarea", "input"), "menus, forms and margins of the page")
_UNSEEN = ("comment", "script", "template", "hidden")
_SHEET_NOTES = {
    "comment": "1 comment",
    "message of an input cell": "1 message of an input cell",
}

FORMATS: dict[str, Format] = {
    ".docx": Format(
        _word,
        _but(_WORD, "comment", "embedded document", "deletion", "move away"),
        {"comment": "1 comment", "embedded document": "1 embedded document"},
        ("deletion", "move away"),
    ),
    ".pptx": Format(_slides, _but(_PLACES_OF_SLIDES, "comment"), {"comment": "1 comment"}),
    ".xlsx": Format(_sheets, _but(_PLACES_OF_SHEETS, *_SHEET_NOTES), _SHEET_NOTES),
    ".odt": Format(
        lambda markers: _open("text", _joined(_ODT, "", "{}")(markers).decode(), markers.get("head of the page", "")),
        (*_but(_ODT, "comment", "deletion"), "head of the page"),
        {"comment": "1 comment"},
        ("deletion",),
    ),
    ".odp": Format(
        lambda markers: _open("presentation", f"<draw:page>{_joined(_ODP, '', '{}')(markers).decode()}</draw:page>"),
        tuple(_ODP),
    ),
    ".ods": Format(
        _ods, (*_but(_ODS, "comment"), "text box", "hidden sheet", "head of the page"), {"comment": "1 comment"}
    ),
    ".rtf": Format(
        _joined(_RTF, "", r"{\rtf1\ansi a\par {}}"),
        _but(_RTF, "comment", "hidden", "deletion"),
        {"comment": "1 comment"},
        ("hidden", "deletion"),
    ),
    ".html": Format(_html, _but(_HTML, *_MARGINS, *_UNSEEN), _MARGINS, _UNSEEN),
    ".epub": Format(_book, _but(_HTML, *_UNSEEN), unseen=_UNSEEN),
    ".eml": Format(_mail, _MAIL),
    ".md": Format(_joined(_MARKDOWN, "\n\n", "---\nauthor: A\n---\n{}\n"), tuple(_MARKDOWN)),
    ".csv": Format(_csv, _CSV),
    ".parquet": Format(_parquet, _PARQUET),
    ".json": Format(_json, _JSON),
    ".ipynb": Format(_notebook, _but(_NOTEBOOK, "figure"), {"figure": "1 picture"}),
    ".pdf": Format(
        _pdf,
        (
            "text",
            "small text",
            "rotated text",
            "cell",
            "form of the page",
            "value of a form",
            "choice of a form",
            "checked box",
            "text box",
        ),
        {"comment": "1 comment", "attached file": "1 attached file"},
    ),
}
