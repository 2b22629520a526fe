"""A folder as analysts have it: 40 files of 19 kinds, ten of which cannot be read."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from email.message import EmailMessage
from pathlib import Path

import docx
import fpdf
import pptx
import pyarrow as pa
import xlsxwriter
from msgspec import Struct
from pptx.util import Inches
from pyarrow import parquet as pq

SHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
PROJECTS = ("Heron", "Basalt", "Juniper", "Marlin", "Quartz")
FACTS = (
    ("budget", "3.4 million euros"),
    ("launch date", "12 May 2026"),
    ("lead engineer", "Ingrid Solberg"),
    ("test site", "Aberdeen"),
    ("main supplier", "Oxmoor Castings"),
    ("warranty period", "30 months"),
)


class Fact(Struct, frozen=True):
    """A fact that only one file states."""

    file: str
    question: str
    value: str


def _value(project: str, value: str) -> str:
    return f"{value} ({project[0]}{len(project)})"


def _pdf(title: str, lines: list[str]) -> bytes:
    pdf = fpdf.FPDF()
    pdf.set_font("Helvetica")
    for line in lines:
        pdf.add_page()
        pdf.multi_cell(0, text=line)
    return bytes(pdf.output())


def _docx(title: str, lines: list[str]) -> bytes:
    document = docx.Document()
    document.add_heading(title, 1)
    for line in lines:
        document.add_paragraph(line)
    return _written(document.save)


def _pptx(title: str, lines: list[str]) -> bytes:
    deck = pptx.Presentation()
    for line in lines:
        slide = deck.slides.add_slide(deck.slide_layouts[5])
        slide.shapes.title.text = title
        slide.shapes.add_textbox(Inches(1), Inches(2), Inches(8), Inches(2)).text_frame.text = line
    return _written(deck.save)


def _xlsx(title: str, lines: list[str]) -> bytes:
    written = io.BytesIO()
    with xlsxwriter.Workbook(written, {"in_memory": True}) as book:
        book.add_worksheet("Cover").write(0, 0, title)
        sheet = book.add_worksheet("Facts")
        for row, line in enumerate([("no", "statement"), *enumerate(lines, 1)], 2):
            sheet.write_row(row, 1, line)
    return written.getvalue()


def workbook(sheets: dict[str, list[list[object]]]) -> bytes:
    """Return an xlsx file with these cells, from A1 on."""
    written = io.BytesIO()
    with xlsxwriter.Workbook(written, {"in_memory": True}) as book:
        for name, rows in sheets.items():
            sheet = book.add_worksheet(name)
            for at, row in enumerate(rows):
                sheet.write_row(at, 0, row)
    return written.getvalue()


def _ods(title: str, lines: list[str]) -> bytes:
    cells = "".join(
        f'<table:table-row><table:table-cell office:value-type="string"><text:p>{number}</text:p></table:table-cell>'
        f'<table:table-cell office:value-type="string"><text:p>{line}</text:p></table:table-cell></table:table-row>'
        for number, line in enumerate(lines)
    )
    return _open("spreadsheet", f'<table:table table:name="F">{cells}</table:table>')


def _odt(title: str, lines: list[str]) -> bytes:
    return _open("text", "".join(f"<text:p>{line}</text:p>" for line in [title, *lines]))


def _odp(title: str, lines: list[str]) -> bytes:
    return _open(
        "presentation",
        "".join(f"<draw:page><text:p>{title}</text:p><text:p>{each}</text:p></draw:page>" for each in lines),
    )


def _open(kind: str, body: str) -> bytes:
    spaces = {"office": "office", "table": "table", "text": "text", "draw": "drawing"}
    names = " ".join(f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{uri}:1.0"' for name, uri in spaces.items())
    return zipped(
        {
            "mimetype": f"application/vnd.oasis.opendocument.{kind}",
            "META-INF/manifest.xml": '<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0">'
            f'<manifest:file-entry manifest:full-path="/" manifest:media-type="application/vnd.oasis.opendocument.{kind}"/>'
            "</manifest:manifest>",
            "content.xml": f"<office:document-content {names}><office:body><office:{kind}>{body}</office:{kind}>"
            "</office:body></office:document-content>",
        }
    )


def _parquet(title: str, lines: list[str]) -> bytes:
    return _written(lambda sink: pq.write_table(pa.table({"no": list(range(len(lines))), "statement": lines}), sink))


def _epub(title: str, lines: list[str]) -> bytes:
    parts = {
        f"OEBPS/{n}.xhtml": f"<html><body><h2>Chapter {n}</h2><p>{line}</p></body></html>"
        for n, line in enumerate(lines)
    }
    items = "".join(f'<item id="c{n}" href="{n}.xhtml"/>' for n in range(len(lines)))
    spine = "".join(f'<itemref idref="c{n}"/>' for n in range(len(lines)))
    return zipped(
        {
            "META-INF/container.xml": '<container><rootfiles><rootfile full-path="OEBPS/book.opf"/></rootfiles></container>',
            "OEBPS/book.opf": '<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/">'
            f"<metadata><dc:title>{title}</dc:title></metadata><manifest>{items}</manifest><spine>{spine}</spine></package>",
            **parts,
        }
    )


def _eml(title: str, lines: list[str]) -> bytes:
    mail = EmailMessage()
    mail["From"], mail["Subject"], mail["Date"] = "Ana Ruiz <ana@example.org>", title, "Mon, 06 May 2024 10:00:00 +0000"
    mail.set_content(lines[0])
    mail.add_attachment(_docx(title, lines[1:]), maintype="application", subtype="octet-stream", filename="note.docx")
    return mail.as_bytes()


def _delimited(cut: str) -> Callable[[str, list[str]], bytes]:
    return lambda title, lines: "\n".join(
        [f"no{cut}statement", *(f"{n}{cut}{line}" for n, line in enumerate(lines))]
    ).encode()


def _notebook(title: str, lines: list[str]) -> bytes:
    cells = [{"cell_type": "markdown", "source": text} for text in (f"# {title}", *lines)]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()


def _text(form: str) -> Callable[[str, list[str]], bytes]:
    return lambda title, lines: form.format(title=title, body="\n\n".join(lines)).encode()


WRITERS: dict[str, Callable[[str, list[str]], bytes]] = {
    ".md": _text("# {title}\n\n{body}\n"),
    ".txt": _text("{title}\n\n{body}"),
    ".html": _text("<title>{title}</title><body><p>{body}</p>"),
    ".pdf": _pdf,
    ".docx": _docx,
    ".csv": _delimited(","),
    ".tsv": _delimited("\t"),
    ".xlsx": _xlsx,
    ".ods": _ods,
    ".odt": _odt,
    ".odp": _odp,
    ".parquet": _parquet,
    ".pptx": _pptx,
    ".epub": _epub,
    ".eml": _eml,
    ".rtf": lambda title, lines: ("{\\rtf1\\ansi " + "\\par ".join([title, *lines]) + "}").encode(),
    ".json": lambda title, lines: json.dumps({"title": title, "statements": lines}).encode(),
    ".ipynb": _notebook,
}
"""Write a title and some lines as a file of each kind."""


def write(folder: Path) -> tuple[list[Fact], dict[str, str]]:
    """Write the files; return what the readable ones state, and a part of the reason for each of the others."""
    kinds, facts = list(WRITERS), []
    pairs = [(project, *fact) for project in PROJECTS for fact in FACTS]
    for number, (project, what, value) in enumerate(pairs):
        suffix = kinds[number % len(kinds)]
        name = f"{number:02} notes{suffix}"
        lines = [
            f"Minutes of the steering group: {PROJECTS[(number + 2) % 5]} was discussed and no decision was taken.",
            f"The {what} of project {project} is {_value(project, value)}.",
            f"Budget, supplier and launch of all projects are reviewed every month; see file {number + 40}.",
        ]
        (folder / name).write_bytes(WRITERS[suffix]("Steering group", lines))
        facts.append(Fact(name, f"What is the {what} of project {project}?", _value(project, value)))
    refused = _refused()
    for name, (data, _) in refused.items():
        (folder / name).write_bytes(data)
    return facts, {name: reason for name, (_, reason) in refused.items()}


def _refused() -> dict[str, tuple[bytes, str]]:
    sheet, deck = _xlsx("a", ["b"]), _pptx("a", ["b"])
    laughs = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10 if n else "ha"}">' for n in range(9))
    return {
        "locked.xlsx": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "is encrypted"),
        "bomb.xlsx": (replaced(sheet, "xl/worksheets/sheet1.xml", bytes(210 * 10**6)), "unpacks to 210 MB"),
        "wide.xlsx": (replaced(sheet, "xl/worksheets/sheet1.xml", _far_cell()), "crashes its reader"),
        "laughs.pptx": (
            replaced(deck, "ppt/slides/slide1.xml", f"<!DOCTYPE a [{laughs}]><a>&l8;</a>".encode()),
            "contains no text",
        ),
        "half.pptx": (deck[: len(deck) // 2], "is a damaged pptx"),
        "book.epub": (zipped({"META-INF/container.xml": "<container/>"}), "is a damaged epub"),
        "broken.parquet": (b"PAR1" + bytes(99), "is a damaged parquet"),
        "half.pdf": (_pdf("a", ["b"])[:300], "is a damaged pdf"),
        "broken.json": (b'{"a": [1, 2', "is not valid JSON"),
        "plan.key": (b"x" * 99, "is of the format .key, which is not read; save it as one of "),
    }


def _far_cell() -> bytes:
    """Return a sheet whose last cell is at the far corner: as an array it would have 17 thousand million cells."""
    name = f'xmlns="{SHEET}"'
    row = '<row r="{0}"><c r="{1}{0}"><v>1</v></c></row>'
    return f"<worksheet {name}><sheetData>{row.format(1, 'A')}{row.format(1_048_576, 'XFD')}</sheetData></worksheet>".encode()


def replaced(package: bytes, name: str, content: bytes) -> bytes:
    """Return a zip file with another content of one part."""
    with zipfile.ZipFile(io.BytesIO(package)) as whole:
        return zipped({each: whole.read(each) if each != name else content for each in whole.namelist()})


def zipped(parts: dict[str, str | bytes]) -> bytes:
    """Return a zip file with these parts."""
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content, zipfile.ZIP_STORED if name == "mimetype" else None)
    return written.getvalue()


def _written(save: Callable[[io.BytesIO], object]) -> bytes:
    written = io.BytesIO()
    save(written)
    return written.getvalue()
