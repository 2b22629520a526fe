"""The store in one schema of a Postgres database, by psycopg."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

import msgspec

from research._util.nul import json_without_nul
from research.errors import ConfigError
from research.events.events import Event
from research.store import Kind, RunRow
from research.store.commits import Batch, CollisionError, EventRow
from research.store.postgres_schema import MIGRATIONS, Schema, columns
from research.store.rows import StoredRun, StoredValue
from research.store.statements import Statements

_LOCKED = "WITH own AS (SELECT id FROM {s}.runs WHERE id {any} ORDER BY id FOR UPDATE) "
"""Locks several runs before an update, always in the same order, which prevents deadlocks."""


class PostgresStore(Statements):
    """`Store` in one schema; any number of processes and machines may use it.

    A commit is on the server's disk when it returns.
    """

    _like, _order, _greatest, _locking = "ILIKE", "n", "greatest", "FOR UPDATE"
    _tags_of_run = "ARRAY(SELECT tag FROM {s}.tags WHERE run = runs.id ORDER BY tag)"

    def __init__(self, url: str, schema: str) -> None:
        super().__init__()
        self.schema = schema
        self._schema = Schema(url, schema, "store", MIGRATIONS)

    def close(self) -> None:
        """Write buffered events; the connections belong to the process and stay open."""
        self._commits.flush()

    def _rows(self, query: str, *parameters: Any) -> list[Any]:
        return self._schema.rows(query, *parameters)

    def _writing(self) -> AbstractContextManager[None]:
        return self._schema.writing()

    def create(self, row: RunRow, events: Sequence[Event] = ()) -> None:
        from psycopg.errors import UniqueViolation

        with self._writing():
            try:
                self._add(row)
                self._insert([Batch(events)])
            except (UniqueViolation, CollisionError):
                raise ConfigError(f"run {row.id!r} exists already, or was deleted a moment ago") from None
            if row.status == "queued":  # the first events may have set another status
                self.set_queued(row.id)

    def _add(self, row: RunRow) -> None:
        """Insert a row that is marked as running.  Raises `UniqueViolation`."""
        recipe, origin = row.recipe, row.origin
        encoded = msgspec.json.encode(recipe).decode()
        chosen = (recipe.hash, recipe.framework, recipe.context, recipe.model)
        source = (origin.run, origin.how, origin.round) if origin else ("", "", 0)
        query = """INSERT INTO {s}.runs (id, question, recipe, recipe_hash, framework, context, model, status, answer,
            created, updated, beat, origin, origin_how, origin_round)
            VALUES (?, ?, ?, ?, ?, ?, ?, 'running', '', ?, ?, ?, ?, ?, ?)"""
        self._rows(query, row.id, row.question, encoded, *chosen, row.created, row.created, row.created, *source)

    def _insert(self, batches: Sequence[Batch]) -> None:
        from psycopg.errors import UniqueViolation

        # Sorted: processes that insert the same rows wait for each other, and the same order prevents deadlocks.
        rows = sorted(
            ((row.run, row.seq, row.body) for batch in batches for row in batch.rows), key=lambda row: row[:2]
        )
        # Not for a run erased meanwhile: nobody could see or remove its events.
        insert = """INSERT INTO {s}.events SELECT e.* FROM unnest(?::text[], ?::bigint[], ?::text[]) AS e (run, seq, body)
            WHERE EXISTS (SELECT 1 FROM {s}.runs WHERE id = e.run)"""
        try:
            self._rows(insert, *columns(rows, 3))
        except UniqueViolation:
            raise CollisionError from None
        if resumed := [batch.run for batch in batches if batch.resumed]:
            self._rows("DELETE FROM {s}.controls WHERE run {any}", resumed)
        last = {batch.run: batch.change for batch in batches if batch.change}
        if last:
            changes = [(c.run, c.status, c.outcome, c.answer, c.updated) for c in last.values()]
            update = (
                _LOCKED
                + """UPDATE {s}.runs
                SET status = c.status, outcome = c.outcome, answer = c.answer, updated = c.updated
                FROM own, unnest(?::text[], ?::text[], ?::text[], ?::text[], ?::float8[])
                AS c (id, status, outcome, answer, updated) WHERE runs.id = own.id AND c.id = own.id"""
            )
            self._rows(update, list(last), *columns(changes, 5))

    def _find(self, rows: Sequence[EventRow]) -> list[str]:
        query = """SELECT body FROM unnest(?::text[], ?::bigint[]) WITH ORDINALITY AS place (run, seq, n)
            JOIN {s}.events USING (run, seq) ORDER BY n"""
        return [body for (body,) in self._rows(query, *columns([(row.run, row.seq) for row in rows], 2))]

    def _chosen(self, name: str, default: str) -> str:
        return name

    def _update_runs(self, changes: str, values: Sequence[object], run_ids: Sequence[str]) -> None:
        query = f"{_LOCKED} UPDATE {{s}}.runs SET {changes} FROM own WHERE runs.id = own.id"
        self._rows(query, list(run_ids), *values)

    @property
    def available_since(self) -> float:
        return self._schema.available_since

    def put(self, kind: Kind, key: str, body: bytes) -> None:
        upsert = """INSERT INTO {s}.kept VALUES (?, ?, ?, ?)
            ON CONFLICT (kind, key) DO UPDATE SET body = excluded.body, time = excluded.time"""
        self._rows(upsert, kind, key, json_without_nul(body), time.time())

    def values(self, kind: Kind, prefix: str = "") -> list[bytes]:
        query = "SELECT body FROM {s}.kept WHERE kind = ? AND starts_with(key, ?) ORDER BY time DESC, key"
        return [body for (body,) in self._rows(query, kind, prefix)]

    # Copies of another store

    def add_stored_run(self, run: StoredRun) -> bool:
        """Add a run from another store, or its events missing here; return False if none is missing.

        Raises `ConfigError` when the run has different events here and there.
        """
        row = run.row
        update = """UPDATE {s}.runs SET status = ?, outcome = ?, answer = ?, updated = ?, beat = ?, deleted = ?
            WHERE id = ?"""
        add = "INSERT INTO {s}.events SELECT ?, * FROM unnest(?::bigint[], ?::text[])"
        ours = self.stored_run(row.id)
        there = ours.events if ours else ()
        if ours and run.events == there[: len(run.events)]:
            return False
        if there != run.events[: len(there)]:
            raise ConfigError(f"run {row.id} has different events in the two stores; delete it in one of them")
        with self._writing():
            if ours is None:
                self._add(row)
            self._rows(add, row.id, *columns(run.events[len(there) :], 2))
            self._rows(update, row.status, row.outcome, row.answer, row.updated, row.heartbeat, run.deleted, row.id)
            self.clear_requests(row.id)
            for request in run.requests:
                self._request(row.id, *request)
            self._rows("DELETE FROM {s}.tags WHERE run = ?", row.id)
            self._rows("INSERT INTO {s}.tags SELECT ?, unnest(?::text[])", row.id, list(row.tags))
        return True

    def stored_values(self) -> list[StoredValue]:
        """Return every value."""
        return [
            StoredValue(*row) for row in self._rows("SELECT kind, key, body, time FROM {s}.kept ORDER BY kind, key")
        ]

    def add_stored_value(self, value: StoredValue) -> None:
        """Add a value from another store, unless a later one is here."""
        upsert = """INSERT INTO {s}.kept AS here VALUES (?, ?, ?, ?) ON CONFLICT (kind, key)
            DO UPDATE SET body = excluded.body, time = excluded.time WHERE here.time < excluded.time"""
        self._rows(upsert, value.kind, value.key, value.body, value.time)
