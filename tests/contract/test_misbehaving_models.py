"""Whatever the model does, a run ends with an answer or a known outcome, and each call has exactly one result."""

from __future__ import annotations

from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any, get_args

import pytest

import research
from research import defaults
from research.agent.tool_calls import TOO_MANY
from research.config.settings import load
from research.events import events as e
from research.events.events import Event
from research.protocols.protocol import ProtocolName
from research.types import Outcome
from research.workbench.workbench import Workbench
from tests.conftest import linked_home
from tests.fake_openai import Body, FakeOpenAI, FakeReply
from tests.pairwise import covering
from tests.player import ANSWER, QUESTION, Misbehaviour, Player, lap_of, query

PROTOCOLS: tuple[ProtocolName, ...] = ("native", "tagged")
ACTS = ("act", "research")
GARBAGE = ["", "   \n", '<tool_call>{"name": "sea', "<answer></answer>"]
SITUATIONS = (
    "last round", "forced answer", "unknown tool once", "unknown tool forever", "two tools", "bad call", "same action",
    "garbage five times", "server dies", *GARBAGE,
)  # fmt: skip
CHOSEN = set(covering(product(SITUATIONS, defaults.FRAMEWORKS, PROTOCOLS), 1))


def matrix(*situations: str) -> pytest.MarkDecorator:
    """Return every framework in both protocols; cases outside a choice with every value are marked slow."""
    cases = [
        pytest.param(*case[len(situations) == 1 :], marks=() if case in CHOSEN else pytest.mark.slow)
        for case in product(situations, defaults.FRAMEWORKS, PROTOCOLS)
    ]
    return pytest.mark.parametrize(("text", "framework", "protocol")[len(situations) == 1 :], cases)


