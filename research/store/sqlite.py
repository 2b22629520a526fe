"""The store in one SQLite file, by sqlite-utils."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from research._util.nul import json_without_nul
from research.errors import ConfigError
from research.events.events import Event
from research.store import Kind, RunRow
from research.store.commits import Batch, CollisionError, EventRow
from research.store.rows import StoredValue
from research.store.sqlite_file import SqliteFile
from research.store.statements import Statements


class SqliteStore(SqliteFile, Statements):
    """`Store` in one SQLite file."""

    _like, _order, _greatest = "LIKE", "rowid", "max"
    _tags_of_run = """(SELECT json_group_array(CAST(tag AS TEXT))
        FROM (SELECT tag FROM tags WHERE tags.run = runs.id ORDER BY tag))"""

    def __init__(self, path: Path) -> None:
        SqliteFile.__init__(self, path)
        Statements.__init__(self)

    def close(self) -> None:
        self._commits.flush()
        super().close()

    def create(self, row: RunRow, events: Sequence[Event] = ()) -> None:
        origin = row.origin
        columns = {
            "id": row.id,
            "question": row.question,
            "recipe": msgspec.json.encode(row.recipe).decode(),
            "recipe_hash": row.recipe.hash,
            "status": row.status,
            "outcome": None,
            "answer": "",
            "created": row.created,
            "updated": row.created,
            "beat": row.created,
            "origin": origin.run if origin else "",
            "origin_how": origin.how if origin else "",
            "origin_round": origin.round if origin else 0,
        }
        with self._writing():
            try:
                self._db.table("runs").insert(columns)
                self._insert([Batch(events)])
            except (sqlite3.IntegrityError, CollisionError):
                raise ConfigError(f"run {row.id!r} exists already, or was deleted a moment ago") from None
            if row.status == "queued":  # the first events may have set another status
                self.set_queued(row.id)

    def _insert(self, batches: Sequence[Batch]) -> None:
        many = self._db.conn.executemany
        rows = [(row.run, row.seq, row.body) for batch in batches for row in batch.rows]
        try:
            # Not for a run erased meanwhile: nobody could see or remove its events.
            many(
                "INSERT INTO events SELECT ?, ?, ? WHERE EXISTS (SELECT 1 FROM runs WHERE id = ?)",
                [(*r, r[0]) for r in rows],
            )
        except sqlite3.IntegrityError:
            raise CollisionError from None
        many("DELETE FROM controls WHERE run = ?", [(batch.run,) for batch in batches if batch.resumed])
        changes = [(c.status, c.outcome, c.answer, c.updated, c.run) for batch in batches if (c := batch.change)]
        many("UPDATE runs SET status = ?, outcome = ?, answer = ?, updated = ? WHERE id = ?", changes)

    def _find(self, rows: Sequence[EventRow]) -> list[str]:
        query = "SELECT body FROM events WHERE run = ? AND seq = ?"
        return [body for row in rows for (body,) in self._rows(query, row.run, row.seq)]

    def _chosen(self, name: str, default: str) -> str:
        # Also where a recipe is damaged.
        return f"COALESCE(CASE WHEN json_valid(recipe) THEN recipe ->> '$.{name}' END, '{default}')"

    def _update_runs(self, changes: str, values: Sequence[object], run_ids: Sequence[str]) -> None:
        self._rows(f"UPDATE runs SET {changes} WHERE id {{any}}", *values, list(run_ids))

    def ids(self) -> list[str]:
        """Return the id of every run, deleted ones included, the oldest first."""
        return [run for (run,) in self._rows("SELECT id FROM runs ORDER BY created, id")]

    @property
    def available_since(self) -> float:
        return self._availability.since

    def put(self, kind: Kind, key: str, body: bytes) -> None:
        row = {"kind": kind, "key": key, "body": json_without_nul(body).decode(), "time": time.time()}
        with self._using():
            self._db.table("kept").upsert(row, pk=("kind", "key"))

    def values(self, kind: Kind, prefix: str = "") -> list[bytes]:
        # A range of the primary key: SQLite compares texts byte by byte, and no text contains the byte FF.
        query = "SELECT body FROM kept WHERE kind = ? AND key >= ? AND key < CAST(? AS TEXT) ORDER BY time DESC, key"
        rows = self._rows(query, kind, prefix, prefix.encode() + b"\xff")
        return [body.encode() if isinstance(body, str) else b"" for (body,) in rows]

    def stored_values(self) -> list[StoredValue]:
        """Return every value."""
        rows = self._rows("SELECT kind, key, body, time FROM kept ORDER BY kind, key")
        return [StoredValue(kind, key, body.encode(), when) for kind, key, body, when in rows]
