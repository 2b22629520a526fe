"""The vectors of a memory: made by its one encoder, kept on the shelf, searched in a matrix."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from research.errors import ConfigError
from research.memory import Entry
from research.memory.matrix import Matrix
from research.memory.shelf import Shelf
from research.search.vectors import encoded
from research.types import Embedder

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Vectors:
    """What the shelf holds of the present encoder, in a matrix that is read once and then grown by what is new.

    Not safe for threads by itself.  The encoder is asked for nothing before there is a text.
    """

    def __init__(self, shelf: Shelf, embedder: Embedder, room: int) -> None:
        self.embedder = embedder
        self._shelf = shelf
        self._room = room
        self._matrix: Matrix | None = None
        self._last = 0
        """Id of the last vector that was read."""

    def other_encoder(self) -> str:
        """The encoder whose vectors are on the shelf, if it is not ours: those cannot be compared; else empty."""
        return self._other(self._shelf.encoders())

    def same_encoder(self) -> bool:
        """Whether there are vectors at all.  Raises `ConfigError` that names both encoders when some are another's."""
        there = self._shelf.encoders()
        if other := self._other(there):
            raise ConfigError(
                f"the memory was encoded by {other!r}, and the encoder is now {self.embedder.id!r}: their vectors "
                "cannot be compared. Set WORKBENCH_EMBEDDER back, or encode the memory anew."
            )
        return bool(there)

    def _other(self, names: Sequence[str]) -> str:
        return next((name for name in names if name != self.embedder.id), "")

    def encode(self, entries: Sequence[Entry]) -> NDArray[np.float32]:
        """Unit vectors, shape (len(entries), dimension): of the text, under the title of its source if it has one."""
        titled = [index for index, entry in enumerate(entries) if entry.title]
        bare = [index for index, entry in enumerate(entries) if not entry.title]
        parts = []
        if bare:
            parts.append(self.embedder.encode([entries[index].text for index in bare]))
        if titled:
            named = [entries[index] for index in titled]
            parts.append(encoded([entry.title for entry in named], [entry.text for entry in named], self.embedder))
        made: NDArray[np.float32] = np.concatenate(parts)[np.argsort([*bare, *titled])].astype("<f4")
        return made

    def synced(self) -> Matrix | None:
        """The matrix with everything that was committed, by any process; None while there are no vectors."""
        for rows in self._shelf.vectors(self.embedder.id, self._last):
            blobs = b"".join(vector for _, _, vector in rows)
            vectors = np.frombuffer(blobs, "<f4").reshape(len(rows), -1)
            self._matrix = self._matrix or Matrix(vectors.shape[1], self._room)
            self._matrix.put([number for _, number, _ in rows], vectors)
            self._last = rows[-1][0]
        return self._matrix

    def drop(self, numbers: Iterable[int]) -> None:
        """Entries are gone, or forgotten."""
        if self._matrix is not None:
            self._matrix.drop(numbers)
