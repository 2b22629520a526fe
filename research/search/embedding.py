"""Make the vectors that passages of the library lack: while one waits, or in a thread behind everything else."""

from __future__ import annotations

import threading

from research.background import Background
from research.errors import ConfigError
from research.search.file import LibraryFile
from research.search.indexing import Progress, quiet
from research.search.vectors import encoded
from research.types import Embedder

_BATCH = 32
"""Passages encoded between two commits."""


class Embedding:
    """Fills in vectors of one encoder; all threads of all processes take turns."""

    def __init__(self, library: LibraryFile, embedder: Embedder) -> None:
        self._library = library
        self._embedder = embedder
        self._background = Background("embedding", self._keep_making)
        self.error = ""
        """Why the encoder could make no vectors in the background."""

    def make(self, progress: Progress = quiet, stop: threading.Event | None = None) -> int:
        """Make what is missing, when it is our turn; returns how many vectors were made.

        Committed every few passages, so that `stop` or a crash loses little.
        """
        from filelock import FileLock, Timeout

        stop = stop or threading.Event()
        turn = FileLock(self._library.path.with_name("library.embedding.lock"))
        while not stop.is_set():
            try:
                turn.acquire(timeout=0.5)
            except Timeout:
                continue
            try:
                return self._make(progress, stop)
            finally:
                turn.release()
        return 0

    def start(self) -> threading.Thread:
        """Run `make` in the background, at low priority, until nothing is missing or `close`."""
        return self._background.start(again=True)

    def close(self) -> None:
        """Stop the background work and wait for it; what is done is kept."""
        self._background.close()

    def _keep_making(self, closing: threading.Event) -> None:
        try:
            self.make(stop=closing)
        except ConfigError as error:
            self.error = str(error)

    def _make(self, progress: Progress, stop: threading.Event) -> int:
        connection, encoder = self._library.connection(), self._embedder.id
        missing = "NOT EXISTS (SELECT 1 FROM vectors WHERE passage = passages.id AND encoder = ?)"
        total = connection.execute(f"SELECT count(*) FROM passages WHERE {missing}", [encoder]).fetchone()[0]
        made = last = 0
        while not stop.is_set():
            batch = connection.execute(
                f"""SELECT passages.id, title, passages.text FROM passages JOIN documents ON documents.id = document
                WHERE passages.id > ? AND {missing} ORDER BY passages.id LIMIT {_BATCH}""",
                [last, encoder],
            ).fetchall()
            if not batch:
                break
            last = batch[-1][0]
            vectors = encoded([title for _, title, _ in batch], [text for _, _, text in batch], self._embedder)
            with self._library.writing():
                connection.executemany(  # a passage may have gone while it was encoded
                    "INSERT INTO vectors (passage, encoder, vector) SELECT id, ?, ? FROM passages WHERE id = ?",
                    [(encoder, row.tobytes(), passage) for (passage, _, _), row in zip(batch, vectors, strict=True)],
                )
            made += len(batch)
            progress(made, max(made, total), batch[-1][1])
        return made
