"""The page Library: browse, search, remove and restore collections."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import fpdf
import pytest
from msgspec.structs import replace
from streamlit.delta_generator import DeltaGenerator
from streamlit.testing.v1 import AppTest

from research.config.settings import load
from research.search.library import uploads
from research.search.library.documents import Library
from research.search.library.listings import CollectionInfo
from research.workbench.workbench import Workbench
from tests.desk import workbook

Visit = Callable[..., AppTest]


def texts(app: AppTest) -> str:
    return "\n".join(element.value for element in [*app.markdown, *app.caption, *app.subheader])


def press(app: AppTest, label: str) -> AppTest:
    return next(button for button in app.button if button.label == label).click().run()


@pytest.fixture
def papers(home: Path, tmp_path: Path) -> Path:
    """A folder in the library with a note and an unreadable file."""
    folder = tmp_path / "papers"
    folder.mkdir()
    (folder / "moon.md").write_text("# The moon\n\nThe moon is made of basalt.", "utf-8")
    (folder / "broken.docx").write_bytes(b"not a docx")
    bench = Workbench(load(home=home))
    bench.library.add_folder(folder)
    bench.library.embed_missing()
    bench.library.close()
    return folder


def test_uploads_go_to_one_collection_in_every_language(visit: Visit, home: Path) -> None:
    assert visit(home, "library", lang="zh").text_input(key="upload-name-library").value == "文档"
    folder = uploads.folder(home, "Documents")
    folder.mkdir(parents=True)
    (folder / "moon.md").write_text("The moon is made of basalt.", "utf-8")
    bench = Workbench(load(home=home))
    bench.library.add_folder(folder)
    bench.library.close()
    assert visit(home, "library", lang="zh").text_input(key="upload-name-library").value == "Documents"


def test_a_collection_is_filtered_by_title(visit: Visit, home: Path) -> None:
    app = visit(home, "library", collection="factbook", title="econ")
    assert not app.exception
    assert app.dataframe[0].value["Document"].tolist() == ["France · Economy"]
    press(app, "All documents")
    assert "title" not in app.query_params and len(app.dataframe[0].value) > 1
    assert "No title contains" in texts(visit(home, "library", collection="factbook", title="no such title"))


def test_a_collection_has_one_search_box_below_its_title(visit: Visit, home: Path) -> None:
    app = visit(home, "library", collection="factbook")
    drawn = [each for each in app.main if each.type in ("title", "text_input")]
    assert [each.type for each in drawn] == ["title", "text_input"]
    (box,) = app.text_input
    assert box.placeholder == "Search CIA World Factbook"
    box.set_value("capital of France").run()
    assert app.title[0].value == "CIA World Factbook" and not app.dataframe
    press(app, "Back to CIA World Factbook")
    assert app.dataframe and not app.text_input[0].value


def test_an_unknown_collection_shows_an_error(visit: Visit, home: Path) -> None:
    app = visit(home, "library", collection="/no/![x](y)")
    assert not app.exception
    assert "has no collection" in app.error[0].value
    assert "![" not in app.error[0].value


def test_the_result_of_adding_a_folder_stays_when_the_index_is_ready_at_once(
    visit: Visit, home: Path, papers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page is drawn again to stop its timer, if the last vector is written while it counts them."""
    listed, counted = Library.collections, iter([0])

    def collections(library: Library) -> list[CollectionInfo]:
        found = listed(library)
        vectors = next(counted, None)
        return [replace(each, vectors=each.passages if vectors is None else vectors) for each in found]

    app = visit(home, "library")
    app.text_input(key="folder-path-library").set_value(str(papers))
    monkeypatch.setattr(Library, "collections", collections)
    press(app, "Add folder")
    assert "1 unchanged" in app.success[0].value
    assert next(counted, None) is None, "the page saw an unfinished index"
    app.run()
    assert not app.success


