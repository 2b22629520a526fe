"""The page Check a report: the form, the result, and what it offers next."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from pages.parts.run import head
from pages.parts.shared import home as open_home
from research import audit
from research.config.settings import load
from research.events.view import fold
from research.workbench import auditing
from research.workbench.workbench import Workbench
from tests.workers import LONG_S

Visit = Callable[..., AppTest]
REPORT = "# Ports\n\nHamburg moved 8 million boxes in 2023 [1].\n\n## Sources\n[1] Ports of the sea, 2023."


def test_an_empty_report_is_refused_with_a_reason(visit: Visit, home: Path) -> None:
    app = visit(home, "check")
    assert not app.exception
    app.button(key="check-start").click().run()
    assert "The report is empty" in app.error[0].value


def test_the_result_says_what_to_fix_first_and_offers_a_corrected_copy(visit: Visit, home: Path) -> None:
    view = audit(REPORT, workbench=Workbench(load(home=home)))
    app = visit(home, "check", run=view.run)
    assert not app.exception
    shown = "\n".join(element.value for element in [*app.markdown, *app.subheader])
    assert "No statement of this report could be judged." in shown
    assert "Fix first" not in shown  # what could not be checked is not wrong
    assert "Nothing could be judged" in shown and "Answered" not in shown
    assert ":green" not in shown
    row = Workbench(load(home=home)).store.run(view.run)
    assert head.dot(row) == ":gray[:material/help:]" and head.state(row) == "Nothing could be judged"  # on every list
    assert app.button(key="check-research").label == "Look for more evidence"
    assert not [each for each in app.text_area if each.label == "Follow-up question"]


FRANCE = """# France in figures

The unemployment rate of France was 7.4% in 2024 [1]. The unemployment rate of France was 21.4% in 2024 [1].

The French coast has 812 lighthouses in use.

## Sources
[1] France, Economy, CIA World Factbook
"""


def test_a_checked_report_has_its_own_verdict_and_says_each_finding_once(visit: Visit, home: Path) -> None:
    view = audit(FRANCE, workbench=Workbench(load(home=home)))
    assert [each.verdict for each in view.statements.values()] == ["supported", "contradicted", "no_source"]
    app = visit(home, "check", run=view.run)
    assert not app.exception
    shown = "\n".join(element.value for element in [*app.markdown, *app.subheader, *app.title])
    assert "3 statements: 1 wrong, 1 confirmed, 1 undecided." in shown
    for part in ("Confirmed (1)", "Undecided (1)"):  # the sections count what the headline counts
        assert part in auditing.details_of(view)
    assert "Answered" not in shown and "No citations" not in shown
    assert shown.count("Check of") == 1 and shown.count("21.4%") == 1
    assert app.get("download_button")


def test_what_is_searched_and_what_has_another_figure_there_is_said(visit: Visit, home: Path, tmp_path: Path) -> None:
    bench, folder = Workbench(load(home=home)), tmp_path / "pump rules"
    folder.mkdir()
    (folder / "rules.md").write_text("# Rules\n\nThe standard warranty for all Veldra pumps is 36 months.", "utf-8")
    bench.library.add_folder(folder)
    form = "\n".join(element.value for element in visit(home, "check").markdown)
    assert ":gray-badge[CIA World Factbook] :gray-badge[pump rules]" in form
    said = "The standard warranty of all Veldra pumps lasts 48 months. Nobody has counted the valves in the old hall."
    view = audit(said, workbench=bench)
    shown = "\n".join(element.value for element in visit(home, "check", run=view.run).markdown)
    assert "2 statements: 1 with another figure or name in your sources, 1 undecided." in shown


NOT_CLEAR = """# France

The unemployment rate of France was 21.4% in 2024 [1].

## Sources
[1] Country data: France
"""


def test_of_several_documents_the_user_chooses_the_one_that_is_meant(visit: Visit, home: Path) -> None:
    bench = Workbench(load(home=home))
    view = audit(NOT_CLEAR, workbench=bench)
    assert [each.verdict for each in view.statements.values()] == ["not_checkable"]
    assert view.outcome == "no_evidence"
    app = visit(home, "check", run=view.run)
    assert app.button(key="check-again").disabled
    (box,) = [each for each in app.selectbox if each.label == "Country data: France"]
    assert "France · Economy" in box.options
    box.select("library://factbook/france/economy").run()
    app.button(key="check-again").click().run()
    assert not app.exception
    (again,) = [row for row in bench.store.runs() if row.id != view.run]
    assert open_home.bench().engine.wait(again.id, LONG_S)
    (judged,) = fold(bench.store.events(again.id)).statements.values()
    assert judged.verdict == "contradicted"


def test_what_broke_is_looked_for_by_its_own_words_and_a_correction_is_proposed(visit: Visit, home: Path) -> None:
    bench = Workbench(load(home=home))
    view = audit(FRANCE, workbench=bench)
    app = visit(home, "check", run=view.run)
    app.button(key="check-research").click().run()
    assert not app.exception
    (again,) = [row for row in bench.store.runs() if row.id != view.run]
    assert open_home.bench().engine.wait(again.id, LONG_S)
    found = fold(bench.store.events(again.id))
    held, wrong, unknown = found.statements.values()
    assert held.verdict == "supported" and found.total == 3  # what was confirmed stays in the result
    assert (wrong.text, wrong.verdict) == ("The unemployment rate of France was 21.4% in 2024.", "contradicted")
    assert wrong.correction.startswith("better: “The unemployment rate of France was 7.4% in 2024.”")
    assert wrong.reason == "found in “France · Economy”", "the correction says what it gives"
    assert unknown.verdict == "no_source" and unknown.reason.startswith("no passage clearly confirms or denies it")


def test_the_first_check_on_a_new_machine_waits_for_the_library(
    visit: Visit, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []
    monkeypatch.setattr(open_home, "until_ready", lambda: order.append("library"))
    real = auditing.recipe_for
    monkeypatch.setattr(auditing, "recipe_for", lambda bench: order.append("recipe") or real(bench))
    app = visit(home, "check")
    app.text_area(key="check-text").set_value(FRANCE).run()
    app.button(key="check-start").click().run()
    assert order[:2] == ["library", "recipe"]
