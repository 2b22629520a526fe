"""The vectors of one encoder in memory, and the encoding of passages."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from research.search.embedders import Embedder
from research.search.library.kept import WITH_VECTORS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Vectors:
    """The vectors of one encoder in memory; each search reads those added since the last."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._lock = threading.Lock()
        self._of_query = lru_cache(maxsize=8)(lambda query: embedder.encode([query])[0])  # queried for each collection
        self.forget()

    def forget(self) -> None:
        """Make the next search read all vectors again."""
        self._last = 0
        self._rows: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]] | None = None
        """Passage ids, collection ids and unit vectors, as parallel arrays."""

    def complete(self, connection: sqlite3.Connection, scope: Sequence[int] | None) -> bool:
        """Return whether every passage of these collections has a vector; kept pages need none."""
        within = "" if scope is None else f"AND collection IN ({', '.join(map(str, scope))})"
        missing = connection.execute(
            f"""SELECT 1 FROM passages JOIN documents ON documents.id = document
            WHERE NOT EXISTS (SELECT 1 FROM vectors WHERE passage = passages.id AND encoder = ?) {within}
            AND {WITH_VECTORS} LIMIT 1""",
            [self._embedder.id],
        )
        return missing.fetchone() is None

    def nearest(
        self,
        connection: sqlite3.Connection,
        query: str,
        scope: Sequence[int] | None,
        limit: int,
        others: Sequence[int] = (),
    ) -> tuple[list[int], dict[int, float]]:
        """Return passages by cosine with the query, best first, and the cosines of these and the `others`.

        Returns nothing, and does not load the encoder, while there are no vectors.
        """
        import numpy as np

        with self._lock:
            self._grow(connection)
            rows = self._rows
        if rows is None:
            return [], {}
        passages, collections, matrix = rows
        scores = matrix @ self._of_query(query)
        named = np.flatnonzero(np.isin(passages, others))
        cosines: dict[int, float] = dict(zip(passages[named].tolist(), scores[named].tolist(), strict=True))
        if scope is not None:
            inside = np.isin(collections, scope)
            passages, scores = passages[inside], scores[inside]
        top = np.argpartition(-scores, limit)[:limit] if limit < len(scores) else np.arange(len(scores))
        top = top[np.argsort(-scores[top], kind="stable")]
        found: list[int] = passages[top].tolist()
        return found, cosines | dict(zip(found, scores[top].tolist(), strict=True))

    def _grow(self, connection: sqlite3.Connection) -> None:
        import numpy as np

        made = connection.execute(
            """SELECT vectors.id, passage, collection, vector FROM vectors
            JOIN passages ON passages.id = passage JOIN documents ON documents.id = document
            WHERE vectors.id > ? AND encoder = ? ORDER BY vectors.id""",
            [self._last, self._embedder.id],
        ).fetchall()
        if not made:
            return
        ids, passages, collections, blobs = zip(*made, strict=True)
        matrix = np.frombuffer(b"".join(blobs), "<f4").reshape(len(made), self._embedder.dimension)
        parts = [*([self._rows] if self._rows else []), (np.array(passages), np.array(collections), matrix)]
        first, second, third = map(np.concatenate, zip(*parts, strict=True))
        self._rows = first, second, third
        self._last = ids[-1]


def encode_passages(titles: Sequence[str], texts: Sequence[str], embedder: Embedder) -> NDArray[np.float32]:
    """Return the unit vectors of passages, each the mean of its title's vector and that of title and text.

    The title counts twice because a long text would otherwise outweigh it.
    """
    import numpy as np

    names = list(dict.fromkeys(titles))
    rows = embedder.encode([*names, *(f"{title}\n{text}" for title, text in zip(titles, texts, strict=True))])
    vectors = rows[[names.index(title) for title in titles]] + rows[len(names) :]
    unit: NDArray[np.float32] = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype("<f4")
    return unit
