"""Files as analysts have them: each kind is read with the places that a citation names, and what is skipped is listed."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
import xlsxwriter

from research.config.settings import load
from research.sandbox import WarmProcesses
from research.search.library.documents import Library
from research.web import isolated, readers
from research.web.isolated import read_isolated
from research.web.readers import UnreadableFile
from research.workbench.workbench import Workbench
from tests import desk
from tests.command import Cli
from tests.contract.test_readers import word

MOST_MB = 600
MEASURED = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""
"""Memory that reading the folder may take, in the app's process and in each reader."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("desk")


@pytest.fixture(scope="module")
def written(folder: Path) -> tuple[list[desk.Fact], dict[str, str]]:
    return desk.write(folder)


@pytest.fixture(scope="module")
def library(folder: Path, written: object, tmp_path_factory: pytest.TempPathFactory) -> Library:
    """The folder, added by the command line in a process of its own, whose memory is measured."""
    home = tmp_path_factory.mktemp("home")
    # A small process in between, because a child's peak counts the memory of the process that started it.
    measured = subprocess.run(
        [sys.executable, "-c", MEASURED, sys.executable, "-m", "research", "library", "add", str(folder)],
        env={**os.environ, "WORKBENCH_HOME": str(home)},
        stdout=subprocess.PIPE,
        check=True,
    )
    assert int(measured.stdout) / 1024 < MOST_MB
    bench = Workbench(load(home=home))
    bench.library.embed_missing()
    return bench.library


def test_every_readable_file_is_found_by_a_question_about_it(
    library: Library, written: tuple[list[desk.Fact], dict[str, str]]
) -> None:
    facts, refused = written
    found = [fact for fact in facts if _rank(library, fact) is not None]
    assert (len(facts), len(refused)) == (30, 10)
    assert len(found) >= 0.9 * len(facts), [fact.file for fact in facts if fact not in found]


def _rank(library: Library, fact: desk.Fact) -> int | None:
    """Return where the file is among the first five results; None if it is not."""
    urls = [hit.url.replace("%20", " ") for hit in library.search(fact.question, 5)]
    return next((place for place, url in enumerate(urls) if url.endswith(fact.file)), None)


def test_every_unreadable_file_is_listed_with_the_reason(
    library: Library, folder: Path, written: tuple[list[desk.Fact], dict[str, str]]
) -> None:
    listed = {path.name: reason for path, reason in library.unreadable(str(folder))}
    reasons = written[1]
    assert listed.keys() == reasons.keys()
    assert {name: reason for name, reason in listed.items() if reasons[name] not in reason} == {}


@pytest.mark.parametrize(
    ("suffix", "title"),
    [
        (".pdf", "a.pdf › page 2"),
        (".pptx", "a.pptx › slide 2"),
        (".xlsx", "a.xlsx › Facts › B5:C5"),
        (".ods", "a.ods › F › A2:B2"),
        (".odp", "a.odp › slide 2"),
        (".odt", "a"),
        (".csv", "a.csv › A3:B3"),
        (".parquet", "a.parquet › A2:B2"),
        (".epub", "The title (a.epub › Chapter 1)"),
        (".eml", "The title (a.eml › note.docx)"),
        (".docx", "The title"),
        (".json", "a"),
        (".ipynb", "The title (a.ipynb › cell 3)"),
    ],
)
def test_a_citation_names_the_place_in_the_file(tmp_path: Path, suffix: str, title: str) -> None:
    lines = ["Nothing of note.", "The zorgon is 41 tons.", "Nothing else."]
    (tmp_path / f"a{suffix}").write_bytes(desk.WRITERS[suffix]("The title", lines))
    library = Library(tmp_path / "home")
    library.add_folder(tmp_path)
    (hit,) = library.search("zorgon")
    assert "The zorgon is 41 tons." in hit.quote
    assert hit.title == title


def test_tables_of_a_workbook_are_typed_and_have_their_places() -> None:
    data = desk.workbook({"Q3": [[], [None, "Region", "Sales (EUR)"], [None, "North", 1200], [None, "South", 900.5]]})
    read = read_isolated(data, ".xlsx", "sales")
    (table,) = read.tables
    assert [(column.name, column.type, column.unit) for column in table.columns] == [
        ("Region", "text", ""),
        ("Sales", "number", "EUR"),
    ]
    assert table.rows == (("North", 1200), ("South", 900.5))
    assert (table.place, table.numbers, [column.at for column in table.columns]) == ("Q3", (3, 4), [2, 3])


def test_a_million_cells_are_read_and_the_rest_is_said() -> None:
    data = desk.workbook({"big": [["a", "b"], *([n, n] for n in range(4))]})
    assert read_isolated(data, ".xlsx", "n").tables[0].left_out == 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("research.web.spreadsheets.MAX_CELLS", 6)
        read = readers.read_bytes(data, ".xlsx", "n")
    assert len(read.tables[0].rows) == 2
    assert "2 more rows of the sheet are beyond the limit of 6 cells" in read.text


