"""Whatever the model does, a run ends with an answer or a named outcome, and each call has exactly one result."""

from __future__ import annotations

import random
import shutil
from collections import Counter
from pathlib import Path
from typing import Any, get_args

import pytest

import research
from research import cells
from research import events as e
from research.events import Event
from research.settings import load
from research.types import Outcome, ProtocolName
from research.workbench import Workbench
from tests.fake_openai import Body, FakeOpenAI, FakeReply
from tests.player import ANSWER, QUESTION, Misbehaviour, Player, lap_of, query

PROTOCOLS: tuple[ProtocolName, ...] = ("native", "tagged")
ACTS = ("act", "research")
every_framework = pytest.mark.parametrize("framework", cells.FRAMEWORKS)
both_protocols = pytest.mark.parametrize("protocol", PROTOCOLS)


@pytest.fixture(scope="module")
def place(prepared_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(shutil.copytree(prepared_home, tmp_path_factory.mktemp("odd") / "home"))


@pytest.fixture(autouse=True)
def no_back_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(random, "uniform", lambda low, high: 0.0)


def play(
    place: Path, framework: str, protocol: ProtocolName, misbehave: Misbehaviour, laps: int = 2, **options: Any
) -> tuple[list[Event], e.RunFinished]:
    """The events of a run and its end, after checking what must hold for every run."""
    player = Player(protocol, laps, misbehave=misbehave)
    with FakeOpenAI(player, strict=False) as server:
        bench = Workbench(load(home=place, openai_base_url=server.base_url))
        given = {f"framework.{name}": value for name, value in options.items()}
        events = list(
            research.stream(
                QUESTION, workbench=bench, model="openai:fake", framework=framework, protocol=protocol, options=given
            )
        )
    assert player.refused == []
    return events, ended_well(events)


def ended_well(events: list[Event]) -> e.RunFinished:
    last = events[-1]
    assert isinstance(last, e.RunFinished)
    assert [event for event in events if isinstance(event, e.RunFinished)] == [last]
    assert last.outcome in get_args(Outcome)
    assert last.answer
    assert [event.traceback for event in events if isinstance(event, e.RunFailed) and event.traceback] == []
    results = Counter(event.observation.call_id for event in events if isinstance(event, e.ToolFinished))
    begun = Counter(event.call.id for event in events if isinstance(event, e.ToolStarted))
    replies = [event.reply for event in events if isinstance(event, e.Replied)]
    asked = Counter(each.id for reply in replies for each in (*reply.calls, *reply.errors))
    assert all(count == 1 for count in (*results.values(), *begun.values(), *asked.values()))
    assert set(results) == set(begun) | set(asked)
    return last


def rounds_of(framework: str, rounds: int) -> dict[str, int]:
    return {} if framework == "rewoo" else {"rounds": rounds}


def wants_more(player: Player, purpose: str, body: Body, number: int) -> FakeReply | None:
    """Asks for a tool whatever it is asked for, and never for the same."""
    return player.say(calls=[("search", {"query": f"Japan {number}"})], report="more") if purpose != "plan" else None


@both_protocols
@every_framework
def test_tools_on_the_last_allowed_round(place: Path, framework: str, protocol: ProtocolName) -> None:
    _, end = play(place, framework, protocol, wants_more, **rounds_of(framework, 2))
    # What was seen, or in the case of a report the sections with their gaps.
    assert end.outcome in {"supervisor": ["no_evidence"], "rewoo": ["failed"]}.get(framework, ["rounds", "failed"])


@both_protocols
@every_framework
def test_a_forced_answer_is_the_answer(place: Path, framework: str, protocol: ProtocolName) -> None:
    def until_told(player: Player, purpose: str, body: Body, number: int) -> FakeReply | None:
        return wants_more(player, purpose, body, number) if purpose in ACTS and "tools" in body else None

    _, end = play(place, framework, protocol, until_told, laps=99, **rounds_of(framework, 2))
    assert "123,201,945" in end.answer or framework == "rewoo"


@both_protocols
@every_framework
def test_an_unknown_tool_once(place: Path, framework: str, protocol: ProtocolName) -> None:
    def once(player: Player, purpose: str, body: Body, number: int) -> FakeReply | None:
        if number > 1:
            return None
        return FakeReply("Plan: go.\n#E1 = teleport[Mars]") if purpose == "plan" else player.say(calls=[("teleport", {"to": "Mars"})])  # fmt: skip

    events, end = play(place, framework, protocol, once)
    assert end.outcome == "answered"
    problem = next(event.problem for event in events if isinstance(event, e.Rejected))
    assert "teleport" in problem
    assert "search" in problem, "the model is told what there is"


@both_protocols
@every_framework
def test_an_unknown_tool_forever(place: Path, framework: str, protocol: ProtocolName) -> None:
    def always(player: Player, purpose: str, body: Body, number: int) -> FakeReply | None:
        return player.say(calls=[("teleport", {"to": f"Mars {number}"})], report="r")

    play(place, framework, protocol, always)


@both_protocols
@every_framework
def test_two_tools_of_which_one_fails(place: Path, framework: str, protocol: ProtocolName) -> None:
    def one_fails(player: Player, purpose: str, body: Body, number: int) -> FakeReply | None:
        if purpose == "plan":
            return FakeReply(f"Plan: a.\n#E1 = visit[library://nowhere]\nPlan: b.\n#E2 = search[{query(1)}]")
        if purpose not in ACTS or lap_of(body):
            return None
        two = [("visit", {"url": "library://nowhere", "goal": "x"}), ("search", {"query": query(1)})]
        return player.say(calls=two, report="lap 1")

    events, end = play(place, framework, protocol, one_fails)
    assert end.outcome == "answered"
    seen = [event.observation for event in events if isinstance(event, e.ToolFinished)]
    pairs = [(seen[i].ok, seen[i + 1].ok) for i in range(len(seen) - 1) if seen[i].name == "visit"]
    assert pairs
    assert [one for one in seen if one.name == "visit"][0].ok is False
    assert any(one.ok for one in seen if one.name == "search")


@both_protocols
@every_framework
def test_a_call_that_cannot_run_beside_one_that_can(place: Path, framework: str, protocol: ProtocolName) -> None:
    def one_bad(player: Player, purpose: str, body: Body, number: int) -> FakeReply | None:
        if purpose not in ACTS or lap_of(body):
            return None
        return player.say(calls=[("search", {}), ("search", {"query": query(1)}), ("hammer", {})], report="lap 1")

    events, end = play(place, framework, protocol, one_bad)
    assert end.outcome == "answered"
    if framework != "rewoo":
        first = next(event.reply for event in events if isinstance(event, e.Replied) and event.reply.errors)
        seen = {ev.observation.call_id: ev.observation.ok for ev in events if isinstance(ev, e.ToolFinished)}
        assert [seen[each.id] for each in (*first.calls, *first.errors)] == [True, False, False]


@both_protocols
@every_framework
def test_the_same_action_forever(place: Path, framework: str, protocol: ProtocolName) -> None:
    def stubborn(player: Player, purpose: str, body: Body, number: int) -> FakeReply | None:
        return None if purpose == "plan" else player.say(calls=[("search", {"query": "Japan population"})], report="r")

    events, end = play(place, framework, protocol, stubborn, **rounds_of(framework, 15))
    acts = [event for event in events if isinstance(event, e.Replied) and event.purpose in ACTS]
    agents = Counter(event.agent for event in acts)
    assert all(count <= 4 for count in agents.values()), "a hint after three, the end after four"
    if framework != "rewoo":
        assert [event.kind for event in events if isinstance(event, e.Warned)].count("loop") >= 1
    if framework in ("react", "tool_rounds", "iter_research"):
        assert end.outcome == "loop"
        assert "[1]" in end.answer


@both_protocols
@every_framework
def test_garbage_five_times(place: Path, framework: str, protocol: ProtocolName) -> None:
    def garbage(player: Player, purpose: str, body: Body, number: int) -> FakeReply | None:
        return FakeReply('<tool_call>{"name": "sea') if number <= 5 else None

    _, end = play(place, framework, protocol, garbage)
    # Four times garbage end a round by name; after that a forced answer, a section or another run may still come.
    assert end.outcome in ("answered", "failed", "no_evidence")


@both_protocols
@every_framework
@pytest.mark.parametrize("text", ["", "   \n", '<tool_call>{"name": "sea', "<answer></answer>"])
def test_nothing_and_garbage_forever(place: Path, framework: str, protocol: ProtocolName, text: str) -> None:
    events, end = play(place, framework, protocol, lambda *_: FakeReply(text))
    assert end.outcome in ("failed", "no_evidence")
    assert ANSWER not in end.answer


@both_protocols
@every_framework
def test_the_server_dies_in_the_middle(place: Path, framework: str, protocol: ProtocolName) -> None:
    """What was found is not lost: the run rests, says why, and goes on once the server is back."""
    gone, after = [True], 1 if framework == "rewoo" else 4  # one plan, one solution

    def dies(player: Player, purpose: str, body: Body, number: int) -> FakeReply | None:
        down = number > after and gone[0]
        return FakeReply(status=500, body={"error": {"message": "gone"}}) if down else None

    with FakeOpenAI(Player(protocol, 9, misbehave=dies), strict=False) as server:
        bench = Workbench(load(home=place, openai_base_url=server.base_url))
        options = {f"framework.{name}": value for name, value in rounds_of(framework, 15).items()}
        events = list(
            research.stream(
                QUESTION, workbench=bench, model="openai:fake", framework=framework, protocol=protocol, options=options
            )
        )
        assert isinstance(events[-1], e.Paused), events[-1]
        assert "answered 500: gone" in events[-1].reason
        gone[0] = False
        events += bench.engine.resume(events[0].run)
    assert ended_well(events).outcome == "answered"
