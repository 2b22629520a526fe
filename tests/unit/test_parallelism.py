"""Concurrency, proven by barriers that no thread passes alone rather than by timing."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from research.agent.budget import Meter
from research.agent.context import RunContext
from research.agent.journal import Journal
from research.agent.lifecycle import execute
from research.agent.run import Run
from research.agent.toolbox import Toolbox
from research.errors import ProviderError
from research.events import events as e
from research.events.events import Event
from research.events.recipe import Budget, Recipe
from research.models.scripted import ScriptedModel, ScriptLine
from research.protocols.tagged import write_call
from research.types import Completion, Delta, Model, Passage, Request, Tool, ToolOutput, ToolSpec, Usage
from tests.workers import LONG_S

FOUR = 4
ANSWER = "<think>x</think><answer>It is so [1].</answer>"


class Meet:
    """A tool whose calls return once four of them are running."""

    timeout_s = 2.0 * LONG_S
    spec = ToolSpec("meet", "Waits for three others.", {"type": "object", "properties": {"n": {"type": "integer"}}})

    def __init__(self, parties: int = FOUR) -> None:
        self.barrier = threading.Barrier(parties)

    def __call__(self, *args: Any, **arguments: Any) -> ToolOutput:
        self.barrier.wait(LONG_S)
        return ToolOutput(passages=(Passage(f"test://{arguments['n']}", "T", "It is so."),))


class Look(Meet):
    """A tool that returns immediately."""

    spec = ToolSpec("look", "Looks.", {"type": "object", "properties": {"n": {"type": "integer"}}})

    def __call__(self, *args: Any, **arguments: Any) -> ToolOutput:
        return ToolOutput(passages=(Passage("test://1", "T", "It is so."),))


class Counting:
    """A model that counts its calls in flight; each agent's first call waits for `parties` of them.

    Every call costs 100 tokens, and the model never stops calling tools.
    """

    name = "counting"
    native = False

    def __init__(self, parties: int = 1, replies: dict[str, str] | None = None) -> None:
        self.most = 0
        self.tokens = 0
        self.calls = 0
        self._in_flight = 0
        self._lock = threading.Lock()
        self._barrier = threading.Barrier(parties)
        self._met: set[str] = set()
        self._replies = replies or {}

    def stream(self, request: Request) -> Iterator[Delta | Completion]:
        with self._lock:
            self.calls += 1
            n = self.calls
            self._in_flight += 1
            self.most = max(self.most, self._in_flight)
            first = request.agent != "main" and request.agent not in self._met
            self._met.add(request.agent)
        if first:
            self._barrier.wait(LONG_S)
        text = self._replies.get(request.purpose) or f"<report>r [1]</report>{write_call('look', n=n)}"
        with self._lock:
            self._in_flight -= 1
            self.tokens += 100
        yield Completion(text, usage=Usage(90, 10))


def work(model: Model, tools: Sequence[Tool], recipe: Recipe) -> list[Event]:
    shared = RunContext(lambda name: model, Toolbox(tools), meter=Meter(recipe.budget), journal=Journal())
    return list(execute(Run("Is it so?", recipe, shared), "run"))


def outcome(events: list[Event]) -> str:
    last = events[-1]
    assert isinstance(last, e.RunFinished)
    assert not [event for event in events if isinstance(event, e.RunFailed)]
    return last.outcome


@pytest.mark.parametrize("framework", ["react", "tool_rounds"])
def test_four_tool_calls_of_one_round_run_concurrently(framework: str) -> None:
    calls = "".join(write_call("meet", n=n) for n in range(FOUR))
    model = ScriptedModel([ScriptLine(calls), ScriptLine(ANSWER)])
    events = work(model, [Meet()], Recipe(framework=framework))
    seen = [event.observation for event in events if isinstance(event, e.ToolFinished)]
    assert [one.ok for one in seen] == [True] * FOUR
    assert [one.sources[0].url for one in seen] == [f"test://{n}" for n in range(FOUR)], (
        "results must keep the order of the calls"
    )
    assert outcome(events) == "answered"


def test_independent_steps_of_a_rewoo_plan_run_concurrently() -> None:
    plan = "\n".join(f'Plan: p\n#E{n} = meet[{{"n": {n}}}]' for n in range(1, FOUR + 1))
    model = ScriptedModel([ScriptLine(plan), ScriptLine(ANSWER)])
    events = work(model, [Meet()], Recipe(framework="rewoo"))
    assert [event.observation.ok for event in events if isinstance(event, e.ToolFinished)] == [True] * FOUR
    assert outcome(events) == "answered"


def outline(count: int) -> str:
    return write_call("Sections", sections=[{"name": f"S{n}", "description": "d"} for n in range(count)])


def test_a_supervisor_runs_eight_researchers_four_at_a_time() -> None:
    section = write_call("Section", name="S", content="It is so.")
    model = Counting(FOUR, {"outline": outline(8), "research": section, "introduce": ANSWER, "finish": ANSWER})
    events = work(model, [Look()], Recipe(framework="supervisor", framework_options={"concurrency": FOUR}))
    assert model.most == FOUR
    ended = [event for event in events if isinstance(event, e.ChildFinished)]
    assert sorted(event.agent for event in ended) == [f"main/researcher-{n}" for n in range(1, 9)]
    assert outcome(events) == "no_evidence"


def test_sections_keep_the_planned_order_whichever_finishes_first() -> None:
    second_done = threading.Event()

    class Backwards(Counting):
        """Holds the first researcher until the second has finished."""

        def stream(self, request: Request) -> Iterator[Delta | Completion]:
            if request.purpose == "research":
                if request.agent.endswith("-1"):
                    assert second_done.wait(LONG_S)
                text = write_call("Section", name=f"By {request.agent[-1]}", content="It is so.")
                yield Completion(text, usage=Usage(1, 1))
            else:
                yield from super().stream(request)

    model = Backwards(1, {"outline": outline(2), "introduce": ANSWER, "finish": ANSWER})
    recipe = Recipe(framework="supervisor")
    shared = RunContext(lambda name: model, Toolbox([Look()]), meter=Meter(recipe.budget))
    answer = ""
    for event in execute(Run("Is it so?", recipe, shared), "run"):
        if isinstance(event, e.ChildFinished) and event.agent.endswith("-2"):
            second_done.set()
        if isinstance(event, e.RunFinished):
            answer = event.answer
    assert 0 < answer.index("## By 1") < answer.index("## By 2")


def test_parallel_branches_run_concurrently() -> None:
    model = Counting(FOUR, {"synthesise": ANSWER, "conclude": ANSWER})
    options = {"n": FOUR, "concurrency": FOUR, "rounds": 2}
    events = work(model, [Look()], Recipe(framework="parallel", framework_options=options))
    assert model.most == FOUR
    assert outcome(events) == "answered"


@pytest.mark.examples(7)
@pytest.mark.parametrize("cap", [100, 450, 1000, 2500])
@pytest.mark.parametrize(
    ("framework", "options", "flight"),
    [
        ("parallel", {"n": 8, "concurrency": FOUR, "rounds": 50}, FOUR),
        ("parallel", {"n": 8, "concurrency": FOUR, "rounds": 50, "branch": "react"}, FOUR),
        ("supervisor", {"concurrency": FOUR, "rounds": 50}, FOUR),
        ("react", {"rounds": 50}, 1),
        ("tool_rounds", {"rounds": 50}, 1),
        ("iter_research", {"rounds": 50}, 1),
        ("reflexion", {"rounds": 50}, 1),
    ],
)
def test_a_shared_budget_is_exceeded_only_by_the_calls_in_flight(
    framework: str, options: dict[str, Any], flight: int, cap: int
) -> None:
    model = Counting(1, {"outline": outline(8)})
    recipe = Recipe(framework=framework, framework_options=options, budget=Budget(tokens=cap))
    events = work(model, [Look()], recipe)
    assert model.tokens >= cap
    # The final call without tools, and its retries after unreadable replies, are exempt from the budget.
    forced = sum(isinstance(ev, e.Asked) and ev.purpose == "conclude" and ev.agent == "main" for ev in events)
    assert model.tokens - 100 * forced < cap + 100 * flight
    # The replies of all branches may spend the budget before any of their tools runs.
    looked = any(isinstance(event, e.ToolFinished) and event.observation.sources for event in events)
    assert outcome(events) == ("tokens" if looked else "no_evidence")
    assert looked if cap >= 1000 else not looked or cap > 100


@pytest.mark.parametrize("room", [0, 1, 2])
def test_a_run_fails_without_hanging_when_no_thread_can_be_started(monkeypatch: pytest.MonkeyPatch, room: int) -> None:
    begin, begun = threading.Thread.start, list[str]()

    def start(thread: threading.Thread) -> None:
        if thread.name.startswith("main_"):
            if len(begun) == room:
                raise RuntimeError("can't start new thread")
            begun.append(thread.name)
        begin(thread)

    monkeypatch.setattr(threading.Thread, "start", start)
    ended: list[Event] = []
    recipe = Recipe(framework="parallel", framework_options={"rounds": 2})
    run = threading.Thread(target=lambda: ended.extend(work(Counting(), [Look()], recipe)), daemon=True)
    run.start()
    run.join(LONG_S)
    failed = next(event for event in ended if isinstance(event, e.RunFailed))
    assert "can't start new thread" in failed.error
    assert isinstance(ended[-1], e.RunFinished)


def test_a_failed_branch_does_not_affect_the_others() -> None:
    class OneFails(Counting):
        def stream(self, request: Request) -> Iterator[Delta | Completion]:
            if request.agent == "main/run-2":
                raise ProviderError("gone")
            yield from super().stream(request)

    model = OneFails(
        1, {"act": f"<report>r</report>{write_call('look', n=1)}", "conclude": ANSWER, "synthesise": ANSWER}
    )
    events = work(model, [Look()], Recipe(framework="parallel", framework_options={"n": 3, "rounds": 2}))
    assert outcome(events) == "answered"
    brief = next(ev for ev in events if isinstance(ev, e.Asked) and ev.purpose == "synthesise").messages[-1].content
    assert "2 finished, 1 failed" in brief
    assert json.dumps("look") not in brief, "the synthesis sees reports and answers, never the trajectories"
