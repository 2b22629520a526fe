"""A scorer: short answers score high."""

from __future__ import annotations

from research.evaluation import FinishedRun, Question
from research.plugins import scorer


@scorer("Brevity")
def brevity(run: FinishedRun, question: Question) -> float | None:
    """1 for an answer of at most 100 characters."""
    return float(len(run.answer) <= 100)
