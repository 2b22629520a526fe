"""A cache of search results in one SQLite file, safe for threads and for several processes."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec

from research._util import decoding
from research.types import Passage

_SCHEMA = "CREATE TABLE IF NOT EXISTS results (key TEXT PRIMARY KEY, at REAL NOT NULL, passages BLOB NOT NULL)"


class ResultCache:
    """Search results by request; errors are not cached.

    `max_age_s` 0 disables the cache.  `now` returns seconds since 1970.  A damaged file is deleted; services can be
    asked again.
    """

    def __init__(self, path: Path, max_age_s: float, now: Callable[[], float] = time.time) -> None:
        self._path = path
        self._max_age_s = max_age_s
        self._now = now

    def get(self, key: str) -> tuple[tuple[Passage, ...], float] | None:
        """Return the passages and their age in seconds; None when there are none or they are too old."""
        if not self._max_age_s or not self._path.exists():
            return None
        row = self._run(("SELECT at, passages FROM results WHERE key = ?", [key]))
        if row is None:
            return None
        age = self._now() - row[0]
        # A negative age means that the clock was set back; the true age is unknown.
        return (decoding.decode(row[1], tuple[Passage, ...]), age) if 0 <= age <= self._max_age_s else None

    def put(self, key: str, passages: Sequence[Passage]) -> None:
        """Store the passages, and delete what is too old."""
        if not self._max_age_s:
            return
        now = self._now()
        self._run(
            ("DELETE FROM results WHERE at < ? OR at > ?", [now - self._max_age_s, now + self._max_age_s]),
            ("INSERT OR REPLACE INTO results VALUES (?, ?, ?)", [key, now, msgspec.json.encode(tuple(passages))]),
        )

    def _run(self, *statements: tuple[str, list[Any]]) -> Any:
        """Return the first row of the last statement.  Raises `sqlite3.OperationalError` if the file cannot be used."""
        try:
            return self._commit(statements)
        except sqlite3.OperationalError:
            raise  # busy, full or not permitted: the file itself is sound
        except sqlite3.DatabaseError:
            self._path.unlink(missing_ok=True)
            return self._commit(statements)

    def _commit(self, statements: Sequence[tuple[str, list[Any]]]) -> Any:
        row = None
        with closing(sqlite3.connect(self._path, timeout=30)) as connection, connection:
            connection.execute(_SCHEMA)
            for sql, values in statements:
                row = connection.execute(sql, values).fetchone()
        return row
