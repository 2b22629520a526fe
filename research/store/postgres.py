"""The store in one schema of a Postgres database, by psycopg."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, LiteralString

import msgspec

from research._util.bounds import checked_tags
from research._util.nul import json_without_nul
from research.errors import ConfigError
from research.events.events import Event, decode
from research.store import NO_FILTERS, Control, Filters, Kind, RunRow
from research.store.commits import Batch, CollisionError, Commits, EventRow
from research.store.database import apply_migrations, availability, connected, pool
from research.store.postgres_schema import LOCKED, MIGRATIONS, SchemaConnection, columns
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

_ADD: Final = (
    "INSERT INTO {schema}.runs (id, question, recipe, recipe_hash, framework, context, model, status, answer, "
    "created, updated, beat, origin, origin_how, origin_round) "
    "VALUES (%s, %s, %s, %s, %s, %s, %s, 'running', '', %s, %s, %s, %s, %s, %s)"
)
_SET_QUEUED: Final = "UPDATE {schema}.runs SET status = 'queued' WHERE id = %s AND status = 'running'"
_REQUEST: Final = "INSERT INTO {schema}.controls (run, control, time) VALUES (%s, %s, %s)"
_UPDATE: Final = (
    "UPDATE {schema}.runs SET status = c.status, outcome = c.outcome, answer = c.answer, updated = c.updated "
    "FROM own, unnest(%s::text[], %s::text[], %s::text[], %s::text[], %s::float8[]) "
    "AS c (id, status, outcome, answer, updated) WHERE runs.id = own.id AND c.id = own.id"
)


class PostgresSchema:
    """The connections of this process to one schema."""

    def __init__(self, url: str, schema: str) -> None:
        from psycopg.sql import Identifier

        self.schema = schema
        self._pool = pool(url)
        self._identifier = Identifier(schema)
        apply_migrations(self._pool, schema, "store", MIGRATIONS)

    @contextmanager
    def _using(self) -> Iterator[SchemaConnection]:
        """Give out a connection that commits each statement by itself.  Raises `StoreUnavailable`."""
        with connected(self._pool) as connection:
            yield SchemaConnection(connection, self._identifier)

    @contextmanager
    def _writing(self) -> Iterator[SchemaConnection]:
        """Give out a connection in a transaction.  Raises `StoreUnavailable`."""
        with self._using() as execute, execute.connection.transaction():
            yield execute


class PostgresRunLog(PostgresSchema):
    """`RunLog` in the tables `runs`, `events` and `tags`; a commit is on the server's disk when it returns."""

    def __init__(self, url: str, schema: str) -> None:
        super().__init__(url, schema)
        self._commits = Commits(self._commit, self._find)

    def close(self) -> None:
        """Write buffered events; the connections belong to the process and stay open."""
        self._commits.flush()

    def create(self, row: RunRow, events: Sequence[Event] = ()) -> None:
        from psycopg.errors import UniqueViolation

        with self._writing() as execute:
            try:
                _add(execute, row)
                self._insert(execute, [Batch(events)])
            except (UniqueViolation, CollisionError):
                raise ConfigError(f"run {row.id!r} exists already, or was deleted a moment ago") from None
            if row.status == "queued":  # the first events may have set another status
                execute(_SET_QUEUED, (row.id,))

    def append(self, events: Sequence[Event]) -> None:
        self._commits.append(events)

    def _commit(self, batches: Sequence[Batch]) -> None:
        with self._writing() as execute:
            self._insert(execute, batches)

    def _insert(self, execute: SchemaConnection, batches: Sequence[Batch]) -> None:
        """Insert events within a transaction.  Raises `CollisionError`."""
        from psycopg.errors import UniqueViolation

        # Sorted: processes that insert the same rows wait for each other, and the same order prevents deadlocks.
        rows = sorted(
            ((row.run, row.seq, row.body) for batch in batches for row in batch.rows), key=lambda row: row[:2]
        )
        # Not for a run that was erased meanwhile: nobody could see or remove its events.
        insert: LiteralString = (
            "INSERT INTO {schema}.events SELECT e.* FROM unnest(%s::text[], %s::bigint[], %s::text[]) AS e (run, seq, body) "
            "WHERE EXISTS (SELECT 1 FROM {schema}.runs WHERE id = e.run)"
        )
        try:
            execute(insert, columns(rows, 3))
        except UniqueViolation:
            raise CollisionError from None
        if resumed := [batch.run for batch in batches if batch.resumed]:
            execute("DELETE FROM {schema}.controls WHERE run = ANY(%s)", (resumed,))
        last = {batch.run: batch.change for batch in batches if batch.change}
        if last:
            changes = [(c.run, c.status, c.outcome, c.answer, c.updated) for c in last.values()]
            execute(LOCKED + _UPDATE, (list(last), *columns(changes, 5)))

    def _find(self, rows: Sequence[EventRow]) -> list[str]:
        query: LiteralString = (
            "SELECT body FROM unnest(%s::text[], %s::bigint[]) WITH ORDINALITY AS place (run, seq, n) "
            "JOIN {schema}.events USING (run, seq) ORDER BY n"
        )
        with self._using() as execute:
            return [body for (body,) in execute(query, columns([(row.run, row.seq) for row in rows], 2))]

    def events(self, run_id: str, after: int = -1) -> list[Event]:
        self._commits.flush()  # so that buffered events are found, too
        query: LiteralString = "SELECT body FROM {schema}.events WHERE run = %s AND seq > %s ORDER BY seq"
        with self._using() as execute:
            rows = execute(query, (run_id, after)).fetchall()
        return [decode(body) for (body,) in rows]

    def bodies(self, run_id: str) -> list[str]:
        return [body for _, body in stored.events] if (stored := self.stored_run(run_id)) else []

    def run(self, run_id: str) -> RunRow:
        return only_match(run_id, self._rows("id >= %s AND id < %s ORDER BY id LIMIT 2", (run_id, run_id + LAST)))

    def runs(self, query: str = "", limit: int = 100, offset: int = 0, filters: Filters = NO_FILTERS) -> list[RunRow]:
        wanted: dict[LiteralString, Any] = {
            "(question ILIKE %s OR answer ILIKE %s)": [containing(query)] * 2 if query else (),
            ENDING + " = ANY(%s)": _array(filters.outcomes),
            "framework = ANY(%s)": _array(filters.frameworks),
            "context = ANY(%s)": _array(filters.contexts),
            "model = ANY(%s)": _array(filters.models),
            "id IN (SELECT run FROM {schema}.tags WHERE tag = ANY(%s))": _array(filters.tags),
            "id NOT IN (SELECT run FROM {schema}.tags WHERE tag LIKE %s)": (starting_with(filters.not_tagged),)
            if filters.not_tagged
            else (),
            "created >= %s": () if filters.since is None else (filters.since,),
            "origin = %s": (filters.origin,) if filters.origin else (),
        }
        conditions = [condition for condition, parameters in wanted.items() if parameters]
        where = " AND ".join(conditions or ["true"]) + " ORDER BY created DESC, id DESC LIMIT %s OFFSET %s"
        return self._rows(where, (*(each for parameters in wanted.values() for each in parameters), limit, offset))

    def tag(self, run_id: str, tags: Sequence[str]) -> None:
        insert: LiteralString = "INSERT INTO {schema}.tags SELECT %s, unnest(%s::text[]) ON CONFLICT DO NOTHING"
        with self._writing() as execute:
            execute("DELETE FROM {schema}.tags WHERE run = %s", (run_id,))
            execute(insert, (run_id, checked_tags(tags)))

    def tags(self) -> list[str]:
        query: LiteralString = (
            "SELECT DISTINCT tag FROM {schema}.tags JOIN {schema}.runs ON id = run WHERE deleted IS NULL ORDER BY tag"
        )
        with self._using() as execute:
            return [tag for (tag,) in execute(query)]

    def delete(self, run_ids: Sequence[str]) -> None:
        self._set_deleted(run_ids, time.time())

    def restore(self, run_ids: Sequence[str]) -> None:
        self._set_deleted(run_ids, None)

    def _set_deleted(self, run_ids: Sequence[str], when: float | None) -> None:
        update: LiteralString = LOCKED + "UPDATE {schema}.runs SET deleted = %s FROM own WHERE runs.id = own.id"
        with self._using() as execute:
            execute(update, (list(run_ids), when))

    def purge(self, before: float) -> int:
        self._commits.flush()
        query: LiteralString = "SELECT id FROM {schema}.runs WHERE deleted < %s ORDER BY id FOR UPDATE"
        with self._writing() as execute:
            gone = [run for (run,) in execute(query, (before,))]
            execute("DELETE FROM {schema}.events WHERE run = ANY(%s)", (gone,))
            execute("DELETE FROM {schema}.controls WHERE run = ANY(%s)", (gone,))
            execute("DELETE FROM {schema}.tags WHERE run = ANY(%s)", (gone,))
            execute("DELETE FROM {schema}.runs WHERE id = ANY(%s)", (gone,))
        return len(gone)

    def stored_run(self, run_id: str) -> StoredRun | None:
        """Return everything stored for the run with exactly that id, deleted or not; None when there is none."""
        self._commits.flush()
        rows = self._rows("id = %s", (run_id,), "true")
        own = (run_id,)
        with self._using() as execute:
            deleted = execute("SELECT deleted FROM {schema}.runs WHERE id = %s", own).fetchone()
            events = execute("SELECT seq, body FROM {schema}.events WHERE run = %s ORDER BY seq", own).fetchall()
            requests = execute("SELECT control, time FROM {schema}.controls WHERE run = %s ORDER BY n", own).fetchall()
        return StoredRun(rows[0], deleted[0], tuple(events), tuple(requests)) if rows and deleted else None

    def add_stored_run(self, run: StoredRun) -> bool:
        """Add a run from another store, or its events that are missing here; return False when none is missing.

        Raises `ConfigError` when the run has different events here and there.
        """
        row, own = run.row, (run.row.id,)
        update: LiteralString = (
            "UPDATE {schema}.runs SET status = %s, outcome = %s, answer = %s, updated = %s, beat = %s, deleted = %s "
            "WHERE id = %s"
        )
        add: LiteralString = "INSERT INTO {schema}.events SELECT %s, * FROM unnest(%s::bigint[], %s::text[])"
        ours = self.stored_run(row.id)
        there = ours.events if ours else ()
        if ours and run.events == there[: len(run.events)]:
            return False
        if there != run.events[: len(there)]:
            raise ConfigError(f"run {row.id} has different events in the two stores; delete it in one of them")
        with self._writing() as execute:
            if ours is None:
                _add(execute, row)
            execute(add, (row.id, *columns(run.events[len(there) :], 2)))
            execute(update, (row.status, row.outcome, row.answer, row.updated, row.heartbeat, run.deleted, row.id))
            execute("DELETE FROM {schema}.controls WHERE run = %s", own)
            for request in run.requests:
                execute(_REQUEST, (row.id, *request))
            execute("DELETE FROM {schema}.tags WHERE run = %s", own)
            execute("INSERT INTO {schema}.tags SELECT %s, unnest(%s::text[])", (row.id, list(row.tags)))
        return True

    def _rows(
        self, where: LiteralString, parameters: tuple[Any, ...], listed: LiteralString = "deleted IS NULL"
    ) -> list[RunRow]:
        tags: LiteralString = "ARRAY(SELECT tag FROM {schema}.tags WHERE run = runs.id ORDER BY tag)"
        query = "SELECT " + COLUMNS + ", " + tags + " FROM {schema}.runs WHERE " + listed + " AND " + where
        with self._using() as execute:
            rows = execute(query, parameters).fetchall()
        return [run_row(row[:-1], row[-1]) for row in rows]


