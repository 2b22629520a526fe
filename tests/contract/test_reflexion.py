"""Reflexion: a failed attempt is reflected on, and the next attempts have read the latest reflections."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import research
from research.config.settings import load
from research.events.view import RunView, fold
from research.workbench.workbench import Workbench
from tests.conftest import linked_home
from tests.fake_openai import Body, FakeOpenAI, FakeReply
from tests.player import ANSWER, QUESTION, purpose_of

WRONG = "Japan has 5 people [99]."
Played = tuple[RunView, list[Body], list[Body]]
"""The run, the requests of its attempts after their search, and those for a reflection."""
Play = Callable[..., Played]


@pytest.fixture
def play(prepared_home: Path, tmp_path: Path) -> Play:
    def run(*answers: str, **options: object) -> Played:
        tried: list[Body] = []
        reflected: list[Body] = []

        def reply(body: Body) -> FakeReply:
            if purpose_of(body) == "reflect":
                reflected.append(body)
                return FakeReply(f"Lesson {len(reflected)}.")
            if not any(message["role"] == "tool" for message in body["messages"]):
                return FakeReply("", [("search", {"query": "Japan population"})])
            tried.append(body)
            return FakeReply(answers[len(tried) - 1])

        home = linked_home(prepared_home, tmp_path / "home")
        with FakeOpenAI(reply) as server:
            bench = Workbench(load(home=home, openai_base_url=server.base_url))
            given = {f"framework.{name}": value for name, value in options.items()}
            events = research.stream(
                QUESTION, workbench=bench, model="openai:fake", framework="reflexion", options=given
            )
            return fold(list(events)), tried, reflected

    return run


def lessons(body: Body) -> list[int]:
    """Return the numbers of the lessons that the attempt has read."""
    return [n for n in range(1, 10) if f"Lesson {n}." in body["messages"][0]["content"]]


def test_a_good_attempt_is_the_last(play: Play) -> None:
    view, tried, reflected = play(ANSWER)
    assert (view.outcome, len(tried), len(reflected)) == ("answered", 1, 0)


def test_the_next_attempt_has_read_the_reflection_on_the_failed_one(play: Play) -> None:
    view, tried, reflected = play(WRONG, ANSWER)
    assert (view.outcome, view.answer) == ("answered", ANSWER)
    assert [lessons(body) for body in tried] == [[], [1]]
    assert WRONG not in str(tried[1]["messages"]), "the answer of the failed attempt is not given to the next one"
    assert "cites no source that was seen" in str(reflected[0]["messages"]), "what was wrong is unknown"


def test_an_attempt_reads_the_last_three_reflections(play: Play) -> None:
    _, tried, _ = play(*[WRONG] * 5, trials=5)
    assert [lessons(body) for body in tried] == [[], [1], [1, 2], [1, 2, 3], [2, 3, 4]]


@pytest.mark.parametrize(
    ("memory", "reflections", "trajectory"), [("none", 0, False), ("last_trial", 0, True), ("both", 1, True)]
)
def test_what_an_attempt_reads_can_be_chosen(play: Play, memory: str, reflections: int, trajectory: bool) -> None:
    _, tried, reflected = play(WRONG, ANSWER, memory=memory)
    assert (len(reflected), len(lessons(tried[1]))) == (reflections, reflections)
    assert ("Action: search" in tried[1]["messages"][0]["content"]) is trajectory
