"""Summarise an evaluation: which recipe is better, at what cost, and on which questions the recipes disagree.

A difference counts as real if two tests agree: the 95 % bootstrap interval of the paired differences excludes 0, and the
exact sign test rejects chance (for right and wrong answers it equals McNemar's exact test, Psychometrika 12, 1947).  The
bootstrap alone would report too many differences over a handful of questions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import comb
from typing import Final, Literal

from msgspec import Struct

from research.evaluation.plans import Evaluation, Plan
from research.evaluation.questions import Question
from research.evaluation.records import Row
from research.evaluation.scorers import measures
from research.evaluation.statistics import COSTS, Figure, mean, value

TOKENS: Final = "tokens"
"""Name of the sum of prompt and completion tokens."""
SURE: Final = 0.05
"""Significance level of the sign test."""

Verdict = Literal["real", "unsure", "equal"]
"""`unsure`: the interval excludes 0, but too few questions differ for the sign test."""


class Point(Struct, frozen=True):
    """A recipe in the chart of quality against tokens."""

    name: str
    tokens: Figure
    quality: Figure
    front: bool
    """On the Pareto front: no other recipe is as good and as cheap, and better in one of the two.  Never an oracle."""


class Pair(Struct, frozen=True):
    """Two recipes, compared over the questions that both have answered."""

    first: str
    """The recipe with the higher value."""
    second: str
    figure: Figure
    """The difference, paired by question."""
    verdict: Verdict


def compared_names() -> tuple[str, ...]:
    """Return the measures and costs that recipes are compared by."""
    return (*measures(), TOKENS, *(name for name in COSTS if name in ("cost_usd", "seconds")))


def compared_value(row: Row, measure: str) -> float | None:
    """Return one of `compared_names()` for a row."""
    return float(row.prompt_tokens + row.completion_tokens) if measure == TOKENS else value(row, measure)


def measured(found: Evaluation) -> list[str]:
    """Return the `compared_names()` for which any row has a value."""
    rows = [row for each in found.rows.values() for row in each]
    return [name for name in compared_names() if any(compared_value(row, name) is not None for row in rows)]


def figure(rows: Sequence[Row], measure: str) -> Figure | None:
    """Return the mean; None if no value is known, and for a cost unless all are known."""
    values = [compared_value(row, measure) for row in rows]
    if measure == "cost_usd" and None in values:
        return None
    return mean([each for each in values if each is not None])


def points(plan: Plan, found: Evaluation, measure: str) -> list[Point]:
    """Return the recipes for which the measure is known, with the Pareto front marked."""
    oracles = {each.name for each in plan.candidates if each.oracle}
    known = []
    for name, rows in found.rows.items():
        tokens, quality = figure(rows, TOKENS), figure(rows, measure)
        if tokens is not None and quality is not None:
            known.append(Point(name, tokens, quality, False))
    rivals = [each for each in known if each.name not in oracles]
    return [
        Point(each.name, each.tokens, each.quality, each in rivals and not any(_beats(rival, each) for rival in rivals))
        for each in known
    ]


def _beats(one: Point, other: Point) -> bool:
    no_worse = one.quality.mean >= other.quality.mean and one.tokens.mean <= other.tokens.mean
    return no_worse and (one.quality.mean, one.tokens.mean) != (other.quality.mean, other.tokens.mean)


def pairs(found: Evaluation, measure: str) -> list[Pair]:
    """Return each pair of recipes, real differences first, then by size."""
    order: Mapping[Verdict, int] = {"real": 0, "unsure": 1, "equal": 2}
    found_pairs = []
    for first, second in combinations(found.rows, 2):
        other = {row.question: row for row in found.rows[second]}
        both = [
            (compared_value(row, measure), compared_value(other[row.question], measure))
            for row in found.rows[first]
            if row.question in other
        ]
        more = [one - two for one, two in both if one is not None and two is not None]
        if sum(more) < 0:
            first, second, more = second, first, [-each for each in more]
        if (by := mean(more)) is not None:
            found_pairs.append(Pair(first, second, by, _verdict(more, by)))
    return sorted(found_pairs, key=lambda pair: (order[pair.verdict], -pair.figure.mean))


def _verdict(more: Sequence[float], by: Figure) -> Verdict:
    if by.interval is None or by.interval[0] <= 0 <= by.interval[1]:
        return "equal"
    ahead, behind = sum(each > 0 for each in more), sum(each < 0 for each in more)
    return "real" if sign_test(ahead, behind) < SURE else "unsure"


def sign_test(ahead: int, behind: int) -> float:
    """Return the two-sided probability that a fair coin is at least as uneven."""
    n, fewer = ahead + behind, min(ahead, behind)
    return min(1.0, sum(comb(n, k) for k in range(fewer + 1)) / 2.0 ** (n - 1))


def disagree(rows: Sequence[Row]) -> bool:
    """Return whether one recipe is right on a question and another is wrong."""
    return len({row.scores.right for row in rows if row.scores.right is not None}) > 1


def by_question(plan: Plan, found: Evaluation) -> list[tuple[Question, dict[str, Row]]]:
    """Return the questions that have rows, each with its rows by the recipe's name."""
    rows = {name: {row.asked: row for row in each} for name, each in found.rows.items()}
    pairs_of_rows = [
        (question, {name: each[question.digest] for name, each in rows.items() if question.digest in each})
        for question in plan.questions
    ]
    return [(question, each) for question, each in pairs_of_rows if each]
