"""Make the vectors that passages of the library lack: while one waits, or in a thread behind everything else."""

from __future__ import annotations

import os
import sys
import threading

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
        self._guard = threading.Lock()
        self._thread: threading.Thread | None = None
        self._again = False
        self._closing = threading.Event()
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
        with self._guard:
            if self._thread is not None and self._thread.is_alive():
                self._again = True
            else:
                self._again = False
                self._thread = threading.Thread(target=self._keep_making, name="embedding", daemon=True)
                self._thread.start()
            return self._thread

    def close(self) -> None:
        """Stop the background work and wait for it; what is done is kept."""
        self._closing.set()
        with self._guard:
            thread = self._thread
        if thread is not None:
            thread.join()

    def _keep_making(self) -> None:
        if sys.platform == "linux":  # where each thread has a priority of its own
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 10)
        while True:
            try:
                self.make(stop=self._closing)
            except ConfigError as error:
                self.error = str(error)
            with self._guard:
                if not self._again or self._closing.is_set():
                    self._thread = None
                    return
                self._again = False

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
