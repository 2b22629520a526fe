"""Make the missing vectors of the library, in the foreground or in a background thread."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress

from research._util.background_thread import Background
from research.defaults import FACTBOOK
from research.errors import ConfigError
from research.search.embedders import Embedder
from research.search.library.file import LibraryFile
from research.search.library.indexing import Progress, no_progress
from research.search.library.kept import WITH_VECTORS
from research.search.library.storage import OF_EVALUATION
from research.search.library.vectors import encode_passages

_BATCH = 32
"""Passages to encode per commit."""
_PATIENCE = 20
"""Most time to let others use the encoder first, in times of what the last batch took."""
_TURNS = f"""SELECT collection FROM documents JOIN collections ON collections.id = collection
GROUP BY collection ORDER BY {OF_EVALUATION}, name = '{FACTBOOK}', count(*)"""
"""The collections in turn: the user's own, smallest first; then the Factbook; then those of evaluations."""


class Embedding:
    """Makes the vectors of one encoder; only one thread of all processes works at a time."""

    def __init__(self, library: LibraryFile, embedder: Embedder) -> None:
        self._library = library
        self._embedder = embedder
        self._background = Background("embedding", self._keep_making)
        self.error = ""
        """Why the encoder failed in the background; empty if it did not."""

    def make(self, progress: Progress = no_progress, stop: threading.Event | None = None) -> int:
        """Wait for the lock, then make the missing vectors; return the number made.

        Commits after every batch, so that `stop` or a crash loses little.
        """
        from filelock import FileLock, Timeout

        stop = stop or threading.Event()
        turn = FileLock(self._library.path.with_name("library.embedding.lock"))
        while not stop.is_set():
            with suppress(Timeout), turn.acquire(timeout=0.5):
                return self._make(progress, stop)
        return 0

    def start(self) -> threading.Thread:
        """Run `make` in the background at low priority, until nothing is missing or `close` is called."""
        return self._background.start(repeat=True)

    def close(self) -> None:
        """Stop the background work and wait for it to end; finished vectors are kept."""
        self._background.close()

    def _keep_making(self, closing: threading.Event) -> None:
        try:
            self.make(stop=closing)
        except ConfigError as error:
            self.error = str(error)

    def _make(self, progress: Progress, stop: threading.Event) -> int:
        connection, encoder = self._library.connection(), self._embedder.id
        missing = f"NOT EXISTS (SELECT 1 FROM vectors WHERE passage = passages.id AND encoder = ?) AND {WITH_VECTORS}"
        joined = "passages JOIN documents ON documents.id = document"
        total = connection.execute(f"SELECT count(*) FROM {joined} WHERE {missing}", [encoder]).fetchone()[0]
        made = last = newest = 0
        took = 0.0
        turns: list[int] = []
        while not stop.is_set():
            known, newest = newest, connection.execute("SELECT max(id) FROM passages").fetchone()[0] or 0
            if newest != known:  # passages added meanwhile may come before the current ones
                last, turns = 0, [scope for (scope,) in connection.execute(_TURNS)]
            if not turns:
                break
            batch = connection.execute(  # the plus keeps SQLite from sorting the whole collection for each batch
                f"""SELECT passages.id, title, passages.text FROM {joined}
                WHERE +collection = ? AND passages.id > ? AND {missing} ORDER BY passages.id LIMIT {_BATCH}""",
                [turns[0], last, encoder],
            ).fetchall()
            if not batch:
                last, turns = 0, turns[1:]
                continue
            last = batch[-1][0]
            self._let_others_go_first(_PATIENCE * took, stop)
            begun = time.monotonic()
            vectors = encode_passages([title for _, title, _ in batch], [text for _, _, text in batch], self._embedder)
            took = time.monotonic() - begun
            with self._library.writing():
                connection.executemany(  # a passage may have been deleted while it was encoded
                    "INSERT INTO vectors (passage, encoder, vector) SELECT id, ?, ? FROM passages WHERE id = ?",
                    [(encoder, row.tobytes(), passage) for (passage, _, _), row in zip(batch, vectors, strict=True)],
                )
            made += len(batch)
            progress(made, max(made, total), batch[-1][1])
        return made

    def _let_others_go_first(self, longest_s: float, stop: threading.Event) -> None:
        """Wait while a question uses the encoder: each of its texts would wait for a whole batch."""
        busy: Callable[[], bool] = getattr(self._embedder, "others_use", lambda: False)
        until = time.monotonic() + longest_s
        while busy() and time.monotonic() < until and not stop.wait(0.1):
            pass
