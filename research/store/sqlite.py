"""Runs in one SQLite file, by sqlite-utils."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from research import decoding
from research.database import Answers, damaged, opened
from research.desk import Kind
from research.errors import ConfigError, StoreUnavailable
from research.events import Event, decode
from research.recipe import Recipe
from research.store import NO_FILTERS, Control, Filters, Origin, RunRow
from research.store.commits import Batch, Commits, Kept, TakenError
from research.store.rows import LAST, Thing, Whole, holding, only, tidy

if TYPE_CHECKING:
    from sqlite3 import Connection

    from sqlite_utils import Database
    from sqlite_utils.migrations import Migrations


class SqliteStore:
    """One writer connection per process, write-ahead log, every commit on disk before it is acknowledged."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.RLock()
        self._damaged: ConfigError | None = None
        self._db = opened(path, _migrations())
        self._commits = Commits(self._commit, self._find)
        self._answers = Answers()

    @property
    def answers_since(self) -> float:
        return self._answers.since

    def close(self) -> None:
        self._commits.flush()
        with self._lock:
            self._db.conn.close()

    @contextmanager
    def _using(self) -> Iterator[None]:
        """One thread at a time.

        Raises `StoreUnavailable` where the file cannot be used just now, and `ConfigError` from the moment that it is
        known to be damaged: it is left as it is.
        """
        with self._lock:
            if self._damaged:
                raise self._damaged
            try:
                yield
                self._answers.heard()
            except sqlite3.OperationalError as error:
                self._answers.missed()
                raise StoreUnavailable(f"{self.path}: {error}") from error
            except sqlite3.DatabaseError as error:
                if getattr(error, "sqlite_errorcode", 0) & 0xFF not in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
                    raise
                self._damaged = damaged(self.path, error)
                raise self._damaged from error

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        """A transaction of a connection, which nobody else writes to."""
        with self._using(), self._db.conn:
            self._db.conn.execute("BEGIN IMMEDIATE")
            yield self._db.conn

    def create(
        self,
        run_id: str,
        question: str,
        recipe: Recipe,
        *,
        origin: Origin | None = None,
        created: float | None = None,
        queued: bool = False,
        events: Sequence[Event] = (),
    ) -> None:
        now = time.time() if created is None else created
        row = {
            "id": run_id, "question": question, "recipe": msgspec.json.encode(recipe).decode(),
            "recipe_hash": recipe.hash, "status": "queued" if queued else "running", "outcome": None, "answer": "",
            "created": now, "updated": now, "beat": now, "origin": origin.run if origin else "",
            "origin_how": origin.how if origin else "", "origin_round": origin.round if origin else 0,
        }  # fmt: skip
        with self._writing():
            try:
                self._db.table("runs").insert(row)
                self._insert([Batch(events)])
            except (sqlite3.IntegrityError, TakenError):
                raise ConfigError(f"run {run_id!r} is there already, or was deleted a moment ago") from None
            if queued:  # whatever its first events say
                self.queue(run_id)

    def append(self, events: Sequence[Event]) -> None:
        self._commits.append(events)

    def _commit(self, batches: Sequence[Batch]) -> None:
        with self._writing():
            self._insert(batches)

    def _insert(self, batches: Sequence[Batch]) -> None:
        """Within a transaction.  Raises `TakenError`."""
        many = self._db.conn.executemany
        rows = [(row.run, row.seq, row.body) for batch in batches for row in batch.rows]
        try:
            many("INSERT INTO events (run, seq, body) VALUES (?, ?, ?)", rows)
        except sqlite3.IntegrityError:
            raise TakenError from None
        many("DELETE FROM controls WHERE run = ?", [(batch.run,) for batch in batches if batch.taken_up])
        changes = [(c.status, c.outcome, c.answer, c.updated, c.run) for batch in batches if (c := batch.change)]
        many("UPDATE runs SET status = ?, outcome = ?, answer = ?, updated = ? WHERE id = ?", changes)

    def _find(self, rows: Sequence[Kept]) -> list[str]:
        query = "SELECT body FROM events WHERE run = ? AND seq = ?"
        with self._using():
            found = [self._db.conn.execute(query, (row.run, row.seq)).fetchone() for row in rows]
        return [row[0] for row in found if row]

    def events(self, run_id: str, after: int = -1) -> list[Event]:
        self._commits.flush()  # what nobody waited for is to be seen
        query = "SELECT body FROM events WHERE run = ? AND seq > ? ORDER BY seq"
        with self._using():
            rows = self._db.conn.execute(query, (run_id, after)).fetchall()
        return [decode(body) for (body,) in rows]

    def run(self, run_id: str) -> RunRow:
        return only(run_id, self._rows("id >= ? AND id < ? ORDER BY id LIMIT 2", (run_id, run_id + LAST)))

    def runs(self, query: str = "", limit: int = 100, offset: int = 0, filters: Filters = NO_FILTERS) -> list[RunRow]:
        conditions: list[str] = []
        parameters: list[Any] = []
        if query:
            conditions.append("(question LIKE ? ESCAPE '\\' OR answer LIKE ? ESCAPE '\\')")
            parameters += [holding(query)] * 2
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
        where = " AND ".join(conditions or ["true"]) + " ORDER BY created DESC, id DESC LIMIT ? OFFSET ?"
        return self._rows(where, (*parameters, limit, offset))

    def tag(self, run_id: str, tags: Sequence[str]) -> None:
        wanted = tidy(tags)
        with self._writing() as connection:
            connection.execute("DELETE FROM tags WHERE run = ?", (run_id,))
            connection.executemany("INSERT INTO tags (run, tag) VALUES (?, ?)", [(run_id, tag) for tag in wanted])

    def tags(self) -> list[str]:
        query = "SELECT DISTINCT tag FROM tags JOIN runs ON runs.id = tags.run WHERE deleted IS NULL ORDER BY tag"
        with self._using():
            return [tag for (tag,) in self._db.conn.execute(query)]

    def delete(self, run_ids: Sequence[str]) -> None:
        self._set_deleted(run_ids, time.time())

    def restore(self, run_ids: Sequence[str]) -> None:
        self._set_deleted(run_ids, None)

    def _set_deleted(self, run_ids: Sequence[str], when: float | None) -> None:
        with self._using():
            self._db.conn.execute(f"UPDATE runs SET deleted = ? WHERE id IN ({_marks(run_ids)})", (when, *run_ids))

    def purge(self, before: float) -> int:
        self._commits.flush()
        with self._writing() as connection:
            gone = connection.execute("SELECT id FROM runs WHERE deleted < ?", (before,)).fetchall()
            for table, column in (("events", "run"), ("controls", "run"), ("tags", "run"), ("runs", "id")):
                connection.executemany(f"DELETE FROM {table} WHERE {column} = ?", gone)
            return len(gone)

    def ask_for(self, run_id: str, control: Control) -> None:
        with self._using():
            self._db["controls"].insert({"run": run_id, "control": control, "time": time.time()})  # type: ignore[union-attr]

    def controls(self, run_ids: Sequence[str]) -> dict[str, Control]:
        # In the order they were asked: the last request wins.
        query = f"SELECT run, control FROM controls WHERE run IN ({_marks(run_ids)}) ORDER BY rowid"
        with self._using():
            return dict(self._db.conn.execute(query, run_ids).fetchall())

    def withdraw(self, run_id: str) -> None:
        with self._using():
            self._db.table("controls").delete_where("run = ?", [run_id])

    def beat(self, run_ids: Sequence[str]) -> None:
        self._commits.flush()  # for who watches from another process
        running = "status = CASE status WHEN 'queued' THEN 'running' ELSE status END"
        query = f"UPDATE runs SET beat = ?, {running} WHERE id IN ({_marks(run_ids)})"
        with self._using():
            self._db.conn.execute(query, (time.time(), *run_ids))

    def queue(self, run_id: str) -> None:
        with self._using():
            self._db.conn.execute("UPDATE runs SET status = 'queued' WHERE id = ? AND status = 'running'", (run_id,))

    def waiting(self, before: float) -> list[RunRow]:
        return self._rows("status IN ('queued', 'running') AND beat < ? ORDER BY beat, id", (before,))

    def pace(self, key: str, per_minute: float) -> float:
        # A virtual scheduler (generic cell rate algorithm without a burst): each turn is one interval after the last.
        turn = """INSERT INTO turns (key, next) VALUES (?, ?) ON CONFLICT (key)
            DO UPDATE SET next = max(next + ?, excluded.next) RETURNING next"""
        now, interval = time.time(), 60 / per_minute
        with self._using():
            mine: float
            (mine,) = self._db.conn.execute(turn, (key, now, interval)).fetchone()
        return max(0.0, mine - now)

    def keep(self, kind: Kind, key: str, body: bytes) -> None:
        row = {"kind": kind, "key": key, "body": body.decode(), "time": time.time()}
        with self._using():
            self._db.table("kept").upsert(row, pk=("kind", "key"))

    def kept(self, kind: Kind, prefix: str = "") -> list[bytes]:
        # A range of the primary key.  Texts are compared byte by byte, and no text holds the byte FF.
        query = "SELECT body FROM kept WHERE kind = ? AND key >= ? AND key < CAST(? AS TEXT) ORDER BY time DESC, key"
        with self._using():
            rows = self._db.conn.execute(query, (kind, prefix, prefix.encode() + b"\xff")).fetchall()
        return [body.encode() for (body,) in rows]

    def drop(self, kind: Kind, key: str) -> None:
        with self._using():
            self._db.conn.execute("DELETE FROM kept WHERE kind = ? AND key = ?", (kind, key))

    def ids(self) -> list[str]:
        """Of every run, deleted or not, the oldest first."""
        with self._using():
            return [run for (run,) in self._db.conn.execute("SELECT id FROM runs ORDER BY created, id")]

    def whole(self, run_id: str) -> Whole | None:
        """Everything of one run, deleted or not; None where there is none of exactly that id."""
        self._commits.flush()
        rows = self._rows("id = ?", (run_id,), "true")
        execute, own = self._db.conn.execute, (run_id,)
        with self._using():
            deleted = execute("SELECT deleted FROM runs WHERE id = ?", own).fetchone()
            events = execute("SELECT seq, body FROM events WHERE run = ? ORDER BY seq", own).fetchall()
            controls = execute("SELECT control, time FROM controls WHERE run = ? ORDER BY rowid", own).fetchall()
        return Whole(rows[0], deleted[0], tuple(events), tuple(controls)) if rows and deleted else None

    def things(self) -> list[Thing]:
        """Everything that is kept beside runs."""
        with self._using():
            rows = self._db.conn.execute("SELECT kind, key, body, time FROM kept ORDER BY kind, key").fetchall()
        return [Thing(kind, key, body.encode(), when) for kind, key, body, when in rows]

    def _rows(self, where: str, parameters: tuple[Any, ...], listed: str = "deleted IS NULL") -> list[RunRow]:
        query = (
            "SELECT id, question, recipe, status, outcome, created, updated, beat, answer, origin, origin_how, "
            "origin_round, (SELECT json_group_array(tag) FROM (SELECT tag FROM tags WHERE tags.run = runs.id ORDER BY tag)) "
            f"FROM runs WHERE {listed} AND {where}"
        )
        with self._using():
            rows = self._db.conn.execute(query, parameters).fetchall()
        return [self._row(*row) for row in rows]

    @staticmethod
    def _row(id_: str, question: str, recipe: str, *rest: Any) -> RunRow:
        status, outcome, created, updated, beat, answer, run, how, number, tags = rest
        return RunRow(
            id_, question, decoding.decode(recipe, Recipe), status, outcome, created, updated, beat, answer,
            Origin(run, how, number) if run else None, tuple(decoding.decode(tags, list[str])),
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

    @migration()
    def turns_of_what_is_paced(db: Database) -> None:
        db.create_table("turns", {"key": str, "next": float}, pk="key")

    @migration()
    def runs_that_have_not_ended(db: Database) -> None:
        db.execute("CREATE INDEX idx_runs_open ON runs (beat) WHERE status IN ('queued', 'running')")

    return migration
