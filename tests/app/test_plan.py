"""The user edits and approves the plan of a run on its page."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from streamlit.testing.v1 import AppTest

import research
from research.config.settings import load
from research.events.view import fold
from research.workbench.workbench import Workbench
from tests.workers import until


def press(app: AppTest, label: str) -> None:
    next(button for button in app.button if button.label == label).click().run()


def test_an_edited_plan_starts_the_run(visit: Callable[..., AppTest], home: Path) -> None:
    bench = Workbench(load(home=home))
    waiting = research.run("What is the population of Japan and France?", workbench=bench, plan="approve")
    app = visit(home, run=waiting.run)
    items = [each for each in app.text_input if each.label.startswith("Item ")]
    assert [each.value for each in items] == ["What is the population of Japan?", "What is the population of France?"]
    press(app, "Remove")
    press(app, "Add an item")
    items = [each for each in app.text_input if each.label.startswith("Item ")]
    assert [each.value for each in items] == ["What is the population of France?", ""]
    items[1].set_value("What is the median age of France?").run()
    press(app, "Start")
    until(lambda: bench.store.run(waiting.run).status == "completed")
    view = fold(bench.store.events(waiting.run))
    assert [(part.text, part.status) for part in view.plan_done] == [
        ("What is the population of France?", "answered"),
        ("What is the median age of France?", "answered"),
    ]
    app = visit(home, run=waiting.run)
    assert any(each.label == "Plan: 2 of 2 items done" for each in app.expander)


def test_an_empty_plan_is_refused_and_stays_editable(visit: Callable[..., AppTest], home: Path) -> None:
    bench = Workbench(load(home=home))
    waiting = research.run("How many people live in Japan?", workbench=bench, plan="approve")
    app = visit(home, run=waiting.run)
    press(app, "Remove")
    press(app, "Start")
    assert "keep at least one" in app.error[0].value
    assert bench.store.run(waiting.run).status == "waiting_input"
