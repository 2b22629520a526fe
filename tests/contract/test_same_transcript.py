"""A run has the same transcript with any provider."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

import research
from research import defaults, plugins
from research.config.settings import load
from research.events import events as e
from research.events.view import fold
from research.workbench.workbench import Workbench
from tests.conftest import linked_home
from tests.fake_anthropic import FakeAnthropic
from tests.fake_openai import Body, FakeOpenAI, FakeReply
from tests.player import QUESTION, Player, lap_of, query


@pytest.fixture(scope="module")
def place(prepared_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return linked_home(prepared_home, tmp_path_factory.mktemp("same") / "home")


def eventful(player: Player, purpose: str, body: Body, number: int) -> FakeReply | None:
    """Play parallel calls, a failing one, an unknown one, text beside calls, and an unreadable reply."""
    lap = lap_of(body) + 1
    good, lost = ("search", {"query": query(lap)}), ("visit", {"url": "library://nowhere", "goal": "Größe"})
    match number:
        case 1:
            return FakeReply("I look twice.", [good, lost, ("search", {"query": "France"})], "Where to begin?")
        case 2:
            return FakeReply("", [("teleport", {"to": "Mars"}), good], "Further away?")
        case 3:
            return FakeReply("", [], "nothing to say")
        case 4:
            return FakeReply("", [("search", '{"query": '), good], "hm")
    return None


def events(server: FakeOpenAI, place: Path, provider: str, framework: str, context: str) -> list[e.Event]:
    given = {f"{provider}_base_url": server.base_url, "openai_send_reasoning": True}
    bench = Workbench(load(home=place, **given))
    options = {"context.k": 2} if context == "window" else {}
    return list(
        research.stream(
            QUESTION, workbench=bench, model=f"{provider}:fake", framework=framework, context=context,
            protocol="native", options=options,
        )
    )  # fmt: skip


def transcript(happened: list[e.Event]) -> Iterator[tuple[Any, ...]]:
    """Yield the requests, replies, results and conclusion, without times and costs."""
    for event in happened:
        match event:
            case e.Asked():
                messages = [msgspec.structs.replace(each, blocks=()) for each in event.messages]
                yield "asked", event.agent, event.purpose, event.keep, messages, event.tools
            case e.Replied():
                yield "replied", event.agent, event.purpose, msgspec.structs.replace(event.reply, blocks=())
            case e.Rejected():
                yield "rejected", event.text, event.problem
            case e.ToolFinished():
                yield "seen", msgspec.structs.replace(event.observation, seconds=0.0)
            case e.RunFinished():
                yield "finished", event.status, event.outcome, event.answer, event.report, event.citations


@pytest.mark.parametrize(("framework", "context"), [("react", "full"), ("tool_rounds", "full"), ("react", "window")])
def test_two_providers_give_the_same_transcript(place: Path, framework: str, context: str) -> None:
    players = [Player("native", laps=5, thinking=context == "full", misbehave=eventful) for _ in range(2)]
    with FakeOpenAI(players[0]) as server:
        one = events(server, place, "openai", framework, context)
    with FakeAnthropic(players[1]) as server:
        other = events(server, place, "anthropic", framework, context)
    assert players[0].refused == players[1].refused == []
    expected = list(transcript(one))
    assert expected == list(transcript(other))
    view = fold(one)
    assert view.outcome == "answered"
    calls = [call.observation for current in view.rounds for call in current.calls]
    assert {seen.ok for seen in calls if seen} == {True, False}
    assert [kind for kind, *_ in expected].count("rejected") == 1
    assert [event.reply.blocks for event in other if isinstance(event, e.Replied)] != [()] * len(view.rounds)


@pytest.mark.examples(5)
@pytest.mark.parametrize("framework", defaults.FRAMEWORKS)
@pytest.mark.parametrize("bound", [False, True])
def test_a_strict_provider_never_finally_refuses_a_history(place: Path, framework: str, bound: bool) -> None:
    """With every framework and its default context; `bound`: the server ties thinking to the messages before it."""
    player = Player("native", laps=6, misbehave=eventful if framework in ("react", "tool_rounds") else None)
    with FakeAnthropic(player, bound=bound) as server:
        view = fold(events(server, place, "anthropic", framework, plugins.framework.get(framework).default_context))
    assert player.refused == []
    assert (view.error, view.outcome) == ("", "answered")


def test_a_whole_run_works_with_budgeted_thinking(place: Path) -> None:
    player = Player("native", laps=4, thinking=True, misbehave=eventful)
    with FakeAnthropic(player, modes=["enabled"]) as server:
        bench = Workbench(load(home=place, anthropic_base_url=server.base_url))
        view = fold(research.stream(QUESTION, workbench=bench, model="anthropic:fake:thinking", protocol="native"))
    assert player.refused == []
    assert view.outcome == "answered"
    assert [body["thinking"]["type"] for body in server.tried] == ["adaptive", *["enabled"] * (len(server.tried) - 1)]
