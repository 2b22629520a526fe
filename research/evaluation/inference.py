"""Tests of paired differences for a question set fixed in advance, and how they combine.

- McNemar's exact test (Psychometrika 12, 1947) for right and wrong; a sign-flip permutation test for other scores
  (Fisher 1935, The Design of Experiments, ch. 3).
- Holm's correction for many comparisons (Scandinavian Journal of Statistics 6, 1979).
- Wilson's interval for a share (JASA 22, 1927).
- Effect sizes: Cohen's h and d (Statistical Power Analysis, 2nd ed. 1988, ch. 6 and 2), the latter paired.
- pass@k: the unbiased estimate of Chen et al. (arXiv:2107.03374); pass^k likewise (Yao et al., arXiv:2406.12045).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import asin, comb, sqrt
from statistics import NormalDist, fmean, stdev

LEVEL = 0.95
"""Level of every interval; 1 - LEVEL is the level of every test."""
_EXACT = 14
"""Most nonzero differences whose sign flips are all counted; with more, flips are drawn."""
_DRAWS = 20_000
_SEED = 20_261_125


def wilson(successes: float, n: int) -> tuple[float, float]:
    """Return Wilson's interval for the share `successes / n`."""
    z = NormalDist().inv_cdf((1 + LEVEL) / 2)
    share, shrink = successes / n, 1 + z * z / n
    middle = (share + z * z / (2 * n)) / shrink
    half = z * sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / shrink
    return (0.0 if successes == 0 else middle - half, 1.0 if successes == n else middle + half)


def mcnemar(ahead: int, behind: int) -> float:
    """Return the two-sided p-value of McNemar's exact test: a fair coin is at least as uneven."""
    n, fewer = ahead + behind, min(ahead, behind)
    return min(1.0, sum(comb(n, k) for k in range(fewer + 1)) / 2.0 ** max(0, n - 1))


def permutation(differences: Sequence[float]) -> float:
    """Return the two-sided p-value of the mean difference when each sign is equally likely.

    All flips are counted for a few differences; for more, a fixed seed draws them, and the p-value is never 0.
    """
    import numpy as np

    some = np.asarray([each for each in differences if each], dtype=np.float64)
    if not len(some):
        return 1.0
    seen = abs(some.sum()) * (1 - 1e-12)
    if len(some) <= _EXACT:
        bits = (np.arange(2 ** len(some))[:, None] >> np.arange(len(some))) & 1
        return float(np.mean(np.abs((2 * bits - 1) @ some) >= seen))
    draw, hits, left = np.random.default_rng(_SEED), 0, _DRAWS
    while left:
        now = min(left, max(1, 4_000_000 // len(some)))
        signs = draw.integers(0, 2, (now, len(some)), dtype=np.int8) * 2 - 1
        hits += int(np.sum(np.abs(signs @ some) >= seen))
        left -= now
    return (hits + 1) / (_DRAWS + 1)


def paired(differences: Sequence[float]) -> tuple[str, float]:
    """Return the test that fits, `mcnemar` or `permutation`, and its p-value."""
    if all(each in (-1.0, 0.0, 1.0) for each in differences):
        return "mcnemar", mcnemar(sum(each > 0 for each in differences), sum(each < 0 for each in differences))
    return "permutation", permutation(differences)


def holm(p_values: Sequence[float]) -> list[float]:
    """Return the p-values adjusted for the whole family, in the order given."""
    adjusted, highest = [0.0] * len(p_values), 0.0
    for place, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        highest = max(highest, min(1.0, (len(p_values) - place) * p_values[index]))
        adjusted[index] = highest
    return adjusted


def cohen_h(first: float, second: float) -> float:
    """Return the effect size of two shares; .2 is small, .5 medium, .8 large."""
    return 2 * asin(sqrt(first)) - 2 * asin(sqrt(second))


def cohen_d(differences: Sequence[float]) -> float | None:
    """Return the mean paired difference in standard deviations; None if they do not vary."""
    spread = stdev(differences) if len(differences) > 1 else 0.0
    return fmean(differences) / spread if spread else None


def pass_at(k: int, right: int, trials: int) -> float:
    """Return the chance that at least one of `k` trials is right, from `right` of `trials`; `k` is at most `trials`."""
    return 1 - comb(trials - right, k) / comb(trials, k)


def pass_all(k: int, right: int, trials: int) -> float:
    """Return the chance that all of `k` trials are right, from `right` of `trials`; `k` is at most `trials`."""
    return comb(right, k) / comb(trials, k)
