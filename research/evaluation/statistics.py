"""Means with bootstrap intervals, and paired differences between recipes.

The percentile bootstrap over questions (Efron and Tibshirani 1993, ch. 13) is seeded: the same rows give the same figures.
Each question is one value, the mean of its trials, so that intervals are clustered by question.
Shares, where each question is 0 or 1, have Wilson's interval.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from research.evaluation.inference import wilson
from research.evaluation.records import Row
from research.evaluation.scorers import measures

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

RESAMPLES = 2_000
SEED = 20_240_607
_AT_ONCE = 1_000_000
"""Maximum number of drawn values in memory."""


class Figure(Struct, frozen=True):
    """A mean, or a percentile, with its 95 % interval."""

    mean: float
    interval: tuple[float, float] | None
    """None for fewer than two values."""
    n: int
    """Number of values."""


class Summary(Struct, frozen=True):
    """The figures of one recipe."""

    n: int
    outcomes: dict[str, int]
    figures: dict[str, Figure | None]
    """By the names in `measures()` and `COSTS`; None if no row has the measure."""
    estimated: bool
    """Some token counts are estimates, because the provider did not report them."""


class Difference(Struct, frozen=True):
    """By how much the first recipe exceeds the second, paired by question."""

    first: str
    second: str
    figures: dict[str, Figure | None]


COSTS: Final = ("prompt_tokens", "completion_tokens", "cost_usd", "seconds")
TOKENS: Final = "tokens"
"""Name of the sum of prompt and completion tokens."""
UNBOUNDED: Final = ("effective_citations", "cited_statements", "diverged", "played", "budget_spent", TOKENS, *COSTS)
"""Measures that may exceed 1: not shares, even if every value is 0."""


def summary(rows: Sequence[Row]) -> Summary:
    """Return the figures of one recipe.  The `mean` of `seconds_p50` and `seconds_p90` holds the percentile."""
    figures = {name: mean(list(question_means(rows, name).values()), name) for name in (*measures(), *COSTS)}
    if any(row.cost_usd is None for row in rows):
        figures["cost_usd"] = None  # the mean of the known costs would be too low
    seconds = [row.seconds for row in rows]
    figures |= {f"seconds_p{share}": percentile(seconds, share) for share in (50, 90)}
    outcomes = Counter(row.outcome for row in rows)
    return Summary(len(rows), dict(outcomes.most_common()), figures, any(row.estimated for row in rows))


def differences(rows: Mapping[str, Sequence[Row]]) -> list[Difference]:
    """Return the difference of each pair of recipes, over the questions that both have answered."""
    found = []
    for first, second in combinations(rows, 2):
        figures = {}
        for name in (*measures(), *COSTS):
            one, two = question_means(rows[first], name), question_means(rows[second], name)
            figures[name] = bootstrapped([one[asked] - two[asked] for asked in one if asked in two])
        found.append(Difference(first, second, figures))
    return found


def question_means(rows: Sequence[Row], name: str) -> dict[str, float]:
    """Return the mean of each question's trials, by the question's id."""
    found: dict[str, list[float]] = {}
    for row in rows:
        if (one := value(row, name)) is not None:
            found.setdefault(row.question, []).append(one)
    return {asked: fmean(values) for asked, values in found.items()}


def mean(values: Sequence[float], name: str) -> Figure | None:
    """Return the mean, with Wilson's interval if every value is 0 or 1 and may not exceed 1; None without values."""
    if name not in UNBOUNDED and len(values) > 1 and all(each in (0.0, 1.0) for each in values):
        return Figure(fmean(values), wilson(sum(values), len(values)), len(values))
    return bootstrapped(values)


def bootstrapped(values: Sequence[float]) -> Figure | None:
    """Return the mean with its bootstrap interval; None without values."""
    return _figure(values, lambda drawn: drawn.mean(axis=-1))


def percentile(values: Sequence[float], share: float) -> Figure | None:
    """Return the percentile `share` of the values."""
    import numpy as np

    return _figure(values, lambda drawn: np.percentile(drawn, share, axis=-1))


def value(row: Row, name: str) -> float | None:
    """Return a measure or a cost of a row, or its `TOKENS`, by name."""
    if name == TOKENS:
        return float(row.prompt_tokens + row.completion_tokens)
    found: Any = getattr(row, name) if name in COSTS else row.scores.get(name)
    return None if found is None else float(found)


def _figure(values: Sequence[float], statistic: Callable[[NDArray[np.float64]], Any]) -> Figure | None:
    import numpy as np

    if not values:
        return None
    seen = np.asarray(values, dtype=np.float64)
    if len(seen) == 1:
        return Figure(float(seen[0]), None, 1)
    draw = np.random.default_rng(SEED)
    drawn: list[NDArray[np.float64]] = []
    left = RESAMPLES
    while left:
        some = min(left, max(1, _AT_ONCE // len(seen)))
        drawn.append(np.atleast_1d(statistic(seen[draw.integers(0, len(seen), (some, len(seen)))])))
        left -= some
    low, high = np.percentile(np.concatenate(drawn), (2.5, 97.5))
    return Figure(float(statistic(seen)), (float(low), float(high)), len(seen))
