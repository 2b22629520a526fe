"""One schema of a Postgres with the tables of a memory: its connections, transactions and statements."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, LiteralString

from research.errors import ConfigError
from research.store.database import apply_migrations, connected, pool

if TYPE_CHECKING:
    from psycopg import Connection
    from psycopg.rows import TupleRow
    from psycopg.sql import Composed


class Schema:
    """Executes statements in one schema.  Raises `ConfigError` without a Postgres, or without the right to use it."""

    def __init__(self, url: str, schema: str) -> None:
        from psycopg.sql import Identifier

        self._pool = pool(url)
        self._schema = schema
        self._name = Identifier(schema)
        self.words = f"{self._name.as_string()}.words"
        """The text search configuration of the schema."""
        self._sql: dict[str, Composed] = {}
        self._transaction = threading.local()
        """The connection of this thread's transaction."""
        apply_migrations(self._pool, schema, "memory", _STEPS)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Open a transaction; it waits for other writers of this schema."""
        with self._using() as connection, connection.transaction():
            # Each statement must see what was committed before it, such as what the last writer did before our lock.
            connection.execute("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")
            connection.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"memory {self._schema}"])
            self._transaction.connection = connection
            try:
                yield
            finally:
                self._transaction.connection = None

    @contextmanager
    def _using(self) -> Iterator[Connection[TupleRow]]:
        import psycopg

        current = getattr(self._transaction, "connection", None)
        if current is not None:
            yield current
            return
        try:
            with connected(self._pool) as connection:
                yield connection
        except psycopg.Error as error:  # the tables are damaged, changed by hand, or no longer ours
            raise ConfigError(
                f"the memory in the schema {self._schema!r} of DATABASE_URL cannot be used: {' '.join(str(error).split())}"
            ) from error

    def rows(self, query: LiteralString, *parameters: Any) -> list[TupleRow]:
        """Execute a statement and return its rows; `{s}` in it is replaced by the schema."""
        with self._using() as connection:
            cursor = connection.execute(self._composed(query), parameters, binary=True)
            return cursor.fetchall() if cursor.description else []

    def many(self, query: LiteralString, parameters: Sequence[Sequence[Any]]) -> list[TupleRow]:
        """Execute a statement for each set of parameters in one exchange; return the first row of each, if any."""
        with self._using() as connection, connection.cursor() as cursor:
            cursor.executemany(self._composed(query), parameters, returning=True)
            return [row for each in cursor.results() if each.description and (row := each.fetchone())]

    def _composed(self, query: LiteralString) -> Composed:
        from psycopg.sql import SQL

        if query not in self._sql:
            self._sql[query] = SQL(query).format(s=self._name)
        return self._sql[query]


_STEPS: Final = (
    """CREATE TABLE {schema}.entries (
        number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, id text NOT NULL, kind text NOT NULL,
        provenance text NOT NULL, text text NOT NULL, quote text NOT NULL, url text NOT NULL, title text NOT NULL,
        run text NOT NULL, round integer NOT NULL, time float8 NOT NULL, tags text[] NOT NULL, pinned boolean NOT NULL,
        seen float8 NOT NULL, forgotten float8,
        -- By hash, because a value may be too long for an ordered index.
        EXCLUDE USING hash (id WITH =));
    CREATE INDEX entries_url ON {schema}.entries USING hash (url);
    CREATE INDEX entries_run ON {schema}.entries USING hash (run);
    CREATE INDEX entries_time ON {schema}.entries (time);
    CREATE INDEX entries_seen ON {schema}.entries (seen, number) WHERE forgotten IS NULL AND NOT pinned;
    CREATE TABLE {schema}.encoders (
        id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text NOT NULL UNIQUE, dimension integer NOT NULL);
    CREATE TABLE {schema}.vectors (
        id bigint GENERATED ALWAYS AS IDENTITY, entry bigint NOT NULL REFERENCES {schema}.entries ON DELETE CASCADE,
        encoder integer NOT NULL REFERENCES {schema}.encoders ON DELETE CASCADE, vector bytea NOT NULL,
        PRIMARY KEY (entry, encoder));
    -- They cannot be compressed.
    ALTER TABLE {schema}.vectors ALTER vector SET STORAGE EXTERNAL;
    CREATE INDEX vectors_encoder ON {schema}.vectors (encoder, id);
    CREATE TEXT SEARCH DICTIONARY {schema}.stem (TEMPLATE = pg_catalog.snowball, Language = english);
    CREATE TEXT SEARCH CONFIGURATION {schema}.words (COPY = pg_catalog.english);
    ALTER TEXT SEARCH CONFIGURATION {schema}.words ALTER MAPPING REPLACE pg_catalog.english_stem WITH {schema}.stem;
    CREATE TABLE {schema}.words (
        number bigint PRIMARY KEY REFERENCES {schema}.entries ON DELETE CASCADE, length integer NOT NULL,
        tokens tsvector NOT NULL);
    -- What was added is in the index at once: a search does not go through a list of it.
    CREATE INDEX words_tokens ON {schema}.words USING gin (tokens) WITH (fastupdate = off)""",
)
