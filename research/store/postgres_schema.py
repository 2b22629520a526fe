"""The tables of a store in Postgres, and the connections to a schema."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, Final, LiteralString

from research.store.database import apply_migrations, availability, connected, pool

if TYPE_CHECKING:
    from psycopg import Connection
    from psycopg.rows import TupleRow
    from psycopg.sql import Composed

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


class Schema:
    """The connections of this process to one schema.  Safe for threads."""

    def __init__(self, url: str, name: str, part: str, steps: Sequence[LiteralString]) -> None:
        """`part` and `steps` as in `apply_migrations`."""
        from psycopg.sql import Identifier

        self.name, self._identifier = name, Identifier(name)
        self._pool = pool(url)
        self._composed: dict[str, Composed] = {}
        self._transaction = threading.local()
        """The connection of this thread's transaction."""
        apply_migrations(self._pool, name, part, steps)

    @property
    def available_since(self) -> float:
        """As in `Leases`."""
        return availability(self._pool).since

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Open a transaction, in which this thread executes its statements.  Raises `StoreUnavailable`."""
        with self._using() as connection, connection.transaction():
            self._transaction.connection = connection
            try:
                yield
            finally:
                self._transaction.connection = None

    @contextmanager
    def _using(self) -> Iterator[Connection[TupleRow]]:
        current = getattr(self._transaction, "connection", None)
        if current is not None:
            yield current
            return
        with self._connected() as connection:
            yield connection

    def _connected(self) -> AbstractContextManager[Connection[TupleRow]]:
        return connected(self._pool)

    def rows(self, query: str, *parameters: Any) -> list[TupleRow]:
        """Execute a statement in the notation of `Statements`, and return its rows.  Raises `StoreUnavailable`."""
        with self._using() as connection:
            cursor = connection.execute(self._sql(query), parameters, binary=True)
            return cursor.fetchall() if cursor.description else []

    def many(self, query: str, parameters: Sequence[Sequence[Any]]) -> list[TupleRow]:
        """Execute a statement for each set of parameters in one exchange; return the first row of each, if any."""
        with self._using() as connection, connection.cursor() as cursor:
            cursor.executemany(self._sql(query), parameters, returning=True)
            return [row for each in cursor.results() if each.description and (row := each.fetchone())]

    def _sql(self, query: str) -> Composed:
        from psycopg.sql import SQL

        if query not in self._composed:
            written = query.replace("?", "%s").replace("{any}", "= ANY(%s)")
            self._composed[query] = SQL(written).format(s=self._identifier)
        return self._composed[query]


def columns(rows: Sequence[tuple[Any, ...]], width: int) -> list[list[Any]]:
    """Return the rows, of `width` values each, as one list per column."""
    return [[row[column] for row in rows] for column in range(width)]
