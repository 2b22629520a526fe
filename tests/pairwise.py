"""Choose the cases of a matrix that `make test` runs; `make test-all` runs the rest too."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from itertools import combinations
from typing import Any

import pytest

Case = tuple[Hashable, ...]
Pair = tuple[int, Hashable, int, Hashable]


def pairwise(cases: Iterable[Case]) -> list[Case]:
    """Return a subset of the cases in which every pair of values from any case appears at least once.

    Greedy: picks the first case with the most missing pairs, until none is missing.
    """
    pairs = {case: _pairs(case) for case in cases}
    missing = {pair for each in pairs.values() for pair in each}
    chosen = []
    while missing:
        best = max(pairs, key=lambda case: len(pairs[case] & missing))
        chosen.append(best)
        missing -= pairs[best]
    return chosen


def slow_but_pairwise(cases: Sequence[Case]) -> list[Any]:
    """Return all cases as parameters, marked `slow` except those that `pairwise` chooses."""
    chosen = set(pairwise(cases))
    return [pytest.param(*case, marks=() if case in chosen else pytest.mark.slow) for case in cases]


def _pairs(case: Case) -> frozenset[Pair]:
    return frozenset((i, case[i], j, case[j]) for i, j in combinations(range(len(case)), 2))
