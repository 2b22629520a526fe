"""Results of services, kept for a while in one SQLite file.  Safe for threads and for several processes."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec

from research import decoding
from research.types import Passage

_SCHEMA = "CREATE TABLE IF NOT EXISTS results (key TEXT PRIMARY KEY, at REAL NOT NULL, passages BLOB NOT NULL)"


class Kept:
    """What services answered, by what they were asked; errors are never kept.

    `max_age_s` 0 keeps nothing.  `now`: seconds since 1970.  All of it can be had again, so a damaged file is removed.
    """

    def __init__(self, path: Path, max_age_s: float, now: Callable[[], float] = time.time) -> None:
        self._path = path
        self._max_age_s = max_age_s
        self._now = now

    def get(self, key: str) -> tuple[tuple[Passage, ...], float] | None:
        """The passages and their age in seconds."""
        if not self._max_age_s or not self._path.exists():
            return None
        row = self._run(("SELECT at, passages FROM results WHERE key = ?", [key]))
        if row is None:
            return None
        age = self._now() - row[0]
        # From the future: the clock was moved, and nobody knows how old it is.
        return (decoding.decode(row[1], tuple[Passage, ...]), age) if 0 <= age <= self._max_age_s else None

    def put(self, key: str, passages: Sequence[Passage]) -> None:
        if not self._max_age_s:
            return
        now = self._now()
        self._run(
            ("DELETE FROM results WHERE at < ? OR at > ?", [now - self._max_age_s, now + self._max_age_s]),
            ("INSERT OR REPLACE INTO results VALUES (?, ?, ?)", [key, now, msgspec.json.encode(tuple(passages))]),
        )

    def _run(self, *statements: tuple[str, list[Any]]) -> Any:
        """First row of the last statement.  Raises `sqlite3.OperationalError` where the file cannot be used."""
        try:
            return self._commit(statements)
        except sqlite3.OperationalError:
            raise  # busy, full or not permitted: nothing is wrong with the file
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
