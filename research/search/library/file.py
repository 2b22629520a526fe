"""The library's SQLite file: a connection per thread, write transactions, and recovery from a damaged file."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from research.errors import StoreUnavailable
from research.search.library import schema
from research.store.database import is_full

NEEDED = "100 MB"
"""Disk space needed to index the World Factbook."""


class LibraryFile:
    """Safe for many threads and several processes.

    A file that is not a readable database is moved aside (see `kept_aside`) and replaced by a new one.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self._local = threading.local()
        self.kept_aside: Path | None = None
        """The new path of a damaged file."""
        try:
            self._prepare()
        except sqlite3.OperationalError:
            raise  # busy, full or not permitted: the file itself is fine
        except sqlite3.DatabaseError:
            self.kept_aside = self._move_aside()
            self._prepare()

    def connection(self) -> sqlite3.Connection:
        """Return this thread's connection."""
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            from filelock import FileLock

            self._local.connection = connection = sqlite3.connect(self.path, timeout=60, isolation_level=None)
            # SQLite reports a change of the journal mode as locked, without waiting, when another process is making it.
            with FileLock(f"{self.path}.lock"):
                connection.execute("PRAGMA journal_mode = WAL")
            # A power cut may lose the last commits, which is acceptable: the library can be rebuilt from its sources.
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute("PRAGMA foreign_keys = ON")
        return connection

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Open a write transaction of this thread; others wait until it ends.

        Raises `StoreUnavailable`, with nothing changed, when the disk is full.
        """
        try:
            connection = self.connection()
            with connection:  # commits, or rolls back
                connection.execute("BEGIN IMMEDIATE")
                yield connection
        except (sqlite3.OperationalError, OSError) as error:
            if not is_full(error):
                raise
            raise StoreUnavailable(
                f"the library in {self.path.parent} cannot be written: the disk is full. Free {NEEDED} there, or set another "
                "WORKBENCH_HOME"
            ) from error

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
