"""The vectors of a memory: made by one encoder, stored with the entries, searched in a matrix."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from research.errors import ConfigError
from research.memory import Entry
from research.memory.matrix import Matrix
from research.memory.store import MemoryStore
from research.search.embedders import Embedder
from research.search.library.vectors import encode_passages

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Vectors:
    """The stored vectors of the current encoder, in a matrix that is loaded once and then extended by new vectors.

    Not safe for threads.  The encoder is not used before there is a text to encode.
    """

    def __init__(self, store: MemoryStore, embedder: Embedder, room: int) -> None:
        self.embedder = embedder
        self._store = store
        self._room = room
        self._matrix: Matrix | None = None
        self._last = 0
        """Id of the last vector that was loaded."""

    def other_encoder(self) -> str:
        """Return the other encoder that made stored vectors; empty if none did."""
        return self._other(self._store.encoders())

    def same_encoder(self) -> bool:
        """Return whether there are any vectors.  Raises `ConfigError` if another encoder made some."""
        there = self._store.encoders()
        if other := self._other(there):
            raise ConfigError(
                f"the memory was encoded by {other!r}, and the encoder is now {self.embedder.id!r}: their vectors "
                "cannot be compared. Change WORKBENCH_EMBEDDER back, or run `python -m research memory reembed`."
            )
        return bool(there)

    def _other(self, names: Sequence[str]) -> str:
        return next((name for name in names if name != self.embedder.id), "")

    def encode(self, entries: Sequence[Entry]) -> NDArray[np.float32]:
        """Return unit vectors, shape (len(entries), dimension), of the texts, each with its source's title if any."""
        titled = [index for index, entry in enumerate(entries) if entry.title]
        bare = [index for index, entry in enumerate(entries) if not entry.title]
        parts = []
        if bare:
            parts.append(self.embedder.encode([entries[index].text for index in bare]))
        if titled:
            named = [entries[index] for index in titled]
            parts.append(
                encode_passages([entry.title for entry in named], [entry.text for entry in named], self.embedder)
            )
        made: NDArray[np.float32] = np.concatenate(parts)[np.argsort([*bare, *titled])].astype("<f4")
        return made

    def synced(self) -> Matrix | None:
        """Return the matrix with all vectors committed so far by any process; None while there are none."""
        for rows in self._store.vectors(self.embedder.id, self._last):
            blobs = b"".join(vector for _, _, vector in rows)
            vectors = np.frombuffer(blobs, "<f4").reshape(len(rows), -1)
            self._matrix = self._matrix or Matrix(vectors.shape[1], self._room)
            self._matrix.put([number for _, number, _ in rows], vectors)
            self._last = rows[-1][0]
        return self._matrix

    def drop(self, numbers: Iterable[int]) -> None:
        """Remove the vectors of entries that were deleted or forgotten."""
        if self._matrix is not None:
            self._matrix.drop(numbers)