@pytest.mark.examples(6)
@pytest.mark.parametrize("suffix", sorted(desk.WRITERS))
def test_no_cut_file_ends_in_another_error(suffix: str) -> None:
    """A file that is cut anywhere is read as far as it goes, or refused with a reason."""
    data = desk.WRITERS[suffix]("Title", ["One line.", "Another line."])
    for share in (1, 3, 5, 7):
        try:
            assert readers.read_bytes(data[: len(data) * share // 8], suffix, "n").text
        except UnreadableFile as error:
            assert error.reason


def test_an_attachment_that_cannot_be_read_is_said() -> None:
    data = desk.WRITERS[".eml"]("Offer", ["The pump costs 1,250 euros.", "More."]).replace(b"note.docx", b"note.xyz")
    text = read_isolated(data, ".eml", "n").text
    assert "The pump costs 1,250 euros." in text
    assert "Attachment not read: note.xyz is of an unknown format" in text


@pytest.mark.usefixtures("own_library")
def test_the_command_line_lists_what_was_skipped(cli: Cli, tmp_path: Path, script: Callable[..., str]) -> None:
    folder = tmp_path / "desk"
    folder.mkdir()
    (folder / "a.md").write_text("# A\n\nText.")
    (folder / "plan.key").write_bytes(b"x")
    (folder / "half.pdf").write_bytes(b"%PDF-1.4")
    assert "not read: " in cli("library", "add", str(folder)).out
    listed = cli("library", "list").out
    assert f"{folder}: 1 documents" in listed
    assert "2 files not read" in listed
    import json

    (own,) = [each for each in json.loads(cli("library", "list", "--json").out) if each["name"] == str(folder)]
    assert [Path(each["path"]).name for each in own["skipped"]] == ["half.pdf", "plan.key"]
    assert "save it as one of md, txt" in own["skipped"][1]["reason"]
    assert "2 files not read; `library list --json` names them" in cli("doctor").out


@pytest.mark.examples(4)
@pytest.mark.parametrize("suffix", desk.WRITERS)
def test_a_new_process_reads_tables_of_any_format(suffix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    others = {".docx": word(), ".html": b"<p>A</p><table><tr><th>Year<th>Km<tr><td>2024<td>1,045</table>"}
    data = others.get(suffix) or desk.WRITERS[suffix]("Lengths", ["The bridge is 1,045 m long.", "It has 7 arches."])
    with closing(WarmProcesses("research.web.reader_process")) as new:
        monkeypatch.setattr(isolated, "_processes", new)
        assert read_isolated(data, suffix, "n") == readers.read_bytes(data, suffix, "n")


def test_a_chapter_that_declares_no_encoding_is_in_utf_8() -> None:
    opf = (
        '<package xmlns="http://www.idpf.org/2007/opf"><manifest><item id="a" href="a.xhtml"/></manifest>'
        '<spine><itemref idref="a"/></spine></package>'
    )
    container = '<container xmlns="urn:x"><rootfiles><rootfile full-path="c.opf"/></rootfiles></container>'
    chapter = '<html xmlns="http://www.w3.org/1999/xhtml"><body><p>Fußnote, 脚注</p></body></html>'
    parts = {"mimetype": "application/epub+zip", "META-INF/container.xml": container, "c.opf": opf, "a.xhtml": chapter}
    assert readers.read_bytes(desk.zipped(parts), ".epub", "a").text == "Fußnote, 脚注"


def test_a_share_of_an_ods_is_read_as_it_is_shown() -> None:
    names = " ".join(
        f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in ("office", "table", "text")
    )
    share = '<table:table-cell office:value-type="percentage" office:value="0.125"><text:p>12,5 %</text:p></table:table-cell>'
    words = [
        f'<table:table-cell office:value-type="string"><text:p>{each}</text:p></table:table-cell>'
        for each in ("town", "share", "other", "Lind", "Rost")
    ]
    rows = ["".join(words[:3]), words[3] + share * 2, words[4] + share * 2]
    table = "".join(f"<table:table-row>{row}</table:table-row>" for row in rows)
    content = (
        f'<office:document-content {names}><office:body><office:spreadsheet><table:table table:name="S">{table}'
        "</table:table></office:spreadsheet></office:body></office:document-content>"
    )
    kind = "application/vnd.oasis.opendocument.spreadsheet"
    manifest = (
        '<m:manifest xmlns:m="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0">'
        f'<m:file-entry m:full-path="/" m:media-type="{kind}"/></m:manifest>'
    )
    data = desk.zipped({"mimetype": kind, "content.xml": content, "META-INF/manifest.xml": manifest})
    (found,) = readers.read_bytes(data, ".ods", "a").tables
    assert [(column.name, column.unit) for column in found.columns] == [("town", ""), ("share", "%"), ("other", "%")]
    assert found.rows[0] == ("Lind", 12.5, 12.5)


@pytest.mark.parametrize(
    ("code", "unit", "value"),
    [
        ('#,##0.00 "EUR"', "EUR", 1234.125),
        ("[$€-407] #,##0.00", "€", 1234.125),
        ("0.0%", "%", 123412.5),
        ('0.0 "kg"', "kg", 1234.125),
        ('#,##0, "k€"', "", 1234.125),
        ("#,##0.00;(#,##0.00)", "", 1234.125),
        ("(#,##0)", "", 1234.125),
    ],
)
def test_the_unit_that_a_number_format_shows_is_read(code: str, unit: str, value: float) -> None:
    written = io.BytesIO()
    with xlsxwriter.Workbook(written, {"in_memory": True}) as book:
        sheet = book.add_worksheet()
        sheet.write_row(0, 0, ["town", "sum"])
        for row, town in enumerate(("Lind", "Rost"), 1):
            sheet.write(row, 0, town)
            sheet.write(row, 1, 1234.125, book.add_format({"num_format": code}))
    (found,) = readers.read_bytes(written.getvalue(), ".xlsx", "a").tables
    assert (found.columns[1].unit, found.rows[0][1]) == (unit, value)