def _add(execute: SchemaConnection, row: RunRow) -> None:
    """Insert a row that is marked as running.  Raises `UniqueViolation`."""
    recipe, origin = row.recipe, row.origin
    encoded = msgspec.json.encode(recipe).decode()
    chosen = (recipe.hash, recipe.framework, recipe.context, recipe.model)
    source = (origin.run, origin.how, origin.round) if origin else ("", "", 0)
    execute(_ADD, (row.id, row.question, encoded, *chosen, row.created, row.created, row.created, *source))


def _array(values: Sequence[str]) -> tuple[list[str], ...]:
    """Return the values as one array parameter, or no parameter when there are none."""
    return (list(values),) if values else ()


class PostgresLeases(PostgresRunLog):
    """`Leases` in the tables `runs`, `controls` and `turns`."""

    @property
    def available_since(self) -> float:
        return availability(self._pool).since

    def heartbeat(self, run_ids: Sequence[str]) -> None:
        self._commits.flush()  # so that other processes see buffered events, too
        update: LiteralString = (
            LOCKED + "UPDATE {schema}.runs SET beat = %s, "
            "status = CASE status WHEN 'queued' THEN 'running' ELSE status END FROM own WHERE runs.id = own.id"
        )
        with self._using() as execute:
            execute(update, (list(run_ids), time.time()))

    def stale(self, before: float) -> list[RunRow]:
        return self._rows("status IN ('queued', 'running') AND beat < %s ORDER BY beat, id", (before,))

    def set_queued(self, run_id: str) -> None:
        with self._using() as execute:
            execute(_SET_QUEUED, (run_id,))

    def request(self, run_id: str, control: Control) -> None:
        with self._using() as execute:
            execute(_REQUEST, (run_id, control, time.time()))

    def requests(self, run_ids: Sequence[str]) -> dict[str, Control]:
        # In the order of the requests, so that the last one wins.
        query: LiteralString = "SELECT run, control FROM {schema}.controls WHERE run = ANY(%s) ORDER BY n"
        with self._using() as execute:
            return dict(execute(query, (list(run_ids),)).fetchall())

    def clear_requests(self, run_id: str) -> None:
        with self._using() as execute:
            execute("DELETE FROM {schema}.controls WHERE run = %s", (run_id,))

    def take_turn(self, key: str, per_minute: float) -> float:
        # Generic cell rate algorithm without a burst: each turn is one interval after the last.
        turn: LiteralString = (
            "INSERT INTO {schema}.turns AS last VALUES (%s, %s) ON CONFLICT (key) "
            "DO UPDATE SET next = greatest(last.next + %s, excluded.next) RETURNING next"
        )
        now, interval = time.time(), 60 / per_minute
        with self._using() as execute:
            mine: float
            ((mine,),) = execute(turn, (key, now, interval)).fetchall()
        return max(0.0, mine - now)


