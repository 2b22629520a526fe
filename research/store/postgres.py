"""Runs in one schema of a Postgres, by psycopg."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, LiteralString

import msgspec

from research import decoding
from research.database import answers, connected, migrated, pool
from research.desk import Kind
from research.errors import ConfigError
from research.events import Event, decode
from research.recipe import Recipe
from research.store import NO_FILTERS, Control, Filters, Origin, RunRow
from research.store.commits import Batch, Commits, Kept, TakenError
from research.store.rows import LAST, Thing, Whole, holding, only, tidy
from research.store.tables import LOCKED, STEPS, Asking, columns


class PostgresStore:
    """Any number of processes and machines; every commit is on the server's disk before it is acknowledged."""

    def __init__(self, url: str, schema: str) -> None:
        from psycopg.sql import Identifier

        self.schema = schema
        self._pool = pool(url)
        self._own = Identifier(schema)
        migrated(self._pool, schema, "store", STEPS)
        self._commits = Commits(self._commit, self._find)

    def close(self) -> None:
        """What was appended is kept; the connections are the process's."""
        self._commits.flush()

    @property
    def answers_since(self) -> float:
        return answers(self._pool).since

    @contextmanager
    def _asking(self) -> Iterator[Asking]:
        """A connection on which each statement is committed by itself.  Raises `StoreUnavailable`."""
        with connected(self._pool) as connection:
            yield Asking(connection, self._own)

    @contextmanager
    def _writing(self) -> Iterator[Asking]:
        """A transaction.  Raises `StoreUnavailable`."""
        with self._asking() as ask, ask.connection.transaction():
            yield ask

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
        from psycopg.errors import UniqueViolation

        with self._writing() as ask:
            try:
                self._add(ask, run_id, question, recipe, origin, time.time() if created is None else created)
                self._insert(ask, [Batch(events)])
            except (UniqueViolation, TakenError):
                raise ConfigError(f"run {run_id!r} is there already, or was deleted a moment ago") from None
            if queued:  # whatever its first events say
                ask("UPDATE {schema}.runs SET status = 'queued' WHERE id = %s AND status = 'running'", (run_id,))

    def _add(
        self, ask: Asking, run_id: str, question: str, recipe: Recipe, origin: Origin | None, created: float
    ) -> None:
        """A row that stands as running.  Raises `UniqueViolation`."""
        insert: LiteralString = (
            "INSERT INTO {schema}.runs (id, question, recipe, recipe_hash, framework, context, model, status, answer, "
            "created, updated, beat, origin, origin_how, origin_round) "
            "VALUES (%s, %s, %s, %s, %s, %s, %s, 'running', '', %s, %s, %s, %s, %s, %s)"
        )
        row = (
            run_id, question, msgspec.json.encode(recipe).decode(), recipe.hash, recipe.framework, recipe.context,
            recipe.model, created, created, created,
            *((origin.run, origin.how, origin.round) if origin else ("", "", 0)),
        )  # fmt: skip
        ask(insert, row)

    def append(self, events: Sequence[Event]) -> None:
        self._commits.append(events)

    def _commit(self, batches: Sequence[Batch]) -> None:
        with self._writing() as ask:
            self._insert(ask, batches)

    def _insert(self, ask: Asking, batches: Sequence[Batch]) -> None:
        """Within a transaction.  Raises `TakenError`."""
        from psycopg.errors import UniqueViolation

        # Whoever writes the same places waits for us, or we for them; in one order that ends.
        rows = sorted(
            ((row.run, row.seq, row.body) for batch in batches for row in batch.rows), key=lambda row: row[:2]
        )
        try:
            ask(
                "INSERT INTO {schema}.events SELECT * FROM unnest(%s::text[], %s::bigint[], %s::text[])",
                columns(rows, 3),
            )
        except UniqueViolation:
            raise TakenError from None
        if taken_up := [batch.run for batch in batches if batch.taken_up]:
            ask("DELETE FROM {schema}.controls WHERE run = ANY(%s)", (taken_up,))
        last = {batch.run: batch.change for batch in batches if batch.change}
        if last:
            changes = [(c.run, c.status, c.outcome, c.answer, c.updated) for c in last.values()]
            ask(
                LOCKED + "UPDATE {schema}.runs SET status = c.status, outcome = c.outcome, answer = c.answer, "
                "updated = c.updated "
                "FROM own, unnest(%s::text[], %s::text[], %s::text[], %s::text[], %s::float8[]) "
                "AS c (id, status, outcome, answer, updated) WHERE runs.id = own.id AND c.id = own.id",
                (list(last), *columns(changes, 5)),
            )

    def _find(self, rows: Sequence[Kept]) -> list[str]:
        query: LiteralString = (
            "SELECT body FROM unnest(%s::text[], %s::bigint[]) WITH ORDINALITY AS place (run, seq, n) "
            "JOIN {schema}.events USING (run, seq) ORDER BY n"
        )
        with self._asking() as ask:
            return [body for (body,) in ask(query, columns([(row.run, row.seq) for row in rows], 2))]

    def events(self, run_id: str, after: int = -1) -> list[Event]:
        self._commits.flush()  # what nobody waited for is to be seen
        with self._asking() as ask:
            query: LiteralString = "SELECT body FROM {schema}.events WHERE run = %s AND seq > %s ORDER BY seq"
            rows = ask(query, (run_id, after)).fetchall()
        return [decode(body) for (body,) in rows]

    def run(self, run_id: str) -> RunRow:
        return only(run_id, self._rows("id >= %s AND id < %s ORDER BY id LIMIT 2", (run_id, run_id + LAST)))

    def runs(self, query: str = "", limit: int = 100, offset: int = 0, filters: Filters = NO_FILTERS) -> list[RunRow]:
        wanted: dict[LiteralString, Any] = {
            "(question ILIKE %s OR answer ILIKE %s)": [holding(query)] * 2 if query else (),
            "COALESCE(outcome, 'running') = ANY(%s)": _one(filters.outcomes),
            "framework = ANY(%s)": _one(filters.frameworks),
            "context = ANY(%s)": _one(filters.contexts),
            "model = ANY(%s)": _one(filters.models),
            "id IN (SELECT run FROM {schema}.tags WHERE tag = ANY(%s))": _one(filters.tags),
            "created >= %s": () if filters.since is None else (filters.since,),
            "origin = %s": (filters.origin,) if filters.origin else (),
        }
        conditions = [condition for condition, parameters in wanted.items() if parameters]
        where = " AND ".join(conditions or ["true"]) + " ORDER BY created DESC, id DESC LIMIT %s OFFSET %s"
        return self._rows(where, (*(each for parameters in wanted.values() for each in parameters), limit, offset))

    def tag(self, run_id: str, tags: Sequence[str]) -> None:
        insert: LiteralString = "INSERT INTO {schema}.tags SELECT %s, unnest(%s::text[]) ON CONFLICT DO NOTHING"
        with self._writing() as ask:
            ask("DELETE FROM {schema}.tags WHERE run = %s", (run_id,))
            ask(insert, (run_id, tidy(tags)))

    def tags(self) -> list[str]:
        query: LiteralString = (
            "SELECT DISTINCT tag FROM {schema}.tags JOIN {schema}.runs ON id = run WHERE deleted IS NULL ORDER BY tag"
        )
        with self._asking() as ask:
            return [tag for (tag,) in ask(query)]

    def delete(self, run_ids: Sequence[str]) -> None:
        self._set_deleted(run_ids, time.time())

    def restore(self, run_ids: Sequence[str]) -> None:
        self._set_deleted(run_ids, None)

    def _set_deleted(self, run_ids: Sequence[str], when: float | None) -> None:
        with self._asking() as ask:
            update: LiteralString = LOCKED + "UPDATE {schema}.runs SET deleted = %s FROM own WHERE runs.id = own.id"
            ask(update, (list(run_ids), when))

    def purge(self, before: float) -> int:
        self._commits.flush()
        with self._writing() as ask:
            query: LiteralString = "SELECT id FROM {schema}.runs WHERE deleted < %s ORDER BY id FOR UPDATE"
            gone = [run for (run,) in ask(query, (before,))]
            ask("DELETE FROM {schema}.events WHERE run = ANY(%s)", (gone,))
            ask("DELETE FROM {schema}.controls WHERE run = ANY(%s)", (gone,))
            ask("DELETE FROM {schema}.tags WHERE run = ANY(%s)", (gone,))
            ask("DELETE FROM {schema}.runs WHERE id = ANY(%s)", (gone,))
        return len(gone)

    def ask_for(self, run_id: str, control: Control) -> None:
        insert: LiteralString = "INSERT INTO {schema}.controls (run, control, time) VALUES (%s, %s, %s)"
        with self._asking() as ask:
            ask(insert, (run_id, control, time.time()))

    def controls(self, run_ids: Sequence[str]) -> dict[str, Control]:
        # In the order they were asked: the last request wins.
        query: LiteralString = "SELECT run, control FROM {schema}.controls WHERE run = ANY(%s) ORDER BY n"
        with self._asking() as ask:
            return dict(ask(query, (list(run_ids),)).fetchall())

    def withdraw(self, run_id: str) -> None:
        with self._asking() as ask:
            ask("DELETE FROM {schema}.controls WHERE run = %s", (run_id,))

    def beat(self, run_ids: Sequence[str]) -> None:
        self._commits.flush()  # for who watches from another process
        update: LiteralString = (
            LOCKED + "UPDATE {schema}.runs SET beat = %s, "
            "status = CASE status WHEN 'queued' THEN 'running' ELSE status END FROM own WHERE runs.id = own.id"
        )
        with self._asking() as ask:
            ask(update, (list(run_ids), time.time()))

    def queue(self, run_id: str) -> None:
        with self._asking() as ask:
            ask("UPDATE {schema}.runs SET status = 'queued' WHERE id = %s AND status = 'running'", (run_id,))

    def waiting(self, before: float) -> list[RunRow]:
        return self._rows("status IN ('queued', 'running') AND beat < %s ORDER BY beat, id", (before,))

    def pace(self, key: str, per_minute: float) -> float:
        # A virtual scheduler (generic cell rate algorithm without a burst): each turn is one interval after the last.
        turn: LiteralString = (
            "INSERT INTO {schema}.turns AS last VALUES (%s, %s) ON CONFLICT (key) "
            "DO UPDATE SET next = greatest(last.next + %s, excluded.next) RETURNING next"
        )
        now, interval = time.time(), 60 / per_minute
        with self._asking() as ask:
            mine: float
            ((mine,),) = ask(turn, (key, now, interval)).fetchall()
        return max(0.0, mine - now)

    def keep(self, kind: Kind, key: str, body: bytes) -> None:
        upsert: LiteralString = (
            "INSERT INTO {schema}.kept VALUES (%s, %s, %s, %s) "
            "ON CONFLICT (kind, key) DO UPDATE SET body = excluded.body, time = excluded.time"
        )
        with self._asking() as ask:
            ask(upsert, (kind, key, body, time.time()))

    def kept(self, kind: Kind, prefix: str = "") -> list[bytes]:
        query: LiteralString = (
            "SELECT body FROM {schema}.kept WHERE kind = %s AND starts_with(key, %s) ORDER BY time DESC, key"
        )
        with self._asking() as ask:
            return [body for (body,) in ask(query, (kind, prefix))]

    def drop(self, kind: Kind, key: str) -> None:
        with self._asking() as ask:
            ask("DELETE FROM {schema}.kept WHERE kind = %s AND key = %s", (kind, key))

    def whole(self, run_id: str) -> Whole | None:
        """Everything of one run, deleted or not; None where there is none of exactly that id."""
        self._commits.flush()
        rows = self._rows("id = %s", (run_id,), "true")
        with self._asking() as ask:
            deleted = ask("SELECT deleted FROM {schema}.runs WHERE id = %s", (run_id,)).fetchone()
            events = ask("SELECT seq, body FROM {schema}.events WHERE run = %s ORDER BY seq", (run_id,)).fetchall()
            controls = ask(
                "SELECT control, time FROM {schema}.controls WHERE run = %s ORDER BY n", (run_id,)
            ).fetchall()
        return Whole(rows[0], deleted[0], tuple(events), tuple(controls)) if rows and deleted else None

    def take(self, whole: Whole) -> bool:
        """Add a run as it was elsewhere, or what happened there since; False where all of it is here already.

        Raises `ConfigError` when it has gone on differently here and there.
        """
        row, own = whole.row, (whole.row.id,)
        update: LiteralString = (
            "UPDATE {schema}.runs SET status = %s, outcome = %s, answer = %s, updated = %s, beat = %s, deleted = %s "
            "WHERE id = %s"
        )
        add: LiteralString = "INSERT INTO {schema}.events SELECT %s, * FROM unnest(%s::bigint[], %s::text[])"
        ours = self.whole(row.id)
        there = ours.events if ours else ()
        if ours and whole.events == there[: len(whole.events)]:
            return False
        if there != whole.events[: len(there)]:
            raise ConfigError(f"run {row.id} has gone on differently here and there; delete it in one of the two")
        with self._writing() as ask:
            if ours is None:
                self._add(ask, row.id, row.question, row.recipe, row.origin, row.created)
            ask(add, (row.id, *columns(whole.events[len(there) :], 2)))
            ask(update, (row.status, row.outcome, row.answer, row.updated, row.beat, whole.deleted, row.id))
            ask("DELETE FROM {schema}.controls WHERE run = %s", own)
            for control in whole.controls:
                ask("INSERT INTO {schema}.controls (run, control, time) VALUES (%s, %s, %s)", (row.id, *control))
            ask("DELETE FROM {schema}.tags WHERE run = %s", own)
            ask("INSERT INTO {schema}.tags SELECT %s, unnest(%s::text[])", (row.id, list(row.tags)))
        return True

    def things(self) -> list[Thing]:
        """Everything that is kept beside runs."""
        with self._asking() as ask:
            query: LiteralString = "SELECT kind, key, body, time FROM {schema}.kept ORDER BY kind, key"
            return [Thing(*row) for row in ask(query)]

    def take_thing(self, thing: Thing) -> None:
        """Keep what was kept elsewhere, unless something later is here."""
        upsert: LiteralString = (
            "INSERT INTO {schema}.kept AS here VALUES (%s, %s, %s, %s) ON CONFLICT (kind, key) "
            "DO UPDATE SET body = excluded.body, time = excluded.time WHERE here.time < excluded.time"
        )
        with self._asking() as ask:
            ask(upsert, (thing.kind, thing.key, thing.body, thing.time))

    def _rows(
        self, where: LiteralString, parameters: tuple[Any, ...], listed: LiteralString = "deleted IS NULL"
    ) -> list[RunRow]:
        query: LiteralString = (
            "SELECT id, question, recipe, status, outcome, created, updated, beat, answer, origin, origin_how, "
            "origin_round, ARRAY(SELECT tag FROM {schema}.tags WHERE run = runs.id ORDER BY tag) "
            "FROM {schema}.runs WHERE "
        )
        with self._asking() as ask:
            rows = ask(query + listed + " AND " + where, parameters).fetchall()
        return [_row(*row) for row in rows]


def _row(id_: str, question: str, recipe: str, *rest: Any) -> RunRow:
    status, outcome, created, updated, beat, answer, run, how, number, tags = rest
    return RunRow(
        id_, question, decoding.decode(recipe, Recipe), status, outcome, created, updated, beat, answer,
        Origin(run, how, number) if run else None, tuple(tags),
    )  # fmt: skip


def _one(values: Sequence[str]) -> tuple[list[str], ...]:
    """As the one parameter of a condition, if anything is wanted."""
    return (list(values),) if values else ()
