"""Figures over many runs: how many rounds questions take, how often tools fail, how long answers take.

The four of the sequential-tools design: average rounds a query, share of queries with two or more rounds, tool failure
rate, latency.
"""

from __future__ import annotations

from collections.abc import Iterable
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


def measure(views: Iterable[RunView]) -> Metrics | None:
    """The figures of these runs; None when none of them has ended."""
    ended = [view for view in views if view.outcome is not None]
    if not ended:
        return None
    rounds = [len([r for r in view.rounds if r.calls]) for view in ended]
    calls = [call.observation for view in ended for r in view.rounds for call in r.calls if call.observation]
    seconds = [view.seconds for view in ended]
    cuts = quantiles(seconds, n=20, method="inclusive") if len(seconds) > 1 else seconds * 19
    return Metrics(
        runs=len(ended),
        average_rounds=mean(rounds),
        multi_round_share=sum(count >= 2 for count in rounds) / len(rounds),
        tool_calls=len(calls),
        tool_failure_rate=sum(not seen.ok for seen in calls) / len(calls) if calls else 0.0,
        seconds_p50=cuts[9],
        seconds_p95=cuts[18],
    )
