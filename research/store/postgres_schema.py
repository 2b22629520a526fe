"""The tables of a store in Postgres, and a connection that fills in the name of their schema."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, LiteralString

if TYPE_CHECKING:
    from psycopg import Connection, Cursor
    from psycopg.rows import TupleRow

MIGRATIONS: Final[Sequence[LiteralString]] = (
    # COLLATE "C" sorts as SQLite does.  The fill factor leaves room on each page for heartbeats.
    """CREATE TABLE {schema}.runs (
        id text COLLATE "C" PRIMARY KEY, question text NOT NULL, recipe text NOT NULL, recipe_hash text NOT NULL,
        framework text NOT NULL, context text NOT NULL, model text NOT NULL,
        status text NOT NULL, outcome text, answer text NOT NULL,
        created float8 NOT NULL, updated float8 NOT NULL, beat float8 NOT NULL, deleted float8,
        origin text NOT NULL, origin_how text NOT NULL, origin_round integer NOT NULL
    ) WITH (fillfactor = 80);
    CREATE INDEX ON {schema}.runs (created DESC, id DESC) WHERE deleted IS NULL;
    CREATE INDEX ON {schema}.runs (id) WHERE status IN ('queued', 'running');
    CREATE INDEX ON {schema}.runs (deleted) WHERE deleted IS NOT NULL;
    CREATE INDEX ON {schema}.runs (origin) WHERE origin <> '';
    CREATE TABLE {schema}.events (
        run text COLLATE "C", seq bigint, body text NOT NULL, PRIMARY KEY (run, seq)
    );
    CREATE TABLE {schema}.controls (
        n bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, run text NOT NULL, control text NOT NULL,
        time float8 NOT NULL
    );
    CREATE INDEX ON {schema}.controls (run);
    CREATE TABLE {schema}.tags (run text, tag text COLLATE "C", PRIMARY KEY (run, tag));
    CREATE INDEX ON {schema}.tags (tag);
    CREATE TABLE {schema}.kept (
        kind text, key text COLLATE "C", body bytea NOT NULL, time float8 NOT NULL, PRIMARY KEY (kind, key)
    );
    CREATE TABLE {schema}.turns (key text PRIMARY KEY, next float8 NOT NULL)""",
)
"""Every change of the tables, in order; add new ones at the end."""

LOCKED: Final = "WITH own AS (SELECT id FROM {schema}.runs WHERE id = ANY(%s) ORDER BY id FOR UPDATE) "
"""Locks several runs before an update, always in the same order, which prevents deadlocks."""


class SchemaConnection:
    """Executes queries after replacing `{schema}` by the quoted name of the store's schema."""

    def __init__(self, connection: Connection[TupleRow], schema: Any) -> None:
        self.connection = connection
        self._schema = schema

    def __call__(self, query: LiteralString, parameters: Sequence[Any] = ()) -> Cursor[TupleRow]:
        from psycopg.sql import SQL

        return self.connection.execute(SQL(query).format(schema=self._schema), parameters)


def columns(rows: Sequence[tuple[Any, ...]], width: int) -> list[list[Any]]:
    """Return the rows, of `width` values each, as one list per column."""
    return [[row[column] for row in rows] for column in range(width)]
