"""The database goes away while a page is open: it says so in words."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from research.errors import StoreUnavailable
from research.store.sqlite import SqliteStore

WORDS = "the database does not answer"


def gone(*_: Any, **__: Any) -> Any:
    raise StoreUnavailable(WORDS)


def said(app: AppTest) -> list[str]:
    assert not app.exception
    return [each.value for each in app.error]


def test_a_question_that_cannot_be_kept(
    visit: Callable[..., AppTest], home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = visit(home)
    monkeypatch.setattr(SqliteStore, "create", gone)
    next(button for button in app.button if button.label == "Start").click().run()
    assert any(WORDS in text for text in said(app))
    monkeypatch.undo()
