"""Word files: all text that their pages show is read once and in order, and what is left out is said."""

from __future__ import annotations

import io
from pathlib import Path

import docx
import pytest
from docx.opc.constants import RELATIONSHIP_TYPE
from docx.opc.packuri import PackURI
from docx.opc.part import Part
from docx.oxml import parse_xml

from research.search.library.documents import Library
from research.web import linked
from research.web.isolated import read_isolated
from research.web.readers import FileText, read_bytes

SPACES = (
    " ".join(
        f'xmlns:{name}="http://schemas.{uri}"'
        for name, uri in {
            "w": "openxmlformats.org/wordprocessingml/2006/main",
            "m": "openxmlformats.org/officeDocument/2006/math",
            "mc": "openxmlformats.org/markup-compatibility/2006",
            "a": "openxmlformats.org/drawingml/2006/main",
            "pic": "openxmlformats.org/drawingml/2006/picture",
            "wp": "openxmlformats.org/drawingml/2006/wordprocessingDrawing",
            "wps": "microsoft.com/office/word/2010/wordprocessingShape",
        }.items()
    )
    + ' xmlns:v="urn:schemas-microsoft-com:vml"'
)


def word(body: str, **parts: str) -> bytes:
    """Return a document with this body; `parts` such as `footnotes` are further parts of it."""
    document = docx.Document()
    for each in parse_xml(f"<w:body {SPACES}>{body}</w:body>"):
        document.element.body.insert_element_before(each, "w:sectPr")
    for kind, inside in parts.items():
        data = f"<w:{kind} {SPACES}>{inside}</w:{kind}>".encode()
        kind_of = RELATIONSHIP_TYPE.STYLES.replace("styles", kind)
        part = Part(PackURI(f"/word/{kind}.xml"), f"application/{kind}+xml", data, document.part.package)
        document.part.relate_to(part, kind_of)
    written = io.BytesIO()
    document.save(written)
    return written.getvalue()


def read(body: str, **parts: str) -> FileText:
    return read_bytes(word(body, **parts), ".docx", "n")


def run(text: str, properties: str = "") -> str:
    return f'<w:r><w:rPr>{properties}</w:rPr><w:t xml:space="preserve">{text}</w:t></w:r>'


def p(*inside: str) -> str:
    return f"<w:p>{''.join(inside)}</w:p>"


def cell(text: str, properties: str = "") -> str:
    return f"<w:tc><w:tcPr>{properties}</w:tcPr>{p(run(text))}</w:tc>"


