"""The library's SQLite file: one connection a thread, transactions that write, and a damaged file moved aside."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from research.search import schema


class LibraryFile:
    """Safe for many threads and for several processes at once.

    A file that is no readable database is kept aside, see `kept_aside`, and a new one begun.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self._local = threading.local()
        self.kept_aside: Path | None = None
        """Where a damaged file was moved."""
        try:
            self._prepare()
        except sqlite3.OperationalError:
            raise  # busy, full or not permitted: nothing is wrong with the file
        except sqlite3.DatabaseError:
            self.kept_aside = self._move_aside()
            self._prepare()

    def connection(self) -> sqlite3.Connection:
        """This thread's own."""
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            self._local.connection = connection = sqlite3.connect(self.path, timeout=60, isolation_level=None)
            connection.execute("PRAGMA journal_mode = WAL")
            # All of this can be made again from its sources: a power cut may take the last commits, never more.
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute("PRAGMA foreign_keys = ON")
        return connection

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction of this thread, while nobody else writes."""
        connection = self.connection()
        with connection:  # commits, or rolls back
            connection.execute("BEGIN IMMEDIATE")
            yield connection

    def _prepare(self) -> None:
        if not schema.is_current(self.connection()):
            with self.writing() as connection:
                schema.bring_up_to_date(connection)

    def _move_aside(self) -> Path:
        self._local.connection.close()
        del self._local.connection
        number = 1
        while (aside := self.path.with_name(f"{self.path.name}.damaged-{number}")).exists():
            number += 1
        for suffix in ("-wal", "-shm", ""):
            part = self.path.with_name(self.path.name + suffix)
            if part.exists():
                part.rename(aside.with_name(aside.name + suffix))
        return aside
