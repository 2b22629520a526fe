"""Metrics over saved runs."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable
from itertools import pairwise

import msgspec
import pytest

import research
from research.cli.main import main
from research.errors import ConfigError
from research.events.events import Paused, RunStarted
from research.events.recipe import Recipe
from research.events.view import fold
from research.ops.alerts import Alert, alerts, parse
from research.ops.metrics import (
    Figures,
    Ledger,
    ToolFigures,
    by_cell,
    by_day,
    by_tool,
    combined,
    figures,
    measure,
    times,
)
from research.store import RunRow
from research.workbench.workbench import Workbench
from tests.workers import LONG_S

LOOK = '<think>x</think><tool_call>{"name": "search", "arguments": {"query": "Japan population"}}</tool_call>'
MORE = '<think>x</think><tool_call>{"name": "search", "arguments": {"query": "Japan coastline"}}</tool_call>'
MISS = '<think>x</think><tool_call>{"name": "visit", "arguments": {"url": "library://no", "goal": "x"}}</tool_call>'
ASK = '<think>x</think><tool_call>{"name": "ask_user", "arguments": {"question": "Which?"}}</tool_call>'
ANSWER = "<answer>123,201,945 [1]</answer>"


def of(**changes: object) -> Figures:
    plain = Figures(
        rounds=1, tool_rounds=1, calls=0, failed=0, seconds=1.0, run="r", started=0.0, framework="react", context="full", model="m",
        outcome="answered", replies=(), tools={}, prompt_tokens=0, completion_tokens=0, cost_usd=0.0,
    )  # fmt: skip
    return msgspec.structs.replace(plain, **changes)


def test_metrics_contain_rounds_failures_and_times(bench: Workbench, script: Callable[..., str]) -> None:
    once = research.run("Q", workbench=bench, model=script(LOOK, ANSWER))
    twice = research.run("Q", workbench=bench, model=script(LOOK, MISS, ANSWER))
    found = measure([once, twice])
    assert found is not None
    assert (found.runs, found.average_rounds, found.multi_round_share) == (2, 2.5, 0.5)
    assert found.tool_failure_rate == pytest.approx(1 / 3)
    assert 0 < found.seconds_p50 <= found.seconds_p90 <= found.seconds_p95 <= found.seconds_p99
    assert found.model_calls == 5
    assert found.prompt_tokens == once.prompt_tokens + twice.prompt_tokens > 0


def test_a_round_is_counted_as_on_the_page_of_the_run(bench: Workbench, script: Callable[..., str]) -> None:
    views = [
        research.run("Q", workbench=bench, model=script(ANSWER)),
        research.run("Q", workbench=bench, model=script(LOOK, ANSWER)),
        research.run("How many people live in Japan?", workbench=bench, model="extractive", framework="rewoo"),
    ]
    for view in views:
        found = figures(view)
        assert found is not None
        assert found.rounds == view.round_count()
    found = measure(views[:2])
    assert found is not None
    assert (found.average_rounds, found.multi_round_share) == (1.5, 0.0)


def test_metrics_above_their_thresholds_are_alerts() -> None:
    found = combined([of(tool_rounds=2, calls=10, failed=1, seconds=5.0), of(tool_rounds=1, calls=10, seconds=1.0)])
    assert found is not None
    above = alerts(found, parse("rounds_with_tools=1.5, multi_round=0.4,tool_failures=0.04,seconds=4"))
    assert above == [Alert("multi_round", 0.5, 0.4), Alert("tool_failures", 0.05, 0.04)]
    assert alerts(found, parse("")) == []
    for wrong in ("speed=3", "seconds=soon", "seconds=-1"):
        with pytest.raises(ConfigError, match="WORKBENCH_ALERTS"):
            parse(wrong)


def test_the_command_tells_alerts(
    bench: Workbench, script: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    research.run("Q", workbench=bench, model=script(LOOK, MISS, ANSWER))
    assert main(["runs", "--metrics", "--json", "--home", str(bench.settings.home)]) == 0
    printed = capsys.readouterr()
    assert [each["name"] for each in json.loads(printed.out)["alerts"]] == ["tool_failures"]
    assert printed.err.startswith("alert: tool_failures is 0.5, above 0.05")


def test_metrics_of_no_runs_are_empty() -> None:
    assert measure([]) is None
    assert (by_tool([]), by_day([]), by_cell([])) == ([], [], [])
    assert times([]).count == 0


def test_percentiles_are_interpolated() -> None:
    found = times([4.0, 1.0, 3.0, 2.0, 5.0])
    assert (found.count, found.p50, found.p90) == (5, 3.0, pytest.approx(4.6))
    assert times([7.0]).p99 == 7.0


def test_unknown_costs_are_counted_separately() -> None:
    found = combined([of(cost_usd=0.5), of(cost_usd=None), of(cost_usd=0.25)])
    assert found is not None
    assert (found.cost_usd, found.unknown_costs) == (0.75, 1)


def test_cached_tool_results_do_not_count_as_times(bench: Workbench, script: Callable[..., str]) -> None:
    view = research.run("Q", workbench=bench, model=script(LOOK, LOOK, MISS, ANSWER))
    found = figures(view)
    assert found is not None
    search, visit = by_tool([found])
    assert (search.name, search.calls, search.failed, search.times.count) == ("search", 2, 0, 1)
    assert (visit.name, visit.calls, visit.failed) == ("visit", 1, 1)


def test_tools_of_several_runs_are_added_up() -> None:
    first = of(tools={"a": ToolFigures(2, 1, (1.0, 3.0))})
    second = of(tools={"a": ToolFigures(1, 0, (5.0,)), "b": ToolFigures(9, 9, ())})
    b, a = by_tool([first, second])
    assert (a.calls, a.failed, a.times.p50) == (3, 1, 3.0)
    assert (b.calls, b.times.count) == (9, 0)


def test_a_run_that_an_error_stopped_before_any_round_counts_as_failed(bench: Workbench) -> None:
    for run, reason in (("261121-100000-aaaa", "no server at localhost:9"), ("261121-100000-bbbb", "")):
        made = [RunStarted(question="Q", recipe=Recipe()), Paused(reason=reason)]
        events = [msgspec.structs.replace(each, run=run, seq=n, time=1.0 + n) for n, each in enumerate(made)]
        bench.store.create(RunRow(run, "Q", Recipe(), created=1.0), events)
    book, rows = Ledger(), bench.store.runs()
    assert book.catch_up(bench.store, rows, 60) == 0
    assert [(each.run, each.outcome, each.rounds) for each in book.of(rows)] == [("261121-100000-aaaa", "failed", 0)]


def test_days_follow_the_time_zone() -> None:
    late = datetime.datetime(2026, 3, 1, 23, 30, tzinfo=datetime.UTC).timestamp()
    runs = [of(started=late, prompt_tokens=1), of(started=late + 3_600, prompt_tokens=2, cost_usd=None)]
    assert [(each.day.day, each.prompt_tokens) for each in by_day(runs, datetime.UTC)] == [(1, 1), (2, 2)]
    east = datetime.timezone(datetime.timedelta(hours=8))
    assert [(each.day.day, each.runs, each.unknown_costs) for each in by_day(runs, east)] == [(2, 2, 1)]


def test_outcomes_are_grouped_by_framework_and_context() -> None:
    runs = [of(), of(outcome="failed"), of(context="window"), of(framework="rewoo")]
    found = by_cell(runs)
    assert [(each.framework, each.context, each.metrics.runs) for each in found] == [
        ("react", "full", 2), ("react", "window", 1), ("rewoo", "full", 1),
    ]  # fmt: skip
    assert dict(found[0].outcomes) == {"answered": 1, "failed": 1}


def test_a_ledger_reads_each_finished_run_once(bench: Workbench, script: Callable[..., str]) -> None:
    class Counting:
        """The store, with a record of the runs whose events were read."""

        def __init__(self) -> None:
            self.read: list[str] = []

        def __getattr__(self, name: str) -> object:
            return getattr(bench.store, name)

        def events(self, run_id: str, after: int = -1) -> object:
            self.read.append(run_id)
            return bench.store.events(run_id, after)

    store, ledger = Counting(), Ledger()
    first = research.run("Q", workbench=bench, model=script(LOOK, ANSWER)).run
    assert ledger.catch_up(store, bench.store.runs(), 60) == 0  # type: ignore[arg-type]
    second = research.run("Q", workbench=bench, model=script(LOOK, MORE, ANSWER)).run
    rows = bench.store.runs()
    assert ledger.catch_up(store, rows, 0) == 1  # type: ignore[arg-type]
    assert [each.run for each in ledger.of(rows)] == [first]
    assert ledger.catch_up(store, rows, 60) == 0  # type: ignore[arg-type]
    assert ledger.catch_up(store, rows, 60) == 0  # type: ignore[arg-type]
    assert store.read == [first, second]
    assert [(each.run, each.rounds) for each in ledger.of(rows)] == [(second, 3), (first, 2)]
    assert [each.run for each in ledger.of(rows[1:])] == [first]


def test_an_unfinished_run_is_not_measured(bench: Workbench, script: Callable[..., str]) -> None:
    events = bench.engine.start("Q", bench.recipe(model=script(LOOK, ANSWER)), here=True)
    half = [next(events.events()) for _ in range(4)]
    ledger, rows = Ledger(), bench.store.runs()
    assert ledger.catch_up(bench.store, rows, 60) == 0
    assert ledger.of(rows) == []
    assert figures(fold(half)) is None
    for _ in events.events():
        pass
    rows = bench.store.runs()
    ledger.catch_up(bench.store, rows, 60)
    assert [each.outcome for each in ledger.of(rows)] == ["answered"]


def test_the_rounds_a_fork_inherits_are_not_counted_twice(bench: Workbench, script: Callable[..., str]) -> None:
    origin = research.run("Q", workbench=bench, model=script(LOOK, MORE, ANSWER)).run
    deeper = bench.engine.fork(origin, 1).run_id
    assert bench.engine.wait(deeper, LONG_S)
    deepest = bench.engine.fork(deeper, 2).run_id
    assert bench.engine.wait(deepest, LONG_S)
    rows, ledger = bench.store.runs(), Ledger()
    ledger.catch_up(bench.store, rows, 60)
    found = {each.run: each for each in ledger.of(rows)}
    assert [found[run].rounds for run in (origin, deeper, deepest)] == [3, 3, 3]
    assert [found[run].calls for run in (origin, deeper, deepest)] == [2, 1, 0]
    assert [len(found[run].replies) for run in (origin, deeper, deepest)] == [3, 2, 1]
    tokens = [found[run].prompt_tokens for run in (origin, deeper, deepest)]
    assert all(more > less > 0 for more, less in pairwise(tokens))
    assert found[deeper].started == pytest.approx(bench.store.run(deeper).created)


def test_a_thousand_runs_are_combined() -> None:
    runs = [of(run=str(n), tools={"a": ToolFigures(3, 0, (0.1,) * 3)}, replies=(0.2,) * 10) for n in range(1_000)]
    found = combined(runs)
    assert found is not None
    assert (found.model_calls, by_tool(runs)[0].calls) == (10_000, 3_000)
