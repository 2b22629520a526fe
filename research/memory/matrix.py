"""Unit vectors in one float32 matrix: a search is one product, whatever the number of entries."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SPARE = 1_024
"""Rows kept free for what is added while nothing has made room yet."""
_BLOCK = 128
"""Vectors compared with all others in one product, so that its result stays small."""


class Matrix:
    """Vectors under the numbers of their entries, in no order.  Not safe for threads by itself.

    Rows without an entry are at the end and cost address space only: memory is taken by the rows that were written.
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
        """Add vectors, shape (len(numbers), dimension), or put them in the place of those under these numbers."""
        self._grow(len(self) + len(numbers))
        rows = [self._rows.setdefault(number, len(self._rows)) for number in numbers]
        self._vectors[rows] = vectors
        self._numbers[rows] = numbers

    def drop(self, numbers: Iterable[int]) -> None:
        """Forget vectors, those that are not there too: the last row moves into each gap."""
        for number in numbers:
            row = self._rows.pop(number, None)
            last = len(self._rows)
            if row is not None and row != last:
                self._vectors[row] = self._vectors[last]
                moved = int(self._numbers[last])
                self._numbers[row] = moved
                self._rows[moved] = row

    def others(self, numbers: Sequence[int]) -> list[int]:
        """The numbers in here that are not among these."""
        return list(self._rows.keys() - set(numbers))

    def nearest(self, vector: NDArray[np.float32], limit: int, scope: Sequence[int] | None = None) -> list[int]:
        """At most `limit` numbers by cosine with a unit vector, best first; `scope`: only among these numbers."""
        numbers, rows = self._numbers[: len(self)], self._vectors[: len(self)]
        # Row by row on one core: no slower than `rows @ vector` on two, and the words are searched on the other.
        if scope is None:
            scores = np.vecdot(rows, vector)
        else:
            inside = np.flatnonzero(np.isin(numbers, scope))
            few = 2 * len(inside) < len(self)  # else a copy would cost more than it saves
            scores = np.vecdot(rows[inside], vector) if few else np.vecdot(rows, vector)[inside]
            numbers = numbers[inside]
        found: list[int] = numbers[_highest(scores, limit)].tolist()
        return found

    def alike(self, vectors: NDArray[np.float32], among: Sequence[int], least: float, limit: int) -> list[list[int]]:
        """For each unit vector the numbers with a cosine of at least `least`: `limit` of `among` at most, best first."""
        numbers, rows = self._numbers[: len(self)], self._vectors[: len(self)]
        if 2 * len(among) < len(self):  # else a copy would cost more than it saves
            numbers, rows = np.array(among, np.int64), self.take(among)
        found: list[list[int]] = []
        for start in range(0, len(vectors), _BLOCK):
            for line in vectors[start : start + _BLOCK] @ rows.T:
                near = np.flatnonzero(line >= least)
                found.append(numbers[near[np.argsort(-line[near], kind="stable")][:limit]].tolist())
        return found

    def take(self, numbers: Sequence[int]) -> NDArray[np.float32]:
        """Their vectors, shape (len(numbers), dimension).  Raises `KeyError` for a number that is not there."""
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
    """The places of at most `limit` highest, best first."""
    groups = len(scores) // max(1, len(scores) // (8 * limit))
    if groups > limit:
        # At least `limit` scores reach the `limit`-th highest of the highest of each group, and few others do.
        highest = scores[: len(scores) // groups * groups].reshape(-1, groups).max(axis=0)
        places = np.flatnonzero(scores >= np.partition(highest, -limit)[-limit])
    else:
        places = np.arange(len(scores))
    return places[np.argsort(-scores[places], kind="stable")[:limit]]
