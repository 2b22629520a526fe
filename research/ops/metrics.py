"""Metrics over many runs: rounds, tool failures, latency, tokens and cost.

Includes the four metrics of the sequential-tools design: average rounds per query, share of queries with two or more
rounds of tool calls, tool failure rate and latency.  They are also grouped by tool, by day, and by framework with
context strategy.
"""

from __future__ import annotations

import datetime
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from statistics import mean

import msgspec
from msgspec import Struct

from research.errors import ConfigError
from research.events.events import Resumed
from research.events.rounds import RoundView
from research.events.view import RunView, fold, holds
from research.store import RunLog, RunRow
from research.types import Outcome


class Times(Struct, frozen=True):
    """Percentiles of durations in seconds: half of them are at most `p50`, 99 of 100 at most `p99`."""

    count: int
    p50: float
    p90: float
    p99: float


class Metrics(Struct, frozen=True):
    """Metrics of ended runs; rates and shares are from 0 to 1, times in seconds."""

    runs: int
    average_rounds: float
    average_tool_rounds: float
    """Rounds that called a tool, per run."""
    multi_round_share: float
    """Share of the runs that called tools in two or more rounds."""
    tool_calls: int
    tool_failure_rate: float
    average_seconds: float
    seconds_p50: float
    seconds_p90: float
    seconds_p95: float
    seconds_p99: float
    model_calls: int
    model_seconds_p50: float
    model_seconds_p90: float
    model_seconds_p99: float
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float
    """The sum of the known costs."""
    unknown_costs: int
    """Number of runs without a known cost; `cost_usd` does not include them."""


class ToolFigures(Struct, frozen=True):
    """The figures of one tool in one run."""

    calls: int
    failed: int
    seconds: tuple[float, ...]
    """Duration of each call; results from the cache are not included."""


class Figures(Struct, frozen=True):
    """The figures of one ended run."""

    rounds: int
    """As in `RunView.round_count`."""
    tool_rounds: int
    """Rounds that called a tool."""
    calls: int
    failed: int
    """Tool calls that failed."""
    seconds: float
    run: str
    started: float
    """Seconds since the epoch; for a fork, when it was made."""
    framework: str
    context: str
    model: str
    outcome: Outcome
    replies: tuple[float, ...]
    """Duration of each model call in seconds."""
    tools: Mapping[str, ToolFigures]
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float | None
    """None if the price of any model call is unknown."""
    verified: bool = False
    """Whether it answered, and every statement that cites a source is supported."""


def figures(view: RunView, before: RunView | None = None) -> Figures | None:
    """Return the figures of a run; None while it has not ended.  A run paused by an error counts as failed.

    `before` is the part that a fork inherited: its rounds count, but its calls, tokens and cost belong to the origin.
    """
    outcome = "failed" if view.status == "paused" and view.error else view.outcome
    if outcome is None or view.status == "waiting_input":
        return None
    own = view.rounds[len(before.rounds) if before else 0 :]
    tools = _tools(own)
    cost = view.cost_usd
    if before and cost is not None:
        cost = None if before.cost_usd is None else cost - before.cost_usd
    return Figures(
        rounds=view.round_count(),
        tool_rounds=sum(bool(each.calls) for each in view.rounds),
        calls=sum(each.calls for each in tools.values()),
        failed=sum(each.failed for each in tools.values()),
        seconds=view.seconds,
        run=view.run,
        started=view.started,
        framework=view.recipe.framework,
        context=view.recipe.context,
        model=view.recipe.model,
        outcome=outcome,
        replies=tuple(each.seconds for each in own if each.reply),
        tools=tools,
        prompt_tokens=view.prompt_tokens - (before.prompt_tokens if before else 0),
        completion_tokens=view.completion_tokens - (before.completion_tokens if before else 0),
        cost_usd=cost,
        verified=outcome in ("answered", "partly_answered") and holds(view),
    )


def _tools(rounds: Sequence[RoundView]) -> dict[str, ToolFigures]:
    found: dict[str, ToolFigures] = {}
    for seen in (call.observation for each in rounds for call in each.calls if call.observation):
        known = found.get(seen.name, ToolFigures(0, 0, ()))
        took = () if seen.cached else (seen.seconds,)
        found[seen.name] = ToolFigures(known.calls + 1, known.failed + (not seen.ok), known.seconds + took)
    return found


def measure(views: Iterable[RunView]) -> Metrics | None:
    """Return the metrics of these runs; None when none of them has ended."""
    return combined(list(filter(None, map(figures, views))))


def combined(ended: Sequence[Figures]) -> Metrics | None:
    """Return the metrics of several runs; None when there are none."""
    if not ended:
        return None
    seconds = sorted(each.seconds for each in ended)
    runs, replies = times(seconds), times(took for each in ended for took in each.replies)
    calls = sum(each.calls for each in ended)
    return Metrics(
        runs=len(ended),
        average_rounds=mean(each.rounds for each in ended),
        average_tool_rounds=mean(each.tool_rounds for each in ended),
        multi_round_share=sum(each.tool_rounds >= 2 for each in ended) / len(ended),
        tool_calls=calls,
        tool_failure_rate=sum(each.failed for each in ended) / calls if calls else 0.0,
        average_seconds=mean(seconds),
        seconds_p50=runs.p50,
        seconds_p90=runs.p90,
        seconds_p95=_percentile(seconds, 0.95),
        seconds_p99=runs.p99,
        model_calls=replies.count,
        model_seconds_p50=replies.p50,
        model_seconds_p90=replies.p90,
        model_seconds_p99=replies.p99,
        prompt_tokens=sum(each.prompt_tokens for each in ended),
        completion_tokens=sum(each.completion_tokens for each in ended),
        cost_usd=sum(each.cost_usd or 0.0 for each in ended),
        unknown_costs=sum(each.cost_usd is None for each in ended),
    )


