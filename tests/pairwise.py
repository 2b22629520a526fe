"""Choose the cases of a matrix that `make test` runs; `make test-all` runs the rest too."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from itertools import combinations
from typing import Any

import pytest

Case = tuple[Hashable, ...]


def covering(cases: Iterable[Case], size: int) -> list[Case]:
    """Return a subset of the cases in which every combination of `size` values from any case appears at least once.

    Greedy: picks the first case with the most missing combinations, until none is missing.
    """
    combined = {case: _combined(case, size) for case in cases}
    missing = {each for found in combined.values() for each in found}
    chosen = []
    while missing:
        best = max(combined, key=lambda case: len(combined[case] & missing))
        chosen.append(best)
        missing -= combined[best]
    return chosen


def slow_but_pairwise(cases: Sequence[Case]) -> list[Any]:
    """Return all cases as parameters, marked `slow` except for a choice in which every pair of values appears."""
    return _slow_but(covering(cases, 2), cases)


def slow_but_each_value(cases: Sequence[Case]) -> list[Any]:
    """Return all cases as parameters, marked `slow` except for a choice in which every value appears."""
    return _slow_but(covering(cases, 1), cases)


def spread(cases: Sequence[Any], some: int) -> list[Any]:
    """Return so many of the cases, spread evenly."""
    some = min(some, len(cases))
    return [cases[round(n * (len(cases) - 1) / max(some - 1, 1))] for n in range(some)]


def _slow_but(chosen: Iterable[Case], cases: Sequence[Case]) -> list[Any]:
    quick = set(chosen)
    return [pytest.param(*case, marks=() if case in quick else pytest.mark.slow) for case in cases]


def _combined(case: Case, size: int) -> frozenset[tuple[tuple[int, Hashable], ...]]:
    return frozenset(combinations(enumerate(case), size))
