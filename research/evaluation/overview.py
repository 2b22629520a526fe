"""Summarise an evaluation: which recipe is better, at what cost, and on which questions the recipes disagree.

A difference is real if its evidence, corrected for all pairs, is certain however often one looks (`anytime`).
Measures without bounds, such as tokens, are compared by which recipe uses more on a question, and a bootstrap interval of
the mean has to agree.  The tests for a fixed number of questions are given beside the verdict.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import ceil, log
from statistics import fmean
from typing import Final, Literal

from msgspec import Struct

from research.evaluation import anytime
from research.evaluation.inference import cohen_d, cohen_h, holm, paired, permutation
from research.evaluation.plans import Evaluation, Plan
from research.evaluation.questions import Question
from research.evaluation.records import Row
from research.evaluation.scorers import measures
from research.evaluation.statistics import (
    TOKENS,
    UNBOUNDED,
    Figure,
    bootstrapped,
    mean,
    question_means,
    value,
)

MANY: Final = 10_000
"""More questions than this are not suggested."""

Verdict = Literal["real", "unsure", "equal"]
"""`unsure`: certain as the only pair, but not among all pairs."""


class Point(Struct, frozen=True):
    """A recipe in the chart of quality against tokens."""

    name: str
    tokens: Figure
    quality: Figure
    front: bool
    """On the Pareto front: no other recipe is as good and as cheap, and better in one.  Never an oracle."""


class Pair(Struct, frozen=True):
    """Two recipes, compared over the questions that both have answered."""

    first: str
    """The recipe with the higher value."""
    second: str
    figure: Figure
    """The difference, paired by question; between trials, of their means."""
    verdict: Verdict
    evidence: float
    """The e-value, corrected for all pairs; certain from 20 on (`anytime`)."""
    test: str
    """`mcnemar` or `permutation`, valid for a number of questions fixed in advance."""
    p: float
    p_holm: float
    """Corrected for all pairs."""
    effect: float | None
    """Cohen's h of two shares, otherwise d of the paired differences; None if these do not vary."""
    more_questions: int | None
    """About how many more questions would make it certain; 0 if it is certain, None for over `MANY`."""


def measured(found: Evaluation) -> list[str]:
    """Return the measures and costs that recipes are compared by and that have a value in any row."""
    names = (*measures(), TOKENS, "cost_usd", "seconds")
    rows = [row for each in found.rows.values() for row in each]
    return [name for name in names if any(value(row, name) is not None for row in rows)]


def figure(rows: Sequence[Row], measure: str) -> Figure | None:
    """Return the mean; None if no value is known, and for a cost unless all are known."""
    if measure == "cost_usd" and any(row.cost_usd is None for row in rows):
        return None
    return mean(list(question_means(rows, measure).values()), measure)


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
    means = {name: question_means(rows, measure) for name, rows in found.rows.items()}
    differing: dict[tuple[str, str], list[float]] = {}
    for first, second in combinations(means, 2):
        one, two = means[first], means[second]
        more = [one[asked] - two[asked] for asked in one if asked in two]
        if sum(more) < 0:
            first, second, more = second, first, [-each for each in more]
        if more:
            differing[first, second] = more
    evidence = {pair: anytime.evidence(_bounded(measure, more)) for pair, more in differing.items()}
    lowered = anytime.adjusted(evidence)
    tests = {pair: _test(measure, more) for pair, more in differing.items()}
    corrected = dict(zip(tests, holm([p for _, p in tests.values()]), strict=True))
    found_pairs = []
    for (first, second), more in differing.items():
        pair = first, second
        test, p = tests[pair]
        by = _difference(measure, more)
        verdict = _verdict(measure, more, by, evidence[pair], lowered[pair])
        effect = _effect(test, means, pair, more)
        left = 0 if verdict == "real" else _more_questions(_bounded(measure, more), lowered[pair])
        found_pairs.append(Pair(first, second, by, verdict, lowered[pair], test, p, corrected[pair], effect, left))
    return sorted(found_pairs, key=lambda each: (order[each.verdict], -each.figure.mean))


def _test(measure: str, more: Sequence[float]) -> tuple[str, float]:
    return paired(more) if _is_bounded(measure, more) else ("permutation", permutation(more))


def _effect(
    test: str, means: Mapping[str, Mapping[str, float]], pair: tuple[str, str], more: Sequence[float]
) -> float | None:
    one, two = means[pair[0]], means[pair[1]]
    both = [asked for asked in one if asked in two]
    shares = fmean(one[asked] for asked in both), fmean(two[asked] for asked in both)
    return cohen_h(*shares) if test == "mcnemar" and all(0 <= each <= 1 for each in shares) else cohen_d(more)


def _is_bounded(measure: str, more: Sequence[float]) -> bool:
    return measure not in UNBOUNDED and all(abs(each) <= 1 for each in more)


def _bounded(measure: str, more: Sequence[float]) -> list[float]:
    """Return the differences, or their signs if they may exceed 1."""
    return list(more) if _is_bounded(measure, more) else [float((each > 0) - (each < 0)) for each in more]


def _difference(measure: str, more: Sequence[float]) -> Figure:
    """Return the mean difference with an interval that holds at any time; for costs and counts, a bootstrap interval."""
    if _is_bounded(measure, more):
        return Figure(fmean(more), anytime.interval(more) if len(more) > 1 else None, len(more))
    by = bootstrapped(more)
    assert by is not None, "a pair has at least one difference"
    return by


def _verdict(measure: str, more: Sequence[float], by: Figure, evidence: float, lowered: float) -> Verdict:
    if by.interval is None or by.interval[0] <= 0 or evidence < anytime.CERTAIN:
        return "equal"
    ahead, behind = sum(each > 0 for each in more), sum(each < 0 for each in more)
    if not _is_bounded(measure, more) and ahead <= behind:
        return "equal"
    return "real" if lowered >= anytime.CERTAIN else "unsure"


def _more_questions(more: Sequence[float], lowered: float) -> int | None:
    """Return about how many more questions like these make the difference certain; None for more than `MANY`."""
    rate = anytime.growth(more)
    if rate <= 0:
        return None
    number = ceil(log(anytime.CERTAIN / max(lowered, 1e-9)) / rate)
    return max(1, number) if number <= MANY else None


def disagree(rows: Sequence[Row]) -> bool:
    """Return whether one recipe is right on a question and another is wrong."""
    return len({row.scores.right for row in rows if row.scores.right is not None}) > 1


def by_question(plan: Plan, found: Evaluation) -> list[tuple[Question, dict[str, Row]]]:
    """Return the questions that have rows, each with its first trial's row by recipe name."""
    rows = {name: {row.asked: row for row in reversed(each)} for name, each in found.rows.items()}
    pairs_of_rows = [
        (question, {name: each[question.digest] for name, each in rows.items() if question.digest in each})
        for question in plan.questions
    ]
    return [(question, each) for question, each in pairs_of_rows if each]
