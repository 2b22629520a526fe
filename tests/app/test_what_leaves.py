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


def test_the_page_asks_once_whether_a_cloud_model_may_get_documents(
    visit: Visit, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "a.md").write_text("# A\n\nThe bridge is 12 km long.", encoding="utf-8")
    bench = Workbench(load(home=home))
    bench.library.add_folder(notes)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-1234567890abcdef")
    monkeypatch.setenv("WORKBENCH_MODEL", "openai:gpt-5-mini")
    app = visit(home)
    assert [each.value for each in app.warning if "not a local model" in each.value]
    app.button(key="egress-open").click().run()
    assert not app.exception
    assert not [each for each in app.warning if "not a local model" in each.value]
    assert leaving.answered(bench.store) == "open"


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
    assert any("not an event" in each.value for each in app.error)
