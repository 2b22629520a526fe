"""Runs side by side: aligned steps, shared sources, figures, and differences in question or budget."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import count
from typing import Any

import pytest

from research.compare.alignment import Row, align, steps
from research.compare.numbers import costs, differences, figures, requests, sources
from research.events.events import (
    Asked,
    ChildStarted,
    Event,
    Replied,
    RunFailed,
    RunFinished,
    RunStarted,
    Status,
    ToolFinished,
    ToolStarted,
)
from research.events.recipe import Budget, Recipe
from research.events.view import RunView, fold
from research.types import Citation, Observation, Outcome, Reply, Source, ToolCall, Usage

FRANCE = "https://www.example.org/france?utm_source=a#economy"


class Told:
    """Builds the events of a run, step by step."""

    def __init__(self, run: str = "a", question: str = "How large?", recipe: Recipe | None = None) -> None:
        self.run, self.events, self._ids = run, list[Event](), count(1)
        self._asked: dict[str, int] = {}
        self._add(RunStarted(question=question, recipe=recipe or Recipe()))

    def _add(self, event: Event) -> None:
        self.events.append(_stamped(event, self.run, len(self.events)))

    def ask(
        self, agent: str = "main", purpose: str = "act", *, tokens: int = 100, usd: float | None = 0.0, **reply: Any
    ) -> Told:
        """Add a model request and its reply."""
        ask = self._asked[agent] = self._asked.get(agent, 0) + 1
        self._add(Asked(agent=agent, ask=ask, round=ask, purpose=purpose, model="m", prompt_tokens=tokens - 1))
        usage = Usage(tokens, 10, cost_usd=usd)
        self._add(Replied(agent=agent, ask=ask, purpose=purpose, reply=Reply(**reply), usage=usage, seconds=1.0))
        return self

    def use(self, name: str, agent: str = "main", found: Sequence[Source] = (), **arguments: Any) -> Told:
        """Add a tool call and its result."""
        call = ToolCall(f"c{next(self._ids)}", name, arguments)
        self._add(ToolStarted(agent=agent, call=call))
        self._add(ToolFinished(agent=agent, observation=Observation(call.id, name, "found", sources=tuple(found))))
        return self

    def search(self, query: str, agent: str = "main") -> Told:
        return self.ask(agent).use("search", agent, query=query)

    def visit(self, url: str, goal: str = "all of it") -> Told:
        return self.ask().use("visit", url=url, goal=goal)

    def end(
        self, status: Status = "completed", outcome: Outcome = "answered", report: str = "So [1].", **more: Any
    ) -> Told:
        self._add(RunFinished(status=status, outcome=outcome, answer=report, report=report, seconds=5.0, **more))
        return self

    @property
    def view(self) -> RunView:
        return fold(self.events)


def _stamped(event: Event, run: str, seq: int) -> Event:
    from msgspec.structs import replace

    return replace(event, run=run, seq=seq, time=1_000.0 + seq)


def drawn(rows: Sequence[Row]) -> list[tuple[str, ...]]:
    """Return each step as its query; `-` for a gap, the purpose of a round without a call."""
    return [tuple("-" if step is None else step.asked or step.round.purpose for step in row) for row in rows]


def searched(*queries: str) -> RunView:
    told = Told()
    for query in queries:
        told.search(query)
    return told.view


def test_the_same_query_shares_a_row_and_others_face_a_gap() -> None:
    rows = align([searched("France GDP", "growth of Spain"), searched("weather in Oslo", "gdp  france")])
    assert drawn(rows) == [("-", "weather in Oslo"), ("France GDP", "gdp france"), ("growth of Spain", "-")]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("population of Japan", "Japan population 2024", True),
        ("population of Japan 2023", "population of Japan 2024", False),
        ("real GDP purchasing power parity of France in 2024", "real GDP purchasing power parity of Germany in 2024", False),
        ("Japan", "Japan population", False),
        ("日本人口", "日本人口", True),
        ("法国的国内生产总值", "德国的国内生产总值", False),
        ("the", "of the", False),
        ("???", "???", True),
        ("", "", True),
    ],
)  # fmt: skip
def test_queries_match_when_one_only_adds_words_to_the_other(one: str, other: str, same: bool) -> None:
    assert (len(align([searched(one), searched(other)])) == 1) is same


def test_pages_match_whatever_scheme_and_tracking_parameters_their_urls_have() -> None:
    one, other = Told().visit(FRANCE, "growth").view, Told().visit("http://example.org/france", "size").view
    assert len(align([one, other])) == 1
    assert len(align([one, Told().visit("https://example.org/spain", "growth").view])) == 2


def test_calculations_match_by_their_figures_and_only_calls_of_one_tool_match() -> None:
    one = Told().ask().use("python", code="growth = 3.732 / 3.689\nprint(growth)").view
    other = Told().ask().use("python", code="print((3.732/3.689))").view
    assert len(align([one, other])) == 1
    assert len(align([one, Told().ask().use("python", code="print(3.732/9)").view])) == 2
    assert len(align([searched("GDP"), Told().ask().use("scholar", query="GDP").view])) == 2


def test_aligned_steps_keep_their_order() -> None:
    rows = align([searched("one", "two"), searched("two", "one")])
    assert len(rows) == 3
    assert sum(None not in row for row in rows) == 1


def test_a_shared_call_outweighs_shared_steps_without_calls() -> None:
    # The plans come after the search in one run and before it in the other, so only one of them can be aligned.
    one = Told().search("France GDP").ask(purpose="plan").ask(purpose="plan").view
    other = Told().ask(purpose="plan").ask(purpose="plan").search("France GDP").view
    assert ("France GDP", "France GDP") in drawn(align([one, other]))


def test_an_answer_is_aligned_with_an_answer_and_not_with_an_open_request() -> None:
    answered = Told().search("x").ask(answer="So.").view
    assert len(align([answered, Told().ask(answer="Not so.").view])) == 2
    open_ = Told().search("x")
    open_._add(Asked(ask=9, round=9, purpose="act", model="m"))
    assert len(align([answered, open_.view])) == 3


def test_four_runs_share_rows_wherever_two_of_them_match() -> None:
    views = [searched("a b", "c d"), searched("c d"), searched("e f", "a b"), searched("e f", "c d")]
    assert drawn(align(views)) == [
        ("-", "-", "e f", "e f"), ("a b", "-", "a b", "-"), ("c d", "c d", "-", "c d"),
    ]  # fmt: skip


def test_steps_of_concurrent_agents_are_grouped_by_agent() -> None:
    def children(order: Sequence[tuple[str, str]]) -> RunView:
        told = Told().ask(purpose="plan")
        for agent in dict.fromkeys(agent for agent, _ in order):
            told._add(ChildStarted(agent=agent, question="part", recipe="react"))
        for agent, query in order:
            told.search(query, agent)
        return told.ask(purpose="synthesise", answer="So.").view

    one = children([("main/a", "first"), ("main/b", "second"), ("main/a", "third"), ("main/b", "fourth")])
    other = children([("main/a", "first"), ("main/a", "third"), ("main/b", "second"), ("main/b", "fourth")])
    rows = align([one, other])
    assert all(None not in row for row in rows)
    assert [row[0].asked for row in rows if row[0]][1:-1] == ["first", "third", "second", "fourth"]


@pytest.mark.parametrize("runs", [1, 2, 3, 4])
def test_an_empty_run_is_a_column_of_gaps(runs: int) -> None:
    assert align([RunView()] * runs) == []
    rows = align([RunView(), *[searched("a", "b")] * runs, RunView()])
    assert [(row[0], row[-1]) for row in rows] == [(None, None)] * 2


@pytest.mark.parametrize("seed", range(20))
def test_each_step_of_each_run_appears_once_and_in_order(seed: int) -> None:
    chance = random.Random(seed)
    views = [
        searched(*(f"topic{chance.randrange(6)}" for _ in range(chance.randrange(12))))
        for _ in range(chance.randint(2, 4))
    ]
    rows = align(views)
    for column, view in enumerate(views):
        assert [row[column] for row in rows if row[column] is not None] == steps(view)
    assert all(len(row) == len(views) and any(row) for row in rows)
    assert all(len({step.asked for step in row if step}) == 1 for row in rows)


def test_notes_before_the_first_request_are_not_a_step() -> None:
    view = fold([*Told().events])
    view._last("main").notes.append("a server is silent")
    assert steps(view) == []


def test_sources_are_shared_by_page() -> None:
    def saw(*urls: str, report: str) -> RunView:
        told = Told().ask()
        for n, url in enumerate(urls, 1):
            told.use("visit", url=url, goal="", found=[Source(n, url, f"Title of {url}", "quote")])
        return told.end(report=report).view

    pages = sources([
        saw("library://factbook/x", FRANCE, report="So [2]."),
        saw("http://example.org/france/", FRANCE, report="So [1]."),
        saw(report=""),
    ])  # fmt: skip
    assert [(page.url, page.numbers, page.cited) for page in pages] == [
        (FRANCE, ((2,), (1, 2), ()), (True, True, False)),
        ("library://factbook/x", ((1,), (), ()), (False, False, False)),
    ]
    assert pages[0].runs == (0, 1)


def test_figures_contain_the_usage_of_a_run_and_the_verdicts_on_its_citations() -> None:
    marks = (Citation(1, "So", "supported"), Citation(2, "No", "dead"))
    found = figures(Told().search("x").ask(answer="So.").end(citations=marks, uncited=("Hm.",)).view)
    assert (found.rounds, found.model_calls, found.tool_calls, found.tokens, found.seconds) == (2, 2, 1, 220, 5.0)
    assert {verdict: n for verdict, n in (found.citations or {}).items() if n} == {"supported": 1, "dead": 1}
    assert (found.uncited, found.cost_usd) == (1, 0.0)


def test_a_running_run_has_no_verdicts_and_a_failed_run_has_zero() -> None:
    running = figures(Told().search("x").view)
    assert (running.status, running.citations, running.uncited, running.seconds) == ("running", None, None, 4.0)
    told = Told()
    told._add(RunFailed(error="broken", traceback=""))
    failed = figures(told.end("failed", "failed", report="").view)
    assert (failed.status, failed.rounds, failed.citations and sum(failed.citations.values())) == ("failed", 0, 0)
    assert figures(RunView()).seconds == 0


def test_prompt_tokens_and_costs_are_listed_per_request() -> None:
    view = Told().ask(tokens=100, usd=0.5).ask("main/a", tokens=300, usd=0.25).view
    assert [(each.number, each.agent, each.prompt_tokens) for each in requests(view)] == [
        (1, "main", 100),
        (2, "main/a", 300),
    ]
    assert costs(view) == [0.5, 0.75]


def test_costs_end_at_the_first_unknown_price() -> None:
    assert costs(Told().ask(usd=0.5).ask(usd=None).ask(usd=0.5).view) == [0.5]
    assert costs(Told().ask(usd=None).view) == costs(RunView()) == []


def test_a_request_without_a_reply_counts_its_estimated_tokens() -> None:
    told = Told()
    told._add(Asked(ask=1, round=1, purpose="act", model="m", prompt_tokens=42))
    assert [each.prompt_tokens for each in requests(told.view)] == [42]


def test_runs_with_different_questions_or_budgets_are_reported() -> None:
    one = Told(question="How large?").view
    assert differences([one, Told(question=" How  large?").view]) == ()
    other = Told(question="How small?", recipe=Recipe(budget=Budget(tokens=9))).view
    assert differences([one, other]) == ("question", "budget")
    assert differences([]) == differences([one]) == ()
