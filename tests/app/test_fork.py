"""Forks on the pages: the form behind a link, an edit before the fork continues, its mark, and links to its origin."""

from __future__ import annotations

from pathlib import Path

from streamlit.testing.v1 import AppTest

from research.config.settings import load
from research.events.events import Edited
from research.events.view import fold
from research.workbench.workbench import Workbench
from tests.app.test_run_view import RUN, Visit, bench, press, waited


def written(app: AppTest) -> str:
    return "\n".join(each.value for each in [*app.caption, *app.markdown])


def test_a_link_opens_the_fork_form_and_an_edited_fork_is_marked(visit: Visit, answered: Path) -> None:
    app = visit(answered, run=RUN, fork="1")
    assert not app.exception
    assert app.number_input(key=f"fork-{RUN}-1-round").value == 1
    app.multiselect(key=f"fork-{RUN}-1-1-full-edits").select("main-1-1").run()
    text = app.text_area(key=f"fork-{RUN}-1-1-text-main-1-1")
    text.set_value(text.value.replace("3.732", "9.111")).run()
    press(app, "Fork and continue")
    assert not app.exception
    forked = app.query_params["run"]
    assert "fork" not in app.query_params
    waited(bench(answered).store, forked)
    events = bench(answered).store.events(forked)
    assert [event.observation.call_id for event in events if isinstance(event, Edited)] == ["main-1-1"]
    assert "9.111" in fold(events).answer

    app = visit(answered, run=forked)
    assert f"Forked from {RUN} at round 1" in [link.label for link in app.page_link]
    assert "first round differs from the original" in written(app)
    assert any(each.label.startswith("Edited by you: 1 text") for each in app.expander)
    app = visit(answered, run=RUN)
    assert f"Fork at round 1: {forked}" in [link.label for link in app.page_link]


def test_an_invalid_fork_shows_an_error_in_the_form(visit: Visit, answered: Path) -> None:
    app = visit(answered, run=RUN, fork="99")
    assert app.number_input(key=f"fork-{RUN}-99-round").value == 2, "the last round of the run"
    app = visit(answered, run=RUN, fork="1")
    app.text_area(key=f"fork-{RUN}-1-question").set_value("x" * 20_001).run()
    press(app, "Fork and continue")
    assert "20,000" in app.error[0].value
    assert len(bench(answered).store.runs()) == 1


def test_a_comparison_with_a_fork_folds_the_shared_rounds(visit: Visit, answered: Path) -> None:
    own = Workbench(load(home=answered))
    followed = own.engine.fork(RUN, 2, here=True)
    list(followed.events())
    own.store.close()
    app = visit(answered, run=followed.run_id)
    assert "same first 2 rounds" in written(app)
    app = visit(answered, "compare", runs=f"{RUN},{followed.run_id}")
    press(app, "Compare")
    assert not app.exception
    assert any(each.label.startswith("Rounds 1 to 2 shared") for each in app.expander)
    assert "Steps after that, aligned by query" in written(app)
