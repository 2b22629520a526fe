"""Tables, fonts and forms of pdf files, as printing programs write them."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from itertools import zip_longest

import fpdf
import pytest
from matplotlib import get_data_path

from research.web.isolated import read_isolated
from research.web.pdf_tables import tables

ROWS = (
    ("Region", "2021", "2022", "2023"),
    ("North", "810", "", "870"),
    ("South", "", "902", ""),
    ("East", "11", "12", "13"),
)
READ = "| Region | 2021 | 2022 | 2023 |\n| --- | --- | --- | --- |\n| North | 810 |  | 870 |\n| South |  | 902 |  |\n| East | 11 | 12 | 13 |"


def page() -> fpdf.FPDF:
    made = fpdf.FPDF()
    made.set_compression(False)
    made.add_page()
    made.set_font("Helvetica", size=11)
    return made


def write(made: fpdf.FPDF, text: str) -> None:
    made.multi_cell(0, text=text, new_x="LMARGIN", new_y="NEXT")


def test_an_empty_cell_keeps_its_column() -> None:
    made = page()
    write(made, "Output by region and year, as the ministry reports it.")
    with made.table() as table:
        for cells in ROWS:
            table.row(cells)
    write(made, "All figures are in tons.")
    text = read_isolated(bytes(made.output()), ".pdf", "n").text
    assert text == f"Output by region and year, as the ministry reports it.\n\n{READ}\n\nAll figures are in tons."


def test_cells_that_are_written_line_by_line_are_a_row() -> None:
    made = page()
    for down, cells in enumerate(ROWS):
        for across, cell in enumerate(cells):
            made.text(20 + 40 * across, 20 + 8 * down, cell)
    assert read_isolated(bytes(made.output()), ".pdf", "n").text == READ


def test_a_table_that_is_written_by_columns_is_said_to_be_uncertain() -> None:
    made = page()
    for across in range(4):
        for down, cells in enumerate(ROWS):
            made.text(20 + 40 * across, 20 + 8 * down, cells[across])
    read = read_isolated(bytes(made.output()), ".pdf", "n")
    assert read.notes == (
        "page 1: a table with empty cells, of which the columns are uncertain; compare its figures with the file",
    )


@pytest.mark.parametrize(
    "layout",
    [
        "The first column of prose     and the second one, which\nis as long as the other       goes on beside it here",
        "One line.\nAnother line.\nA third one.",
        "Name      Anna Berg\nStreet    Long Road\nTown      Orvik",
    ],
    ids=["columns of prose", "lines", "a form"],
)
def test_what_is_no_table_is_left_as_it_is(layout: str) -> None:
    assert list(tables(layout)) == []


def test_a_heading_over_several_columns_is_not_part_of_the_table() -> None:
    (rows,) = tables("          Output in tons\nRegion    2021     2022\nNorth      810\nSouth               902")
    assert rows == [["Region", "2021", "2022"], ["North", "810", ""], ["South", "", "902"]]


def test_a_font_that_contradicts_the_table_of_its_letters_is_not_read() -> None:
    made = page()
    write(made, "The dam is 93 metres high.")
    made.add_font("other", fname=f"{get_data_path()}/fonts/ttf/DejaVuSans.ttf")
    made.set_font("other", size=11)
    write(made, "The yearly inspection")
    data = bytes(made.output())
    read = read_isolated(data, ".pdf", "n")
    assert (read.text, read.notes) == ("The dam is 93 metres high.\nThe yearly inspection", ())
    wrong = data.replace(b"<0063>", b"<0046>")  # c is said to be F
    assert wrong != data
    read = read_isolated(wrong, ".pdf", "n")
    assert read.text == "The dam is 93 metres high."
    assert "page 1: text left out, because its font does not say, or says falsely" in read.notes[0]


SENTENCES = (
    "The council measured the water of the valley at nine stations in spring, and found that floods rise faster than it had "
    "expected. Snow melts early in the hills.",
    "Engineers keep the basins half closed while the gates are repaired. Nobody had announced that, and so the farmers along "
    "the lower river lost most of their hay.",
)
WRAPPED = [textwrap.wrap(text, 26) for text in SENTENCES]


def by_rows(columns: Sequence[Sequence[str]], *, start: int = 20) -> fpdf.FPDF:
    """Return a file that writes the columns row by row."""
    made = page()
    made.set_font("Courier", size=9)
    for down, row in enumerate(zip_longest(*columns, fillvalue="")):
        for across, cell in enumerate(row):
            if cell:
                made.text(20 + 60 * across, start + 5 * down, cell)
    return made


def test_columns_that_are_written_row_by_row_are_read_one_after_the_other() -> None:
    made = by_rows(WRAPPED, start=40)
    made.text(20, 20, "Water in the valley: a report to the council and to all who live there")
    read = read_isolated(bytes(made.output()), ".pdf", "n")
    assert " ".join(read.text.split()).startswith(" ".join(SENTENCES))
    assert read.notes == ()


@pytest.mark.parametrize("labels", [(), ("North", "South", "East")])
def test_wrapped_cells_that_are_written_row_by_row_stay_beside_each_other(labels: tuple[str, ...]) -> None:
    rows = [[text[: size * n] for text, size in zip(SENTENCES, (12, 9), strict=True)] for n in (7, 9, 11)]
    rows = [[label, *row] for label, row in zip(labels, rows, strict=True)] if labels else rows
    lines = [line for row in rows for line in zip_longest(*(textwrap.wrap(cell, 26) for cell in row), fillvalue="")]
    read = read_isolated(bytes(by_rows(list(zip(*lines, strict=True))).output()), ".pdf", "n")
    assert read.text.split() == [word for row in rows for cell in row for word in cell.split()]
    unsure = any("may be mixed" in note for note in read.notes)
    assert unsure is not bool(labels), "without labels, they may be paragraphs of columns"


def test_lists_and_tables_that_are_written_row_by_row_stay_so() -> None:
    stations = [f"Station {word}" for word in SENTENCES[0].split()[:9]]
    answers = [" ".join(SENTENCES[1].split()[at : at + 1 + at % 4]) for at in range(9)]
    for columns in ([stations, answers], [answers, [str(3 * at) for at in range(9)]]):
        read = read_isolated(bytes(by_rows(columns).output()), ".pdf", "n")
        said = [word for row in zip(*columns, strict=True) for cell in row for word in cell.split()]
        assert [word for word in read.text.split() if word not in ("|", "---")] == said


def test_columns_that_may_be_a_table_are_said_to_be_uncertain() -> None:
    short = [line if at % 2 else line[:14] for at, line in enumerate(WRAPPED[1])]
    read = read_isolated(bytes(by_rows([WRAPPED[0], short]).output()), ".pdf", "n")
    assert read.notes == (
        "page 1: columns of text that the file writes row by row, which may be mixed; compare with the file",
    )


NAMED = b"/Identity-H"
TABLED = (
    b"<</Type/CMap/CMapName/Own/Length %d>>stream\n1 begincodespacerange\n<0000> <FFFF>\nendcodespacerange\n"
    b"1 begincidrange\n<0000> <FFFF> 0\nendcidrange\nendstream"
)


def typeset(lines: Sequence[str], encoding: bytes) -> bytes:
    """Return a file with these lines, whose font has numbers of two bytes for its letters."""
    letters = sorted(set("".join(lines)))
    code = {letter: f"{number:04X}" for number, letter in enumerate(letters, 250)}
    table = "".join(f"<{code[letter]}> <{letter.encode('utf-16-be').hex()}>\n" for letter in letters)
    table = f"1 begincodespacerange\n<0000> <FFFF>\nendcodespacerange\n{len(letters)} beginbfchar\n{table}endbfchar\n"
    shown = "".join(
        f"BT /F 11 Tf 40 {780 - 20 * n} Td <{''.join(map(code.__getitem__, line))}> Tj ET\n"
        for n, line in enumerate(lines)
    )
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Resources<</Font<</F 5 0 R>>>>/Contents 4 0 R>>",
        b"<</Length %d>>stream\n%bendstream" % (len(shown), shown.encode()),
        b"<</Type/Font/Subtype/Type0/BaseFont/Own/Encoding %b/DescendantFonts[6 0 R]/ToUnicode 7 0 R>>"
        % (NAMED if encoding == NAMED else b"8 0 R"),
        b"<</Type/Font/Subtype/CIDFontType0/BaseFont/Own/DW 1000"
        b"/CIDSystemInfo<</Registry(Adobe)/Ordering(Identity)/Supplement 0>>>>",
        b"<</Length %d>>stream\n%bendstream" % (len(table), table.encode()),
        encoding % (len(encoding.partition(b"stream\n")[2]) - 11) if encoding == TABLED else b"null",
    ]
    made, starts = b"%PDF-1.7\n", []
    for number, each in enumerate(objects, 1):
        starts.append(len(made))
        made += b"%d 0 obj\n%b\nendobj\n" % (number, each)
    end = len(made)
    rows = b"".join(b"%010d 00000 n \n" % start for start in starts)
    made += b"xref\n0 %d\n0000000000 65535 f \n%b" % (len(objects) + 1, rows)
    return made + b"trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % (len(objects) + 1, end)


@pytest.mark.parametrize("encoding", [NAMED, TABLED], ids=["by name", "by a table in the file"])
def test_letters_whose_numbers_have_two_bytes_are_read(encoding: bytes) -> None:
    read = read_isolated(typeset(("木工坊的学徒守则", "每年享有六天假期。"), encoding), ".pdf", "n")
    assert (read.text, read.notes) == ("木工坊的学徒守则\n每年享有六天假期。", ())


def test_radicals_that_a_browser_writes_are_read_as_the_words_they_stand_for() -> None:
    lines = (
        "⽊⼯坊员⼯守则①",
        "第⼀条 学徒⼊⻔满⼀年者，每年享有六天假",
        "期，满四年者增⾄九天。⻓假须提前两周书⾯",
        "申请，由店⻓批准。",
        "第⼆条 ⼯坊位于⼭脚，⽅圆⼗⾥之内⽐任何",
        "第三条 电锯由两⼈操作",
    )
    read = read_isolated(typeset(lines, NAMED), ".pdf", "n")
    assert read.text.split("\n") == [
        "木工坊员工守则①",
        "第一条 学徒入门满一年者，每年享有六天假期，满四年者增至九天。长假须提前两周书面申请，由店长批准。",
        "第二条 工坊位于山脚，方圆十里之内比任何",
        "第三条 电锯由两人操作",
    ]
