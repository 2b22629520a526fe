"""A page reports that the database has become unavailable."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from research.errors import StoreUnavailable
from research.store.sqlite import SqliteStore

WORDS = "The database does not answer"


def gone(*_: Any, **__: Any) -> Any:
    raise StoreUnavailable(WORDS)


def said(app: AppTest) -> list[str]:
    assert not app.exception
    return [each.value for each in app.error]


def test_starting_a_run_without_a_database_shows_an_error(
    visit: Callable[..., AppTest], home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = visit(home, q="Why?")
    monkeypatch.setattr(SqliteStore, "create", gone)
    next(button for button in app.button if button.label == "Start").click().run()
    assert any(WORDS in text for text in said(app))
    monkeypatch.undo()
