"""A run that asks the user a question, or is killed, resumes in another process where it stopped."""

from __future__ import annotations

import json
import os
import signal
import threading
from pathlib import Path
from typing import Any

import pytest

import research
from research.agent.journal import Journal
from research.agent.lifecycle import execute
from research.agent.run import Run
from research.errors import ConfigError
from research.events import events as e
from research.events.view import fold
from research.workbench.workbench import Workbench
from tests.command import Cli
from tests.fake_openai import Body, FakeOpenAI, FakeReply
from tests.player import ANSWER, QUESTION, Player, lap_of
from tests.warm import Warm
from tests.workers import LONG_S

ROOT = Path(__file__).parents[2]


def environment(base_url: str = "") -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "HOME", "WORKBENCH_JUDGE") if name in os.environ}
    return {**kept, "PYTHONPATH": str(ROOT), **({"OPENAI_BASE_URL": base_url} if base_url else {})}


def call(warm: Warm, home: Path, *words: str, base_url: str = "") -> tuple[int, dict[str, Any], str]:
    """Run one command in its own process; return its exit status, its JSON output and its standard error."""
    done = warm.run([*words, "--home", str(home)], cwd=home, environment=environment(base_url))
    return done.returncode, json.loads(done.stdout) if done.stdout.strip() else {}, done.stderr


FIGURES = ("123,201,945", "55,751,717")


def test_a_question_asked_by_one_process_can_be_answered_in_another(home: Path, cli: Cli, warm: Warm) -> None:
    status, shown, errors = call(warm, home, "run", "Compare them.", "--framework", "tool_rounds", "--json")
    assert (status, shown["status"], shown["outcome"]) == (3, "waiting_input", "needs_input"), errors
    assert shown["prompt"].endswith("?")

    refused = cli("resume", shown["run_id"])
    assert refused.status == 2
    assert shown["prompt"] in refused.err

    status, done, errors = call(
        warm, home, "resume", shown["run_id"], "--reply", "the population of Japan and of Kenya", "--json"
    )
    assert (status, done["status"], done["outcome"]) == (0, "completed", "answered"), errors
    assert [figure for figure in FIGURES if figure not in done["report"]] == []
    assert done["run_id"] == shown["run_id"]

    refused = cli("resume", shown["run_id"], "--reply", "again")
    assert (refused.status, "completed" in refused.err) == (2, True)


def test_a_chinese_question_is_asked_back_and_answered_after_the_reply(cli: Cli) -> None:
    shown = cli("run", "比较它们。", "--framework", "tool_rounds", "--json").json
    assert (shown["status"], shown["prompt"][-1]) == ("waiting_input", "？")
    done = cli("resume", shown["run_id"], "--reply", "日本和肯尼亚的人口", "--json").json
    assert (done["status"], done["outcome"]) == ("completed", "answered")
    assert [figure for figure in FIGURES if figure not in done["report"]] == []


def test_a_killed_run_resumes_without_repeating_answered_requests(home: Path, warm: Warm) -> None:
    """The process dies while it waits for its fourth reply, with three replies and three tool calls in the log."""
    arrived, gate = threading.Event(), threading.Event()
    player = Player("native", laps=5)

    def slow_once(body: Body) -> FakeReply:
        reply = player(body)
        if lap_of(body) == 3 and not arrived.is_set():
            arrived.set()
            gate.wait(LONG_S)
        return reply

    with FakeOpenAI(slow_once) as server:
        words = ("run", QUESTION, "--model", "openai:fake", "--home", str(home))
        process = warm.start(words, cwd=home, environment=environment(server.base_url))
        run_id = next(line for line in process.stderr if line.startswith("run ")).split()[1]
        assert arrived.wait(LONG_S)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        gate.set()
        before = [lap_of(body) for body in server.requests]
        status, done, errors = call(warm, home, "resume", run_id, "--json", base_url=server.base_url)
    assert before == [0, 1, 2, 3]
    assert [lap_of(body) for body in server.requests[4:]] == [3, 4, 5], "only the request in flight is repeated"
    assert (status, done["outcome"]) == (0, "answered"), errors
    assert (done["usage"]["model_calls"], done["usage"]["tool_calls"]) == (6, 5)
    assert player.refused == []


