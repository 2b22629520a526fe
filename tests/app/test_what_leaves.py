"""The pages about what leaves this machine, and about damaged runs."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from research.config.settings import load
from research.workbench import leaving
from research.workbench.workbench import Workbench

Visit = Callable[..., AppTest]


@pytest.fixture
def bench(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workbench:
    """A workbench with a folder of the user, and a model in the cloud."""
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "a.md").write_text("# A\n\nThe bridge is 12 km long.", encoding="utf-8")
    bench = Workbench(load(home=home))
    bench.library.add_folder(notes)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-1234567890abcdef")
    monkeypatch.setenv("WORKBENCH_MODEL", "openai:gpt-5-mini")
    return bench


def test_the_page_asks_once_whether_a_cloud_model_may_get_documents(visit: Visit, home: Path, bench: Workbench) -> None:
    app = visit(home)
    assert [each.value for each in app.warning if "notes" in each.value]
    app.button(key="egress-private").click().run()
    assert (list(app.warning), leaving.answered(bench.store)) == ([], "private")
    assert [each.value for each in app.info if "notes" in each.value]
    assert "instead-extractive" in [each.key for each in app.button], "a model of this machine is one click away"
    app.button(key="egress-open").click().run()
    assert not app.exception
    assert not [each for each in (*app.warning, *app.info) if "notes" in each.value]
    assert leaving.answered(bench.store) == "open"
    settings = visit(home, "settings", section="data")
    settings.segmented_control(key="egress-remembered").set_value("private").run()
    assert not settings.exception
    assert leaving.answered(bench.store) == "private"


@pytest.mark.parametrize("page", ["compare", pytest.param("evaluate", marks=pytest.mark.slow)])
def test_other_pages_ask_the_same_question(visit: Visit, home: Path, bench: Workbench, page: str) -> None:
    app = visit(home, page).run()  # the chips of the sources are chosen in the second run of a page opened by the test
    assert len([each for each in app.warning if "notes" in each.value]) == 1
    app.button(key="egress-open").click().run()
    assert not app.exception
    assert not app.warning and not app.error


def test_a_damaged_run_is_shown_as_damaged_beside_the_others(visit: Visit, answered: Path) -> None:
    with closing(sqlite3.connect(answered / "workbench.sqlite")) as connection, connection:
        (run,) = connection.execute("SELECT id FROM runs").fetchone()
        connection.execute("UPDATE runs SET recipe = '{'")
    app = visit(answered, "runs")
    assert not app.exception
    assert "Damaged" in app.dataframe[0].value["Outcome"][0]
    with closing(sqlite3.connect(answered / "workbench.sqlite")) as connection, connection:
        connection.execute("UPDATE events SET body = '{' WHERE seq = 2")
    app = visit(answered, "runs", run=run)
    assert not app.exception
    assert any("Not an event" in each.value for each in app.error)
