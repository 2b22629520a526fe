"""Full history."""

from __future__ import annotations

from research.agent.run import Run
from research.events.transcript import Composed
from research.plugins import context


@context("Full history", when="Remembers everything; for up to ten rounds.")
def full(run: Run) -> Composed:
    """Everything that happened; complete, and growing with every round.  Best for fewer than ten steps."""
    return Composed(run.head() + run.turns())
