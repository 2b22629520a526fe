"""Unit vectors in one float32 matrix, so that a search is a single matrix product."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SPARE = 1_024
"""Extra rows for entries that are added before others are evicted."""
_BLOCK = 128
"""Vectors per matrix product; limits the size of its result."""


class Matrix:
    """Vectors by entry number, unordered.  Not safe for threads.

    Unused rows are at the end and take address space only: the system allocates memory when a row is written.
    """

    def __init__(self, dimension: int, room: int) -> None:
        self._vectors = np.empty((room + _SPARE, dimension), np.float32)
        self._numbers = np.zeros(room + _SPARE, np.int64)
        self._rows: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, number: int) -> bool:
        return number in self._rows

    def put(self, numbers: Sequence[int], vectors: NDArray[np.float32]) -> None:
        """Add vectors, shape (len(numbers), dimension), or replace those with these numbers."""
        self._grow(len(self) + len(numbers))
        rows = [self._rows.setdefault(number, len(self._rows)) for number in numbers]
        self._vectors[rows] = vectors
        self._numbers[rows] = numbers

    def drop(self, numbers: Iterable[int]) -> None:
        """Remove vectors and ignore unknown numbers.  The last row moves into each gap."""
        for number in numbers:
            row = self._rows.pop(number, None)
            last = len(self._rows)
            if row is not None and row != last:
                self._vectors[row] = self._vectors[last]
                moved = int(self._numbers[last])
                self._numbers[row] = moved
                self._rows[moved] = row

    def others(self, numbers: Sequence[int]) -> list[int]:
        """Return the numbers in this matrix that are not among `numbers`."""
        return list(self._rows.keys() - set(numbers))

    def nearest(self, vector: NDArray[np.float32], limit: int, scope: Sequence[int] | None = None) -> list[int]:
        """Return at most `limit` numbers by cosine with a unit vector, best first; `scope`: only these numbers."""
        numbers, rows = self._numbers[: len(self)], self._vectors[: len(self)]
        # `vecdot` uses one core and is no slower than `rows @ vector` on two; the search by words uses the other.
        if scope is None:
            scores = np.vecdot(rows, vector)
        else:
            inside = np.flatnonzero(np.isin(numbers, scope))
            few = 2 * len(inside) < len(self)  # otherwise the copy would cost more than it saves
            scores = np.vecdot(rows[inside], vector) if few else np.vecdot(rows, vector)[inside]
            numbers = numbers[inside]
        found: list[int] = numbers[_highest(scores, limit)].tolist()
        return found

    def similar(
        self, vectors: NDArray[np.float32], among: Sequence[int], min_cosine: float, limit: int
    ) -> list[list[int]]:
        """Return for each unit vector at most `limit` numbers with a cosine of at least `min_cosine`, best first.

        Compares with the numbers in `among` when these are few, else with all.
        """
        numbers, rows = self._numbers[: len(self)], self._vectors[: len(self)]
        if 2 * len(among) < len(self):  # otherwise the copy would cost more than it saves
            numbers, rows = np.array(among, np.int64), self.take(among)
        found: list[list[int]] = []
        for start in range(0, len(vectors), _BLOCK):
            for line in vectors[start : start + _BLOCK] @ rows.T:
                near = np.flatnonzero(line >= min_cosine)
                found.append(numbers[near[np.argsort(-line[near], kind="stable")][:limit]].tolist())
        return found

    def take(self, numbers: Sequence[int]) -> NDArray[np.float32]:
        """Return the vectors of these numbers, shape (len(numbers), dimension).  Raises `KeyError` for an unknown one."""
        rows: NDArray[np.float32] = self._vectors[[self._rows[number] for number in numbers]]
        return rows

    def _grow(self, needed: int) -> None:
        if needed <= len(self._numbers):
            return
        room = needed + max(_SPARE, len(self) // 8)
        vectors = np.empty((room, self._vectors.shape[1]), np.float32)
        numbers = np.zeros(room, np.int64)
        vectors[: len(self)] = self._vectors[: len(self)]
        numbers[: len(self)] = self._numbers[: len(self)]
        self._vectors, self._numbers = vectors, numbers


def _highest(scores: NDArray[np.float32], limit: int) -> NDArray[np.intp]:
    """Return the indices of the `limit` highest scores, best first."""
    groups = len(scores) // max(1, len(scores) // (8 * limit))
    if groups > limit:
        # Sort only scores that reach the `limit`-th highest of the group maxima: at least `limit` do, and few more.
        highest = scores[: len(scores) // groups * groups].reshape(-1, groups).max(axis=0)
        places = np.flatnonzero(scores >= np.partition(highest, -limit)[-limit])
    else:
        places = np.arange(len(scores))
    return places[np.argsort(-scores[places], kind="stable")[:limit]]
