"""Full history."""

from __future__ import annotations

from research.registry import context
from research.run import Run
from research.types import Message


@context("Full history", when="Up to ten rounds, or a model with a large window.")
def full(run: Run) -> list[Message]:
    """Everything that happened; complete, and growing with every round.  Best for fewer than ten steps."""
    return run.head() + run.turns()
