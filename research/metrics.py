"""Figures over many runs: how many rounds questions take, how often tools fail, how long answers take, what they cost.

The four of the sequential-tools design (average rounds a query, share of queries with two or more rounds, tool failure
rate, latency), and the same by tool, by day, and by framework with context strategy.
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
from research.events import Resumed
from research.store import RunRow, Store
from research.types import Outcome
from research.view import RoundView, RunView, fold


class Times(Struct, frozen=True):
    """How long something takes, in seconds: half of the calls take no longer than `p50`, 99 of 100 no longer than `p99`."""

    count: int
    p50: float
    p90: float
    p99: float


class Metrics(Struct, frozen=True):
    """Over finished runs; rates are shares from 0 to 1, times are seconds."""

    runs: int
    average_rounds: float
    multi_round_share: float
    tool_calls: int
    tool_failure_rate: float
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
    """What is known of it."""
    unknown_costs: int
    """Runs in which the price of a call is unknown: they are not in `cost_usd`."""


class ToolFigures(Struct, frozen=True):
    """Of one tool in one run."""

    calls: int
    failed: int
    seconds: tuple[float, ...]
    """Of each call that was made; an answer from the cache takes no time and is no sample."""


class Figures(Struct, frozen=True):
    """Of one run that has ended."""

    rounds: int
    """Those in which a tool was called."""
    calls: int
    failed: int
    """Calls whose tool said that it could not."""
    seconds: float
    run: str
    started: float
    """Seconds since the epoch; of a fork when it was made."""
    framework: str
    context: str
    model: str
    outcome: Outcome
    replies: tuple[float, ...]
    """Seconds of each model call."""
    tools: Mapping[str, ToolFigures]
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float | None
    """None: the price of a call is unknown."""


def figures(view: RunView, before: RunView | None = None) -> Figures | None:
    """None for a run that has not ended.

    `before` is what a fork took over: its rounds count, its calls, tokens and cost are those of its origin.
    """
    if view.outcome is None or view.status == "waiting_input":
        return None
    own = view.rounds[len(before.rounds) if before else 0 :]
    tools = _tools(own)
    cost = view.cost_usd
    if before and cost is not None:
        cost = None if before.cost_usd is None else cost - before.cost_usd
    return Figures(
        rounds=sum(bool(each.calls) for each in view.rounds),
        calls=sum(each.calls for each in tools.values()),
        failed=sum(each.failed for each in tools.values()),
        seconds=view.seconds, run=view.run, started=view.started,
        framework=view.recipe.framework, context=view.recipe.context, model=view.recipe.model, outcome=view.outcome,
        replies=tuple(each.seconds for each in own if each.reply), tools=tools,
        prompt_tokens=view.prompt_tokens - (before.prompt_tokens if before else 0),
        completion_tokens=view.completion_tokens - (before.completion_tokens if before else 0), cost_usd=cost,
    )  # fmt: skip


def _tools(rounds: Sequence[RoundView]) -> dict[str, ToolFigures]:
    found: dict[str, ToolFigures] = {}
    for seen in (call.observation for each in rounds for call in each.calls if call.observation):
        known = found.get(seen.name, ToolFigures(0, 0, ()))
        took = () if seen.cached else (seen.seconds,)
        found[seen.name] = ToolFigures(known.calls + 1, known.failed + (not seen.ok), known.seconds + took)
    return found


def measure(views: Iterable[RunView]) -> Metrics | None:
    """The figures of these runs; None when none of them has ended."""
    return together(list(filter(None, map(figures, views))))


def together(ended: Sequence[Figures]) -> Metrics | None:
    """The figures of several runs as one; None when there are none."""
    if not ended:
        return None
    seconds = sorted(each.seconds for each in ended)
    runs, replies = times(seconds), times(took for each in ended for took in each.replies)
    calls = sum(each.calls for each in ended)
    return Metrics(
        runs=len(ended),
        average_rounds=mean(each.rounds for each in ended),
        multi_round_share=sum(each.rounds >= 2 for each in ended) / len(ended),
        tool_calls=calls,
        tool_failure_rate=sum(each.failed for each in ended) / calls if calls else 0.0,
        seconds_p50=runs.p50,
        seconds_p90=runs.p90,
        seconds_p95=_cut(seconds, 0.95),
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
    """The percentiles of these times; zeros where there are none."""
    found = sorted(seconds)
    return Times(len(found), _cut(found, 0.5), _cut(found, 0.9), _cut(found, 0.99))


def _cut(found: Sequence[float], share: float) -> float:
    """Where that share of the sorted values lies, between two of them by proportion; 0.0 where there are none."""
    if not found:
        return 0.0
    place = share * (len(found) - 1)
    low = int(place)
    high = min(low + 1, len(found) - 1)
    return found[low] + (found[high] - found[low]) * (place - low)


class ToolMetrics(Struct, frozen=True):
    """Of one tool over several runs."""

    name: str
    calls: int
    failed: int
    times: Times


def by_tool(ended: Sequence[Figures]) -> list[ToolMetrics]:
    """Each tool that was called, the busiest first."""
    parts: dict[str, list[ToolFigures]] = {}
    for each in ended:
        for name, part in each.tools.items():
            parts.setdefault(name, []).append(part)
    found = [
        ToolMetrics(
            name, sum(each.calls for each in runs), sum(each.failed for each in runs),
            times(took for each in runs for took in each.seconds),
        )
        for name, runs in parts.items()
    ]  # fmt: skip
    return sorted(found, key=lambda each: (-each.calls, each.name))


class Day(Struct, frozen=True):
    """What the runs of one day took."""

    day: datetime.date
    runs: int
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float
    """What is known of it."""
    unknown_costs: int


def by_day(ended: Sequence[Figures], zone: datetime.tzinfo | None = None) -> list[Day]:
    """Each day on which a run began, oldest first; days of `zone`, or of this machine."""
    days: dict[datetime.date, list[Figures]] = {}
    for each in ended:
        days.setdefault(datetime.datetime.fromtimestamp(each.started, zone).date(), []).append(each)
    return [
        Day(
            day, len(runs), sum(each.prompt_tokens for each in runs), sum(each.completion_tokens for each in runs),
            sum(each.cost_usd or 0.0 for each in runs), sum(each.cost_usd is None for each in runs),
        )
        for day, runs in sorted(days.items())
    ]  # fmt: skip


class Cell(Struct, frozen=True):
    """The runs of one framework with one context strategy."""

    framework: str
    context: str
    metrics: Metrics
    outcomes: Mapping[Outcome, int]


def by_cell(ended: Sequence[Figures]) -> list[Cell]:
    """Each framework with each context strategy it was run with, the busiest first."""
    cells: dict[tuple[str, str], list[Figures]] = {}
    for each in ended:
        cells.setdefault((each.framework, each.context), []).append(each)
    found = [
        Cell(framework, context, metrics, Counter(each.outcome for each in runs))
        for (framework, context), runs in cells.items()
        if (metrics := together(runs))
    ]
    return sorted(found, key=lambda cell: (-cell.metrics.runs, cell.framework, cell.context))


class Ledger:
    """The figures of the ended runs of one workbench: each run is read once, when it has ended.

    Belongs to one store and is never shared between users.  Safe for threads: what two of them read is the same.
    """

    def __init__(self) -> None:
        self._known: dict[str, tuple[float, Figures | None]] = {}
        """By run, with the time of its end."""

    def catch_up(self, store: Store, rows: Sequence[RunRow], for_s: float) -> int:
        """Read those of the runs that were not read yet, for about so many seconds; returns how many are left.

        A run that was removed meanwhile is passed over.
        """
        until = time.monotonic() + for_s
        missing = [row for row in rows if _ended(row) and self._known.get(row.id, (None,))[0] != row.updated]
        while missing and time.monotonic() < until:
            row = missing.pop(0)
            self._known[row.id] = (row.updated, _read(store, row))
        return len(missing)

    def of(self, rows: Iterable[RunRow]) -> list[Figures]:
        """The figures of those runs that have been read, in their order."""
        known = [self._known.get(row.id, (None, None)) for row in rows if _ended(row)]
        return [found for _, found in known if found is not None]


def _ended(row: RunRow) -> bool:
    return row.outcome is not None and row.status != "waiting_input"


def _read(store: Store, row: RunRow) -> Figures | None:
    try:
        events = store.events(row.id)
    except ConfigError:  # an event that this version does not know
        return None
    taken_over = 0
    if row.origin and row.origin.how == "fork":  # up to its own `Resumed`; those of its origin may stand before it
        own = [n for n, each in enumerate(events) if isinstance(each, Resumed) and each.time <= row.created]
        taken_over = own[-1] if own else 0
    found = figures(fold(events), fold(events[:taken_over]) if taken_over else None)
    return found and msgspec.structs.replace(found, started=row.created)
