"""`agent:COMMAND`: another program's agent as a recipe of a run, a comparison and an evaluation."""

from __future__ import annotations

import json
import sys
from collections import deque
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

import research
from research.config.settings import load
from research.errors import ConfigError
from research.evaluation.recipe_notation import candidate
from research.events.events import Asked, Returned, RunFailed, RunFinished
from research.events.view import fold
from research.store import RunRow
from research.workbench.run_import import import_run, read_run
from research.workbench.workbench import Workbench
from tests.fake_openai import Body, FakeOpenAI, FakeReply

KEY = "sk-endpoint-1234567890abcdef"
QUESTION = "How many people live in Japan?"
PAGE = json.dumps([{"url": "https://example.org/japan", "title": "Japan", "content": "Japan has 123 million people."}])
REPORT = "Japan has 123 million people [1].\n\n[1] https://example.org/japan"
AGENT = """
import json, os, sys, urllib.request

def ask(messages):
    body = json.dumps({"model": os.environ["RESEARCH_MODEL"], "messages": messages}).encode()
    request = urllib.request.Request(os.environ["OPENAI_BASE_URL"] + "/chat/completions", body, {"Content-Type": "application/json"})
    return json.load(urllib.request.urlopen(request))["choices"][0]["message"]

question = sys.argv[1] if len(sys.argv) > 1 else sys.stdin.read()
assert "endpoint" not in os.environ["OPENAI_API_KEY"], "the agent gets no key of ours"
messages = [{"role": "user", "content": question}]
while True:
    said = ask(messages)
    messages.append(said)
    if not said.get("tool_calls"):
        break
    messages += [{"role": "tool", "tool_call_id": call["id"], "content": PAGE} for call in said["tool_calls"]]
    if os.path.exists("stop-here"):
        sys.exit("the agent broke")
print(said["content"])
"""


def replies(body: Body) -> FakeReply:
    if "123 million" in json.dumps(body):
        return FakeReply(REPORT)
    return FakeReply("I search.", [("search", {"query": "japan"})])


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Any:
    with FakeOpenAI(replies, key=KEY) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        yield server


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The command of an agent."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "my_agent.py"
    path.write_text(AGENT.replace("PAGE", repr(PAGE)))
    return f"{sys.executable} {path}"


def test_an_agent_answers_and_goes_on_from_its_record(provider: FakeOpenAI, script: str, tmp_path: Path) -> None:
    """It breaks in the middle; started again over the same events, it asks only for what has no answer yet."""
    bench = Workbench(load(home=tmp_path / "home"))
    chosen = candidate(bench, f"agent:{script}", model="openai:fake", tools=()).recipe
    (tmp_path / "stop-here").touch()
    failed = fold(bench.engine.start(QUESTION, chosen, here=True).events())
    assert (failed.status, failed.outcome) == ("failed", "failed")
    assert "ended with status 1: the agent broke" in failed.error
    (tmp_path / "stop-here").unlink()

    events = [event for event in bench.store.events(failed.run) if not isinstance(event, RunFailed | RunFinished)]
    bench.store.create(RunRow("again", QUESTION, chosen), [replace(event, run="again") for event in events])
    deque(bench.engine.resume("again", here=True).events(), 0)
    view = fold(bench.store.events("again"))
    assert (view.status, view.outcome, view.answer) == ("completed", "answered", REPORT)
    assert len(provider.sent) == 2, "the first request was answered from the record"
    assert [(each.status, each.quote) for each in view.citations] == [("supported", "Japan has 123 million people.")]
    assert (view.round_count(), view.tool_calls, view.prompt_tokens) == (2, 1, 14)
    events = bench.store.events("again")
    assert [event.seq for event in events] == list(range(len(events)))
    assert [type(event) for event in events if isinstance(event, Asked | Returned)] == [
        Asked,
        Returned,
        Asked,
        Returned,
    ]
    assert KEY not in json.dumps([str(event) for event in events])


@pytest.mark.slow
def test_an_agent_takes_a_column_in_compare(
    provider: FakeOpenAI,
    script: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from research.cli.main import main

    monkeypatch.setenv("WORKBENCH_HOME", str(tmp_path / "home"))
    (tmp_path / "ours.jsonl").write_text('{"text": "Nobody knows."}\n')
    words = ["compare", QUESTION, "--model", "openai:fake", "--tools", "", "--search", "", "--json"]
    status = main([*words, "--recipe", f"agent:{script} {{question}}", "--recipe", "react/full/scripted:ours.jsonl"])
    theirs, ours = json.loads(capsys.readouterr().out)["runs"]
    assert status == 0, (theirs, ours)
    assert (theirs["status"], theirs["answer"]) == ("completed", REPORT)
    assert ours["recipe"]["framework"] == "react"


def test_a_wrong_command_is_said(provider: FakeOpenAI, tmp_path: Path) -> None:
    bench = Workbench(load(home=tmp_path))
    for command, words in [("no-such-program", "cannot be started"), ("'", "No closing quotation")]:
        view = research.run(
            QUESTION,
            workbench=bench,
            framework="agent",
            options={"framework.command": command},
            model="openai:fake",
            tools=(),
        )
        assert view.status == "failed" and words in view.error, view.error


def test_nobody_with_a_login_and_no_imported_run_starts_a_program(tmp_path: Path, provider: FakeOpenAI) -> None:
    users = Workbench(load(home=tmp_path, user="0123456789abcdef"))
    with pytest.raises(ConfigError, match="where users sign in"):
        users.recipe(framework="agent", options={"framework.command": "id"}, model="extractive", tools=())
    bench = Workbench(load(home=tmp_path / "other"))
    chosen = bench.recipe(framework="agent", options={"framework.command": "id"}, model="extractive", tools=())
    from research.events.events import RunStarted, encode

    started = RunStarted(run="theirs", seq=0, time=1.0, question=QUESTION, recipe=chosen)
    checked = read_run(encode(started))
    assert "command id" in checked.withheld
    import_run(bench.store, checked)
    view = fold(bench.engine.resume("theirs", here=True).events())
    assert view.status == "failed" and "no command" in view.error
