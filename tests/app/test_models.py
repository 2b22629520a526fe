"""The model's Test button and `doctor` try each connection and report what is wrong."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from research.config.named_endpoints import Entry
from research.config.settings import load
from research.workbench import endpoint_registry
from tests.fake_openai import FakeOpenAI, FakeReply, does_the_job
from tests.workers import until

Visit = Callable[..., AppTest]
ROOT = Path(__file__).parents[2]
KEY = "sk-canary-0123456789"


def tried(app: AppTest, name: str) -> AppTest:
    app.session_state["known-models"] = [name]  # `AppTest` cannot type a new option
    app.run()
    app.selectbox(key="model").select(name)
    return app.button(key="test-model").click().run()


def test_a_working_connection_fills_the_list_of_models(
    visit: Visit, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with FakeOpenAI(lambda body: FakeReply("ready"), models=("fake", "other"), key=KEY) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        app = tried(visit(home), "openai:fake")
        assert "openai:fake answers" in app.success[0].value
        assert "price unknown" in app.success[0].value, "the server is not OpenAI's"
        assert {"fake (OpenAI)", "other (OpenAI)"} <= set(app.run().selectbox(key="model").options)


def test_the_models_of_an_endpoint_tested_in_the_settings_are_offered_by_name(visit: Visit, home: Path) -> None:
    with FakeOpenAI(does_the_job, models=("fake", "other")) as server:
        endpoint_registry.add(load(home=home), "work", Entry(url=server.base_url))
        app = visit(home, "settings", section="endpoints")
        app.text_input(key="test-model-work").input("fake").run()
        app.button(key="test-endpoint-work").click().run()
        until(lambda: "worked with fake" in "".join(each.value for each in app.run().markdown))
    assert {"fake (work)", "other (work)"} <= set(visit(home).selectbox(key="model").options)


@pytest.mark.parametrize("page", ["ask", "compare"])
def test_where_only_the_offline_model_is_offered_the_way_to_others_is_said(visit: Visit, home: Path, page: str) -> None:
    def said() -> bool:
        return any("`gguf:PATH`" in each.value and "Ollama" in each.value for each in visit(home, page).caption)

    assert said()
    endpoint_registry.add(load(home=home), "work", Entry(url="http://127.0.0.1:9/v1", model="fake"))
    assert not said()


@pytest.mark.parametrize(
    ("model", "key", "said"),
    [
        ("openai:fake", "sk-wrong-9876543210", "set OPENAI_API_KEY"),
        ("openai:missing", KEY, "the server has fake"),
        ("anthropic:any", KEY, "set ANTHROPIC_API_KEY"),
        ("gguf:/no/such.gguf", KEY, "/no/such.gguf"),
    ],
)
def test_a_failed_connection_shows_the_cause_without_the_key(
    visit: Visit, home: Path, monkeypatch: pytest.MonkeyPatch, model: str, key: str, said: str
) -> None:
    with FakeOpenAI(lambda body: FakeReply("ready"), models=("fake",), key=KEY) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", key)
        app = tried(visit(home), model)
    shown = app.error[0].value.replace("\\", "")
    assert said in shown
    assert key not in shown


def test_an_unreachable_server_names_the_setting_to_change(
    visit: Visit, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with FakeOpenAI() as server:
        url = server.base_url
    monkeypatch.setenv("OPENAI_BASE_URL", url)
    app = tried(visit(home), "openai:fake")
    assert "OPENAI_BASE_URL" in app.error[0].value.replace("\\", "")


@pytest.mark.slow
def test_doctor_tries_every_configured_service(home: Path) -> None:
    with FakeOpenAI(models=("fake",), key=KEY) as server:
        environment = {"OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": KEY, "PATH": "/usr/bin:/bin"}
        done = subprocess.run(
            [sys.executable, "-m", "research", "doctor", "--home", str(home)],
            cwd=ROOT, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
    lines = dict(line.split(": ", 1) for line in done.stdout.splitlines())
    assert done.returncode == 0, done.stdout
    assert lines["ok       openai"] == "1 models, e.g. fake"
    assert lines["off      anthropic"].startswith("set ANTHROPIC_API_KEY")
    assert "TAVILY_API_KEY" in lines["off      tavily"]
    assert KEY not in done.stdout
