"""The user answers a run's question on the run's page."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from streamlit.testing.v1 import AppTest

from pages.parts.shared.safe import plain
from research.config.settings import load
from research.workbench.workbench import Workbench
from tests.workers import until


def test_a_reply_on_the_page_resumes_the_run(visit: Callable[..., AppTest], home: Path) -> None:
    bench = Workbench(load(home=home))
    events = bench.engine.start("Compare them.", bench.recipe(framework="tool_rounds"), here=True)
    for _ in events.events():
        pass
    assert bench.store.run(events.run_id).status == "waiting_input"
    app = visit(home, run=events.run_id)
    assert any("What should I look up" in text.value for text in app.markdown)
    app.text_input(key="reply-text").set_value("the population of France")
    next(button for button in app.button if button.label == "Reply and continue").click().run()
    until(lambda: bench.store.run(events.run_id).status not in ("waiting_input", "running"))
    row = bench.store.run(events.run_id)
    assert (row.status, row.outcome) == ("completed", "answered")
    assert "68,512,806" in row.answer
    app = visit(home, run=events.run_id)
    first = app.expander[0].label
    assert "Ask you" in first and "What should I look up" in first and "the population of France" in first


def test_what_a_question_lets_choose_are_buttons(visit: Callable[..., AppTest], home: Path, tmp_path: Path) -> None:
    folder = tmp_path / "own"
    folder.mkdir()
    (folder / "league.csv").write_text("club,home goals,away goals\nReds,30,12\nBlues,22,19\nGreens,28,15\n", "utf-8")
    bench = Workbench(load(home=home))
    bench.prepare((str(folder),), lambda *_: None)
    recipe = bench.recipe(model="extractive", folders=[folder], search=("folders",))
    events = bench.engine.start("Which club has the most goals?", recipe, here=True)
    for _ in events.events():
        pass
    app = visit(home, run=events.run_id)
    offered = [button.label for button in app.get_by_key("reply-offers").button]
    assert offered == [plain(f"{each} (league.csv)") for each in ("home goals", "away goals")]
    app.button(key="reply-offer-1").click().run()
    until(lambda: bench.store.run(events.run_id).status not in ("waiting_input", "running"))
    assert "Blues" in bench.store.run(events.run_id).answer
