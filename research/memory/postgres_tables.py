"""One schema of a Postgres with the tables of a memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from research.errors import ConfigError
from research.store.postgres_schema import Schema

if TYPE_CHECKING:
    from psycopg import Connection
    from psycopg.rows import TupleRow


class MemorySchema(Schema):
    """The connections to the tables of a memory.

    Raises `ConfigError` without a Postgres, or without the right to use it.
    """

    def __init__(self, url: str, schema: str) -> None:
        super().__init__(url, schema, "memory", _STEPS)
        self.words = f"{self._identifier.as_string()}.words"
        """The text search configuration of the schema."""

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Open a transaction; it waits for other writers of this schema."""
        with super().writing():
            # Each statement must see what was committed before it, such as what the last writer did before our lock.
            self.rows("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")
            self.rows("SELECT pg_advisory_xact_lock(hashtextextended(?, 0))", f"memory {self.name}")
            yield

    @contextmanager
    def _connected(self) -> Iterator[Connection[TupleRow]]:
        import psycopg

        try:
            with super()._connected() as connection:
                yield connection
        except psycopg.Error as error:  # the tables are damaged, changed by hand, or no longer ours
            raise ConfigError(
                f"the memory in the schema {self.name!r} of DATABASE_URL cannot be used: {' '.join(str(error).split())}"
            ) from error


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
