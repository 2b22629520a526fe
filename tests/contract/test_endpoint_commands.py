"""The command `endpoints`: list, add, remove, detect and test; and what doctor says of endpoints."""

from __future__ import annotations

import io
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from research.cli.main import main
from research.config.settings import load
from research.workbench import detect, diagnostics, model_trial
from research.workbench.workbench import Workbench
from tests.command import Cli, Done
from tests.fake_openai import Body, FakeOpenAI, FakeReply, does_the_job
from tests.fake_search import Asked as AskedOver
from tests.fake_search import FakeSearch, Reply

KEY = "sk-canary-0123456789"


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Cli]:
    """Runs `endpoints` in an empty home."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WORKBENCH_HOME", str(tmp_path / "own"))

    def command(*words: str) -> Done:
        capsys.readouterr()
        try:
            status = main(["endpoints", *words])
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else 1
        said = capsys.readouterr()
        return Done(status, said.out, said.err)

    yield command


# Adding, listing, removing


def test_an_endpoint_is_added_listed_and_removed(run: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{KEY}\n"))
    words = "--context 128000 --price input=1.25 --price output=10 --requests-per-minute 60 --wait 300 --quirk temperature=false"
    added = run("add", "work", "https://x.example/v1", "--key", "-", *words.split(), "--json")
    assert added.status == 0 and KEY not in added.out + added.err
    assert added.json | {"name": "work", "url": "https://x.example/v1", "key_from": "saved", "context": 128000,
                         "prices": {"input": 1.25, "output": 10}, "requests_per_minute": 60, "timeout_s": 300} == added.json  # fmt: skip
    (listed,) = run("list", "--json").json["endpoints"]
    assert listed == {**added.json, "test": None}
    assert "work" in run("list").out and KEY not in run("list").out
    assert run("add", "work", "https://y.example").status == 2
    assert run("add", "work", "https://y.example", "--replace").status == 0
    assert run("remove", "work", "--json").json == {"removed": "work"}
    assert run("list", "--json").json == {"endpoints": []}
    assert "work" in run("remove", "work").err


def test_presets_are_listed_and_added_by_name(run: Cli) -> None:
    presets = run("list", "--presets", "--json").json["presets"]
    assert presets["groq"]["url"] == "https://api.groq.com/openai/v1"
    assert "GROQ_API_KEY" in run("list", "--presets").out
    added = run("add", "groq")
    assert added.status == 0 and "set GROQ_API_KEY" in added.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("add", "work"), "give its URL, or name a preset"),
        (("add", "work", "https://x.example", "--key", KEY), "takes `-` only"),
        (("add", "work", "https://x.example", "--key", "-", "--key-variable", "X"), "exclude each other"),
        (("add", "work", "https://x.example", "--kind", "nonsense"), "unknown kind 'nonsense'; known: openai"),
        (("add", "work", "https://x.example", "--price", "input=cheap"), "--price"),
        (("add", "work", "https://x.example", "--quirk", "temperatur=false"), "temperatur"),
        (("add", "gguf", "https://x.example"), "taken by a model provider"),
        (("test", "nonsense"), "known providers: "),
        (("test", "groq"), "set GROQ_API_KEY"),
        (("remove", "nonsense"), "nonsense"),
    ],
)
def test_a_wrong_call_is_refused_in_one_line(run: Cli, words: tuple[str, ...], said: str) -> None:
    done = run(*words)
    assert done.status == 2
    assert said in done.err and done.err.count("\n") == 1 and KEY not in done.err


# Testing


def test_a_test_does_three_rounds_with_tool_calls_and_keeps_the_result(run: Cli, tmp_path: Path) -> None:
    with FakeOpenAI(does_the_job, key=KEY) as server:
        (tmp_path / "own").mkdir()
        bench = Workbench(load())
        bench.settings = _added(bench, server.base_url)
        done = run("test", "work", "--json")
        assert done.status == 0 and len(server.requests) == 4
        assert len(server.sent[3]) > 15_000, "the long prompt"
        found = done.json
        assert found["ok"] and found["rounds"] == 3 and found["model"] == "fake"
        assert found["tool_calls"] and found["uses_results"] and found["streams"] and found["usage"]
        assert found["long_prompt"] and found["stops"]
        assert found["cost_usd"] is None and found["problem"] == ""
        (listed,) = run("list", "--json").json["endpoints"]
        assert listed["test"] == found
        assert "3 rounds with tool calls" in run("list").out
        checks = {check.name: check for check in diagnostics.examine_models(Workbench(load()))}
        assert checks["work"].state == checks["work test"].state == "ok"
        assert "3 rounds with tool calls" in checks["work test"].text
        run("test", "work", "--model", "other")
        assert [each["model"] for each in run("results", "--format", "json").json["tested"]] == ["fake", "other"]
        day = time.strftime("%Y-%m-%d", time.gmtime(found["at"]))
        row = ["work:fake", *["yes"] * 5, f"{found['seconds']:.1f}", day, ""]
        assert f"| {' | '.join(row)} |" in run("results").out
        assert ",".join(row) in run("results", "--format", "csv").out
        run("remove", "work")
        assert model_trial.table(tmp_path / "own") == []


def test_a_cut_prompt_and_a_reply_that_comes_at_once_are_in_the_table(run: Cli, tmp_path: Path) -> None:
    def plain(body: Body) -> FakeReply:
        return does_the_job(body) if "tools" in body else FakeReply("I see no list.", usage=(2000, 5))

    with FakeOpenAI(plain, key=KEY) as server:
        (tmp_path / "own").mkdir()
        _added(Workbench(load()), server.base_url)
        found = run("test", "work", "--json").json
    assert found["ok"] and found["long_prompt"] is False and found["stops"] is None


def test_results_of_earlier_versions_are_read_and_replaced(tmp_path: Path) -> None:
    earlier = {"work": {"endpoint": "work", "model": "fake", "at": 1.0, "ok": True, "rounds": 3}}
    (tmp_path / model_trial.FILE).write_text(json.dumps(earlier))
    assert model_trial.results(tmp_path)["work"].ok
    model_trial.keep(tmp_path, model_trial.Trial(endpoint="work", model="fake", at=2.0, ok=False))
    assert [each.ok for each in model_trial.table(tmp_path)] == [False]


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (FakeReply("I think it is rose."), "called no tool"),
        (FakeReply('<tool_call>{"name": "open_box", "arguments": {"colour": "red"}}</tool_call>'), "--protocol tagged"),
        (FakeReply(calls=[("open_box", {"colour": "blue"})]), "still calling tools"),
        (FakeReply(status=401, body={"error": {"message": f"bad key {KEY}"}}), "refused the key"),
        (FakeReply(status=400, body={"error": {"message": "no tools here"}}), "no tools here"),
    ],
)
def test_a_test_that_fails_says_what_went_wrong(run: Cli, tmp_path: Path, reply: FakeReply, said: str) -> None:
    with FakeOpenAI(lambda body: reply) as server:
        (tmp_path / "own").mkdir()
        _added(Workbench(load()), server.base_url)
        done = run("test", "work", "--model", "fake", "--json")
    assert done.status == 1
    assert not done.json["ok"] and said in done.json["problem"] and KEY not in done.out
    assert model_trial.results(tmp_path / "own")["work"].problem == done.json["problem"]


def test_a_test_names_the_models_when_it_has_to_be_told_one(run: Cli, tmp_path: Path) -> None:
    with FakeOpenAI(does_the_job, models=("one", "two")) as server:
        (tmp_path / "own").mkdir()
        _added(Workbench(load()), server.base_url)
        done = run("test", "work")
    assert done.status == 2 and "name the model to test; the server has one, two" in done.err


def _added(bench: Workbench, url: str) -> Any:
    from research.config.named_endpoints import Entry
    from research.workbench import endpoint_registry

    return endpoint_registry.add(bench.settings, "work", Entry(url=url), KEY)


# Detecting


def ollama(request: AskedOver) -> Reply:
    """Answer as Ollama does."""
    found: dict[str, Any] = {
        "/api/tags": {"models": [{"name": "nomic-embed-text:latest"}, {"name": "qwen3:8b", "details": {}}]},
        "/api/version": {"version": "0.12.0"},
    }
    return Reply(found[request.path]) if request.path in found else Reply("", 404)


def port_of(server: FakeSearch) -> str:
    return server.url.rpartition(":")[2]


def test_a_running_server_is_detected_with_its_models(run: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeSearch(ollama) as server:
        monkeypatch.setenv("OLLAMA_HOST", f"0.0.0.0:{port_of(server)}")
        (found,) = run("detect", "--json").json["servers"]
        assert found["name"] == "ollama" and found["models"] == ["nomic-embed-text:latest", "qwen3:8b"]
        said = run("detect").out
        assert f"endpoints add ollama http://127.0.0.1:{port_of(server)} --model qwen3:8b" in said
        assert all(asked.headers["host"].startswith("127.0.0.1") for asked in server.asked)


@pytest.mark.parametrize(
    "replies",
    [
        {"/api/tags": Reply({"models": []})},  # an imitation: no /api/version
        {"/api/tags": Reply("<html>", headers={"Content-Type": "text/html"})},
        {"/api/tags": Reply([1, 2])},
        {"/api/tags": Reply("", 302, headers={"Location": "http://127.0.0.1:1/"})},
        {"/api/tags": Reply("[" * 100_000)},
    ],
)
def test_another_server_on_the_port_is_not_taken_for_one(replies: dict[str, Reply]) -> None:
    with FakeSearch(lambda request: replies.get(request.path, Reply("", 404))) as server:
        assert detect.detect({"OLLAMA_HOST": f"127.0.0.1:{port_of(server)}"}) == []


@pytest.mark.parametrize("host", ["gpu.example.org:11434", "http://10.0.0.7", "nonsense:port"])
def test_only_this_machine_is_asked(host: str) -> None:
    assert detect.detect({"OLLAMA_HOST": host}) == []  # tests may reach loopback only: anything else raises


def test_an_offer_is_made_once_and_accepting_it_sets_the_endpoint_up(tmp_path: Path) -> None:
    bench = Workbench(load(home=tmp_path / "own"))
    found = [detect.Server("ollama", "Ollama", "http://localhost:11434", ("nomic-embed-text", "qwen3:8b")),
             detect.Server("vllm", "vLLM", "http://localhost:8000/v1", ())]  # fmt: skip
    (offer,) = detect.offered(bench, found)
    assert offer.model == "qwen3:8b"
    detect.decline(bench, "ollama")
    assert detect.offered(Workbench(load(home=tmp_path / "own")), found) == []
    other = Workbench(load(home=tmp_path / "other"))
    other.settings = detect.accept(other, offer)
    assert other.settings.endpoints["ollama"].entry.model == "qwen3:8b"
    assert detect.offered(other, found) == []


def test_servers_are_looked_for_only_where_none_is_set_up_and_nobody_forbids_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not detect.wanted(Workbench(load(home=tmp_path)))  # the tests turn it off
    monkeypatch.delenv("WORKBENCH_DETECT")
    assert detect.wanted(Workbench(load(home=tmp_path)))
    assert not detect.wanted(Workbench(load(home=tmp_path, user="0123456789abcdef")))
    monkeypatch.setenv("OPENAI_BASE_URL", "http://localhost:11434/v1")
    assert not detect.wanted(Workbench(load(home=tmp_path)))
    monkeypatch.setenv("WORKBENCH_ENDPOINTS", json.dumps({"far": {"url": "https://x.example"}}))
    monkeypatch.delenv("OPENAI_BASE_URL")
    assert detect.wanted(Workbench(load(home=tmp_path)))
