"""No reader drops visible text without a word: markers in every place that can hold text are read, or a note names them."""

from __future__ import annotations

import io
import json
import random
import re
import zipfile
from pathlib import Path

import fpdf
import pyarrow as pa
import pytest
import xlsxwriter
from pyarrow import parquet as pq

from research._util.retold import retold
from research.search.library.documents import Library
from research.text import has_cjk
from research.web.readers import FileText, read_bytes
from tests import desk
from tests.marked import FORMATS, Format, book
from tests.visits import visits

SYLLABLES = "ba de fi go lu ma ne pi ro su ta ve zo kri dra sto".split()


def written(form: Format, seed: int) -> tuple[dict[str, str], bytes]:
    """Return the markers of a document with all places in a random order, and the document."""
    chance = random.Random(seed)
    places = [*form.shown, *form.said, *form.unseen]
    chance.shuffle(places)
    markers = {place: f"Q{number}".join(chance.choices(SYLLABLES, k=3)) for number, place in enumerate(places)}
    return markers, form.write(markers)


def said(read: FileText) -> str:
    """Return all that a document says to its reader."""
    return "\n".join([read.title, read.text, *(place.name for place in read.places)]).casefold()


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("suffix", FORMATS)
def test_text_in_every_place_is_read_or_a_note_says_that_it_is_not(suffix: str, seed: int) -> None:
    form = FORMATS[suffix]
    markers, data = written(form, seed)
    read = read_bytes(data, suffix, f"n{suffix}")
    text, notes = said(read), "\n".join(read.notes)
    assert [place for place in form.shown if markers[place].casefold() not in text] == []
    assert [place for place, note in form.said.items() if note not in notes] == []
    assert [place for place in form.unseen if markers[place].casefold() in text] == []
    assert [note for note in read.notes if not has_cjk(retold(note, "zh"))] == []


def test_what_is_left_out_of_a_file_is_kept_and_told(tmp_path: Path) -> None:
    (tmp_path / "a.docx").write_bytes(
        FORMATS[".docx"].write({"paragraph": "The dam is 93 m high.", "comment": "Check this."})
    )
    library = Library(tmp_path / "home")
    library.add_folder(tmp_path)
    note = "not read, because only the text that is shown is: 1 comment"
    assert library.partial(str(tmp_path)) == [("a.docx", note)]
    assert [each.notes for each in library.search("dam")] == [(note,)]
    (hit,) = library.search("dam")
    assert visits(library)(hit.url, "height of the dam").text == f"(of this page: {note})"


@pytest.mark.parametrize("title", ["untitled", "Untitled", "无标题", "Document1"])
def test_what_programs_call_a_new_file_is_no_title(title: str) -> None:
    made = fpdf.FPDF()
    made.add_page()
    made.set_font("Helvetica")
    made.text(20, 20, "The dam is 93 m high.")
    made.set_title(title)
    read = read_bytes(bytes(made.output()), ".pdf", "dams.pdf")
    assert (read.title, read.csl) == ("dams.pdf", {})


def test_formulas_whose_result_is_not_saved_are_said() -> None:
    cells = '<c r="A1"><v>1</v></c><c r="B1"><f>A1</f></c><c r="C1"><f>A1</f><v></v></c><c r="D1" t="str"><f>""</f><v></v></c>'
    sheet = f'<worksheet xmlns="{desk.SHEET}"><sheetData><row r="1">{cells}</row></sheetData></worksheet>'
    read = read_bytes(
        desk.replaced(desk.workbook({"S": [[1]]}), "xl/worksheets/sheet1.xml", sheet.encode()), ".xlsx", "n"
    )
    assert read.notes == (
        "2 formulas without a saved result; open the file in a spreadsheet program and save it again",
    )


@pytest.mark.parametrize(
    ("suffix", "named"),
    [
        (".docx", ".doc"),
        (".docx", ".pdf"),
        (".rtf", ".doc"),
        (".xlsx", ".csv"),
        (".odt", ".docx"),
        (".pdf", ".txt"),
        (".html", ".xls"),
    ],
)
def test_a_file_with_the_wrong_suffix_is_read_as_what_it_is(suffix: str, named: str) -> None:
    _, data = written(FORMATS[suffix], 0)
    assert read_bytes(data, named, "n").text == read_bytes(data, suffix, "n").text


