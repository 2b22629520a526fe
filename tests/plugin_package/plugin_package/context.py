"""A context strategy: only the newest rounds."""

from __future__ import annotations

from typing import Annotated

from research.agent.run import Run
from research.events.transcript import Composed
from research.plugins import Range, context


@context("Newest first", when="A test needs a context strategy of another package.")
def newest_first(run: Run, *, rounds: Annotated[int, Range(1, 9), "Rounds shown."] = 3) -> Composed:
    """The newest rounds alone."""
    return Composed(run.head() + run.turns(max(0, run.transcript.length - rounds)))