class PostgresKeyValue(PostgresSchema):
    """`KeyValue` in the table `kept`."""

    def put(self, kind: Kind, key: str, body: bytes) -> None:
        upsert: LiteralString = (
            "INSERT INTO {schema}.kept VALUES (%s, %s, %s, %s) "
            "ON CONFLICT (kind, key) DO UPDATE SET body = excluded.body, time = excluded.time"
        )
        with self._using() as execute:
            execute(upsert, (kind, key, json_without_nul(body), time.time()))

    def values(self, kind: Kind, prefix: str = "") -> list[bytes]:
        query: LiteralString = (
            "SELECT body FROM {schema}.kept WHERE kind = %s AND starts_with(key, %s) ORDER BY time DESC, key"
        )
        with self._using() as execute:
            return [body for (body,) in execute(query, (kind, prefix))]

    def remove(self, kind: Kind, key: str) -> None:
        with self._using() as execute:
            execute("DELETE FROM {schema}.kept WHERE kind = %s AND key = %s", (kind, key))

    def stored_values(self) -> list[StoredValue]:
        """Return every value."""
        query: LiteralString = "SELECT kind, key, body, time FROM {schema}.kept ORDER BY kind, key"
        with self._using() as execute:
            return [StoredValue(*row) for row in execute(query)]

    def add_stored_value(self, value: StoredValue) -> None:
        """Add a value from another store, unless a later one is here."""
        upsert: LiteralString = (
            "INSERT INTO {schema}.kept AS here VALUES (%s, %s, %s, %s) ON CONFLICT (kind, key) "
            "DO UPDATE SET body = excluded.body, time = excluded.time WHERE here.time < excluded.time"
        )
        with self._using() as execute:
            execute(upsert, (value.kind, value.key, value.body, value.time))


class PostgresStore(PostgresLeases, PostgresKeyValue):
    """`Store` in one schema; any number of processes and machines may use it."""
