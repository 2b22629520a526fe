"""The store in one SQLite file, by sqlite-utils."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from research._util.bounds import checked_tags
from research._util.nul import json_without_nul
from research.errors import ConfigError
from research.events.events import Event, decode
from research.events.recipe import Recipe
from research.store import NO_FILTERS, Control, Filters, Kind, RunRow
from research.store.commits import Batch, CollisionError, Commits, EventRow
from research.store.rows import (
    COLUMNS,
    ENDING,
    LAST,
    StoredRun,
    StoredValue,
    containing,
    only_match,
    run_row,
    starting_with,
)
from research.store.sqlite_file import SqliteFile, placeholders

_CONTROLS = "SELECT control, time FROM controls WHERE run = ? ORDER BY rowid"
_SET_QUEUED = "UPDATE runs SET status = 'queued' WHERE id = ? AND status = 'running'"
_TAGS = "SELECT json_group_array(CAST(tag AS TEXT)) FROM (SELECT tag FROM tags WHERE tags.run = runs.id ORDER BY tag)"


def _chosen(name: str, default: str) -> str:
    """Return the expression of a recipe's field, also where a recipe is damaged."""
    return f"COALESCE(CASE WHEN json_valid(recipe) THEN recipe ->> '$.{name}' END, '{default}')"


