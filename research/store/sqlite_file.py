"""The SQLite file of a store: its connection, its errors, and its tables."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from research.errors import ConfigError, StoreUnavailable
from research.store.database import (
    Availability,
    damaged,
    in_sqlite,
    new_migrations,
    open_sqlite,
    sqlite_parameter,
)

if TYPE_CHECKING:
    from sqlite3 import Connection

    from sqlite_utils import Database
    from sqlite_utils.migrations import Migrations


class SqliteFile:
    """One connection per process, used by one thread at a time; write-ahead log, each commit on disk when it returns."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.RLock()
        self._damaged: ConfigError | None = None
        self._db = open_sqlite(path, _migrations())
        self._availability = Availability()

    def close(self) -> None:
        with self._lock:
            self._db.conn.close()

    @contextmanager
    def _using(self) -> Iterator[Connection]:
        """Give the connection to one thread.

        Raises `StoreUnavailable` when the file cannot be used at the moment, and `ConfigError` once it is known to be
        damaged; it is not written to after that.
        """
        with self._lock:
            if self._damaged:
                raise self._damaged
            try:
                yield self._db.conn
                self._availability.succeeded()
            except sqlite3.OperationalError as error:
                self._availability.failed()
                raise StoreUnavailable(f"{self.path}: {error}") from error
            except sqlite3.DatabaseError as error:
                if getattr(error, "sqlite_errorcode", 0) & 0xFF not in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
                    raise
                self._damaged = damaged(self.path, error)
                raise self._damaged from error

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        """Give the connection to one thread, in a transaction that excludes other writers."""
        with self._using() as connection, connection:
            connection.execute("BEGIN IMMEDIATE")
            yield connection

    def _rows(self, query: str, *parameters: Any) -> list[Any]:
        with self._using() as connection:
            return connection.execute(in_sqlite(query), [*map(sqlite_parameter, parameters)]).fetchall()


def _migrations() -> Migrations:
    """Return every change of the schema, in order; add new ones at the end."""
    migration = new_migrations("workbench")

    @migration()
    def runs_and_events(db: Database) -> None:
        times = dict.fromkeys(("created", "updated", "beat"), float)
        texts = dict.fromkeys(("id", "question", "recipe", "recipe_hash", "status", "outcome", "answer"), str)
        db.create_table("runs", {**texts, **times}, pk="id")
        db.table("runs").create_index(["created"])
        db.create_table("events", {"run": str, "seq": int, "body": str}, pk=("run", "seq"))
        db.create_table("controls", {"run": str, "control": str, "time": float})
        db.table("controls").create_index(["run"])

    @migration()
    def origins_tags_and_deletion(db: Database) -> None:
        runs = db.table("runs")
        runs.add_column("origin", str, not_null_default="")
        runs.add_column("origin_how", str, not_null_default="")
        runs.add_column("origin_round", int, not_null_default=0)
        runs.add_column("deleted", float)
        runs.create_index(["origin"])
        db.create_table("tags", {"run": str, "tag": str}, pk=("run", "tag"))
        db.table("tags").create_index(["tag"])

    @migration()
    def things_kept_beside_runs(db: Database) -> None:
        db.create_table("kept", {"kind": str, "key": str, "body": str, "time": float}, pk=("kind", "key"))

    @migration()
    def turns_of_what_is_paced(db: Database) -> None:
        db.create_table("turns", {"key": str, "next": float}, pk="key")

    @migration()
    def runs_that_have_not_ended(db: Database) -> None:
        db.execute("CREATE INDEX idx_runs_open ON runs (beat) WHERE status IN ('queued', 'running')")

    return migration
