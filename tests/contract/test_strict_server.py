"""A server that is as strict as real ones never refuses our message histories."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import research
from research import defaults, plugins
from research.config.settings import load
from research.events.view import RunView, fold
from research.types import ProtocolName
from research.workbench.workbench import Workbench
from tests.conftest import linked_home
from tests.fake_openai import Body, FakeOpenAI, FakeReply
from tests.pairwise import slow_but_pairwise
from tests.player import QUESTION, Player, lap_of, query

MATRIX = [(*pair, protocol) for pair in plugins.pairs() for protocol in ("native", "tagged")]


@pytest.fixture(scope="module")
def place(prepared_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return linked_home(prepared_home, tmp_path_factory.mktemp("strict") / "home")


@pytest.fixture(autouse=True)
def no_back_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(random, "uniform", lambda low, high: 0.0)


def play(place: Path, player: Player, framework: str, context: str, **recipe: object) -> RunView:
    tight = {"resum": {"context.max_tokens": 2000}, "window": {"context.k": 2}}
    with FakeOpenAI(player, strict=False) as server:
        settings = load(home=place, openai_base_url=server.base_url, openai_send_reasoning=True)
        bench = Workbench(settings)
        protocol = "native" if player.native else "tagged"
        options = {**tight.get(context, {}), **recipe.pop("options", {})}  # type: ignore[dict-item]
        return fold(
            research.stream(
                QUESTION, workbench=bench, model="openai:fake", framework=framework, context=context,
                protocol=protocol, options=options, **recipe,
            )
        )  # fmt: skip


def faults(player: Player, purpose: str, body: Body, number: int) -> FakeReply | None:
    """Play one fault after the other, then start again."""
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


@pytest.mark.parametrize(("framework", "context", "protocol"), slow_but_pairwise(MATRIX))
def test_no_history_is_refused_after_any_fault(
    place: Path, framework: str, context: str, protocol: ProtocolName
) -> None:
    player = Player(protocol, laps=6, thinking=True, misbehave=faults)
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


@pytest.mark.parametrize("framework", [f for f in defaults.FRAMEWORKS if f != "rewoo"])
@pytest.mark.parametrize("context", defaults.CONTEXTS)
def test_no_history_is_refused_when_a_limit_ends_the_loop(place: Path, framework: str, context: str) -> None:
    player = Player("native", laps=99, thinking=True)
    view = play(place, player, framework, context, options={"framework.rounds": 3})
    assert player.refused == []
    assert view.traceback == ""
    assert view.answer


@pytest.mark.parametrize("context", defaults.CONTEXTS)
def test_no_history_is_refused_after_the_window_overflowed(place: Path, context: str) -> None:
    too_long = FakeReply(status=400, body={"error": {"message": "maximum context length is 8", "code": "context_length_exceeded"}})  # fmt: skip

    def overflow(player: Player, purpose: str, body: Body, number: int) -> FakeReply | None:
        return too_long if number in (6, 7, 9) else None

    player = Player("native", laps=6, thinking=True, misbehave=overflow)
    view = play(place, player, "react", context)
    assert player.refused == []
    assert view.outcome == "answered"


def test_a_server_that_needs_the_reasoning_refuses_a_history_without_it(place: Path) -> None:
    player = Player("native", laps=2, thinking=True)
    with FakeOpenAI(player, strict=False) as server:
        bench = Workbench(load(home=place, openai_base_url=server.base_url))
        view = fold(research.stream(QUESTION, workbench=bench, model="openai:fake"))
    assert view.status == "failed"
    assert "reasoning_content" in view.error
    assert player.refused