@pytest.mark.examples(2)
@pytest.mark.parametrize("framework", ["parallel", "reflexion", "supervisor", "iter_research", "rewoo"])
def test_any_framework_resumes_from_a_log_cut_at_any_point(bench: Workbench, framework: str) -> None:
    """Cut after every third event: no completed call is repeated, and the answer is the same."""
    player = Player("native", laps=2)
    with FakeOpenAI(player) as server:
        bench.settings.openai_base_url = server.base_url
        recipe = bench.recipe(model="openai:fake", framework=framework)
        events = list(bench.engine.start(QUESTION, recipe, here=True).events())
        asked = len(player.purposes)
        for cut in range(1, len(events), 3):
            shared = bench.context_for(recipe, Journal(events[:cut]), threading.Event())
            whole = [*events[:cut], *execute(Run(QUESTION, recipe, shared), events[0].run)]
            assert [event.seq for event in whole] == list(range(len(whole)))
            replied = [(event.agent, event.ask) for event in whole if isinstance(event, e.Replied)]
            finished = [event.observation.call_id for event in whole if isinstance(event, e.ToolFinished)]
            assert len(set(replied)) == len(replied) == asked, f"cut at {cut}"
            assert len(set(finished)) == len(finished)
            assert fold(whole).answer == fold(events).answer


def test_resuming_a_running_run_is_refused(bench: Workbench) -> None:
    gate = threading.Event()
    with FakeOpenAI([FakeReply("", gate=gate, calls=[("search", {"query": "Japan"})]), FakeReply(ANSWER)]) as server:
        bench.settings.openai_base_url = server.base_url
        run_id = bench.engine.start(QUESTION, bench.recipe(model="openai:fake")).run_id
        other = Workbench(bench.settings)
        with pytest.raises(ConfigError, match="running"):
            bench.engine.resume(run_id, here=True)
        with pytest.raises(ConfigError, match="running"):
            other.engine.resume(run_id, here=True)
        gate.set()
        assert bench.engine.wait(run_id, LONG_S)
    assert bench.store.run(run_id).status == "completed"


def test_a_reply_to_a_run_that_asked_nothing_is_refused(bench: Workbench, script: Any) -> None:
    events = list(research.stream(QUESTION, workbench=bench, model=script("<answer>x</answer>")))
    with pytest.raises(ConfigError, match="does not wait for a reply"):
        bench.engine.resume(events[0].run, "hello", here=True)


@pytest.mark.parametrize(
    "question",
    [
        QUESTION,
        "Compare the population of Japan and of Kenya.",
        "What is the capital of France?",
        "日本有多少人口？",
        "比较日本和肯尼亚的人口。",
    ],
)
def test_a_complete_question_is_answered_without_asking_the_user(bench: Workbench, question: str) -> None:
    view = research.run(question, workbench=bench, model="extractive", framework="tool_rounds")
    assert (view.status, view.outcome) == ("completed", "answered")


def test_asking_the_user_can_be_turned_off(bench: Workbench) -> None:
    options = {"framework.ask": False}
    view = research.run("Compare them.", workbench=bench, model="extractive", framework="tool_rounds", options=options)
    assert (view.status, view.outcome) == ("completed", "no_evidence")


def test_the_supervisor_asks_the_user_about_the_scope(bench: Workbench) -> None:
    options = {"framework.ask": True}
    events = list(
        research.stream("Compare them.", workbench=bench, model="extractive", framework="supervisor", options=options)
    )
    assert isinstance(events[-1], e.WaitingForUser)
    rest = list(bench.engine.resume(events[0].run, "the population of Japan and of Kenya", here=True).events())
    assert isinstance(rest[0], e.UserReplied)
    view = fold([*events, *rest])
    assert (view.status, view.outcome) == ("completed", "answered")
    assert "123,201,945" in view.answer
    assert [event.seq for event in (*events, *rest)] == list(range(len(events) + len(rest)))


def test_parallel_branches_ask_the_user_once(bench: Workbench) -> None:
    """Both branches lack the detail; the run comes to rest on one question, and both go on with the reply."""
    options = {"framework.branch": "tool_rounds", "framework.n": 2}
    recipe = {"model": "extractive", "framework": "parallel", "options": options}
    events = list(research.stream("Compare them.", workbench=bench, **recipe))
    assert isinstance(events[-1], e.WaitingForUser)
    rest = list(bench.engine.resume(events[0].run, "the population of Japan and of Kenya", here=True).events())
    assert [event for event in rest if isinstance(event, e.WaitingForUser)] == []
    branches = fold([*events, *rest]).branches
    assert [[figure for figure in FIGURES if figure not in each.answer] for each in branches.values()] == [[], []]