BOX = (
    "<w:r><mc:AlternateContent><mc:Choice Requires='wps'><w:drawing><wp:anchor><a:graphic><a:graphicData><wps:wsp>"
    f"<wps:txbx><w:txbxContent>{p(run('boxed'))}</w:txbxContent></wps:txbx></wps:wsp></a:graphicData></a:graphic>"
    f"</wp:anchor></w:drawing></mc:Choice><mc:Fallback><w:pict><v:textbox><w:txbxContent>{p(run('boxed'))}"
    "</w:txbxContent></v:textbox></w:pict></mc:Fallback></mc:AlternateContent></w:r>"
)
FIELD = (
    "<w:r><w:fldChar w:fldCharType='begin'/></w:r><w:r><w:instrText>REF a</w:instrText></w:r>"
    f"<w:r><w:fldChar w:fldCharType='separate'/></w:r>{run('314')}<w:r><w:fldChar w:fldCharType='end'/></w:r>"
)
MATH = (
    "<m:oMath><m:f><m:num><m:r><m:t>1</m:t></m:r></m:num><m:den><m:r><m:t>2</m:t></m:r></m:den></m:f>"
    "<m:sSup><m:e><m:r><m:t>x</m:t></m:r></m:e><m:sup><m:r><m:t>2</m:t></m:r></m:sup></m:sSup></m:oMath>"
)
FIRST, WIDE = '<w:vMerge w:val="restart"/>', '<w:gridSpan w:val="2"/>'
SHOWN = {
    "text box": (p(run("before"), BOX), "before\n\nboxed"),
    "text box in a cell": (f"<w:tbl><w:tr><w:tc>{p(run('a'), BOX)}</w:tc></w:tr></w:tbl>", "| a boxed |\n| --- |"),
    "content control": (f"<w:sdt><w:sdtContent>{p(run('kept'))}</w:sdtContent></w:sdt>", "kept"),
    "control in a line": (p(run("a "), f"<w:sdt><w:sdtContent>{run('b')}</w:sdtContent></w:sdt>"), "a b"),
    "control around a row": (
        f"<w:tbl><w:sdt><w:sdtContent><w:tr>{cell('a')}</w:tr></w:sdtContent></w:sdt></w:tbl>",
        "| a |\n| --- |",
    ),
    "insertion and deletion": (
        p(run("fee "), "<w:del><w:r><w:delText>400</w:delText></w:r></w:del>", f"<w:ins>{run('314')}</w:ins>"),
        "fee 314",
    ),
    "moved text": (p(f"<w:moveFrom>{run('gone')}</w:moveFrom><w:moveTo>{run('here')}</w:moveTo>"), "here"),
    "deleted row": (
        f"<w:tbl><w:tr>{cell('a')}</w:tr><w:tr><w:trPr><w:del/></w:trPr>{cell('b')}</w:tr></w:tbl>",
        "| a |\n| --- |",
    ),
    "simple field": (p(run("No "), f"<w:fldSimple>{run('315')}</w:fldSimple>"), "No 315"),
    "field": (p(run("see "), FIELD), "see 314"),
    "smart tag": (p(f"<w:smartTag>{run('Lind')}</w:smartTag>"), "Lind"),
    "custom xml": (f"<w:customXml>{p(run('kept'))}</w:customXml>", "kept"),
    "unknown wrapper": (p(f"<w:bdo w:val='rtl'>{run('kept')}</w:bdo>"), "kept"),
    "link": (p(f"<w:hyperlink>{run('words')}</w:hyperlink>"), "words"),
    "superscript": (p(run("10"), run("3", "<w:vertAlign w:val='superscript'/>"), run(" m")), "10³ m"),
    "formula": (p(run("is "), MATH), "is 1/2x^2"),
    "no-break hyphen": (p("<w:r><w:t>2020</w:t><w:noBreakHyphen/><w:t>21</w:t></w:r>"), "2020-21"),
    "reading aid": (
        p(f"<w:r><w:ruby><w:rt>{run('とう')}</w:rt><w:rubyBase>{run('東')}</w:rubyBase></w:ruby></w:r>"),
        "東",
    ),
    "drop-down of a form": (
        p(
            run("Town: "),
            "<w:r><w:fldChar w:fldCharType='begin'><w:ffData><w:ddList><w:result w:val='1'/>"
            "<w:listEntry w:val='Rost'/><w:listEntry w:val='Lind'/></w:ddList></w:ffData></w:fldChar></w:r>",
        ),
        "Town: Lind",
    ),
    "table in a table": (
        f"<w:tbl><w:tr>{cell('a')}<w:tc><w:tbl><w:tr>{cell('b')}{cell('7')}</w:tr></w:tbl><w:p/></w:tc></w:tr></w:tbl>",
        "| a | b, 7 |\n| --- | --- |",
    ),
    "merged cells": (
        f"<w:tbl><w:tr>{cell('North', FIRST)}{cell('x')}{cell('1')}</w:tr>"
        f"<w:tr>{cell('', '<w:vMerge/>')}{cell('both', WIDE)}</w:tr></w:tbl>",
        "| North | x | 1 |\n| --- | --- | --- |\n| North | both | both |",
    ),
}


@pytest.mark.parametrize("name", SHOWN)
def test_text_that_is_shown_is_read_once(name: str) -> None:
    body, text = SHOWN[name]
    found = read(body)
    assert (found.text, found.notes) == (text, ())


def test_notes_follow_the_paragraph_that_refers_to_them() -> None:
    marks = [f"<w:r><w:{kind}Reference w:id='2'/></w:r>" for kind in ("footnote", "endnote")]
    note = "<w:{0} w:id='-1' w:type='separator'>{1}</w:{0}><w:{0} w:id='2'>{2}</w:{0}>"
    found = read(
        p(run("Income was high."), *marks) + p(run("Then it fell.")),
        footnotes=note.format("footnote", p(run("line")), p(run("Without fees."))),
        endnotes=note.format("endnote", p(run("line")), p(run("In crowns."))),
    )
    assert found.text == "Income was high.\n\nNote: Without fees.\n\nNote: In crowns.\n\nThen it fell."


