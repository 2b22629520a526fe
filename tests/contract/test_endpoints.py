"""Named endpoints: several at once in one comparison, each with its own key, prices and limits; no key goes elsewhere."""

from __future__ import annotations

import json
import logging
import time
from pathlib import Path
from typing import Any

import pytest

from research.compare.starting import compare
from research.config import saved_endpoints, saved_settings, users
from research.config.named_endpoints import Entry, presets
from research.config.settings import SAVED_FILE, Settings, load
from research.errors import ConfigError, ProviderError
from research.events.events import Asked
from research.events.view import fold
from research.ops import logs
from research.types import Message, Request, Usage
from research.workbench import endpoint_registry
from research.workbench.diagnostics import Check, masked
from research.workbench.workbench import Workbench
from tests.fake_anthropic import FakeAnthropic
from tests.fake_openai import FakeOpenAI, FakeReply
from tests.player import QUESTION, Player
from tests.smollm import model_file
from tests.workers import LONG_S

ONE, TWO, CANARY = "sk-one-0123456789", "sk-two-0123456789", "sk-canary-0123456789"
ALICE = users.key_of("https://login.example.org", "alice")
ASKED = Request((Message("user", "Hello"),))


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return load(home=tmp_path / "own")


def listed(monkeypatch: pytest.MonkeyPatch, home: Path, **entries: dict[str, Any]) -> Workbench:
    """Open a home with these endpoints in WORKBENCH_ENDPOINTS."""
    named = {name.replace("_", "-"): entry for name, entry in entries.items()}
    monkeypatch.setenv("WORKBENCH_ENDPOINTS", json.dumps(named))
    return Workbench(load(home=home))


def key_of(settings: Settings, name: str) -> str:
    key = settings.endpoints[name].key
    return key.get_secret_value() if key else ""


# Several in one comparison


@pytest.mark.parametrize("third", ["scripted", pytest.param("gguf", marks=pytest.mark.slow)])
def test_three_recipes_on_three_endpoints_have_their_own_keys_prices_and_limits(
    home: Path, script: Any, monkeypatch: pytest.MonkeyPatch, third: str
) -> None:
    in_process = script(
        '<tool_call>{"name": "search", "arguments": {"query": "Japan population"}}</tool_call>',
        "<answer>Japan has 123,201,945 people [1].</answer>",
    )
    if third == "gguf":
        in_process = f"gguf:{model_file()}"
    monkeypatch.setenv("OPENAI_API_KEY", CANARY)
    with FakeOpenAI(Player("native", laps=2), key=ONE) as one, FakeOpenAI(Player("native", laps=3), key=TWO) as two:
        bench = listed(
            monkeypatch,
            home,
            work_one={"url": one.base_url, "key": ONE, "prices": {"input": 2, "output": 10}, "context": 50_000},
            two={"url": two.base_url, "key": TWO, "prices": {"input": 1, "output": 0}, "requests_per_minute": 60_000},
        )
        models = ("work-one:fake", "two:fake", in_process)
        rounds = (4, 4, 1 if third == "gguf" else 4)
        recipes = [
            bench.recipe(model=model, tools=["search"], judge="off", options={"framework.rounds": number})
            for model, number in zip(models, rounds, strict=True)
        ]
        comparison = compare(bench, QUESTION, recipes)
        assert all(bench.engine.wait(run, LONG_S) for run in comparison.runs)
        views = [fold(bench.store.events(run)) for run in comparison.runs]
        assert [view.status for view in views] == ["completed"] * 3
        assert set(one.authorizations) == {f"Bearer {ONE}"} and set(two.authorizations) == {f"Bearer {TWO}"}
        for server, key in ((one, TWO), (two, ONE)):
            assert not any(key.encode() in body or CANARY.encode() in body for body in server.sent)
    # The fakes report 7 tokens read and 3 written for each call.
    assert views[2].cost_usd == 0
    calls = [view.model_calls for view in views]
    assert views[0].cost_usd == pytest.approx(calls[0] * (7 * 2 + 3 * 10) / 1e6)
    assert views[1].cost_usd == pytest.approx(calls[1] * 7 / 1e6)
    windows = [{e.window for e in bench.store.events(run) if isinstance(e, Asked)} for run in comparison.runs[:2]]
    assert windows == [{50_000}, {0}]


