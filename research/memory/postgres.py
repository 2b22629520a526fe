"""Entries, their words and their vectors in a schema of a Postgres, by psycopg."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, LiteralString

from research.database import connected, migrated, pool
from research.errors import ConfigError
from research.memory import NO_FILTERS, Entry, Filters
from research.memory.shelf import WEIGHED, Kept, conditions, full, rarest
from research.memory.tsvectors import FIELDS, RANKED, cut, indexed
from research.search.shelves import storable

if TYPE_CHECKING:
    from psycopg import Connection
    from psycopg.rows import TupleRow
    from psycopg.sql import Composed

_COLUMNS: Final = "number, id, kind, provenance, text, quote, url, title, run, round, time, tags, pinned"
_FETCHED: Final = 4_096
"""Vectors read at a time."""


class PostgresShelf:
    """Tables of their own in one schema; whoever writes there waits for the others that do.

    Words are a `tsvector` of what Python has cut and stripped of accents, so that the locale of the server means nothing;
    English is stemmed.  Vectors are plain bytes: they are compared in the matrix of each process, never by the server.
    Raises `ConfigError` where there is no Postgres, or no right to use it.
    """

    def __init__(self, url: str, schema: str) -> None:
        from psycopg.sql import Identifier

        self._pool = pool(url)
        self._schema = schema
        self._name = Identifier(schema)
        self._words = f"{self._name.as_string()}.words"
        self._sql: dict[str, Composed] = {}
        self._mine = threading.local()
        """The connection of the transaction that this thread is in."""
        migrated(self._pool, schema, "memory", _STEPS)

    def close(self) -> None:
        """Nothing: the connections are the process's, other stores use them too."""

    @contextmanager
    def writing(self) -> Iterator[None]:
        with self._using() as connection, connection.transaction():
            # Each statement sees what was committed before it: what the last writer did, once the lock is ours.
            connection.execute("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")
            connection.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"memory {self._schema}"])
            self._mine.connection = connection
            try:
                yield
            finally:
                self._mine.connection = None

    @contextmanager
    def _using(self) -> Iterator[Connection[TupleRow]]:
        import psycopg

        mine = getattr(self._mine, "connection", None)
        if mine is not None:
            yield mine
            return
        try:
            with connected(self._pool) as connection:
                yield connection
        except psycopg.Error as error:  # tables that are damaged, changed by hand, or not ours any more
            raise ConfigError(
                f"the memory in the schema {self._schema!r} of DATABASE_URL cannot be used: {' '.join(str(error).split())}"
            ) from error

    def _rows(self, query: LiteralString, *parameters: Any, binary: bool = False) -> list[TupleRow]:
        """What the statement returns; `{s}` in it stands for the schema."""
        with self._using() as connection:
            cursor = connection.execute(self._composed(query), parameters, binary=binary)
            return cursor.fetchall() if cursor.description else []

    def _many(self, query: LiteralString, parameters: Sequence[Sequence[Any]]) -> list[TupleRow]:
        """The first row that it returns for each of them, if it does; they go to the server together."""
        with self._using() as connection, connection.cursor() as cursor:
            cursor.executemany(self._composed(query), parameters, returning=True)
            return [row for each in cursor.results() if each.description and (row := each.fetchone())]

    def _composed(self, query: LiteralString) -> Composed:
        from psycopg.sql import SQL

        if query not in self._sql:
            self._sql[query] = SQL(query).format(s=self._name)
        return self._sql[query]

    # Entries

    def insert(self, entries: Sequence[tuple[Entry, float]]) -> list[int]:
        ids = [entry.id for entry, _ in entries]
        self._rows("DELETE FROM {s}.entries WHERE forgotten IS NOT NULL AND id = ANY(%s)", ids)
        rows = self._many(
            """INSERT INTO {s}.entries
            (id, kind, provenance, text, quote, url, title, run, round, time, tags, pinned, seen)
            VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s) RETURNING number""",
            [(
                e.id, e.kind, e.provenance, e.text, e.quote, e.url, e.title, e.run, e.round, e.time, list(e.tags),
                e.pinned, seen,
            ) for e, seen in entries],
        )  # fmt: skip
        numbers = [number for (number,) in rows]
        self._index(dict(zip(numbers, (entry for entry, _ in entries), strict=True)))
        return numbers

    def update(self, number: int, entry: Entry) -> None:
        self._rows(
            "UPDATE {s}.entries SET text = %s, provenance = %s, tags = %s WHERE number = %s",
            entry.text, entry.provenance, list(entry.tags), number,
        )  # fmt: skip
        self._index({number: entry})

    def freshen(self, ids: Sequence[str], when: float) -> None:
        self._rows("UPDATE {s}.entries SET seen = %s WHERE id = ANY(%s)", when, _among(ids))

    def pin(self, ids: Sequence[str], pinned: bool) -> None:
        self._rows("UPDATE {s}.entries SET pinned = %s WHERE id = ANY(%s)", pinned, _among(ids))

    def forget(self, ids: Sequence[str], when: float) -> list[int]:
        query: LiteralString = """UPDATE {s}.entries SET forgotten = %s
            WHERE forgotten IS NULL AND id = ANY(%s) RETURNING number"""
        gone = [number for (number,) in self._rows(query, when, _among(ids))]
        self._rows("DELETE FROM {s}.words WHERE number = ANY(%s)", gone)
        return gone

    def restore(self, ids: Sequence[str]) -> None:
        query: LiteralString = """UPDATE {s}.entries SET forgotten = NULL
            WHERE forgotten IS NOT NULL AND id = ANY(%s) RETURNING number"""
        numbers = [number for (number,) in self._rows(query, _among(ids))]
        self._index(self.entries(numbers))
        # Under new ids, so that every process sees them again.
        self._rows("UPDATE {s}.vectors SET id = DEFAULT WHERE entry = ANY(%s)", numbers)

    def purge(self, before: float) -> int:
        with self.writing():
            return len(self._rows("DELETE FROM {s}.entries WHERE forgotten < %s RETURNING 1", before))

    def evict(self, capacity: int) -> list[int]:
        excess = self.count() - capacity
        if excess <= 0:
            return []
        if self.count(Filters(pinned=True)) >= capacity:
            raise full(capacity)
        query: LiteralString = """DELETE FROM {s}.entries WHERE number IN (SELECT number FROM {s}.entries
            WHERE forgotten IS NULL AND NOT pinned ORDER BY seen, number LIMIT %s) RETURNING number"""
        return [number for (number,) in self._rows(query, excess)]

    def entries(self, numbers: Sequence[int]) -> dict[int, Entry]:
        query = f"SELECT {_COLUMNS} FROM {{s}}.entries WHERE forgotten IS NULL AND number = ANY(%s)"
        return {row[0]: _entry(*row[1:]) for row in self._rows(query, list(numbers))}

    def by_id(self, ids: Sequence[str], *, forgotten: bool = False) -> dict[str, int]:
        query: LiteralString = "SELECT id, number FROM {s}.entries WHERE (%s OR forgotten IS NULL) AND id = ANY(%s)"
        return dict(self._rows(query, forgotten, _among(ids)))

    def page(self, filters: Filters, limit: int, offset: int) -> list[tuple[int, Entry]]:
        where, parameters = _where(filters)
        query = f"SELECT {_COLUMNS} FROM {{s}}.entries WHERE {where} ORDER BY time DESC, number DESC LIMIT %s OFFSET %s"
        return [(row[0], _entry(*row[1:])) for row in self._rows(query, *parameters, limit, offset)]

    def numbers(self, filters: Filters = NO_FILTERS) -> list[int]:
        where, parameters = _where(filters)
        query = f"SELECT number FROM {{s}}.entries WHERE {where} ORDER BY number"
        return [number for (number,) in self._rows(query, *parameters, binary=True)]

    def of_sources(self, urls: Iterable[str]) -> list[int]:
        query: LiteralString = (
            "SELECT number FROM {s}.entries WHERE forgotten IS NULL AND url = ANY(%s) ORDER BY number"
        )
        return [number for (number,) in self._rows(query, _among(urls), binary=True)]

    def count(self, filters: Filters = NO_FILTERS) -> int:
        where, parameters = _where(filters)
        return int(self._rows(f"SELECT count(*) FROM {{s}}.entries WHERE {where}", *parameters)[0][0])

    def tags(self) -> list[str]:
        found = self._rows("SELECT DISTINCT unnest(tags) FROM {s}.entries WHERE forgotten IS NULL")
        return sorted(tag for (tag,) in found)

    def runs(self) -> list[str]:
        found = self._rows(
            "SELECT run FROM {s}.entries WHERE forgotten IS NULL AND run <> '' GROUP BY run ORDER BY max(time) DESC"
        )
        return [run for (run,) in found]

    def kept(self, after: int, limit: int) -> list[Kept]:
        found = f"SELECT {_COLUMNS}, seen, forgotten FROM {{s}}.entries WHERE number > %s ORDER BY number LIMIT %s"
        rows = self._rows(found, after, limit)
        vectors: dict[int, dict[str, bytes]] = {row[0]: {} for row in rows}
        of_these: LiteralString = """SELECT entry, name, vector FROM {s}.vectors
            JOIN {s}.encoders ON encoders.id = encoder WHERE entry = ANY(%s)"""
        for number, name, vector in self._rows(of_these, list(vectors), binary=True):
            vectors[number][name] = vector
        return [Kept(row[0], _entry(*row[1:-2]), row[-2], row[-1], vectors[row[0]]) for row in rows]

    # Words

    def by_words(self, words: Sequence[str], limit: int, filters: Filters) -> list[int]:
        counts, total = self._held(words)
        rare, scored = rarest((count, query) for query, count in counts.items())
        if filters != NO_FILTERS:
            rare = scored = [query for query, count in counts.items() if count]
        if not rare:
            return []
        where, parameters = _where(filters)
        inside = f"AND number IN (SELECT number FROM {{s}}.entries WHERE {where})" if filters != NO_FILTERS else ""
        idf = [max(1e-6, math.log((total - counts[query] + 0.5) / (counts[query] + 0.5))) for query in scored]
        found = self._rows(
            RANKED.replace("{inside}", inside), " | ".join(f"({query})" for query in rare),
            *(parameters if inside else ()), scored, idf, limit,
        )  # fmt: skip
        return [number for (number,) in found]

    def _held(self, words: Sequence[str]) -> tuple[dict[str, int], int]:
        """Each word as the server looks for it, with how many entries hold it, `WEIGHED` and a few at most.

        And how many entries there are, about.
        """
        query: LiteralString = """SELECT query::text,
                (SELECT count(*) FROM (SELECT 1 FROM {s}.words WHERE tokens @@ query LIMIT %s) AS first),
                (SELECT coalesce(max(number) - min(number) + 1, 0) FROM {s}.words)
            FROM (SELECT DISTINCT plainto_tsquery(%s::regconfig, word) AS query FROM unnest(%s::text[]) AS word) AS asked
            WHERE numnode(query) > 0"""
        rows = self._rows(query, WEIGHED + 1, self._words, [" ".join(cut(word)) for word in words])
        counts = {each: count for each, count, _ in rows}
        return counts, max([*counts.values(), *(total for _, _, total in rows)], default=0)

    def _index(self, entries: Mapping[int, Entry]) -> None:
        rows = []
        for number, entry in entries.items():
            texts = {"title": entry.title, "text": entry.text, "quote": entry.quote, "tags": " ".join(entry.tags)}
            fields = indexed([texts[name] for name in FIELDS])
            rows.append((number, sum(map(len, fields)), *map(" ".join, fields), self._words))
        self._many(
            """INSERT INTO {s}.words (number, length, tokens)
            SELECT %s, %s, setweight(to_tsvector(config, %s), 'A') || setweight(to_tsvector(config, %s), 'B')
                || setweight(to_tsvector(config, %s), 'C') || setweight(to_tsvector(config, %s), 'D')
            FROM (SELECT %s::regconfig AS config) AS own
            ON CONFLICT (number) DO UPDATE SET length = excluded.length, tokens = excluded.tokens""",
            rows,
        )

    # Vectors

    def encoders(self) -> list[str]:
        query: LiteralString = """SELECT name FROM {s}.encoders
            WHERE EXISTS (SELECT 1 FROM {s}.vectors WHERE encoder = encoders.id)"""
        return [name for (name,) in self._rows(query)]

    def keep_encoder(self, name: str) -> None:
        self._rows("DELETE FROM {s}.encoders WHERE name <> %s", name)

    def put_vectors(self, encoder: str, vectors: Mapping[int, bytes]) -> None:
        if not vectors:
            return
        dimension = len(next(iter(vectors.values()))) // 4
        self._rows(
            "INSERT INTO {s}.encoders (name, dimension) VALUES (%s, %s) ON CONFLICT DO NOTHING",
            encoder, dimension,
        )  # fmt: skip
        self._rows(
            """INSERT INTO {s}.vectors (entry, encoder, vector)
            SELECT entry, encoders.id, vector FROM {s}.encoders, unnest(%s::bigint[], %s::bytea[]) AS new (entry, vector)
            WHERE name = %s ON CONFLICT (entry, encoder) DO UPDATE SET id = DEFAULT, vector = excluded.vector""",
            list(vectors), list(vectors.values()), encoder,
        )  # fmt: skip

    def vectors(self, encoder: str, after: int) -> Iterator[list[tuple[int, int, bytes]]]:
        query: LiteralString = """SELECT vectors.id, entry, vector FROM {s}.vectors JOIN {s}.entries ON number = entry
            WHERE vectors.id > %s AND encoder = (SELECT id FROM {s}.encoders WHERE name = %s) AND forgotten IS NULL
            ORDER BY vectors.id LIMIT %s"""
        while rows := self._rows(query, after, encoder, _FETCHED, binary=True):
            yield [(id_, entry, vector) for id_, entry, vector in rows]
            after = rows[-1][0]

    def without_vector(self, encoder: str, limit: int) -> dict[int, Entry]:
        query = f"""SELECT {_COLUMNS} FROM {{s}}.entries WHERE forgotten IS NULL AND NOT EXISTS (
            SELECT 1 FROM {{s}}.vectors WHERE entry = number
            AND encoder = (SELECT id FROM {{s}}.encoders WHERE name = %s)) ORDER BY number LIMIT %s"""
        return {row[0]: _entry(*row[1:]) for row in self._rows(query, encoder, limit)}


def _where(filters: Filters) -> tuple[str, tuple[object, ...]]:
    return conditions(filters, _among, mark="%s", listed="= ANY(%s)", tagged="tags && %s::text[]")


def _entry(id_: str, kind: Any, provenance: Any, text: str, quote: str, url: str, *rest: Any) -> Entry:
    title, run, number, time, tags, pinned = rest
    return Entry(text, kind, id_, provenance, run, number, url, title, quote, time, tuple(tags), pinned)


def _among(words: Iterable[str]) -> list[str]:
    """What is looked for: a lone surrogate is nowhere."""
    return [storable(word) for word in words]


_STEPS: Final = (
    """CREATE TABLE {schema}.entries (
        number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, id text NOT NULL, kind text NOT NULL,
        provenance text NOT NULL, text text NOT NULL, quote text NOT NULL, url text NOT NULL, title text NOT NULL,
        run text NOT NULL, round integer NOT NULL, time float8 NOT NULL, tags text[] NOT NULL, pinned boolean NOT NULL,
        seen float8 NOT NULL, forgotten float8,
        -- By hashes: a value may be longer than an ordered index takes.
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