@pytest.fixture(scope="module")
def place(prepared_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return linked_home(prepared_home, tmp_path_factory.mktemp("odd") / "home")


def play(
    place: Path, framework: str, protocol: ProtocolName, misbehave: Misbehaviour, laps: int = 2, **options: Any
) -> tuple[list[Event], e.RunFinished]:
    """Return the events of a run and its end, after checking what must hold for every run."""
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
    observed = {event.observation.call_id: event.observation for event in events if isinstance(event, e.ToolFinished)}
    begun = Counter(event.call.id for event in events if isinstance(event, e.ToolStarted))
    replies = [event.reply for event in events if isinstance(event, e.Replied)]
    asked = Counter(each.id for reply in replies for each in (*reply.calls, *reply.errors))
    assert all(count == 1 for count in (*results.values(), *begun.values(), *asked.values()))
    left_out = {call for call, seen in observed.items() if seen.text == TOO_MANY}  # steps of a plan
    assert set(results) - left_out == (set(begun) | set(asked)) - left_out
    return last


def rounds_of(framework: str, rounds: int) -> dict[str, int]:
    return {} if framework == "rewoo" else {"rounds": rounds}


def wants_more(player: Player, purpose: str, body: Body, number: int) -> FakeReply | None:
    """Call the search tool whatever the request, each time with another query."""
    return player.say(calls=[("search", {"query": f"Japan {number}"})], report="more") if purpose != "plan" else None


@matrix("last round")
def test_a_run_that_still_calls_tools_in_its_last_round_ends_with_what_it_found(
    place: Path, framework: str, protocol: ProtocolName
) -> None:
    _, end = play(place, framework, protocol, wants_more, **rounds_of(framework, 2))
    # The answer is what was found, except that a supervisor needs a section, a vote answers and a plan its steps.
    assert end.outcome == ("failed" if framework in ("supervisor", "parallel", "rewoo") else "rounds")


@matrix("forced answer")
def test_an_answer_forced_in_the_last_round_is_the_runs_answer(
    place: Path, framework: str, protocol: ProtocolName
) -> None:
    def until_forced(player: Player, purpose: str, body: Body, number: int) -> FakeReply | None:
        return wants_more(player, purpose, body, number) if purpose in ACTS and "tools" in body else None

    _, end = play(place, framework, protocol, until_forced, laps=99, **rounds_of(framework, 2))
    assert "123,201,945" in end.answer


@matrix("unknown tool once")
def test_after_one_call_of_an_unknown_tool_the_run_still_answers(
    place: Path, framework: str, protocol: ProtocolName
) -> None:
    def once(player: Player, purpose: str, body: Body, number: int) -> FakeReply | None:
        if number > 1:
            return None
        return FakeReply("Plan: go.\n#E1 = teleport[Mars]") if purpose == "plan" else player.say(calls=[("teleport", {"to": "Mars"})])  # fmt: skip

    events, end = play(place, framework, protocol, once)
    assert end.outcome == "answered"
    problem = next(event.problem for event in events if isinstance(event, e.Rejected))
    assert "teleport" in problem
    assert "search" in problem, "the model is not told which tools exist"


@matrix("unknown tool forever")
def test_calling_only_an_unknown_tool_fails_the_run(place: Path, framework: str, protocol: ProtocolName) -> None:
    def always(player: Player, purpose: str, body: Body, number: int) -> FakeReply | None:
        return player.say(calls=[("teleport", {"to": f"Mars {number}"})], report="r")

    _, end = play(place, framework, protocol, always)
    assert end.outcome == "failed"


@matrix("two tools")
def test_a_round_with_one_failing_tool_keeps_the_result_of_the_other(
    place: Path, framework: str, protocol: ProtocolName
) -> None:
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


@matrix("bad call")
def test_invalid_calls_beside_a_valid_one_get_an_error_result_each(
    place: Path, framework: str, protocol: ProtocolName
) -> None:
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


@matrix("same action")
def test_repeating_the_same_action_ends_with_outcome_loop(place: Path, framework: str, protocol: ProtocolName) -> None:
    def stubborn(player: Player, purpose: str, body: Body, number: int) -> FakeReply | None:
        return None if purpose == "plan" else player.say(calls=[("search", {"query": "Japan population"})], report="r")

    events, end = play(place, framework, protocol, stubborn, **rounds_of(framework, 15))
    acts = [event for event in events if isinstance(event, e.Replied) and event.purpose in ACTS]
    agents = Counter(event.agent for event in acts)
    assert all(count <= 4 for count in agents.values()), (
        "expected a hint after three repetitions and the end after four"
    )
    if framework != "rewoo":
        assert [event.kind for event in events if isinstance(event, e.Warned)].count("loop") >= 1
    assert end.outcome == {"supervisor": "no_evidence", "parallel": "failed", "rewoo": "failed"}.get(framework, "loop")
    if framework in ("react", "tool_rounds", "iter_research"):
        assert "[1]" in end.answer


@matrix("garbage five times")
def test_five_unreadable_replies_end_one_agent(place: Path, framework: str, protocol: ProtocolName) -> None:
    def garbage(player: Player, purpose: str, body: Body, number: int) -> FakeReply | None:
        return FakeReply('<tool_call>{"name": "sea') if number <= 5 else None

    _, end = play(place, framework, protocol, garbage)
    # Four unreadable replies end an agent; frameworks with several agents still get an answer from the next one.
    assert end.outcome == ("answered" if framework in ("parallel", "reflexion", "supervisor") else "failed")


@matrix(*GARBAGE)
def test_a_run_that_gets_only_unreadable_replies_fails(
    place: Path, framework: str, protocol: ProtocolName, text: str
) -> None:
    events, end = play(place, framework, protocol, lambda *_: FakeReply(text))
    plain = text == "<answer></answer>" and protocol == "native"  # this protocol has no tags, so the text is an answer
    answers = framework in ("react", "tool_rounds", "iter_research", "parallel", "reflexion", "supervisor")
    assert end.outcome == ("no_evidence" if plain and answers else "failed")
    assert ANSWER not in end.answer


@matrix("server dies")
def test_a_run_pauses_when_its_server_dies_and_resumes_when_it_is_back(
    place: Path, framework: str, protocol: ProtocolName
) -> None:
    """The run pauses with the reason, and loses nothing that it found."""
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
        events += bench.engine.resume(events[0].run, here=True).events()
    assert ended_well(events).outcome == "answered"