def test_text_that_is_named_as_an_old_word_file_is_read() -> None:
    assert read_bytes("Größe: 48 m\r\n".encode("cp1252"), ".doc", "n").text == "Größe: 48 m"


def test_text_that_is_named_as_a_spreadsheet_is_a_table() -> None:
    (table,) = read_bytes(b"year\tkm\n2023\t12\n2024\t15\n", ".xls", "n").tables
    assert table.rows == ((2023, 12), (2024, 15))


def test_what_an_article_lost_is_put_back_in_its_place_and_menus_are_not() -> None:
    page = """<title>Orvik</title><body><nav><a href=/a>Home</a> Choose a page</nav><article><h1>Orvik</h1>
    <p>The harbour of Orvik was opened in 1931 and has twelve berths for ships of the coast.</p>
    <h2>Museum<span><a href=/e>[edit]</a></span></h2><figure><img src=x><figcaption>The crane in 1950</figcaption></figure>
    <dl><dt>Opening hours<dd>10 to 17</dl><p>The <a href=/m>museum of the harbour</a> shows how its crane was moved along the quay
    in <time>May 1950</time>, and who paid 3 &times; 10<sup>6</sup> crowns for it.<sup><a href=#n1>[1]</a></sup></p>
    <p>See also: <a href=/x>Harbours of the west coast of the country</a></p></article><footer>All rights reserved</footer>"""
    read = read_bytes(page.encode(), ".html", "n")
    wanted = ["Orvik was opened", "Museum", "The crane in 1950", "Opening hours", "10 to 17", "May 1950", "3 × 10"]
    assert sorted(wanted, key=read.text.index) == wanted
    assert [each for each in wanted if read.text.count(each) != 1] == []
    assert "106" not in read.text and "Choose" not in read.text and "rights" not in read.text
    assert read.notes == ("left out, as menus, forms and margins of the page: 32 characters",)


PICTURES = {
    "<img src=chart.png>": 1,
    '<p>See <img src="data:image/png;base64,AA" width=640 height=480></p>': 1,
    "<figure><img src=a.png></figure><figure><img src=b.png><figcaption>The crane</figcaption></figure>": 1,
    "<a href=/full/chart.PNG?size=full><img src=chart.png></a><a href=#zoom><img src=b.png></a>": 2,
    "<table><tr><td><img src=a.png><td>1931</table>": 1,
    "<canvas width=600 height=400></canvas><svg width=600 height=400><path d='M0 0'/></svg>": 2,
    "<img src=a.png alt='IMG_4711.jpeg'>": 1,
    "<img src=a.png alt=''><img src=b.png alt='The crane in 1950'><img src=c.png aria-hidden=true>": 0,
    "<img src=t.gif width=1 height=1><img src=i.png style='width: 24px'><svg viewBox='0 0 24 24'><path d='M0 0'/></svg>": 0,
    "<img src=a.png hidden><noscript><img src=a.png></noscript><span style='display:none'><img src=a.png></span>": 0,
    "<p>More: <a href=/other><img src=other.png>Another page of this site</a></p>": 0,
    "<nav><img src=logo.png></nav><aside><img src=advert.png></aside><footer><img src=seal.png></footer>": 0,
}
"""Parts of a page, and how many pictures in them say something that nothing on the page does."""


@pytest.mark.parametrize("suffix", [".html", ".epub"])
@pytest.mark.parametrize("part", PICTURES)
def test_pictures_without_words_are_said_to_be_unread_and_decoration_is_not(part: str, suffix: str) -> None:
    around = "<p>The harbour of Orvik has twelve berths, a crane and a small museum, which is open in summer.</p>"
    page = (
        f"<html><head><title>Orvik</title></head><body>{around}{part}{around.replace('summer', 'winter')}</body></html>"
    )
    read = read_bytes(page.encode() if suffix == ".html" else book(page), suffix, "n")
    told = [note.split(": ")[1] for note in read.notes if note.startswith("not read, ")]
    assert told == ([f"{PICTURES[part]} picture{'s' if PICTURES[part] > 1 else ''}"] if PICTURES[part] else [])


