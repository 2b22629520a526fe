"""Endpoints on the pages: rows with their last test, adding, removing with undo, and the offer of a local server."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from streamlit.testing.v1 import AppTest

from pages.parts.settings import trials
from pages.parts.shared import home as open_home
from research.config import saved_settings
from research.config.named_endpoints import Entry
from research.config.settings import load
from research.workbench import detect, endpoint_registry, model_trial
from research.workbench.diagnostics import Check
from research.workbench.model_trial import Trial
from research.workbench.workbench import Workbench
from tests.app.conftest import key
from tests.fake_ollama import FakeOllama
from tests.workers import until

KEY = "sk-canary-0123456789"
Visit = Callable[..., AppTest]


def section(visit: Visit, home: Path) -> AppTest:
    return visit(home, "settings", section="endpoints")


def said(app: AppTest) -> str:
    parts = [*app.markdown, *app.caption, *app.error, *app.info]
    return "\n".join(element.value for element in parts).replace("\\", "")


def test_an_endpoint_is_added_with_its_key_and_removed_with_undo(visit: Visit, home: Path) -> None:
    app = section(visit, home)
    assert "There is no endpoint yet." in said(app)
    app.button(key="add-endpoint").click().run()
    app.selectbox(key="endpoint-kind").select("mistral").run()
    assert app.text_input(key="endpoint-name-mistral").value == "mistral"
    app.text_input(key="endpoint-key-0").input(KEY)
    app.number_input(key="endpoint-rpm").set_value(60)
    next(each for each in app.button if each.label == "Add").click().run()
    saved = load(home=home).endpoints["mistral"]
    assert saved.key is not None and saved.key.get_secret_value() == KEY
    assert saved.entry.requests_per_minute == 60
    app.run()
    assert "https://api.mistral.ai/v1" in said(app) and "60 requests a minute" in said(app) and KEY not in said(app)
    model_trial.keep(home, Trial(endpoint="mistral", model="m", at=time.time(), ok=True, rounds=3))
    app.button(key="remove-endpoint-mistral").click().run()
    assert "mistral" not in load(home=home).endpoints and model_trial.results(home) == {}
    _, restore, _ = app.session_state["undo"]  # `AppTest` runs a page alone, without the bar that app.py draws
    restore()
    assert load(home=home).endpoints["mistral"] == saved and model_trial.results(home)["mistral"].ok


def test_both_sections_show_the_newest_test_of_an_address(visit: Visit, home: Path) -> None:
    now = saved_settings.save(load(home=home), openai_base_url="http://localhost:9/v1")
    check = Check("openai", "broken", "cannot reach it")
    Workbench(now).store.put("tested", "openai", msgspec.json.encode(trials.Tested("openai", check, 100.0)))
    for shown in (section(visit, home), visit(home, "settings")):
        assert "Cannot reach it" in said(shown) and "Not working" in said(shown)
    model_trial.keep(home, Trial(endpoint="openai", model="m", at=200.0, ok=True, rounds=3))
    for shown in (section(visit, home), visit(home, "settings")):
        assert "cannot reach it" not in said(shown) and "worked with m" in said(shown)


def test_a_wrong_endpoint_is_refused_and_nothing_is_saved(visit: Visit, home: Path) -> None:
    app = section(visit, home)
    app.button(key="add-endpoint").click().run()
    app.selectbox(key="endpoint-kind").select("").run()
    app.text_input(key="endpoint-name-").input("Work Azure")
    app.text_input(key="endpoint-url-").input("https://x.example")
    app.text_input(key="endpoint-key-0").input(KEY)
    next(each for each in app.button if each.label == "Add").click().run()
    assert "lowercase" in said(app) and KEY not in said(app)
    assert not load(home=home).endpoints


def test_a_row_shows_the_last_test_with_its_time_and_what_is_missing(visit: Visit, home: Path) -> None:
    settings = endpoint_registry.add(load(home=home), "work", Entry(url="https://x.example", context=1000), KEY)
    endpoint_registry.add(settings, "groq", Entry())
    model_trial.keep(
        home, Trial(endpoint="work", model="m", at=0.0, ok=True, rounds=3, streams=True, usage=True, seconds=1.5)
    )
    app = section(visit, home)
    (shown,) = app.dataframe
    assert list(shown.value.iloc[0])[:4] == ["work:m", "yes", "yes", "yes"]
    assert [each.label for each in app.get("download_button")] == ["Export CSV"]
    assert "m (work)" in visit(home, "ask").selectbox(key=key(app, "model")).options
    text = said(app)
    assert "3 rounds with tool calls worked with m in 1.5 s. Also: streaming, token counts." in text
    assert "Tested 1 Jan 1970" in text and "1,000 tokens of context" in text
    assert "set GROQ_API_KEY" in text and "Incomplete" in text


def test_a_running_server_is_offered_once_and_used_with_one_click(
    visit: Visit, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKBENCH_DETECT", "start")
    with FakeOllama() as server:
        monkeypatch.setenv("OLLAMA_HOST", server.url)
        app = visit(home, "ask")
        until(lambda: "Ollama is running with `qwen3:8b`. Use it?" in said(app.run()))
        app.button(key="use-ollama").click().run()
        assert app.session_state[key(app, "model")] == "ollama:qwen3:8b"
    assert "Use it?" not in said(app)
    now = load(home=home)
    assert now.model == "ollama:qwen3:8b" and now.endpoints["ollama"].url == server.url


def test_a_declined_server_is_not_offered_again_unless_it_is_looked_for(
    visit: Visit, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKBENCH_DETECT", "start")
    found = detect.Server("vllm", "vLLM", "http://localhost:8000/v1", ("qwen",))
    monkeypatch.setattr(detect, "detect", lambda: [found])
    app = visit(home, "ask")
    until(lambda: "vLLM is running" in said(app.run()))
    app.button(key="decline-vllm").click().run()
    assert "vLLM is running" not in said(app)
    open_home._detection.clear()
    app = section(visit, home)
    until(lambda: not app.button(key="look-for-servers").disabled)
    assert "vLLM is running" not in said(app.run())
    app.button(key="look-for-servers").click().run()
    until(lambda: "vLLM is running" in said(app.run()))


def test_nothing_is_looked_for_when_it_is_turned_off_or_locked(
    visit: Visit, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    monkeypatch.setattr(detect, "detect", lambda: asked.append(1) or [])
    assert not visit(home, "ask").exception
    monkeypatch.setenv("WORKBENCH_DETECT", "start")
    monkeypatch.setenv("WORKBENCH_LOCK_SETTINGS", "1")
    open_home._bench.clear()
    app = section(visit, home)
    assert not [each for each in app.button if each.key in ("add-endpoint", "look-for-servers")]
    assert asked == []