def test_what_a_report_cites_is_kept_where_it_is_checked() -> None:
    field = FIELD.replace("REF a", 'HYPERLINK "https://a.example/x"')
    note = f"<w:footnote w:id='2'>{p(run('Without fees.'))}</w:footnote>"
    raised = run("7", "<w:vertAlign w:val='superscript'/>")
    mark = "<w:r><w:footnoteReference w:id='2'/></w:r>"
    data = word(p(run("See "), field, run(" and "), FIELD, raised, mark), footnotes=note)
    found = linked.read_bytes(data, ".docx", "n").text
    assert found == "See [314](https://a.example/x) and 314<sup>7</sup>[^2]\n\n[^2]: Without fees."


def test_the_numbers_of_lists_are_text() -> None:
    def item(text: str, level: int, number: int = 1) -> str:
        listed = f"<w:pPr><w:numPr><w:ilvl w:val='{level}'/><w:numId w:val='{number}'/></w:numPr></w:pPr>"
        return p(listed, run(text))

    def level(n: int, form: str, shown: str) -> str:
        inside = f"<w:start w:val='1'/><w:numFmt w:val='{form}'/><w:lvlText w:val='{shown}'/>"
        return f"<w:lvl w:ilvl='{n}'>{inside}</w:lvl>"

    levels = level(0, "decimal", "%1.") + level(1, "lowerLetter", "%1.%2)") + level(2, "bullet", "o")
    document = docx.Document()
    numbering = document.part.numbering_part.element
    for each in list(numbering):
        numbering.remove(each)
    kind, used = (f"<w:abstractNum {SPACES} w:abstractNumId='7'>{levels}</w:abstractNum>",
                  f"<w:num {SPACES} w:numId='1'><w:abstractNumId w:val='7'/></w:num>")  # fmt: skip
    numbering.append(parse_xml(kind))
    numbering.append(parse_xml(used))
    body = item("One", 0) + item("first", 1) + item("second", 1) + item("dot", 2) + item("Two", 0) + item("again", 1)
    for each in parse_xml(f"<w:body {SPACES}>{body}</w:body>"):
        document.element.body.insert_element_before(each, "w:sectPr")
    written = io.BytesIO()
    document.save(written)
    found = read_isolated(written.getvalue(), ".docx", "n").text.split("\n\n")
    assert found == ["1. One", "1.a) first", "1.b) second", "dot", "2. Two", "2.a) again"]


def test_headers_and_footers_are_read_once() -> None:
    document = docx.Document()
    document.add_paragraph("Body.")
    for section in (document.sections[0], document.add_section()):
        section.header.is_linked_to_previous = section.footer.is_linked_to_previous = False
        section.header.paragraphs[0].text, section.footer.paragraphs[0].text = "Draft 3", "Secret"
    written = io.BytesIO()
    document.save(written)
    assert read_isolated(written.getvalue(), ".docx", "n").text == "Draft 3\n\nBody.\n\nSecret"


def test_what_is_left_out_is_said(tmp_path: Path) -> None:
    picture = "<w:r><w:drawing><a:graphic><a:graphicData><pic:pic/></a:graphicData></a:graphic></w:drawing></w:r>"
    body = p(run("Text."), picture, picture, run("hidden", "<w:vanish/>"))
    data = word(body, comments=f"<w:comment>{p(run('Is that so?'))}</w:comment>")
    found = read_isolated(data, ".docx", "n")
    assert found.text == "Text."
    note = "not read, because only the text that is shown is: 1 comment, 1 hidden passage, 2 pictures"
    assert found.notes == (note,)
    folder = tmp_path / "papers"
    folder.mkdir()
    (folder / "a.docx").write_bytes(data)
    added = Library(tmp_path / "home").add_folder(folder)
    assert [(path.name, why) for path, why in added.partial] == [("a.docx", note)]