def times(seconds: Iterable[float]) -> Times:
    """Return the percentiles of these durations; zeros when there are none."""
    found = sorted(seconds)
    return Times(len(found), _percentile(found, 0.5), _percentile(found, 0.9), _percentile(found, 0.99))


def _percentile(found: Sequence[float], share: float) -> float:
    """Return a percentile of sorted values by linear interpolation; 0.0 when there are none."""
    if not found:
        return 0.0
    place = share * (len(found) - 1)
    low = int(place)
    high = min(low + 1, len(found) - 1)
    return found[low] + (found[high] - found[low]) * (place - low)


class ToolMetrics(Struct, frozen=True):
    """The metrics of one tool over several runs."""

    name: str
    calls: int
    failed: int
    times: Times


def by_tool(ended: Sequence[Figures]) -> list[ToolMetrics]:
    """Return the metrics of each tool that was called, most calls first."""
    parts: dict[str, list[ToolFigures]] = {}
    for each in ended:
        for name, part in each.tools.items():
            parts.setdefault(name, []).append(part)
    found = [
        ToolMetrics(
            name=name,
            calls=sum(each.calls for each in runs),
            failed=sum(each.failed for each in runs),
            times=times(took for each in runs for took in each.seconds),
        )
        for name, runs in parts.items()
    ]
    return sorted(found, key=lambda each: (-each.calls, each.name))


class Day(Struct, frozen=True):
    """Tokens and cost of the runs of one day."""

    day: datetime.date
    runs: int
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float
    """The sum of the known costs."""
    unknown_costs: int


def by_day(ended: Sequence[Figures], zone: datetime.tzinfo | None = None) -> list[Day]:
    """Return the days on which a run started, oldest first, in the time zone `zone` or that of this machine."""
    days: dict[datetime.date, list[Figures]] = {}
    for each in ended:
        days.setdefault(datetime.datetime.fromtimestamp(each.started, zone).date(), []).append(each)
    return [
        Day(day, all_.runs, all_.prompt_tokens, all_.completion_tokens, all_.cost_usd, all_.unknown_costs)
        for day, runs in sorted(days.items())
        if (all_ := combined(runs))
    ]


class Cell(Struct, frozen=True):
    """The metrics of one framework with one context strategy."""

    framework: str
    context: str
    metrics: Metrics
    outcomes: Mapping[Outcome, int]


def by_cell(ended: Sequence[Figures]) -> list[Cell]:
    """Return the metrics by framework and context strategy, most runs first."""
    cells: dict[tuple[str, str], list[Figures]] = {}
    for each in ended:
        cells.setdefault((each.framework, each.context), []).append(each)
    found = [
        Cell(framework, context, metrics, Counter(each.outcome for each in runs))
        for (framework, context), runs in cells.items()
        if (metrics := combined(runs))
    ]
    return sorted(found, key=lambda cell: (-cell.metrics.runs, cell.framework, cell.context))


class Ledger:
    """A cache of the figures of ended runs, which reads each run once.

    It belongs to one store, and so to one user.  Safe for threads: those that read the same run get the same figures.
    """

    def __init__(self) -> None:
        self._known: dict[str, tuple[float, Figures | None]] = {}
        """By run: the time of its end, and its figures."""

    def catch_up(self, log: RunLog, rows: Sequence[RunRow], for_s: float) -> int:
        """Read the runs that are missing, for about `for_s` seconds, and return how many are left.

        Runs that were removed meanwhile are skipped.
        """
        until = time.monotonic() + for_s
        missing = [row for row in rows if _ended(row) and self._known.get(row.id, (None,))[0] != row.updated]
        while missing and time.monotonic() < until:
            row = missing.pop(0)
            self._known[row.id] = (row.updated, _read(log, row))
        return len(missing)

    def of(self, rows: Iterable[RunRow]) -> list[Figures]:
        """Return the figures of these runs in order, so far as they have been read."""
        known = [self._known.get(row.id, (None, None)) for row in rows if _ended(row)]
        return [found for _, found in known if found is not None]


def _ended(row: RunRow) -> bool:
    return row.status == "paused" or (row.outcome is not None and row.status != "waiting_input")


def _read(log: RunLog, row: RunRow) -> Figures | None:
    try:
        events = log.events(row.id)
    except ConfigError:  # an event that this version does not know
        return None
    inherited = 0
    if row.origin and row.origin.how == "fork":  # its own `Resumed` is the last; earlier ones come from its origin
        own = [n for n, each in enumerate(events) if isinstance(each, Resumed) and each.time <= row.created]
        inherited = own[-1] if own else 0
    found = figures(fold(events), fold(events[:inherited]) if inherited else None)
    return found and msgspec.structs.replace(found, started=row.created)
