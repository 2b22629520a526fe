"""The download buttons: Markdown directly, other formats in a menu, and no file is built before it is requested."""

from __future__ import annotations

import io
from functools import partial
from pathlib import Path

import pytest
import streamlit as st
from pypdf import PdfReader
from streamlit.testing.v1 import AppTest

from pages.parts.run import downloads
from pages.parts.shared import home as open_home
from research.events.view import RunView, fold
from research.exports import FORMATS
from tests.workers import LONG_S


def page() -> None:
    from pages.parts.run import downloads
    from pages.parts.shared import home
    from research.events.view import fold

    bench = home.bench()
    downloads.draw(fold(bench.store.events(bench.store.runs()[0].id)))


def test_every_format_is_offered_and_built_only_on_request(answered: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKBENCH_HOME", str(answered))
    st.cache_resource.clear()
    made: list[str] = []
    monkeypatch.setattr(downloads, "_made", lambda bench, view, name: made.append(name))
    app = AppTest.from_function(page, default_timeout=LONG_S).run()
    assert not app.exception
    buttons = list(app.get("download_button"))
    assert len(buttons) == len(FORMATS)
    assert made == []


def test_a_built_file_contains_the_run(answered: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKBENCH_HOME", str(answered))
    st.cache_resource.clear()
    bench = open_home.bench()
    view = fold(bench.store.events(bench.store.runs()[0].id))
    events = partial(bench.store.events, view.run)
    made = downloads._made(events, view, "pdf")
    assert "3.732 trillion" in "".join(each.extract_text() for each in PdfReader(io.BytesIO(made)).pages)
    assert downloads._made(events, view, "jsonl").count(b"\n") == len(bench.store.events(view.run))
    bench.library.close()
    st.cache_resource.clear()


def test_the_name_of_a_file_ends_with_a_whole_word() -> None:
    view = RunView(question="Which five countries in South America have the largest populations today?", run="r")
    assert downloads.file_name(view).startswith("which-five-countries-in-south-america-have-the-largest-1970-")