def test_unreadable_files_are_listed_with_the_reason(visit: Visit, home: Path, papers: Path) -> None:
    app = visit(home, "library", collection=str(papers))
    assert [each.label for each in app.expander] == ["1 file could not be read"]
    assert any("broken.docx" in each.value and "a damaged docx" in each.value for each in app.markdown)
    app = visit(home, "library", collection=str(papers), lang="zh")
    assert any("broken.docx" in each.value and "损坏的 DOCX" in each.value for each in app.markdown)


def test_a_markdown_document_keeps_its_formatting_and_highlights_the_quote(
    visit: Visit, home: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "formatted"
    folder.mkdir()
    text = (
        "# Moon\n\n- made of **basalt** $x$\n- has ![x](https://evil.example/p.png)\n\n| a | b |\n|---|---|\n| 1 | 2 |"
    )
    (folder / "moon.md").write_text(text, "utf-8")
    Workbench(load(home=home)).library.add_folder(folder)
    (document,) = Workbench(load(home=home)).library.documents(str(folder), "", 5, 0)
    app = visit(home, "library", doc=document.url, quote="has ![x](https://evil.example/p.png)")
    assert not app.exception
    drawn = app.get_by_key("document").markdown[0].value
    assert "- made of **basalt** $x$\n- :primary-background[has " in drawn
    assert "| a | b |\n| --- | --- |" in drawn
    assert "![x](" not in drawn


def test_a_pdf_is_read_as_a_document_with_the_passage_marked_in_its_place(
    visit: Visit, home: Path, tmp_path: Path
) -> None:
    """Its table is a table, a paragraph of several lines is one, and the address is not shown."""
    folder = tmp_path / "annual"
    folder.mkdir()
    text = (
        "Parcels rose to four million in the year, because a second centre for sorting was opened in Leipzig on the "
        "1st of April 2025. The dividend proposed is EUR 0.85 per share, and it is paid in May."
    )
    drawing = fpdf.FPDF()
    drawing.set_font("Helvetica")
    drawing.add_page()
    drawing.multi_cell(100, text=text)
    drawing.ln(12)
    with drawing.table(width=100) as table:
        for cells in (("Division", "Revenue"), ("Parcels", "131.0"), ("Freight", "81.3"), ("Total", "212.3")):
            row = table.row()
            for cell in cells:
                row.cell(cell)
    drawing.output(str(folder / "the report.pdf"))
    own = Workbench(load(home=home))
    own.library.add_folder(folder)
    (document,) = own.library.documents(str(folder), "", 5, 0)
    app = visit(home, "library", doc=document.url, quote="The dividend proposed is EUR 0.85 per share")
    assert not app.exception
    drawn = app.get_by_key("document").markdown[0].value
    assert "a second centre for sorting was opened in Leipzig on the 1st of April 2025." in drawn
    assert "| Freight | 81.3 |" in drawn and "| --- |" in drawn
    assert ":primary-background[The dividend proposed is EUR 0.85 per share], and it is paid" in drawn
    assert "Quoted passage:" not in texts(app)
    assert "annual · the report.pdf" in texts(app) and "library://" not in texts(app)


def test_a_search_result_shows_its_document_and_its_collection(visit: Visit, home: Path, papers: Path) -> None:
    app = visit(home, "library", q="what is the moon made of")
    assert not app.exception
    first = app.markdown[0].value
    assert "**The moon**" in first and "papers · MD · " in first
    assert not app.get("progress")  # no figure that the list is not sorted by


def test_a_search_marks_its_words_and_can_be_narrowed_to_one_collection(visit: Visit, home: Path, papers: Path) -> None:
    app = visit(home, "library", q="moon economy")
    assert ":primary-background[" in texts(app)
    assert 0 <= texts(app).find("**The moon**") < texts(app).find("France"), "one's own documents come first"
    app.button_group(key="library-found-in").set_value(str(papers)).run()
    assert not app.exception
    assert "**The moon**" in texts(app) and "France" not in texts(app)


def test_what_has_only_some_of_the_words_is_folded(visit: Visit, home: Path, papers: Path) -> None:
    app = visit(home, "library", q="unemployment rate France")
    assert "**France · Economy**" in texts(app) and "**France · People and Society**" not in texts(app)
    app.toggle(key="library-weak").set_value(True).run()
    assert "**France · People and Society**" in texts(app)


def test_what_is_only_similar_in_meaning_is_shown_only_when_no_document_has_the_words(
    visit: Visit, home: Path, papers: Path
) -> None:
    rare = texts(visit(home, "library", q="basalt"))
    assert "No document contains these words." not in rare and "**The moon**" in rare
    other = texts(visit(home, "library", q="xylophone"))
    assert "No document contains these words." in other


def test_a_heading_with_the_words_comes_before_a_mention_and_is_shown_with_its_text(
    visit: Visit, home: Path, papers: Path
) -> None:
    (papers / "notes.md").write_text("# Notes\n\nCarrying over is odd. Carrying over matters.", "utf-8")
    (papers / "leave.md").write_text(
        "# Leave\n\nStaff get 28 days.\n\n## Carrying over\n\nUp to five days, until March.", "utf-8"
    )
    bench = Workbench(load(home=home))
    bench.library.add_folder(papers)
    bench.library.close()
    shown = texts(visit(home, "library", q="carrying over"))
    assert -1 < shown.find("**Leave › Carrying over**") < shown.find("**Notes**")
    assert "Up to five days, until March." in shown


def test_a_search_within_a_collection_returns_only_its_documents(visit: Visit, home: Path, papers: Path) -> None:
    app = visit(home, "library", q="economy", collection=str(papers))
    assert "France" not in texts(app)


def test_the_search_query_is_kept_in_the_url(visit: Visit, home: Path) -> None:
    app = visit(home, "library")
    app.text_input(key="library-q").set_value("gdp growth").run()
    assert app.query_params["q"] == "gdp growth"


def test_removing_a_collection_takes_effect_at_once_and_can_be_undone(visit: Visit, home: Path, papers: Path) -> None:
    app = press(visit(home, "library"), "Remove")
    assert "**papers**" not in texts(app)
    text, restore, _ = app.session_state["undo"]  # `AppTest` runs the page without the bar that app.py draws
    assert "papers is no longer searched" in text
    app.query_params["q"] = "basalt"
    assert "The moon is made of" not in texts(app.run())
    del app.query_params["q"]
    restore()
    assert "**papers**" in texts(app.run())
    app.query_params["q"] = "basalt"
    assert "The moon is made of" in texts(app.run())
    assert (papers / "moon.md").exists()


def test_removing_a_collection_that_another_window_removed_offers_no_undo(
    visit: Visit, home: Path, papers: Path
) -> None:
    app = visit(home, "library")
    Workbench(load(home=home)).library.remove(str(papers))
    app = press(app, "Remove")
    assert not app.exception and "undo" not in app.session_state
    assert "papers" in app.toast[0].value
    assert "**papers**" not in texts(app)


def test_a_refresh_reads_only_changed_files(visit: Visit, home: Path, papers: Path) -> None:
    (papers / "mars.md").write_text("Mars is red.", "utf-8")
    app = press(visit(home, "library"), "Refresh")
    assert "1 file read, 1 unchanged, 0 removed" in app.success[0].value


def test_a_missing_folder_shows_an_error_and_stays_listed(visit: Visit, home: Path, papers: Path) -> None:
    papers.rename(papers.with_name("elsewhere"))
    app = press(visit(home, "library"), "Refresh")
    assert "does not exist" in app.error[0].value
    assert "**papers**" in texts(app)


def test_a_long_document_opens_at_the_quoted_part(visit: Visit, home: Path, papers: Path) -> None:
    lines = [f"Measurement {number} gave {number * 7} units." for number in range(2_000)]
    (papers / "long.txt").write_text("\n".join(lines), "utf-8")
    bench = Workbench(load(home=home))
    bench.library.add_folder(papers)
    bench.library.close()
    (url,) = [each.url for each in Workbench(load(home=home)).library.documents(str(papers), "long")]
    app = visit(home, "library", doc=url, quote="Measurement 1900 gave 13300 units.")
    assert "Part 3 of 3" in texts(app)
    assert ":primary-background[Measurement 1900 gave 13300 units.]" in texts(app)
    app = press(app, "Previous part")
    assert "Part 2 of 3" in texts(app)
    assert "It starts in part 3." in texts(app)
    assert "Part 1 of 3" in texts(visit(home, "library", doc=url))
    assert not visit(home, "library", doc=url, part="²").exception


def test_the_map_shows_the_documents(visit: Visit, home: Path) -> None:
    app = visit(home, "library", collection="factbook", view="map")
    assert not app.exception
    assert "Similar documents sit close together." in texts(app)


def test_a_result_shows_the_words_of_a_table_or_heading_without_their_signs(
    visit: Visit, home: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "tables"
    folder.mkdir()
    text = "# Cables\n\n## Delay of cables\n\n| Item | Delay |\n| --- | :-: |\n| Export cable | 7 weeks |\n"
    (folder / "cables.md").write_text(text, "utf-8")
    Workbench(load(home=home)).library.add_folder(folder)
    app = visit(home, "library", q="export cable delay", collection=str(folder))
    drawn = [re.sub(r":primary-background\[([^\]]*)\]", r"\1", each.value) for each in app.markdown]
    shown = [each for each in drawn if "Export cable" in each]
    assert shown
    assert "Export cable · 7 weeks" in shown[0]
    assert not any("|" in each or "##" in each or "---" in each for each in shown)


def test_a_collection_counts_all_its_documents_while_their_meaning_is_indexed(
    visit: Visit, home: Path, papers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = Library.collections
    monkeypatch.setattr(Library, "collections", lambda own: [replace(each, vectors=0) for each in listed(own)])
    app = visit(home, "library")
    row = app.get_by_key(f"collection-{papers}")
    assert "1 document ·" in row.markdown[0].value
    (progress,) = row.get("progress")
    assert "Search by meaning is being prepared: 0 of 1 passages (0%)" in progress.proto.text
    assert any(each.label == "List documents" for each in row.button)


def test_a_workbook_is_read_with_the_name_of_each_sheet_above_it(visit: Visit, home: Path, papers: Path) -> None:
    sheets = {
        name: [["Team", "Cost"], *([f"{name} {n}", n] for n in range(1, 40))] for name in ("Budget 2025", "Projects")
    }
    (papers / "plan.xlsx").write_bytes(workbook(sheets))
    bench = Workbench(load(home=home))
    bench.library.add_folder(papers)
    (plan,) = bench.library.documents(str(papers), "plan")
    bench.library.close()
    drawn = visit(home, "library", doc=plan.url).get_by_key("document").markdown[0].value
    heads = [line for line in drawn.splitlines() if line.startswith(("#", "Table of"))]
    assert heads == ["## Budget 2025", "Table of 39 rows", "## Projects", "Table of 39 rows"]


def test_a_collection_lists_its_files_with_kind_passages_and_time(visit: Visit, home: Path, papers: Path) -> None:
    (papers / "deep").mkdir()
    (papers / "deep" / "mars notes.txt").write_text("Mars is red.", "utf-8")
    press(visit(home, "library"), "Refresh")
    app = visit(home, "library", collection=str(papers))
    table = app.dataframe[0].value
    assert table["File"].tolist() == ["moon.md", "deep/mars notes.txt"]
    assert table["Kind"].tolist() == ["MD", "TXT"]
    assert table["Passages"].tolist() == [1, 1]
    assert all(table["Changed"].tolist())


def test_reading_files_says_how_many_are_done(
    visit: Visit, home: Path, papers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (papers / "mars.md").write_text("Mars is red.", "utf-8")
    said: list[str] = []
    drawn = DeltaGenerator.progress
    monkeypatch.setattr(
        DeltaGenerator, "progress", lambda own, value, text=None: said.append(text) or drawn(own, value, text)
    )
    press(visit(home, "library"), "Refresh")
    assert [each for each in said if "files" in (each or "")] == [
        "Reading: 0 of 3 files · broken.docx",
        "Reading: 1 of 3 files · mars.md",
        "Reading: 2 of 3 files · moon.md",
        "Reading: 3 of 3 files · papers",
    ]
