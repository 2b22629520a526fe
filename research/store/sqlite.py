"""Runs in one SQLite file, by sqlite-utils."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from research.errors import ConfigError
from research.events import Event, RunFinished, UserReplied, WaitingForUser, decode, encode
from research.recipe import Recipe
from research.store import Control, RunRow

if TYPE_CHECKING:
    from sqlite_utils import Database
    from sqlite_utils.migrations import Migrations


class SqliteStore:
    """One writer connection per process, write-ahead log, every commit on disk before it is acknowledged."""

    def __init__(self, path: Path) -> None:
        from filelock import FileLock
        from sqlite_utils import Database

        self.path = path
        self._lock = threading.RLock()
        try:
            # isolation_level=None: transactions are begun and ended by sqlite-utils and by us, not by the driver.
            connection = sqlite3.connect(path, check_same_thread=False, timeout=30, isolation_level=None)
            self._db: Database = Database(connection)
            # One process at a time: SQLite does not wait for a lock when a reader becomes a writer.
            with FileLock(f"{path}.lock"):
                for pragma in ("journal_mode=WAL", "synchronous=FULL", "busy_timeout=30000"):
                    connection.execute(f"PRAGMA {pragma}")
                _migrations().apply(self._db)
        except sqlite3.DatabaseError as error:
            raise ConfigError(
                f"{path} cannot be opened as a database ({error}); it was left as it is. "
                "Move it away to start with an empty one, or name another WORKBENCH_HOME."
            ) from error

    def close(self) -> None:
        with self._lock:
            self._db.conn.close()

    def create(self, run_id: str, question: str, recipe: Recipe) -> None:
        now = time.time()
        with self._lock:
            self._db["runs"].insert(  # type: ignore[union-attr]
                {
                    "id": run_id, "question": question, "recipe": msgspec.json.encode(recipe).decode(),
                    "recipe_hash": recipe.hash, "status": "running", "outcome": None, "answer": "",
                    "created": now, "updated": now, "beat": now,
                }
            )  # fmt: skip

    def append(self, events: Sequence[Event]) -> None:
        rows = [(event.run, event.seq, encode(event).decode()) for event in events]
        with self._lock, self._db.conn:
            self._db.conn.execute("BEGIN IMMEDIATE")
            try:
                self._db.conn.executemany("INSERT INTO events (run, seq, body) VALUES (?, ?, ?)", rows)
            except sqlite3.IntegrityError:
                raise ConfigError(
                    f"run {rows[0][0]} is at work elsewhere: event {rows[0][1]} is there already"
                ) from None
            for event in events:
                change: tuple[str, str | None, str, float, str]
                match event:
                    case RunFinished(status=status, outcome=outcome, answer=answer):
                        change = (status, outcome, answer, event.time, event.run)
                    case WaitingForUser(prompt=prompt):
                        change = ("waiting_input", "needs_input", prompt, event.time, event.run)
                    case UserReplied():
                        change = ("running", None, "", event.time, event.run)
                    case _:
                        continue
                self._db.conn.execute(
                    "UPDATE runs SET status = ?, outcome = ?, answer = ?, updated = ? WHERE id = ?", change
                )

    def events(self, run_id: str, after: int = -1) -> list[Event]:
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

    def runs(self, query: str = "", limit: int = 100, offset: int = 0) -> list[RunRow]:
        words = f"%{query}%"
        where = "question LIKE ? OR answer LIKE ? ORDER BY created DESC LIMIT ? OFFSET ?"
        return self._rows(where, (words, words, limit, offset))

    def ask_for(self, run_id: str, control: Control) -> None:
        with self._lock:
            self._db["controls"].insert({"run": run_id, "control": control, "time": time.time()})  # type: ignore[union-attr]

    def controls(self, run_ids: Sequence[str]) -> dict[str, Control]:
        marks = ",".join("?" * len(run_ids))
        with self._lock:
            rows = self._db.conn.execute(f"SELECT run, control FROM controls WHERE run IN ({marks})", run_ids)
            return dict(rows.fetchall())

    def withdraw(self, run_id: str) -> None:
        with self._lock:
            self._db.table("controls").delete_where("run = ?", [run_id])

    def beat(self, run_ids: Sequence[str]) -> None:
        marks = ",".join("?" * len(run_ids))
        with self._lock:
            self._db.conn.execute(f"UPDATE runs SET beat = ? WHERE id IN ({marks})", (time.time(), *run_ids))

    def _rows(self, where: str, parameters: tuple[Any, ...]) -> list[RunRow]:
        query = f"SELECT id, question, recipe, status, outcome, created, updated, beat, answer FROM runs WHERE {where}"
        with self._lock:
            rows = self._db.conn.execute(query, parameters).fetchall()
        return [
            RunRow(id_, question, msgspec.json.decode(recipe, type=Recipe), *rest)
            for id_, question, recipe, *rest in rows
        ]


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

    return migration
