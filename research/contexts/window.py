"""Sliding window."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from research.agent.run import Run
from research.agent.work import HistorySize
from research.events.transcript import Composed
from research.plugins import Range, context


def _keeps(options: Mapping[str, Any], rounds: int) -> int:
    return int(options["k"])


def _shows(options: Mapping[str, Any], per_token: float) -> HistorySize:
    return lambda behind, each: min(behind, options["k"]) * each


@context("Sliding window", when="Remembers only the last rounds; for independent steps.", keeps=_keeps, shows=_shows)
def window(run: Run, *, k: Annotated[int, Range(1, 100), "Rounds that the model still sees."] = 5) -> Composed:
    """The last k rounds; bounded, and blind to what is older.  Whole rounds only: no result is ever orphaned."""
    return Composed(run.head() + run.turns(max(0, run.transcript.length - k)))