class SqliteRunLog(SqliteFile):
    """`RunLog` in the tables `runs`, `events` and `tags`."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._commits = Commits(self._commit, self._find)

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
        with self._writing() as connection:
            try:
                self._db.table("runs").insert(columns)
                self._insert([Batch(events)])
            except (sqlite3.IntegrityError, CollisionError):
                raise ConfigError(f"run {row.id!r} exists already, or was deleted a moment ago") from None
            if row.status == "queued":  # the first events may have set another status
                connection.execute(_SET_QUEUED, (row.id,))

    def append(self, events: Sequence[Event]) -> None:
        self._commits.append(events)

    def _commit(self, batches: Sequence[Batch]) -> None:
        with self._writing():
            self._insert(batches)

    def _insert(self, batches: Sequence[Batch]) -> None:
        """Insert events within a transaction.  Raises `CollisionError`."""
        many = self._db.conn.executemany
        rows = [(row.run, row.seq, row.body) for batch in batches for row in batch.rows]
        try:
            # Not for a run that was erased meanwhile: nobody could see or remove its events.
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
        with self._using() as connection:
            found = [connection.execute(query, (row.run, row.seq)).fetchone() for row in rows]
        return [row[0] for row in found if row]

    def events(self, run_id: str, after: int = -1) -> list[Event]:
        self._commits.flush()  # so that buffered events are found, too
        query = "SELECT body FROM events WHERE run = ? AND seq > ? ORDER BY seq"
        with self._using() as connection:
            rows = connection.execute(query, (run_id, after)).fetchall()
        return [decode(body if isinstance(body, str) else "") for (body,) in rows]

    def bodies(self, run_id: str) -> list[str]:
        self._commits.flush()
        with self._using() as connection:
            rows = connection.execute("SELECT body FROM events WHERE run = ? ORDER BY seq", (run_id,)).fetchall()
        return [body if isinstance(body, str) else "" for (body,) in rows]

    def run(self, run_id: str) -> RunRow:
        return only_match(run_id, self._rows("id >= ? AND id < ? ORDER BY id LIMIT 2", (run_id, run_id + LAST)))

    def runs(self, query: str = "", limit: int = 100, offset: int = 0, filters: Filters = NO_FILTERS) -> list[RunRow]:
        conditions: list[str] = []
        parameters: list[Any] = []
        if query:
            conditions.append("(question LIKE ? ESCAPE '\\' OR answer LIKE ? ESCAPE '\\')")
            parameters += [containing(query)] * 2
        defaults = Recipe()
        wanted = {
            ENDING: filters.outcomes,
            _chosen("framework", defaults.framework): filters.frameworks,
            _chosen("context", defaults.context): filters.contexts,
            _chosen("model", defaults.model): filters.models,
        }
        for column, values in wanted.items():
            if values:
                conditions.append(f"{column} IN ({placeholders(values)})")
                parameters += values
        if filters.tags:
            conditions.append(f"id IN (SELECT run FROM tags WHERE tag IN ({placeholders(filters.tags)}))")
            parameters += filters.tags
        if filters.not_tagged:
            conditions.append("id NOT IN (SELECT run FROM tags WHERE tag LIKE ? ESCAPE '\\')")
            parameters.append(starting_with(filters.not_tagged))
        if filters.since is not None:
            conditions.append("created >= ?")
            parameters.append(filters.since)
        if filters.origin:
            conditions.append("origin = ?")
            parameters.append(filters.origin)
        where = " AND ".join(conditions or ["true"]) + " ORDER BY created DESC, id DESC LIMIT ? OFFSET ?"
        return self._rows(where, (*parameters, limit, offset))

    def tag(self, run_id: str, tags: Sequence[str]) -> None:
        rows = [(run_id, tag) for tag in checked_tags(tags)]
        with self._writing() as connection:
            connection.execute("DELETE FROM tags WHERE run = ?", (run_id,))
            connection.executemany("INSERT INTO tags (run, tag) VALUES (?, ?)", rows)

    def tags(self) -> list[str]:
        query = "SELECT DISTINCT tag FROM tags JOIN runs ON runs.id = tags.run WHERE deleted IS NULL ORDER BY tag"
        with self._using() as connection:
            return [tag for (tag,) in connection.execute(query)]

    def delete(self, run_ids: Sequence[str]) -> None:
        self._set_deleted(run_ids, time.time())

    def restore(self, run_ids: Sequence[str]) -> None:
        self._set_deleted(run_ids, None)

    def _set_deleted(self, run_ids: Sequence[str], when: float | None) -> None:
        with self._using() as connection:
            connection.execute(f"UPDATE runs SET deleted = ? WHERE id IN ({placeholders(run_ids)})", (when, *run_ids))

    def purge(self, before: float) -> int:
        self._commits.flush()
        with self._writing() as connection:
            gone = connection.execute("SELECT id FROM runs WHERE deleted < ?", (before,)).fetchall()
            for table, column in (("events", "run"), ("controls", "run"), ("tags", "run"), ("runs", "id")):
                connection.executemany(f"DELETE FROM {table} WHERE {column} = ?", gone)
            return len(gone)

    def ids(self) -> list[str]:
        """Return the id of every run, deleted ones included, the oldest first."""
        with self._using() as connection:
            return [run for (run,) in connection.execute("SELECT id FROM runs ORDER BY created, id")]

    def stored_run(self, run_id: str) -> StoredRun | None:
        """Return everything stored for the run with exactly that id, deleted or not; None when there is none."""
        self._commits.flush()
        rows = self._rows("id = ?", (run_id,), "true")
        own = (run_id,)
        with self._using() as connection:
            deleted = connection.execute("SELECT deleted FROM runs WHERE id = ?", own).fetchone()
            events = connection.execute("SELECT seq, body FROM events WHERE run = ? ORDER BY seq", own).fetchall()
            requests = connection.execute(_CONTROLS, own).fetchall()
        return StoredRun(rows[0], deleted[0], tuple(events), tuple(requests)) if rows and deleted else None

    def _rows(self, where: str, parameters: tuple[Any, ...], listed: str = "deleted IS NULL") -> list[RunRow]:
        with self._using() as connection:
            rows = connection.execute(
                f"SELECT {COLUMNS}, ({_TAGS}) FROM runs WHERE {listed} AND {where}", parameters
            ).fetchall()
        return [run_row(row[:-1], msgspec.json.decode(row[-1])) for row in rows]


class SqliteKeyValue(SqliteFile):
    """`KeyValue` in the table `kept`."""

    def put(self, kind: Kind, key: str, body: bytes) -> None:
        row = {"kind": kind, "key": key, "body": json_without_nul(body).decode(), "time": time.time()}
        with self._using():
            self._db.table("kept").upsert(row, pk=("kind", "key"))

    def values(self, kind: Kind, prefix: str = "") -> list[bytes]:
        # A range of the primary key: SQLite compares texts byte by byte, and no text contains the byte FF.
        query = "SELECT body FROM kept WHERE kind = ? AND key >= ? AND key < CAST(? AS TEXT) ORDER BY time DESC, key"
        with self._using() as connection:
            rows = connection.execute(query, (kind, prefix, prefix.encode() + b"\xff")).fetchall()
        return [body.encode() if isinstance(body, str) else b"" for (body,) in rows]

    def remove(self, kind: Kind, key: str) -> None:
        with self._using() as connection:
            connection.execute("DELETE FROM kept WHERE kind = ? AND key = ?", (kind, key))

    def stored_values(self) -> list[StoredValue]:
        """Return every value."""
        with self._using() as connection:
            rows = connection.execute("SELECT kind, key, body, time FROM kept ORDER BY kind, key").fetchall()
        return [StoredValue(kind, key, body.encode(), when) for kind, key, body, when in rows]


class SqliteLeases(SqliteRunLog):
    """`Leases` in the tables `runs`, `controls` and `turns`."""

    @property
    def available_since(self) -> float:
        return self._availability.since

    def heartbeat(self, run_ids: Sequence[str]) -> None:
        self._commits.flush()  # so that other processes see buffered events, too
        running = "status = CASE status WHEN 'queued' THEN 'running' ELSE status END"
        query = f"UPDATE runs SET beat = ?, {running} WHERE id IN ({placeholders(run_ids)})"
        with self._using() as connection:
            connection.execute(query, (time.time(), *run_ids))

    def stale(self, before: float) -> list[RunRow]:
        return self._rows("status IN ('queued', 'running') AND beat < ? ORDER BY beat, id", (before,))

    def set_queued(self, run_id: str) -> None:
        with self._using() as connection:
            connection.execute(_SET_QUEUED, (run_id,))

    def request(self, run_id: str, control: Control) -> None:
        with self._using():
            self._db["controls"].insert({"run": run_id, "control": control, "time": time.time()})  # type: ignore[union-attr]

    def requests(self, run_ids: Sequence[str]) -> dict[str, Control]:
        # In the order of the requests, so that the last one wins.
        query = f"SELECT run, control FROM controls WHERE run IN ({placeholders(run_ids)}) ORDER BY rowid"
        with self._using() as connection:
            return dict(connection.execute(query, run_ids).fetchall())

    def clear_requests(self, run_id: str) -> None:
        with self._using():
            self._db.table("controls").delete_where("run = ?", [run_id])

    def take_turn(self, key: str, per_minute: float) -> float:
        # Generic cell rate algorithm without a burst: each turn is one interval after the last.
        turn = """INSERT INTO turns (key, next) VALUES (?, ?) ON CONFLICT (key)
            DO UPDATE SET next = max(next + ?, excluded.next) RETURNING next"""
        now, interval = time.time(), 60 / per_minute
        with self._using() as connection:
            mine: float
            (mine,) = connection.execute(turn, (key, now, interval)).fetchone()
        return max(0.0, mine - now)


class SqliteStore(SqliteLeases, SqliteKeyValue):
    """`Store` in one SQLite file."""
