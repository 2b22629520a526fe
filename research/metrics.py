"""Figures over many runs: how many rounds questions take, how often tools fail, how long answers take.

The four of the sequential-tools design: average rounds a query, share of queries with two or more rounds, tool failure
rate, latency.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import mean, quantiles

from msgspec import Struct

from research.view import RunView


class Metrics(Struct, frozen=True):
    """Over finished runs; rates are shares from 0 to 1, times are seconds."""

    runs: int
    average_rounds: float
    multi_round_share: float
    tool_calls: int
    tool_failure_rate: float
    seconds_p50: float
    seconds_p95: float


class Figures(Struct, frozen=True):
    """Of one run that has ended."""

    rounds: int
    """Those in which a tool was called."""
    calls: int
    failed: int
    """Calls whose tool said that it could not."""
    seconds: float


def figures(view: RunView) -> Figures | None:
    """None for a run that has not ended."""
    if view.outcome is None:
        return None
    calls = [call.observation for r in view.rounds for call in r.calls if call.observation]
    return Figures(sum(bool(r.calls) for r in view.rounds), len(calls), sum(not c.ok for c in calls), view.seconds)


def measure(views: Iterable[RunView]) -> Metrics | None:
    """The figures of these runs; None when none of them has ended."""
    return together(list(filter(None, map(figures, views))))


def together(ended: Sequence[Figures]) -> Metrics | None:
    """The figures of several runs as one; None when there are none."""
    if not ended:
        return None
    seconds = [each.seconds for each in ended]
    cuts = quantiles(seconds, n=20, method="inclusive") if len(seconds) > 1 else seconds * 19
    calls = sum(each.calls for each in ended)
    return Metrics(
        runs=len(ended),
        average_rounds=mean(each.rounds for each in ended),
        multi_round_share=sum(each.rounds >= 2 for each in ended) / len(ended),
        tool_calls=calls,
        tool_failure_rate=sum(each.failed for each in ended) / calls if calls else 0.0,
        seconds_p50=cuts[9],
        seconds_p95=cuts[18],
    )
