"""Tables of csv and tsv files: delimiter, encoding, header, figures, dates, totals, and the place of each cell."""

from __future__ import annotations

import msgspec
import pytest

from research.web.isolated import read_isolated
from research.web.readers import FileText, UnreadableFile, bounded, read_bytes
from research.web.table import MAX_CELLS, Column, Table
from research.web.table_text import as_text


def table(text: str | bytes, suffix: str = ".csv") -> Table:
    data = text if isinstance(text, bytes) else text.encode()
    (found,) = read_bytes(data, suffix, "sales").tables
    return found


def types(found: Table) -> list[tuple[str, str, str]]:
    return [(column.name, column.type, column.unit) for column in found.columns]


def test_a_csv_is_a_table_with_types_and_places() -> None:
    found = table("region,year,sales (EUR)\nNorth,2023,1200\nSouth,2023,950.5\n\nWest,2023,\n")
    assert types(found) == [("region", "text", ""), ("year", "year", ""), ("sales", "number", "EUR")]
    assert found.rows == (("North", 2023, 1200), ("South", 2023, 950.5), ("West", 2023, None))
    assert found.numbers == (2, 3, 5)
    assert [column.at for column in found.columns] == [1, 2, 3]


def test_figures_that_may_be_years_are_written_as_in_the_file() -> None:
    found = table("company,founded,staff,paid (EUR)\nA,2015,1200,1900\nB,1999,30,2000\nC,1890,3,1950\n")
    assert types(found)[1:3] == [("founded", "number", ""), ("staff", "number", "")]
    assert "| 2 | A | 2015 | 1,200 | 1,900 |" in as_text(found)


@pytest.mark.parametrize("cut", [",", ";", "\t", "|"])
def test_the_delimiter_is_found(cut: str) -> None:
    lines = ["city|people", "Oslo, old town|5", "Bergen; new town|7"]
    found = table("\n".join(line.replace("|", cut) if cut not in ",;" else line.replace("|", "\t") for line in lines))
    assert found.columns[1].name == "people"
    quoted = table("\n".join(cut.join(['"a, b; c"', "1"]) for _ in range(3)))
    assert len(quoted.columns) == 2


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "gb18030"])
def test_chinese_tables_are_decoded(encoding: str) -> None:
    found = table("地区,销售额（万元）,增长率\n华东,1200,12%\n华北,800,-3%\n合计,2000,\n".encode(encoding))
    assert types(found) == [("地区", "text", ""), ("销售额", "number", "万元"), ("增长率", "number", "%")]
    assert found.rows == (("华东", 1200, 12), ("华北", 800, -3))


def test_western_letters_are_not_read_as_chinese() -> None:
    found = table("Ort;Wert\nMünchen;1,5\nKöln;2,25\n".encode("windows-1252"))
    assert found.rows == (("München", 1.5), ("Köln", 2.25))


@pytest.mark.parametrize(
    ("written", "values", "unit"),
    [
        (["1,234", "999", "12,000,000"], (1234, 999, 12_000_000), ""),
        (["1.234,50", "999,10", "12.000,00"], (1234.5, 999.1, 12_000.0), ""),
        (["1 234", "999", "12 000"], (1234, 999, 12_000), ""),
        (["1'234.50", "0.5", "7"], (1234.5, 0.5, 7), ""),
        (["$1,200.50", "($30)", "-$5"], (1200.5, -30, -5), "$"),
        (["12 %", "3.5%", "-4%"], (12, 3.5, -4), "%"),
        (["12 kg", "3 kg", "n/a"], (12, 3, None), "kg"),
        (["1.2M", "3k", "2 million"], (1_200_000, 3_000, 2_000_000), ""),
        (["5万", "1.2亿", "300"], (50_000, 120_000_000, 300), ""),
        (["1e3", "2.5E-1", "-3"], (1000, 0.25, -3), ""),
        (["12*", "13", "14[a]"], (12, 13, 14), ""),
    ],
)
def test_figures_are_read_as_their_column_writes_them(
    written: list[str], values: tuple[float | None, ...], unit: str
) -> None:
    found = table("name\tamount\n" + "".join(f"{chr(97 + i)}\t{each}\n" for i, each in enumerate(written)), ".tsv")
    assert types(found)[1] == ("amount", "number", unit)
    assert tuple(row[1] for row in found.rows) == values


@pytest.mark.parametrize(
    "written",
    [
        ["007", "012", "100"],  # codes
        ["12 kg", "5 miles", "3 kg"],  # two units
        ["A1", "B2", "C3"],
        ["1234567890123456", "2234567890123456", "3"],  # identifiers
        ["12 Main Street", "4 Low Road", "9 High Road"],
    ],
)
def test_what_cannot_be_calculated_with_stays_text(written: list[str]) -> None:
    found = table("name\tcode\n" + "".join(f"{chr(97 + i)}\t{each}\n" for i, each in enumerate(written)), ".tsv")
    assert found.columns[1].type == "text"
    assert [row[1] for row in found.rows] == written


