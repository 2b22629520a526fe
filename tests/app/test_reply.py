"""The user answers a run's question on the run's page."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from streamlit.testing.v1 import AppTest

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
