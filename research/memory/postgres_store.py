"""The store of a memory in one schema of a Postgres."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final, LiteralString

from research.memory import NO_FILTERS, Entry, Filters
from research.memory.postgres_tables import Schema
from research.memory.store import MAX_OCCURRENCES, StoredEntry, conditions, excess, rarest
from research.memory.tsvectors import FIELDS, RANKED, cut, indexed
from research.text import storable

_COLUMNS: Final = "number, id, kind, provenance, text, quote, url, title, run, round, time, tags, pinned"
_FETCH: Final = 4_096
"""Vectors read at a time."""


class PostgresMemoryStore:
    """Tables in one schema.  A writer waits for the other writers of the schema.

    Words are stored as a `tsvector` of words that Python has split and stripped of accents, so that the server's locale
    does not matter; English is stemmed.  Vectors are plain bytes: each process compares them in its own matrix.  Raises
    `ConfigError` without a Postgres, or without the right to use it.
    """

    def __init__(self, url: str, schema: str) -> None:
        self._schema = Schema(url, schema)

    def close(self) -> None:
        """Do nothing: other stores of this process share the connections."""

    def writing(self) -> AbstractContextManager[None]:
        return self._schema.writing()

    # Entries

    def insert(self, entries: Sequence[tuple[Entry, float]]) -> list[int]:
        ids = [entry.id for entry, _ in entries]
        self._schema.rows("DELETE FROM {s}.entries WHERE forgotten IS NOT NULL AND id = ANY(%s)", ids)
        names = _COLUMNS.split(", ")[1:]
        values = [{name: getattr(entry, name) for name in names} | {"tags": list(entry.tags)} for entry, _ in entries]
        rows = self._schema.many(
            """INSERT INTO {s}.entries
            (id, kind, provenance, text, quote, url, title, run, round, time, tags, pinned, seen)
            VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s) RETURNING number""",
            [(*row.values(), last_used) for row, (_, last_used) in zip(values, entries, strict=True)],
        )
        numbers = [number for (number,) in rows]
        self._index(dict(zip(numbers, (entry for entry, _ in entries), strict=True)))
        return numbers

    def update(self, number: int, entry: Entry) -> None:
        self._schema.rows(
            "UPDATE {s}.entries SET text = %s, provenance = %s, tags = %s WHERE number = %s",
            entry.text,
            entry.provenance,
            list(entry.tags),
            number,
        )
        self._index({number: entry})

    def touch(self, ids: Sequence[str], when: float) -> None:
        self._schema.rows("UPDATE {s}.entries SET seen = %s WHERE id = ANY(%s)", when, _among(ids))

    def pin(self, ids: Sequence[str], pinned: bool) -> None:
        self._schema.rows("UPDATE {s}.entries SET pinned = %s WHERE id = ANY(%s)", pinned, _among(ids))

    def forget(self, ids: Sequence[str], when: float) -> list[int]:
        query: LiteralString = """UPDATE {s}.entries SET forgotten = %s
            WHERE forgotten IS NULL AND id = ANY(%s) RETURNING number"""
        numbers = [number for (number,) in self._schema.rows(query, when, _among(ids))]
        self._schema.rows("DELETE FROM {s}.words WHERE number = ANY(%s)", numbers)
        return numbers

    def restore(self, ids: Sequence[str]) -> None:
        query: LiteralString = """UPDATE {s}.entries SET forgotten = NULL
            WHERE forgotten IS NOT NULL AND id = ANY(%s) RETURNING number"""
        numbers = [number for (number,) in self._schema.rows(query, _among(ids))]
        self._index(self.entries(numbers))
        # Give the vectors new ids, so that every process loads them again.
        self._schema.rows("UPDATE {s}.vectors SET id = DEFAULT WHERE entry = ANY(%s)", numbers)

    def purge(self, before: float) -> int:
        with self.writing():
            return len(self._schema.rows("DELETE FROM {s}.entries WHERE forgotten < %s RETURNING 1", before))

    def evict(self, capacity: int) -> list[int]:
        surplus = excess(self, capacity)
        if not surplus:
            return []
        query: LiteralString = """DELETE FROM {s}.entries WHERE number IN (SELECT number FROM {s}.entries
            WHERE forgotten IS NULL AND NOT pinned ORDER BY seen, number LIMIT %s) RETURNING number"""
        return [number for (number,) in self._schema.rows(query, surplus)]

    def entries(self, numbers: Sequence[int]) -> dict[int, Entry]:
        query = f"SELECT {_COLUMNS} FROM {{s}}.entries WHERE forgotten IS NULL AND number = ANY(%s)"
        return {row[0]: _entry(row[1:]) for row in self._schema.rows(query, list(numbers))}

    def by_id(self, ids: Sequence[str], *, forgotten: bool = False) -> dict[str, int]:
        query: LiteralString = "SELECT id, number FROM {s}.entries WHERE (%s OR forgotten IS NULL) AND id = ANY(%s)"
        return dict(self._schema.rows(query, forgotten, _among(ids)))

    def page(self, filters: Filters, limit: int, offset: int) -> list[tuple[int, Entry]]:
        where, parameters = _where(filters)
        query = f"SELECT {_COLUMNS} FROM {{s}}.entries WHERE {where} ORDER BY time DESC, number DESC LIMIT %s OFFSET %s"
        return [(row[0], _entry(row[1:])) for row in self._schema.rows(query, *parameters, limit, offset)]

    def numbers(self, filters: Filters = NO_FILTERS) -> list[int]:
        where, parameters = _where(filters)
        query = f"SELECT number FROM {{s}}.entries WHERE {where} ORDER BY number"
        return [number for (number,) in self._schema.rows(query, *parameters, binary=True)]

    def by_url(self, urls: Iterable[str]) -> list[int]:
        query: LiteralString = (
            "SELECT number FROM {s}.entries WHERE forgotten IS NULL AND url = ANY(%s) ORDER BY number"
        )
        return [number for (number,) in self._schema.rows(query, _among(urls), binary=True)]

    def count(self, filters: Filters = NO_FILTERS) -> int:
        where, parameters = _where(filters)
        return int(self._schema.rows(f"SELECT count(*) FROM {{s}}.entries WHERE {where}", *parameters)[0][0])

    def tags(self) -> list[str]:
        found = self._schema.rows("SELECT DISTINCT unnest(tags) FROM {s}.entries WHERE forgotten IS NULL")
        return sorted(tag for (tag,) in found)

    def runs(self) -> list[str]:
        found = self._schema.rows(
            "SELECT run FROM {s}.entries WHERE forgotten IS NULL AND run <> '' GROUP BY run ORDER BY max(time) DESC"
        )
        return [run for (run,) in found]

    def stored(self, after: int, limit: int) -> list[StoredEntry]:
        found = f"SELECT {_COLUMNS}, seen, forgotten FROM {{s}}.entries WHERE number > %s ORDER BY number LIMIT %s"
        rows = self._schema.rows(found, after, limit)
        vectors: dict[int, dict[str, bytes]] = {row[0]: {} for row in rows}
        of_these: LiteralString = """SELECT entry, name, vector FROM {s}.vectors
            JOIN {s}.encoders ON encoders.id = encoder WHERE entry = ANY(%s)"""
        for number, name, vector in self._schema.rows(of_these, list(vectors), binary=True):
            vectors[number][name] = vector
        return [StoredEntry(row[0], _entry(row[1:-2]), row[-2], row[-1], vectors[row[0]]) for row in rows]

    # Words

    def search_words(self, words: Sequence[str], limit: int, filters: Filters) -> list[int]:
        counts, total = self._counts(words)
        rare, scored = rarest((count, query) for query, count in counts.items())
        if filters != NO_FILTERS:
            rare = scored = [query for query, count in counts.items() if count]
        if not rare:
            return []
        where, parameters = _where(filters)
        inside = f"AND number IN (SELECT number FROM {{s}}.entries WHERE {where})" if filters != NO_FILTERS else ""
        idf = [max(1e-6, math.log((total - counts[query] + 0.5) / (counts[query] + 0.5))) for query in scored]
        any_rare = " | ".join(f"({query})" for query in rare)
        selected = parameters if inside else ()
        found = self._schema.rows(RANKED.replace("{inside}", inside), any_rare, *selected, scored, idf, limit)
        return [number for (number,) in found]

    def _counts(self, words: Sequence[str]) -> tuple[dict[str, int], int]:
        """Return the number of entries that contain each word, and the approximate number of all entries.

        The keys are the words as `tsquery` texts; counting stops just above `MAX_OCCURRENCES`.
        """
        query: LiteralString = """SELECT query::text,
                (SELECT count(*) FROM (SELECT 1 FROM {s}.words WHERE tokens @@ query LIMIT %s) AS first),
                (SELECT coalesce(max(number) - min(number) + 1, 0) FROM {s}.words)
            FROM (SELECT DISTINCT plainto_tsquery(%s::regconfig, word) AS query FROM unnest(%s::text[]) AS word) AS asked
            WHERE numnode(query) > 0"""
        rows = self._schema.rows(
            query, MAX_OCCURRENCES + 1, self._schema.words, [" ".join(cut(word)) for word in words]
        )
        counts = {each: count for each, count, _ in rows}
        return counts, max([*counts.values(), *(total for _, _, total in rows)], default=0)

    def _index(self, entries: Mapping[int, Entry]) -> None:
        rows = []
        for number, entry in entries.items():
            texts = {"title": entry.title, "text": entry.text, "quote": entry.quote, "tags": " ".join(entry.tags)}
            fields = indexed([texts[name] for name in FIELDS])
            rows.append((number, sum(map(len, fields)), *map(" ".join, fields), self._schema.words))
        self._schema.many(
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
        return [name for (name,) in self._schema.rows(query)]

    def drop_other_encoders(self, name: str) -> None:
        self._schema.rows("DELETE FROM {s}.encoders WHERE name <> %s", name)

    def put_vectors(self, encoder: str, vectors: Mapping[int, bytes]) -> None:
        if not vectors:
            return
        dimension = len(next(iter(vectors.values()))) // 4
        self._schema.rows(
            "INSERT INTO {s}.encoders (name, dimension) VALUES (%s, %s) ON CONFLICT DO NOTHING",
            encoder,
            dimension,
        )
        self._schema.rows(
            """INSERT INTO {s}.vectors (entry, encoder, vector)
            SELECT entry, encoders.id, vector FROM {s}.encoders, unnest(%s::bigint[], %s::bytea[]) AS new (entry, vector)
            WHERE name = %s ON CONFLICT (entry, encoder) DO UPDATE SET id = DEFAULT, vector = excluded.vector""",
            list(vectors),
            list(vectors.values()),
            encoder,
        )

    def vectors(self, encoder: str, after: int) -> Iterator[list[tuple[int, int, bytes]]]:
        query: LiteralString = """SELECT vectors.id, entry, vector FROM {s}.vectors JOIN {s}.entries ON number = entry
            WHERE vectors.id > %s AND encoder = (SELECT id FROM {s}.encoders WHERE name = %s) AND forgotten IS NULL
            ORDER BY vectors.id LIMIT %s"""
        while rows := self._schema.rows(query, after, encoder, _FETCH, binary=True):
            yield [(id_, entry, vector) for id_, entry, vector in rows]
            after = rows[-1][0]

    def without_vector(self, encoder: str, limit: int) -> dict[int, Entry]:
        query = f"""SELECT {_COLUMNS} FROM {{s}}.entries WHERE forgotten IS NULL AND NOT EXISTS (
            SELECT 1 FROM {{s}}.vectors WHERE entry = number
            AND encoder = (SELECT id FROM {{s}}.encoders WHERE name = %s)) ORDER BY number LIMIT %s"""
        return {row[0]: _entry(row[1:]) for row in self._schema.rows(query, encoder, limit)}


def _where(filters: Filters) -> tuple[str, tuple[object, ...]]:
    return conditions(filters, _among, mark="%s", listed="= ANY(%s)", tagged="tags && %s::text[]")


def _entry(row: Sequence[Any]) -> Entry:
    id_, kind, provenance, text, quote, url, title, run, number, time, tags, pinned = row
    return Entry(text, kind, id_, provenance, run, number, url, title, quote, time, tuple(tags), pinned)


def _among(words: Iterable[str]) -> list[str]:
    """Return words to search for, without lone surrogates, which Postgres cannot store."""
    return [storable(word) for word in words]
