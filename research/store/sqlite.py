"""Runs in one SQLite file, by sqlite-utils."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from research.database import opened
from research.desk import Kind
from research.errors import ConfigError
from research.events import Event, Paused, Resumed, RunFinished, Streamed, UserReplied, WaitingForUser, decode, encode
from research.recipe import Recipe
from research.store import NO_FILTERS, Control, Filters, Origin, RunRow

if TYPE_CHECKING:
    from sqlite_utils import Database
    from sqlite_utils.migrations import Migrations


class _Batch:
    """Events of one run on their way to the disk."""

    def __init__(self, events: Sequence[Event]) -> None:
        self.events = events
        self.rows = [(event.run, event.seq, encode(event).decode()) for event in events]
        self.run = events[0].run if events else ""
        self.awaited = not all(isinstance(event, Streamed) for event in events)
        """Whoever appends it waits until it is on disk.  Characters of a reply being written need no such promise."""
        self.error: Exception | None = None


class SqliteStore:
    """One writer connection per process, write-ahead log, every commit on disk before it is acknowledged.

    Who gets to write commits for all that wait (group commit): a commit costs a write to the disk, however much is in it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.RLock()
        self._queue: deque[_Batch] = deque()
        self._failed: dict[str, Exception] = {}
        """Runs of which something that nobody waited for could not be kept: what is appended next learns of it."""
        self._db = opened(path, _migrations())

    def close(self) -> None:
        self._write()
        with self._lock:
            self._db.conn.close()

    def create(
        self, run_id: str, question: str, recipe: Recipe, *, origin: Origin | None = None, created: float | None = None
    ) -> None:
        now = time.time() if created is None else created
        row = {
            "id": run_id, "question": question, "recipe": msgspec.json.encode(recipe).decode(),
            "recipe_hash": recipe.hash, "status": "running", "outcome": None, "answer": "",
            "created": now, "updated": now, "beat": now, "origin": origin.run if origin else "",
            "origin_how": origin.how if origin else "", "origin_round": origin.round if origin else 0,
        }  # fmt: skip
        with self._lock:
            try:
                self._db.table("runs").insert(row)
            except sqlite3.IntegrityError:
                raise ConfigError(f"run {run_id!r} is there already, or was deleted a moment ago") from None

    def append(self, events: Sequence[Event]) -> None:
        batch = _Batch(events)
        self._queue.append(batch)
        if batch.awaited:
            self._write()
        if batch.error:
            raise batch.error

    def _write(self) -> None:
        """Commit all that waits; what another thread has committed meanwhile does not wait any more."""
        with self._lock:
            batches = [self._queue.popleft() for _ in range(len(self._queue))]
            if not batches:
                return
            execute = self._db.conn.execute
            try:
                with self._db.conn:
                    execute("BEGIN IMMEDIATE")
                    for batch in batches:
                        execute("SAVEPOINT batch")
                        if error := self._failed.pop(batch.run, None) or self._inserted(batch):
                            execute("ROLLBACK TO batch")
                            self._fail(batch, error)
                        execute("RELEASE batch")
            except sqlite3.Error as error:  # nothing of it is kept, e.g. because the disk is full
                for batch in batches:
                    self._fail(batch, error)

    def _fail(self, batch: _Batch, error: Exception) -> None:
        batch.error = error
        if not batch.awaited:
            self._failed[batch.run] = error

    def _inserted(self, batch: _Batch) -> ConfigError | None:
        """None when it was; else why it cannot be."""
        execute = self._db.conn.execute
        try:
            self._db.conn.executemany("INSERT INTO events (run, seq, body) VALUES (?, ?, ?)", batch.rows)
        except sqlite3.IntegrityError:
            return ConfigError(f"run {batch.run} is at work elsewhere: event {batch.rows[0][1]} is there already")
        for event in batch.events:
            change: tuple[str, str | None, str, float, str]
            match event:
                case RunFinished(status=status, outcome=outcome, answer=answer):
                    change = (status, outcome, answer, event.time, event.run)
                case WaitingForUser(prompt=prompt):
                    change = ("waiting_input", "needs_input", prompt, event.time, event.run)
                case Paused():
                    change = ("paused", None, "", event.time, event.run)
                case UserReplied() | Resumed():
                    # What was asked of it before it rested is done with.
                    execute("DELETE FROM controls WHERE run = ?", (event.run,))
                    change = ("running", None, "", event.time, event.run)
                case _:
                    continue
            execute("UPDATE runs SET status = ?, outcome = ?, answer = ?, updated = ? WHERE id = ?", change)
        return None

    def events(self, run_id: str, after: int = -1) -> list[Event]:
        self._write()  # what nobody waited for is to be seen
        query = "SELECT body FROM events WHERE run = ? AND seq > ? ORDER BY seq"
        with self._lock:
            rows = self._db.conn.execute(query, (run_id, after)).fetchall()
        return [decode(body) for (body,) in rows]

    def run(self, run_id: str) -> RunRow:
        pattern = run_id.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"
        rows = self._rows("id LIKE ? ESCAPE '\\' ORDER BY id = ? DESC LIMIT 2", (pattern, run_id))
        if not rows or not run_id:
            raise ConfigError(f"unknown run {run_id!r}; `python -m research runs` lists the saved ones")
        if len(rows) > 1 and rows[0].id != run_id:
            raise ConfigError(f"run {run_id!r} is not unique: {rows[0].id} and {rows[1].id} begin so; give more of it")
        return rows[0]

    def runs(self, query: str = "", limit: int = 100, offset: int = 0, filters: Filters = NO_FILTERS) -> list[RunRow]:
        words = f"%{query}%"
        conditions: list[str] = ["(question LIKE ? OR answer LIKE ?)"]
        parameters: list[Any] = [words, words]
        defaults = Recipe()
        wanted = {
            "COALESCE(outcome, 'running')": filters.outcomes,
            f"COALESCE(recipe ->> '$.framework', '{defaults.framework}')": filters.frameworks,
            f"COALESCE(recipe ->> '$.context', '{defaults.context}')": filters.contexts,
            f"COALESCE(recipe ->> '$.model', '{defaults.model}')": filters.models,
        }
        for column, values in wanted.items():
            if values:
                conditions.append(f"{column} IN ({_marks(values)})")
                parameters += values
        if filters.tags:
            conditions.append(f"id IN (SELECT run FROM tags WHERE tag IN ({_marks(filters.tags)}))")
            parameters += filters.tags
        if filters.since is not None:
            conditions.append("created >= ?")
            parameters.append(filters.since)
        if filters.origin:
            conditions.append("origin = ?")
            parameters.append(filters.origin)
        where = " AND ".join(conditions) + " ORDER BY created DESC, id DESC LIMIT ? OFFSET ?"
        return self._rows(where, (*parameters, limit, offset))

    def tag(self, run_id: str, tags: Sequence[str]) -> None:
        wanted = dict.fromkeys(tag for each in tags if (tag := " ".join(each.split())))
        with self._lock, self._db.conn:
            self._db.conn.execute("BEGIN IMMEDIATE")
            self._db.conn.execute("DELETE FROM tags WHERE run = ?", (run_id,))
            self._db.conn.executemany("INSERT INTO tags (run, tag) VALUES (?, ?)", [(run_id, tag) for tag in wanted])

    def tags(self) -> list[str]:
        query = "SELECT DISTINCT tag FROM tags JOIN runs ON runs.id = tags.run WHERE deleted IS NULL ORDER BY tag"
        with self._lock:
            return [tag for (tag,) in self._db.conn.execute(query)]

    def delete(self, run_ids: Sequence[str]) -> None:
        self._set_deleted(run_ids, time.time())

    def restore(self, run_ids: Sequence[str]) -> None:
        self._set_deleted(run_ids, None)

    def _set_deleted(self, run_ids: Sequence[str], when: float | None) -> None:
        with self._lock:
            self._db.conn.execute(f"UPDATE runs SET deleted = ? WHERE id IN ({_marks(run_ids)})", (when, *run_ids))

    def purge(self, before: float) -> int:
        self._write()
        with self._lock, self._db.conn:
            self._db.conn.execute("BEGIN IMMEDIATE")
            gone = self._db.conn.execute("SELECT id FROM runs WHERE deleted < ?", (before,)).fetchall()
            for table, column in (("events", "run"), ("controls", "run"), ("tags", "run"), ("runs", "id")):
                self._db.conn.executemany(f"DELETE FROM {table} WHERE {column} = ?", gone)
            return len(gone)

    def ask_for(self, run_id: str, control: Control) -> None:
        with self._lock:
            self._db["controls"].insert({"run": run_id, "control": control, "time": time.time()})  # type: ignore[union-attr]

    def controls(self, run_ids: Sequence[str]) -> dict[str, Control]:
        # In the order they were asked: the last request wins.
        query = f"SELECT run, control FROM controls WHERE run IN ({_marks(run_ids)}) ORDER BY rowid"
        with self._lock:
            return dict(self._db.conn.execute(query, run_ids).fetchall())

    def withdraw(self, run_id: str) -> None:
        with self._lock:
            self._db.table("controls").delete_where("run = ?", [run_id])

    def beat(self, run_ids: Sequence[str]) -> None:
        self._write()  # for who watches from another process
        with self._lock:
            self._db.conn.execute(f"UPDATE runs SET beat = ? WHERE id IN ({_marks(run_ids)})", (time.time(), *run_ids))

    def keep(self, kind: Kind, key: str, body: bytes) -> None:
        row = {"kind": kind, "key": key, "body": body.decode(), "time": time.time()}
        with self._lock:
            self._db.table("kept").upsert(row, pk=("kind", "key"))

    def kept(self, kind: Kind, prefix: str = "") -> list[bytes]:
        query = "SELECT body FROM kept WHERE kind = ? AND substr(key, 1, ?) = ? ORDER BY time DESC, key"
        with self._lock:
            return [body.encode() for (body,) in self._db.conn.execute(query, (kind, len(prefix), prefix))]

    def drop(self, kind: Kind, key: str) -> None:
        with self._lock:
            self._db.conn.execute("DELETE FROM kept WHERE kind = ? AND key = ?", (kind, key))

    def _rows(self, where: str, parameters: tuple[Any, ...]) -> list[RunRow]:
        query = (
            "SELECT id, question, recipe, status, outcome, created, updated, beat, answer, origin, origin_how, "
            "origin_round, (SELECT json_group_array(tag) FROM tags WHERE tags.run = runs.id) "
            f"FROM runs WHERE deleted IS NULL AND {where}"
        )
        with self._lock:
            rows = self._db.conn.execute(query, parameters).fetchall()
        return [self._row(*row) for row in rows]

    @staticmethod
    def _row(id_: str, question: str, recipe: str, *rest: Any) -> RunRow:
        status, outcome, created, updated, beat, answer, run, how, number, tags = rest
        return RunRow(
            id_, question, msgspec.json.decode(recipe, type=Recipe), status, outcome, created, updated, beat, answer,
            Origin(run, how, number) if run else None, tuple(msgspec.json.decode(tags, type=list[str])),
        )  # fmt: skip


def _marks(values: Sequence[Any]) -> str:
    return ",".join("?" * len(values))


def _migrations() -> Migrations:
    """Every change of the schema, in order; a new one is a new function at the end."""
    from sqlite_utils.migrations import Migrations

    migration = Migrations("workbench")

    @migration()
    def runs_and_events(db: Database) -> None:
        db.create_table(
            "runs",
            {
                "id": str, "question": str, "recipe": str, "recipe_hash": str, "status": str, "outcome": str,
                "answer": str, "created": float, "updated": float, "beat": float,
            },
            pk="id",
        )  # fmt: skip
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

    return migration