def test_a_role_may_name_another_endpoint(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeOpenAI(Player("native", laps=2), key=ONE) as one, FakeOpenAI(Player("native"), key=TWO) as two:
        bench = listed(monkeypatch, home, one={"url": one.base_url, "key": ONE}, two={"url": two.base_url, "key": TWO})
        recipe = bench.recipe(framework="rewoo", model="one:fake", roles={"planner": "two:fake"}, tools=["search"])
        run = bench.engine.start(QUESTION, recipe, here=True)
        asked = [event.model for event in run.events() if isinstance(event, Asked)]
        assert bench.store.run(run.run_id).status == "completed"
        assert asked.count("one:fake") == len(one.requests) > 0
        assert asked.count("two:fake") == len(two.requests) > 0
        assert set(two.authorizations) == {f"Bearer {TWO}"}


# What an endpoint is


def test_an_endpoint_of_a_preset_is_there_when_its_variable_is_set(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not settings.endpoints
    monkeypatch.setenv("MISTRAL_API_KEY", ONE)
    now = load(home=settings.home)
    found = endpoint_registry.find(now, "mistral")
    assert (found.base_url, found.secret, found.key_name) == ("https://api.mistral.ai/v1", ONE, "MISTRAL_API_KEY")
    assert found.quirks.call_ids == "nine"
    (shown,) = endpoint_registry.known(now)
    assert (shown.name, shown.title, shown.key_from, shown.problem) == ("mistral", "Mistral", "MISTRAL_API_KEY", "")
    assert ONE not in repr(now) and ONE in set(now.secrets())


def test_every_preset_describes_an_endpoint(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = "openai azure openrouter gemini deepseek mistral groq xai qwen moonshot zai cohere together fireworks"
    assert set(f"{asked} ollama lmstudio llamacpp vllm sglang anthropic".split()) <= set(presets())
    for name, preset in presets().items():
        if name in ("openai", "anthropic"):
            continue
        url = preset.url or "https://me.openai.azure.com"
        kind = "" if preset.url else name
        added = endpoint_registry.add(load(home=settings.home / name), name, Entry(url=url, kind=kind), ONE)
        found = endpoint_registry.find(added, name)
        assert (found.kind, found.secret) == (preset.kind, ONE)
        # A second endpoint of the same service, by its address alone, has the same quirks.
        if not preset.local and preset.url:
            again = endpoint_registry.find(endpoint_registry.add(added, "mine", Entry(url=url), TWO), "mine")
            assert (again.kind, again.quirks, again.secret) == (found.kind, found.quirks, TWO)


def test_a_list_may_be_a_toml_file(settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.toml").write_text(
        """[work-azure]
kind = "azure"
url = "https://me.openai.azure.com"
key_variable = "WORK_KEY"
context = 128000
prices = { input = 1.25, output = 10 }
quirks = { token_limit = "max_completion_tokens", body = { user = "me" } }
[lab]
url = "http://lab.internal:8000/v1"
"""
    )
    monkeypatch.setenv("WORKBENCH_ENDPOINTS", str(tmp_path / "mine.toml"))
    monkeypatch.setenv("WORK_KEY", ONE)
    now = load(home=settings.home)
    azure, lab = endpoint_registry.find(now, "work-azure"), endpoint_registry.find(now, "lab")
    assert (azure.kind, azure.secret, azure.window, azure.key_name) == ("azure", ONE, 128_000, "WORK_KEY")
    assert azure.base_url == "https://me.openai.azure.com/openai/v1"
    assert azure.prices is not None and azure.prices.output == 10
    assert azure.quirks.body == {"user": "me"}
    assert (lab.kind, lab.secret, lab.prices) == ("openai", "", None)


def test_a_limit_of_the_endpoints_openai_and_anthropic_can_be_listed(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", ONE)
    monkeypatch.setenv("OPENAI_SEND_REASONING", "true")
    monkeypatch.setenv("WORKBENCH_ENDPOINTS", json.dumps({"openai": {"context": 1000, "requests_per_minute": 5}}))
    now = load(home=settings.home)
    found = endpoint_registry.find(now, "openai")
    assert (found.secret, found.window, found.quirks.reasoning) == (ONE, 1000, "send")
    assert found.key_name == "OPENAI_API_KEY"
    assert endpoint_registry.rates(now)["openai"].requests == 5
    with pytest.raises(ConfigError, match="ANTHROPIC_API_KEY"):
        endpoint_registry.find(now, "anthropic")


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("{", "not valid JSON"),
        ("/no/such/file.toml", "cannot be read"),
        ('{"Work": {}}', "lowercase"),
        ('{"gguf": {}}', "taken by a model provider"),
        ('{"work": {"adress": "x"}}', "adress"),
        ('{"work": {"kind": "opnai"}}', "unknown kind 'opnai'; known: openai, "),
        ('{"work": {"context": -1}}', "context"),
        ('{"work": {"context": "many"}}', "context"),
        ('{"openai": {"url": "https://x.example"}}', "OPENAI_BASE_URL"),
    ],
)
def test_a_wrong_list_is_refused_with_what_is_wrong(
    value: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKBENCH_ENDPOINTS", value)
    with pytest.raises(ConfigError, match="WORKBENCH_ENDPOINTS") as caught:
        load(home=tmp_path / "own")
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        (Entry(url="ftp://x.example"), "address of endpoint 'work'"),
        (Entry(url="https://user:pass@x.example"), "address of endpoint 'work'"),
        (Entry(), "has no address"),
        (Entry(url="https://x.example", quirks={"temperatur": False}), "quirks"),
        (Entry(url="https://x.example", prices={"input": 1}), "output"),
        (Entry(url="https://x.example", prices={"input": -1, "output": 1}), "price input"),
    ],
)
def test_a_wrong_endpoint_is_not_saved(settings: Settings, entry: Entry, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        endpoint_registry.add(settings, "work", entry, ONE)
    assert said in str(caught.value) and ONE not in str(caught.value) and "pass" not in str(caught.value)
    assert not (settings.home / SAVED_FILE).exists()


def test_an_unknown_endpoint_is_refused_with_the_known_ones(settings: Settings) -> None:
    bench = Workbench(endpoint_registry.add(settings, "work-azure", Entry(url="https://x.example")))
    with pytest.raises(ConfigError) as caught:
        bench.model("wrk-azure:gpt-5")
    assert all(f" {name}" in str(caught.value) for name in ("work-azure", "openai", "ollama", "extractive"))
    with pytest.raises(ConfigError, match="set GROQ_API_KEY, or `python -m research endpoints add groq --key -`"):
        bench.model("groq:llama")
    with pytest.raises(ConfigError, match="name a model after the colon"):
        bench.recipe(model="work-azure:")


def test_a_local_server_needs_no_setting_and_costs_nothing(settings: Settings) -> None:
    model = Workbench(settings).model("vllm:Qwen/Qwen3-8B")
    assert model.name == "vllm:Qwen/Qwen3-8B"
    assert model.price(Usage(1000, 1000)) == 0  # type: ignore[attr-defined]
    elsewhere = endpoint_registry.add(settings, "lab", Entry(kind="vllm", url="http://lab.internal:8000/v1"))
    assert Workbench(elsewhere).model("lab:q").price(Usage(1000, 1000)) is None  # type: ignore[attr-defined]


def test_saved_endpoints_are_removed_and_restored_with_their_keys(settings: Settings) -> None:
    added = endpoint_registry.add(settings, "work", Entry(url="https://x.example/v1/", model="m"), f" {ONE}\n")
    with pytest.raises(ConfigError, match="exists"):
        endpoint_registry.add(added, "work", Entry(url="https://y.example"))
    path = settings.home / SAVED_FILE
    assert path.stat().st_mode & 0o777 == 0o600
    gone, table = saved_endpoints.remove(added, "work")
    assert "work" not in gone.endpoints and ONE not in path.read_text()
    back = saved_endpoints.restore(gone, "work", table)
    assert key_of(back, "work") == ONE and back.endpoints["work"].entry.model == "m"
    assert saved_settings.save(back, model="work:m").endpoints.keys() == {"work"}
    with pytest.raises(ConfigError, match="saved: work"):
        saved_endpoints.remove(back, "other")


def test_locked_settings_take_no_endpoint(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="WORKBENCH_LOCK_SETTINGS"):
        endpoint_registry.add(load(home=tmp_path / "own", lock_settings=True), "work", Entry(url="https://x.example"))


# A key never goes to another endpoint


def test_a_key_counts_only_for_the_address_it_was_entered_for(settings: Settings) -> None:
    endpoint_registry.add(settings, "work", Entry(url="https://one.example/v1"), CANARY)
    path = settings.home / SAVED_FILE
    path.write_text(path.read_text().replace('url = "https://one', 'url = "https://two'))
    now = load(home=settings.home)
    assert key_of(now, "work") == "" and CANARY in set(now.secrets())
    with pytest.raises(ConfigError, match="entered for another address"):
        endpoint_registry.find(now, "work")


def test_a_presets_variable_is_sent_to_the_presets_own_address_only(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GROQ_API_KEY", CANARY)
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", CANARY)
    for number, (name, entry) in enumerate(
        [
            ("groq", Entry(url="https://evil.example/v1")),
            ("mine", Entry(kind="groq", url="https://evil.example/v1")),
            ("mine", Entry(kind="groq", url="https://api.groq.com.evil.example/v1")),
            ("mine", Entry(kind="groq", url="http://api.groq.com/v1")),
            ("mine", Entry(kind="azure", url="https://evil.openai.azure.com")),
        ]
    ):
        added = endpoint_registry.add(load(home=settings.home / str(number)), name, entry)
        assert key_of(added, name) == "", entry
    again = endpoint_registry.add(settings, "mine", Entry(url="https://api.groq.com/openai/v1", requests_per_minute=3))
    assert key_of(again, "mine") == CANARY


def test_a_key_does_not_follow_a_redirect(settings: Settings) -> None:
    with FakeOpenAI([FakeReply("elsewhere")] * 3) as other:
        reply = FakeReply(
            status=307, headers={"Location": f"{other.base_url}/chat/completions"}, body={"error": "moved"}
        )
        with FakeOpenAI([reply] * 3) as one, FakeAnthropic([reply] * 3) as two:
            added = endpoint_registry.add(settings, "one", Entry(url=one.base_url), ONE)
            added = endpoint_registry.add(added, "two", Entry(url=two.base_url, kind="anthropic"), TWO)
            bench = Workbench(added)
            for name in ("one:fake", "two:fake"):
                with pytest.raises(ProviderError):
                    list(bench.model(name).stream(ASKED))
            assert len(one.requests) == len(two.requests) == 1
        assert other.tried == [] and other.authorizations == []


def test_a_users_endpoint_has_no_key_of_the_server_and_reaches_no_private_host(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GROQ_API_KEY", CANARY)
    monkeypatch.setenv("DATABASE_PASSWORD", CANARY)
    alice = users.settings_for(settings, ALICE)
    assert key_of(alice, "groq") == CANARY  # the administrator's endpoint serves all users
    with pytest.raises(ConfigError, match="cannot read environment variables"):
        endpoint_registry.add(alice, "mine", Entry(url="https://x.example", key_variable="DATABASE_PASSWORD"))
    # With prices of her own she would pass the caps of the server.
    free = endpoint_registry.add(alice, "mine", Entry(kind="groq", prices={"input": 0, "output": 0}))
    assert key_of(free, "mine") == ""
    with pytest.raises(ConfigError, match="choose another name"):
        endpoint_registry.add(alice, "openai", Entry(prices={"input": 0, "output": 0}))
    with FakeOpenAI([FakeReply("inside")]) as server:
        bench = Workbench(endpoint_registry.add(alice, "inside", Entry(url=server.base_url), ONE))
        with pytest.raises(ProviderError, match="cannot be visited"):
            list(bench.model("inside:fake").stream(ASKED))
        assert server.authorizations == []
    with pytest.raises(ConfigError, match="unknown model provider or endpoint|not set up"):
        bench.model("ollama:qwen3")


def test_keys_of_endpoints_are_redacted_in_the_log_and_in_checks(
    settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    bench = Workbench(endpoint_registry.add(settings, "work", Entry(url="https://x.example"), CANARY))
    assert CANARY not in masked(bench.settings, Check("work", "broken", f"it said {CANARY}")).text
    record = logging.LogRecord("research", logging.WARNING, "", 0, f"it said {CANARY}", (), None)
    assert CANARY not in logs._Lines().format(record)


# Limits


def test_the_limits_of_an_endpoint_and_of_the_administrator_both_apply(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "time", lambda: 1_800_000_000.0)
    monkeypatch.setenv("WORKBENCH_RATE_LIMITS", "work=60,openai=6")
    added = endpoint_registry.add(
        load(home=settings.home), "work", Entry(url="https://x.example", requests_per_minute=600, tokens_per_minute=6e4)
    )
    turn = Workbench(added)._turns()
    assert [round(turn("work:m", 100)) for _ in range(3)] == [0, 1, 2]
    assert round(turn("work:m", 6000)) == 6  # seconds that 6,000 tokens take at 60,000 a minute
    assert [round(turn("openai:m", 10)) for _ in range(2)] == [0, 10]
    assert turn("extractive", 10) == 0
    with pytest.raises(ConfigError, match="unknown name 'wrok'; known: .*work"):
        monkeypatch.setenv("WORKBENCH_RATE_LIMITS", "wrok=60")
        Workbench(load(home=settings.home))._turns()
