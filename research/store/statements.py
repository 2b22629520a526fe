"""The statements of a store that SQLite and Postgres share."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, ClassVar

import msgspec

from research._util.bounds import checked_tags
from research.events.events import Event, decode
from research.events.recipe import Recipe
from research.store import NO_FILTERS, Control, Filters, Kind, RunRow
from research.store.commits import Batch, Commits, EventRow
from research.store.rows import COLUMNS, ENDING, LAST, StoredRun, only_match, run_row, starting_with


class Statements(ABC):
    """Most of `Store`, in the tables `runs`, `events`, `tags`, `controls`, `turns` and `kept` of either database.

    In a statement, `?` stands for a parameter, `{any}` for the comparison with any value of a list, `{s}` for the schema.
    """

    _like: ClassVar[str]
    """The operator that matches a pattern, ignoring case."""
    _order: ClassVar[str]
    """The column that orders requests."""
    _greatest: ClassVar[str]
    """The function that returns its greatest argument."""
    _locking: ClassVar[str] = ""
    """The clause that makes a query lock its rows."""
    _tags_of_run: ClassVar[str]
    """The tags of a run as a list or as JSON."""

    def __init__(self) -> None:
        self._commits = Commits(self._commit, self._find)

    @abstractmethod
    def _rows(self, query: str, *parameters: Any) -> list[Any]:
        """Execute a statement and return its rows.  Raises `StoreUnavailable`."""

    @abstractmethod
    def _writing(self) -> AbstractContextManager[object]:
        """Execute the statements of this thread in one transaction.  Raises `StoreUnavailable`."""

    @abstractmethod
    def _insert(self, batches: Sequence[Batch]) -> None:
        """Insert events within a transaction.  Raises `CollisionError`."""

    @abstractmethod
    def _find(self, rows: Sequence[EventRow]) -> list[str]:
        """Return the stored JSON of the events with the same runs and numbers."""

    @abstractmethod
    def _update_runs(self, changes: str, values: Sequence[object], run_ids: Sequence[str]) -> None:
        """Change the rows of runs."""

    @abstractmethod
    def _chosen(self, name: str, default: str) -> str:
        """Return the expression of a recipe's field."""

    # Runs

    def append(self, events: Sequence[Event]) -> None:
        self._commits.append(events)

    def _commit(self, batches: Sequence[Batch]) -> None:
        with self._writing():
            self._insert(batches)

    def events(self, run_id: str, after: int = -1) -> list[Event]:
        return [decode(body) for _, body in self._bodies(run_id, after)]

    def bodies(self, run_id: str) -> list[str]:
        return [body for _, body in self._bodies(run_id)]

    def _bodies(self, run_id: str, after: int = -1) -> list[tuple[int, str]]:
        """Return the number and JSON of each event; of a damaged one, an empty text."""
        self._commits.flush()  # so that buffered events are found as well
        rows = self._rows("SELECT seq, body FROM {s}.events WHERE run = ? AND seq > ? ORDER BY seq", run_id, after)
        return [(seq, body if isinstance(body, str) else "") for seq, body in rows]

    def run(self, run_id: str) -> RunRow:
        return only_match(run_id, self._found("id >= ? AND id < ? ORDER BY id LIMIT 2", run_id, run_id + LAST))

    def runs(self, query: str = "", limit: int = 100, offset: int = 0, filters: Filters = NO_FILTERS) -> list[RunRow]:
        where, values = self._matching(query, filters)
        return self._found(f"{where} ORDER BY created DESC, id DESC LIMIT ? OFFSET ?", *values, limit, offset)

    def endings(self, query: str = "", filters: Filters = NO_FILTERS) -> dict[str, int]:
        where, values = self._matching(query, filters)
        counted = f"SELECT {ENDING}, count(*) FROM {{s}}.runs WHERE deleted IS NULL AND {where} GROUP BY 1"
        return dict(self._rows(counted, *values))

    def _matching(self, query: str, filters: Filters) -> tuple[str, list[object]]:
        """Return the condition on the runs that match, and its parameters."""
        matches, default = f"{self._like} ? ESCAPE '\\'", Recipe()
        tagged = f"SELECT run FROM {{s}}.tags WHERE tag {matches}"
        wanted: dict[str, list[object]] = {
            f"(question {matches} OR answer {matches})": [f"%{starting_with(query)}"] * 2 if query else [],
            ENDING + " {any}": _listed(filters.outcomes),
            self._chosen("framework", default.framework) + " {any}": _listed(filters.frameworks),
            self._chosen("context", default.context) + " {any}": _listed(filters.contexts),
            self._chosen("model", default.model) + " {any}": _listed(filters.models),
            "id IN (SELECT run FROM {s}.tags WHERE tag {any})": _listed(filters.tags),
            f"id NOT IN ({tagged})": [starting_with(filters.not_tagged)] if filters.not_tagged else [],
            "created >= ?": [] if filters.since is None else [filters.since],
            "origin = ?": [filters.origin] if filters.origin else [],
        }
        where = " AND ".join([condition for condition, values in wanted.items() if values] or ["true"])
        return where, [value for each in wanted.values() for value in each]

    def _found(self, where: str, *parameters: Any, listed: str = "deleted IS NULL") -> list[RunRow]:
        query = f"SELECT {COLUMNS}, {self._tags_of_run} FROM {{s}}.runs WHERE {listed} AND {where}"
        return [
            run_row(row[:-1], msgspec.json.decode(row[-1]) if isinstance(row[-1], str) else row[-1])
            for row in self._rows(query, *parameters)
        ]

    def tag(self, run_id: str, tags: Sequence[str]) -> None:
        kept = checked_tags(tags)
        with self._writing():
            self._rows("DELETE FROM {s}.tags WHERE run = ?", run_id)
            for each in kept:
                self._rows("INSERT INTO {s}.tags (run, tag) VALUES (?, ?) ON CONFLICT DO NOTHING", run_id, each)

    def tags(self) -> list[str]:
        query = "SELECT DISTINCT tag FROM {s}.tags JOIN {s}.runs ON id = run WHERE deleted IS NULL ORDER BY tag"
        return [tag for (tag,) in self._rows(query)]

    def delete(self, run_ids: Sequence[str]) -> None:
        self._update_runs("deleted = ?", [time.time()], run_ids)

    def restore(self, run_ids: Sequence[str]) -> None:
        self._update_runs("deleted = ?", [None], run_ids)

    def purge(self, before: float) -> int:
        self._commits.flush()
        query = f"SELECT id FROM {{s}}.runs WHERE deleted < ? ORDER BY id {self._locking}"
        with self._writing():
            gone = [run for (run,) in self._rows(query, before)]
            kept = "kind = 'ended' AND key"
            for table, of in (("events", "run"), ("controls", "run"), ("tags", "run"), ("kept", kept), ("runs", "id")):
                self._rows(f"DELETE FROM {{s}}.{table} WHERE {of} {{any}}", gone)
        return len(gone)

    def stored_run(self, run_id: str) -> StoredRun | None:
        """Return everything stored for the run with exactly that id, deleted or not; None when there is none."""
        events = self._bodies(run_id)
        rows = self._found("id = ?", run_id, listed="true")
        deleted = self._rows("SELECT deleted FROM {s}.runs WHERE id = ?", run_id)
        query = f"SELECT control, time FROM {{s}}.controls WHERE run = ? ORDER BY {self._order}"
        requests = self._rows(query, run_id)
        return StoredRun(rows[0], deleted[0][0], tuple(events), tuple(requests)) if rows and deleted else None

    # Leases

    def heartbeat(self, run_ids: Sequence[str]) -> None:
        self._commits.flush()  # so that other processes see buffered events, too
        running = "status = CASE status WHEN 'queued' THEN 'running' ELSE status END"
        self._update_runs(f"beat = ?, {running}", [time.time()], run_ids)

    def stale(self, before: float) -> list[RunRow]:
        return self._found("status IN ('queued', 'running') AND beat < ? ORDER BY beat, id", before)

    def set_queued(self, run_id: str) -> None:
        self._rows("UPDATE {s}.runs SET status = 'queued' WHERE id = ? AND status = 'running'", run_id)

    def request(self, run_id: str, control: Control) -> None:
        self._request(run_id, control, time.time())

    def _request(self, run_id: str, control: str, when: float) -> None:
        self._rows("INSERT INTO {s}.controls (run, control, time) VALUES (?, ?, ?)", run_id, control, when)

    def requests(self, run_ids: Sequence[str]) -> dict[str, Control]:
        # In the order of the requests, so that the last one wins.
        query = f"SELECT run, control FROM {{s}}.controls WHERE run {{any}} ORDER BY {self._order}"
        return dict(self._rows(query, list(run_ids)))

    def clear_requests(self, run_id: str) -> None:
        self._rows("DELETE FROM {s}.controls WHERE run = ?", run_id)

    def take_turn(self, key: str, per_minute: float) -> float:
        # Generic cell rate algorithm without a burst: each turn is one interval after the last.
        turn = f"""INSERT INTO {{s}}.turns AS last (key, next) VALUES (?, ?) ON CONFLICT (key)
            DO UPDATE SET next = {self._greatest}(last.next + ?, excluded.next) RETURNING next"""
        now, interval = time.time(), 60 / per_minute
        mine: float
        ((mine,),) = self._rows(turn, key, now, interval)
        return max(0.0, mine - now)

    # Saved values

    def remove(self, kind: Kind, key: str) -> None:
        self._rows("DELETE FROM {s}.kept WHERE kind = ? AND key = ?", kind, key)


def _listed(values: Sequence[str]) -> list[object]:
    """Return the values as one parameter; no parameter if there are none."""
    return [list(values)] if values else []
