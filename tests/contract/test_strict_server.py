"""A server that is as strict as real ones never refuses our message histories."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import research
from research import defaults
from research.config.settings import load
from research.events.view import RunView, fold
from research.protocols.protocol import ProtocolName
from research.workbench.recipes import pairs
from research.workbench.workbench import Workbench
from tests.conftest import linked_home
from tests.fake_openai import Body, FakeOpenAI, FakeReply
from tests.pairwise import slow_but_each_value
from tests.player import ANSWER, QUESTION, Misbehaviour, Player, lap_of, query

MATRIX = [(*pair, protocol) for pair in pairs() for protocol in ("native", "tagged")]


@pytest.fixture(scope="module")
def place(prepared_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return linked_home(prepared_home, tmp_path_factory.mktemp("strict") / "home")


def play(
    place: Path, player: Player, framework: str, context: str, *, requests: list[Body] | None = None, **recipe: object
) -> RunView:
    tight = {"resum": {"context.max_tokens": 2000}, "window": {"context.k": 2}}
    with FakeOpenAI(player, strict=False) as server:
        settings = load(home=place, openai_base_url=server.base_url, openai_send_reasoning=True)
        bench = Workbench(settings)
        protocol = "native" if player.native else "tagged"
        options = {**tight.get(context, {}), **recipe.pop("options", {})}  # type: ignore[dict-item]
        view = fold(
            research.stream(
                QUESTION, workbench=bench, model="openai:fake", framework=framework, context=context,
                protocol=protocol, options=options, **recipe,
            )
        )  # fmt: skip
        if requests is not None:
            requests += server.requests
        return view


def faults() -> Misbehaviour:
    """Play one fault after the other, then start again; researchers, who work at once, have faults of their own each."""
    asked: Counter[str] = Counter()

    def misbehave(player: Player, purpose: str, body: Body, number: int) -> FakeReply | None:
        task = body["messages"][1]["content"].partition("\n\n")[0]
        asked[task] += 1
        return fault(player, purpose, body, asked[task] if purpose == "research" else number)

    return misbehave


def fault(player: Player, purpose: str, body: Body, number: int) -> FakeReply | None:
    lap = lap_of(body) + 1
    good = ("search", {"query": query(lap)})
    bad = ("search", '{"query": ')
    match number % 12:
        case 1:
            return FakeReply(status=429, headers={"Retry-After": "0"}, body={"error": {"message": "slow down"}})
        case 3:
            return FakeReply("", reasoning="nothing to say")
        case 4:
            return FakeReply("half a", reset_after=2)
        case 5:
            return player.say(calls=[bad], report="r") if player.native else FakeReply("<tool_call>{garbage")
        case 6 | 7 if purpose in ("act", "research"):
            return player.say(calls=[bad, good, ("teleport", {"to": "Mars"})], report=f"lap {lap}")
        case 8:
            return FakeReply(status=503, headers={"Retry-After": "0"}, body="<h1>busy</h1>")
        case 9 | 10 if purpose in ("act", "research"):
            return player.say(calls=[good, ("visit", {"url": "library://nowhere", "goal": "x"})], report=f"lap {lap}")
        case 11:
            return FakeReply("cut off <answer>Jap", finish_reason="length")
    return None


@pytest.mark.examples(3)
@pytest.mark.parametrize(("framework", "context", "protocol"), slow_but_each_value(MATRIX))
def test_no_history_is_refused_after_any_fault(
    place: Path, framework: str, context: str, protocol: ProtocolName
) -> None:
    player = Player(protocol, laps=6, thinking=True, misbehave=faults())
    view = play(place, player, framework, context)
    assert player.refused == []
    assert view.traceback == ""
    assert view.outcome == "answered"
    notes = "\n".join(note for current in view.rounds for note in current.notes)
    assert "trying again" in notes
    assert "Reply refused" in notes
    failed = [call.observation for current in view.rounds for call in current.calls if not call.observation.ok]  # type: ignore[union-attr]
    together = framework not in ("rewoo", "iter_research", "parallel")  # these take one action, or plan them all
    assert bool(failed) is together, "expected a failed call beside a successful one"


@pytest.mark.examples(3)
@pytest.mark.parametrize("framework", [f for f in defaults.FRAMEWORKS if f != "rewoo"])
@pytest.mark.parametrize("context", defaults.CONTEXTS)
def test_no_history_is_refused_when_a_limit_ends_the_loop(place: Path, framework: str, context: str) -> None:
    player = Player("native", laps=99, thinking=True)
    view = play(place, player, framework, context, options={"framework.rounds": 3})
    assert player.refused == []
    assert view.traceback == ""
    assert view.answer


@pytest.mark.examples(2)
@pytest.mark.parametrize("context", defaults.CONTEXTS)
def test_no_history_is_refused_after_the_window_overflowed(place: Path, context: str) -> None:
    too_long = FakeReply(status=400, body={"error": {"message": "maximum context length is 8", "code": "context_length_exceeded"}})  # fmt: skip

    def overflow(player: Player, purpose: str, body: Body, number: int) -> FakeReply | None:
        return too_long if number in (6, 7, 9) else None

    player = Player("native", laps=6, thinking=True, misbehave=overflow)
    view = play(place, player, "react", context)
    assert player.refused == []
    assert view.outcome == "answered"


@pytest.mark.examples(2)
@pytest.mark.parametrize("framework", ["react", "iter_research", "tool_rounds", "supervisor"])
def test_reasoning_goes_back_once_a_server_has_refused_a_history_without_it(place: Path, framework: str) -> None:
    player = Player("native", laps=2, thinking=True)
    with FakeOpenAI(player, strict=False) as server:
        bench = Workbench(load(home=place, openai_base_url=server.base_url))
        view = fold(research.stream(QUESTION, workbench=bench, model="openai:fake", framework=framework))
    assert (view.outcome, view.error) == ("answered", "")
    at_once = 2 if framework == "supervisor" else 1  # both researchers ask before either has learned
    assert len(player.refused) <= at_once, "what the model wants is asked again"


@pytest.mark.examples(2)
@pytest.mark.parametrize("context", ["full", "evolving"])
@pytest.mark.parametrize("framework", ["react", "iter_research"])
def test_where_every_reply_must_call_the_answer_is_a_call(place: Path, framework: str, context: str) -> None:
    def acts(player: Player, purpose: str, body: Body, number: int) -> FakeReply | None:
        if purpose != "act":
            return None
        if body.get("tool_choice") != "required":
            return FakeReply("Let me search for that first.")
        if "final_answer" in names(body) and lap_of(body) >= player.laps:
            return FakeReply("", [("final_answer", {"answer": ANSWER})])
        return FakeReply("", [("search", {"query": query(lap_of(body) + 1)})])

    player = Player("native", laps=3, misbehave=acts)
    requests: list[Body] = []
    view = play(place, player, framework, context, options={"framework.must_act": True}, requests=requests)
    assert (player.refused, view.outcome, view.answer) == ([], "answered", ANSWER)
    acting = [body for body in requests if names(body)]
    assert len(acting) == 4
    assert {(body.get("tool_choice"), names(body)[-1]) for body in acting} == {("required", "final_answer")}
    assert not any("call no tool" in str(body["messages"][0]) for body in acting)


@pytest.mark.parametrize(("protocol", "must_act"), [("native", False), ("tagged", True)])
def test_final_answer_is_offered_only_where_nothing_else_ends_the_run(
    place: Path, protocol: ProtocolName, must_act: bool
) -> None:
    requests: list[Body] = []
    options = {"framework.must_act": must_act}
    view = play(place, Player(protocol, laps=2), "react", "full", options=options, requests=requests)
    assert view.outcome == "answered"
    assert "final_answer" not in str(requests)
    assert all("tool_choice" not in body for body in requests)


def test_where_every_reply_must_call_the_forced_answer_is_still_text(place: Path) -> None:
    requests: list[Body] = []
    options = {"framework.must_act": True, "framework.rounds": 2}
    view = play(place, Player("native", laps=99), "react", "full", options=options, requests=requests)
    assert (view.outcome, view.answer) == ("rounds", ANSWER)
    assert (names(requests[-1]), requests[-1].get("tool_choice")) == ([], None)


def names(body: Body) -> list[str]:
    """Return the names of the tools that a request offers."""
    return [each["function"]["name"] for each in body.get("tools", ())]