@pytest.mark.parametrize(
    ("written", "dates"),
    [
        (["2024-01-05", "2024-01-06"], ["2024-01-05", "2024-01-06"]),
        (["2024/1/5", "2024/12/6"], ["2024-01-05", "2024-12-06"]),
        (["13/04/2024", "02/05/2024"], ["2024-04-13", "2024-05-02"]),
        (["04/13/2024", "05/02/2024"], ["2024-04-13", "2024-05-02"]),
        (["1.2.2024", "3.4.2024"], ["2024-02-01", "2024-04-03"]),
        (["Jan 2024", "Feb 2024"], ["2024-01", "2024-02"]),
        (["3 March 2024", "14 May 2024"], ["2024-03-03", "2024-05-14"]),
        (["Mar 3, 2024", "May 14, 2024"], ["2024-03-03", "2024-05-14"]),
        (["Q1 2024", "Q2 2024"], ["2024-Q1", "2024-Q2"]),
        (["2024年3月", "2024年4月"], ["2024-03", "2024-04"]),
        (["2024-01-05 9:30", "2024-01-05T14:00:00"], ["2024-01-05 09:30", "2024-01-05 14:00"]),
        (["20240305", "20240306"], ["2024-03-05", "2024-03-06"]),
    ],
)
def test_dates_become_texts_that_sort(written: list[str], dates: list[str]) -> None:
    found = table("date;amount\n" + "".join(f'"{each}";{i}\n' for i, each in enumerate(written)))
    assert found.columns[0].type == "date"
    assert [row[0] for row in found.rows] == dates


def test_a_date_that_may_be_read_in_two_ways_is_no_date() -> None:
    found = table("date,amount\n03/04/2024,1\n05/02/2024,2\n04/03/2024,3\n")
    assert found.columns[0].type == "text"


def test_titles_totals_and_remarks_are_not_data() -> None:
    found = table("Sales report\n\nregion;Q1;Q2\nNorth;10;20\nSouth;30;40\nTotal;40;60\n\nSource: the books\n")
    assert found.title == "Sales report"
    assert found.rows == (("North", 10, 20), ("South", 30, 40))
    assert found.notes == ("Source: the books", "row 6 is a total and is left out (region: Total, Q1: 40, Q2: 60)")
    months = table("month,sales\nJan 2024,10\nFeb 2024,20\nTotal,30\n")
    assert months.columns[0].type == "date"


def test_a_subtotal_is_left_out_where_it_adds_up() -> None:
    found = table("item,cost\na,10\nb,20\nSubtotal,30\nc,5\nd,6\nsum,99\ne,7\nTotal,48\n")
    assert [row[0] for row in found.rows] == ["a", "b", "c", "d", "sum", "e"]


def test_headers_of_two_rows_and_of_years_and_none() -> None:
    two = table(",2023,,2024,\nRegion,Q1,Q2,Q1,Q2\nNorth,1,2,3,4\nSouth,5,6,7,8\n")
    assert [column.name for column in two.columns] == ["Region", "2023 Q1", "2023 Q2", "2024 Q1", "2024 Q2"]
    years = table("region,2022,2023,2024\nNorth,10,20,30\nSouth,5,6,7\n")
    assert [column.name for column in years.columns] == ["region", "2022", "2023", "2024"]
    none = table("1,2,3\n4,5,6\n7,8,9\n")
    assert [column.name for column in none.columns] == ["column A", "column B", "column C"]
    assert len(none.rows) == 3


def test_the_text_shows_columns_and_rows() -> None:
    read = read_bytes(b"region,sales (EUR)\nNorth,1200\n", ".csv", "sales")
    assert read.text.splitlines() == [
        "Table of 1 rows with the columns region (text), sales (number, EUR)",
        "",
        "| row | region | sales (EUR) |",
        "| --- | --- | --- |",
        "| 2 | North | 1,200 |",
    ]


def test_a_sealed_process_reads_the_same_table() -> None:
    data = b"tag;Wert (kg)\n1 May 2024;1,5\n2 May 2024;2\n"
    assert read_isolated(data, ".csv", "a") == read_bytes(data, ".csv", "a")


def test_what_is_no_table_is_text_and_what_is_damaged_is_named() -> None:
    assert read_bytes(b"only words\n", ".csv", "a") == FileText("a", "only words")
    with pytest.raises(UnreadableFile, match="a is a damaged csv"):
        read_bytes(b'"' + b"x" * 1_100_000, ".csv", "a")


def test_a_table_is_bounded_whoever_made_it() -> None:
    wide = ",".join("a" * 9 for _ in range(2_000))
    assert len(table(f"{wide}\n{wide}\n{wide}\n").columns) == 500
    rows = (("x" * 5_000, "\ud800"),) * 3
    forged = Table((Column("a" * 900), Column("b")), rows, (1, 2, 3), "p" * 900, "t" * 900, ("n" * 900,) * 99)
    (kept,) = bounded(FileText("t", "text", tables=(forged,)), "t").tables
    assert len(msgspec.json.encode(kept)) < 12_000
    narrow = Table((Column("a"),), ((1,),) * (MAX_CELLS + 5), tuple(range(MAX_CELLS + 5)))
    (cut,) = bounded(FileText("t", "text", tables=(narrow,)), "t").tables
    assert (len(cut.rows), cut.left_out) == (MAX_CELLS, 5)
