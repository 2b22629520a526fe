"""Bounded rounds of native tool calls, as the second original document tests them: over HTTP, against a strict server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import research
from research.config.settings import load
from research.events.view import RunView, fold
from research.workbench.workbench import Workbench
from tests.conftest import linked_home
from tests.fake_openai import Body, FakeOpenAI, FakeReply

QUESTION = "How many people live in Japan?"
ANSWER = FakeReply("Japan has 123,201,945 people [1].")
SEARCH = FakeReply("", [("search", {"query": "Japan population"})])
OTHER = FakeReply("", [("search", {"query": "Japan birth rate"})])
NOTHING = FakeReply("", [("search", {"query": "xyzzyx qwrtzp"})])
BROKEN = FakeReply("", [("visit", {"url": "library://nowhere", "goal": "x"})])
CALCULATE = FakeReply("", [("python", {"code": "print(6 * 7)"})])

Play = Callable[..., tuple[RunView, list[Body]]]


@pytest.fixture
def play(prepared_home: Path, tmp_path: Path) -> Iterator[Play]:
    home = linked_home(prepared_home, tmp_path / "home")

    def run(*script: FakeReply, question: str = QUESTION, **options: object) -> tuple[RunView, list[Body]]:
        with FakeOpenAI(script) as server:
            bench = Workbench(load(home=home, openai_base_url=server.base_url))
            given = {f"framework.{name}": value for name, value in options.items()}
            events = research.stream(
                question, workbench=bench, model="openai:fake", framework="tool_rounds", options=given
            )
            return fold(list(events)), server.requests

    yield run


def results(body: Body) -> list[str]:
    return [message["content"] for message in body["messages"] if message["role"] == "tool"]


def test_the_model_may_stop_after_one_round(play: Play) -> None:
    view, requests = play(SEARCH, ANSWER, rounds=2)
    assert (view.outcome, len(requests)) == ("answered", 2)


def test_after_the_last_round_one_request_without_tools_asks_for_the_answer(play: Play) -> None:
    view, requests = play(SEARCH, OTHER, ANSWER, rounds=2)
    assert (view.outcome, view.answer) == ("rounds", ANSWER.text)
    assert ["tools" in body for body in requests] == [True, True, False]


def test_the_history_grows_by_one_reply_and_its_results_a_round(play: Play) -> None:
    _, requests = play(SEARCH, CALCULATE, ANSWER)
    roles = [[message["role"] for message in body["messages"]] for body in requests]
    assert roles[1] == [*roles[0], "assistant", "tool"]
    assert roles[2] == [*roles[1], "assistant", "tool"]
    assert "42" in results(requests[2])[1], "another tool in the second round"


def test_an_empty_result_is_a_result(play: Play) -> None:
    view, requests = play(NOTHING, SEARCH, ANSWER)
    assert "No results for" in results(requests[1])[0]
    assert view.outcome == "answered"


@pytest.mark.parametrize("fail_fast", [True, False])
def test_a_failed_tool_ends_the_loop_if_wanted_and_the_answer_knows_about_it(play: Play, fail_fast: bool) -> None:
    script = (SEARCH, BROKEN, ANSWER) if fail_fast else (SEARCH, BROKEN, OTHER, ANSWER)
    view, requests = play(*script, fail_fast=fail_fast)
    assert (view.outcome, len(requests)) == ("tool_errors" if fail_fast else "answered", len(script))
    assert ("tools" in requests[-1]) is not fail_fast
    assert "nowhere" in results(requests[-1])[1]


@pytest.mark.parametrize(
    ("question", "rounds"), [(QUESTION, 4), ("Compare the populations of Japan, Kenya and Chile in 2020 and 2024.", 9)]
)
def test_simple_questions_get_fewer_rounds_if_wanted(play: Play, question: str, rounds: int) -> None:
    searches = [FakeReply("", [("search", {"query": f"Japan {n}"})]) for n in range(9)]
    view, requests = play(*searches[:rounds], ANSWER, question=question, adaptive=True, rounds=9)
    assert (view.outcome, len(requests)) == ("rounds", rounds + 1)


def test_the_first_round_may_offer_search_alone(play: Play) -> None:
    _, requests = play(SEARCH, ANSWER, offer="search first")
    offered = [[tool["function"]["name"] for tool in body["tools"]] for body in requests]
    assert offered[0] == ["search"]
    assert {"search", "visit", "python"} <= set(offered[1])


def test_three_times_the_token_limit_ends_the_loop(play: Play) -> None:
    places = ("Japan", "Kenya", "Chile", "France", "Norway", "India", "Cuba", "Egypt", "Canada")
    pages = [f"library://factbook/{place.lower()}/economy" for place in places]
    many = FakeReply("", [("visit", {"url": page, "goal": "trade"}) for page in pages])
    view, requests = play(many, SEARCH, ANSWER, max_tokens=1_000)
    assert view.outcome == "tokens"
    assert ["tools" in body for body in requests] == [True, True, False]
