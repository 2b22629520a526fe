"""What several trials per question tell: how steady a recipe is, and how often one or all of k trials are right."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from statistics import fmean, variance

from msgspec import Struct

from research.evaluation.inference import pass_all, pass_at
from research.evaluation.questions import Question
from research.evaluation.records import Row
from research.evaluation.statistics import Figure, mean

SHOWN = (1, 2, 3, 5, 10, 20, 50, 100)
"""Values of k, besides the number of trials."""


def seed_of(seed: int | None, question: Question, trial: int) -> int | None:
    """Return the seed of one trial, below 2³¹: equal for all recipes, different for each question and trial."""
    if seed is None:
        return None
    words = f"{seed}/{question.digest}/{trial}".encode()
    return int.from_bytes(hashlib.sha256(words).digest()[:4]) >> 1


class Trials(Struct, frozen=True):
    """The trials of one recipe, by the measure `right`; over questions that have at least two."""

    trials: int
    """The smallest number of trials of any of these questions."""
    pass_at: dict[int, Figure | None]
    """By k: the chance that at least one of k trials is right (pass@k)."""
    pass_all: dict[int, Figure | None]
    """By k: the chance that all of k trials are right (pass^k)."""
    within: float
    """Mean variance within a question: 0 if each is always or never right, at most about .25."""


def trials(rows: Sequence[Row]) -> Trials | None:
    """Return what the trials tell; None if no question has two scored trials."""
    found: dict[str, list[float]] = {}
    for row in rows:
        if row.scores.right is not None:
            found.setdefault(row.question, []).append(row.scores.right)
    several = [each for each in found.values() if len(each) > 1]
    if not several:
        return None
    fewest = min(map(len, several))
    counts = [(round(sum(each)), len(each)) for each in several]
    ks = sorted({k for k in SHOWN if k <= fewest} | {fewest})
    return Trials(
        fewest,
        {k: mean([pass_at(k, right, of) for right, of in counts], "right") for k in ks},
        {k: mean([pass_all(k, right, of) for right, of in counts], "right") for k in ks},
        fmean(variance(each) for each in several),
    )
