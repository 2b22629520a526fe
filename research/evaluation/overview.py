"""What the rows of an evaluation say at a glance: which recipe is better, at what price, on which questions they disagree.

A difference is called real when two tests agree: the 95 % bootstrap interval of the paired differences does not hold 0,
and neither does chance explain how often each of the two was ahead (the exact sign test; of right and wrong answers this is
McNemar's exact test, Psychometrika 12, 1947).  The bootstrap alone finds differences in a handful of questions too easily.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import comb
from typing import Final, Literal

from msgspec import Struct

from research.evaluation.datasets import Question
from research.evaluation.measures import MEASURES
from research.evaluation.records import Row
from research.evaluation.running import Evaluation, Plan
from research.evaluation.statistics import COSTS, Figure, mean, value

TOKENS: Final = "tokens"
"""Prompt and completion together."""
COMPARED: Final = (*MEASURES, TOKENS, *(name for name in COSTS if name in ("cost_usd", "seconds")))
SURE: Final = 0.05

Verdict = Literal["real", "unsure", "equal"]
"""`unsure`: the interval does not hold 0, but too few questions differ."""


class Point(Struct, frozen=True):
    """A recipe by what it takes and what it brings."""

    name: str
    tokens: Figure
    quality: Figure
    front: bool
    """No other recipe is at least as good for no more tokens, and better in one of the two.  Oracles are not asked."""


class Pair(Struct, frozen=True):
    """Two recipes over the questions that both were asked."""

    first: str
    """Has the more of it."""
    second: str
    figure: Figure
    """How much more, question by question."""
    verdict: Verdict


def worth(row: Row, measure: str) -> float | None:
    """One of `COMPARED` of a row."""
    return float(row.prompt_tokens + row.completion_tokens) if measure == TOKENS else value(row, measure)


def measured(found: Evaluation) -> list[str]:
    """Those of `COMPARED` of which something is known."""
    rows = [row for each in found.rows.values() for row in each]
    return [name for name in COMPARED if any(worth(row, name) is not None for row in rows)]


def figure(rows: Sequence[Row], measure: str) -> Figure | None:
    """The mean; None where nothing is known, and of a cost that is known in part."""
    values = [worth(row, measure) for row in rows]
    if measure == "cost_usd" and None in values:
        return None
    return mean([each for each in values if each is not None])


def points(plan: Plan, found: Evaluation, measure: str) -> list[Point]:
    """The recipes of which the measure is known, with those on the Pareto front marked."""
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
    """Each pair of recipes, the surest and largest differences first."""
    order: Mapping[Verdict, int] = {"real": 0, "unsure": 1, "equal": 2}
    told = []
    for first, second in combinations(found.rows, 2):
        other = {row.question: row for row in found.rows[second]}
        both = [
            (worth(row, measure), worth(other[row.question], measure))
            for row in found.rows[first]
            if row.question in other
        ]
        more = [one - two for one, two in both if one is not None and two is not None]
        if sum(more) < 0:
            first, second, more = second, first, [-each for each in more]
        if (by := mean(more)) is not None:
            told.append(Pair(first, second, by, _verdict(more, by)))
    return sorted(told, key=lambda pair: (order[pair.verdict], -pair.figure.mean))


def _verdict(more: Sequence[float], by: Figure) -> Verdict:
    if by.interval is None or by.interval[0] <= 0 <= by.interval[1]:
        return "equal"
    ahead, behind = sum(each > 0 for each in more), sum(each < 0 for each in more)
    return "real" if sign_test(ahead, behind) < SURE else "unsure"


def sign_test(ahead: int, behind: int) -> float:
    """How likely a coin falls at least as unevenly, to either side."""
    n, fewer = ahead + behind, min(ahead, behind)
    return min(1.0, sum(comb(n, k) for k in range(fewer + 1)) / 2.0 ** (n - 1))


def disagree(rows: Sequence[Row]) -> bool:
    """Whether one recipe is right on a question and another is not."""
    return len({row.scores.right for row in rows if row.scores.right is not None}) > 1


def by_question(plan: Plan, found: Evaluation) -> list[tuple[Question, dict[str, Row]]]:
    """The questions of which something is measured, each with its rows by the recipe's name."""
    rows = {name: {row.asked: row for row in each} for name, each in found.rows.items()}
    told = [
        (question, {name: each[question.digest] for name, each in rows.items() if question.digest in each})
        for question in plan.questions
    ]
    return [(question, each) for question, each in told if each]