def test_the_description_of_a_picture_is_read_where_the_picture_is() -> None:
    page = """<title>Orvik</title><body><p>The harbour of Orvik has twelve berths, and a crane of
    <img src=n.png alt="93 tons"> that is open for visitors in summer.</p><figure><img src=a.png alt="Map of the quay"></figure>
    <figure><img src=b.png alt="The crane in 1950"><figcaption>The crane in 1950, before it was moved</figcaption></figure>
    <a href=/other><img src=c.png alt="Another page"></a><img src=d.png alt=d.png width=9>
    <p>The museum of the harbour shows how its crane was moved along the quay, and who paid for it.</p></body>"""
    read = read_bytes(page.encode(), ".html", "n")
    assert "a crane of (93 tons) that is open" in read.text
    assert read.text.index("summer") < read.text.index("(Map of the quay)") < read.text.index("The museum")
    assert read.text.count("The crane in 1950") == 1
    assert "Another page" not in read.text and "d.png" not in read.text


@pytest.mark.parametrize("suffix", [".docx", ".pptx", ".xlsx"])
def test_a_file_with_strict_names_is_read(suffix: str) -> None:
    _, data = written(FORMATS[suffix], 0)
    plain = re.compile(rb"http://schemas.openxmlformats.org/(officeDocument|\w+ml)/2006/")
    with zipfile.ZipFile(io.BytesIO(data)) as package:
        parts = {name: plain.sub(rb"http://purl.oclc.org/ooxml/\1/", package.read(name)) for name in package.namelist()}
    assert read_bytes(desk.zipped({**parts}), suffix, "n").text == read_bytes(data, suffix, "n").text


def test_a_share_is_read_as_its_cell_shows_it() -> None:
    made = io.BytesIO()
    with xlsxwriter.Workbook(made, {"in_memory": True}) as book:
        sheet, shares = book.add_worksheet("S"), book.add_format({"num_format": "0.0%"})
        sheet.write_row(0, 0, ["Region", "Share", "Rate"])
        for row, value in enumerate((0.125, 0.2, 1), 1):
            sheet.write(row, 0, f"r{row}")
            sheet.write(row, 1, value, shares)
            sheet.write(row, 2, value)
    (table,) = read_bytes(made.getvalue(), ".xlsx", "n").tables
    assert [row[1:] for row in table.rows] == [(12.5, 0.125), (20, 0.2), (100, 1)]
    assert [column.unit for column in table.columns] == ["", "%", ""]


@pytest.mark.parametrize("suffix", [".csv", ".xlsx", ".parquet", ".jsonl"])
def test_a_long_cell_is_read_to_its_end(suffix: str) -> None:
    text = f"{'word ' * 400}Zumbarik"
    rows = [["name", "text"], ["a", text], ["b", "short"]]
    made = io.BytesIO()
    match suffix:
        case ".csv":
            made.write("\n".join(f'{name},"{cell}"' for name, cell in rows).encode())
        case ".xlsx":
            made.write(desk.workbook({"S": [list(row) for row in rows]}))
        case ".parquet":
            pq.write_table(pa.table({"name": ["a", "b"], "text": [text, "short"]}), made)
        case _:
            made.write("\n".join(json.dumps(dict(zip(rows[0], row, strict=True))) for row in rows[1:]).encode())
    assert "Zumbarik" in read_bytes(made.getvalue(), suffix, "n").text


def test_columns_and_sheets_beyond_the_limits_are_said() -> None:
    wide = "\n".join(";".join(f"{row}x{at}" for at in range(501)) for row in range(3))
    assert read_bytes(wide.encode(), ".csv", "n").notes == ("only the first 500 of 501 columns were read",)
    notes = read_bytes(desk.workbook({f"S{n}": [[n]] for n in range(201)}), ".xlsx", "n").notes
    assert notes == ("only the first 200 of 201 sheets were read",)


def test_remarks_around_a_table_are_read() -> None:
    above, below = ([f"{side} {n}" for n in range(size)] for side, size in (("remark", 25), ("note", 60)))
    rows = [f"row {n};{n}" for n in range(100)]
    text = read_bytes("\n".join([*above, "", "a;b", *rows, "", *below]).encode(), ".csv", "n").text
    assert [each for each in (*above, *below) if each not in text] == []
