"""Sliding window."""

from __future__ import annotations

from typing import Annotated

from research.registry import Range, context
from research.run import Run
from research.types import Message


@context("Sliding window", when="Each step needs only what was seen just before.")
def window(run: Run, *, k: Annotated[int, Range(1, 100), "Rounds that the model still sees."] = 5) -> list[Message]:
    """The last k rounds; bounded, and blind to what is older.  Whole rounds only: no result is ever orphaned."""
    return run.head() + run.turns(max(0, run.transcript.length - k))
