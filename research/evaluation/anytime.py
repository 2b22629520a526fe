"""Verdicts on paired differences that hold however often one looks, and whenever one stops.

Each pair of recipes bets against equality, question by question (Waudby-Smith and Ramdas, "Estimating means of bounded
random variables by betting", JRSS B 86, 2024): the product of 1 + λd over differences d in [-1, 1] is a martingale when the
mean is 0, for each λ in (-1, 1), and so is a mixture of them.  By Ville's inequality it exceeds 20 at any time with
probability at most 5 %.  Inverting the bet gives a confidence sequence: an interval that contains the mean at all times
with 95 %.

Many pairs are corrected by closed testing with averages (Vovk and Wang, "E-values: calibration, combination and
applications", Annals of Statistics 49, 2021), where pairs can be equal at once only if they form groups of equal
recipes (Shaffer, JASA 81, 1986).  For groups, the bets of a group are averaged, and then the groups.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import combinations
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LEVEL: Final = 0.95
CERTAIN: Final = 20.0
"""The least e-value of a certain difference, 1 / (1 - LEVEL)."""
GROUPED: Final = 10
"""Maximum number of recipes whose groupings are all enumerated; with more, the pairs are averaged as if any set of them
could be equal."""
_BETS: Final = (0.16, 0.24, 0.34, 0.46, 0.6, 0.76)
"""λ; for a difference of .15 between recipes that disagree on 4 of 10 questions, .38 is best."""
_MOST: Final = 1e300


def evidence(differences: Sequence[float]) -> float:
    """Return the e-value against equal means, of differences in [-1, 1].  From `CERTAIN` on, they differ."""
    return max(_against(differences, 0.0), _against([-each for each in differences], 0.0)) / 2


def interval(differences: Sequence[float]) -> tuple[float, float]:
    """Return the confidence sequence's interval for the mean of differences in [-1, 1].

    It excludes 0 exactly when `evidence` reaches `CERTAIN`.
    """
    return _lowest(differences), -_lowest([-each for each in differences])


def growth(differences: Sequence[float]) -> float:
    """Return how much a question adds to the log evidence, at the best bet so far."""
    import numpy as np

    seen = np.asarray(differences, dtype=np.float64)
    bets = np.asarray([*_BETS, *(-each for each in _BETS)])
    return float(np.log1p(np.outer(bets, seen)).mean(axis=1).max()) if len(seen) else 0.0


def _against(differences: Sequence[float], mean: float) -> float:
    """Return the e-value against a mean of at most `mean`, which is above -1.  Falls as `mean` rises."""
    import numpy as np

    seen = np.asarray(differences, dtype=np.float64)
    bets = np.asarray(_BETS)[:, None]
    logs = np.log1p(bets * ((seen + 1) / (1 + mean) - 1)).sum(axis=1)
    top = float(logs.max())
    return float(min(_MOST, np.exp(min(top, 690.0)) * np.exp(logs - top).mean()))


def _lowest(differences: Sequence[float]) -> float:
    """Return the largest mean that the evidence rejects, by bisection; -1 if there is none."""
    if not differences:
        return -1.0
    low, high = -1.0, 1.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if _against(differences, middle) >= 2 * CERTAIN else (low, middle)
    return low


def adjusted(found: Mapping[tuple[str, str], float]) -> dict[tuple[str, str], float]:
    """Return the e-values of all pairs, lowered so that the chance that any false one reaches `CERTAIN` is 5 % at most."""
    names = sorted({name for pair in found for name in pair})
    if not 2 < len(names) <= GROUPED or len(found) < len(names) * (len(names) - 1) // 2:
        return _any_set(found)
    import numpy as np

    place = {name: index for index, name in enumerate(names)}
    value = {frozenset((place[one], place[two])): each for (one, two), each in found.items()}
    of_group = np.zeros(1 << len(names))
    for mask in range(1 << len(names)):
        inside = [value[frozenset(pair)] for pair in combinations(_members(mask), 2)]
        of_group[mask] = sum(inside) / len(inside) if inside else 0.0
    groups, counts = _groupings(len(names))
    of_grouping = of_group[groups].sum(axis=1) / counts
    return {
        (one, two): min(found[one, two], float(of_grouping[_together(len(names), place[one], place[two])].min()))
        for one, two in found
    }


def _any_set(found: Mapping[tuple[str, str], float]) -> dict[tuple[str, str], float]:
    """Adjust as if any set of pairs could be equal: the smallest average of a pair with others."""
    least = sorted(found.values())
    lowered = {}
    for pair, own in found.items():
        total, best, count = own, own, 1
        others = list(least)
        others.remove(own)
        for each in others:
            total, count = total + each, count + 1
            best = min(best, total / count)
        lowered[pair] = best
    return lowered


def _members(mask: int) -> list[int]:
    return [index for index in range(mask.bit_length()) if mask >> index & 1]


@lru_cache(maxsize=4)
def _groupings(n: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return every way to group `n` recipes, as masks of the groups of two or more, and their number."""
    import numpy as np

    found = [some for some in _partitions((1 << n) - 1) if some]
    width = max(map(len, found))
    padded = np.asarray([[*some, *[0] * (width - len(some))] for some in found], dtype=np.int64)
    return padded, np.asarray([len(some) for some in found], dtype=np.int64)


def _partitions(left: int) -> Iterator[tuple[int, ...]]:
    """Yield the groups of each partition of a set of recipes, given as a mask, without groups of one."""
    if not left:
        yield ()
        return
    first = left & -left
    rest = left ^ first
    others = rest
    while True:
        group = first | others
        for more in _partitions(left ^ group):
            yield more if group == first else (group, *more)
        if not others:
            return
        others = (others - 1) & rest


@lru_cache(maxsize=256)
def _together(n: int, one: int, two: int) -> NDArray[np.intp]:
    """Return the places of the groupings that have two recipes in one group."""
    import numpy as np

    both = 1 << one | 1 << two
    groups, _ = _groupings(n)
    return np.flatnonzero(((groups & both) == both).any(axis=1))
