"""The store of a memory in one schema of a Postgres."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

from research.memory import NO_FILTERS, Entry, Filters
from research.memory.postgres_tables import MemorySchema
from research.memory.store import MAX_OCCURRENCES, MemoryStore, rarest
from research.memory.tsvectors import FIELDS, RANKED, cut, indexed
from research.text import storable


class PostgresMemoryStore(MemoryStore):
    """Tables in one schema.  A writer waits for the other writers of the schema.

    Words are stored as a `tsvector` of words that Python has split and stripped of accents, so that the server's locale
    does not matter; English is stemmed.  Vectors are plain bytes: each process compares them in its own matrix.  Raises
    `ConfigError` without a Postgres, or without the right to use it.
    """

    _tagged = "tags && ?::text[]"

    def __init__(self, url: str, schema: str) -> None:
        self._schema = MemorySchema(url, schema)

    def close(self) -> None:
        """Do nothing: other stores of this process share the connections."""

    def writing(self) -> AbstractContextManager[None]:
        return self._schema.writing()

    def _rows(self, query: str, *parameters: Any) -> list[Any]:
        return self._schema.rows(query, *map(_parameter, parameters))

    def _each(self, query: str, parameters: Sequence[Sequence[Any]]) -> list[Any]:
        return self._schema.many(query, parameters)

    def tags(self) -> list[str]:
        found = self._schema.rows("SELECT DISTINCT unnest(tags) FROM {s}.entries WHERE forgotten IS NULL")
        return sorted(tag for (tag,) in found)

    def search_words(self, words: Sequence[str], limit: int, filters: Filters) -> list[int]:
        counts, total = self._counts(words)
        rare, scored = rarest((count, query) for query, count in counts.items())
        if filters != NO_FILTERS:
            rare = scored = [query for query, count in counts.items() if count]
        if not rare:
            return []
        where, parameters = self._where(filters)
        inside = f"AND number IN (SELECT number FROM {{s}}.entries WHERE {where})" if filters != NO_FILTERS else ""
        idf = [max(1e-6, math.log((total - counts[query] + 0.5) / (counts[query] + 0.5))) for query in scored]
        any_rare = " | ".join(f"({query})" for query in rare)
        selected = parameters if inside else ()
        return self._numbers(RANKED.replace("{inside}", inside), any_rare, *selected, scored, idf, limit)

    def _counts(self, words: Sequence[str]) -> tuple[dict[str, int], int]:
        """Return the number of entries that contain each word, and the approximate number of all entries.

        The keys are the words as `tsquery` texts; counting stops just above `MAX_OCCURRENCES`.
        """
        query = """SELECT query::text,
                (SELECT count(*) FROM (SELECT 1 FROM {s}.words WHERE tokens @@ query LIMIT ?) AS first),
                (SELECT coalesce(max(number) - min(number) + 1, 0) FROM {s}.words)
            FROM (SELECT DISTINCT plainto_tsquery(?::regconfig, word) AS query FROM unnest(?::text[]) AS word) AS asked
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
            SELECT ?, ?, setweight(to_tsvector(config, ?), 'A') || setweight(to_tsvector(config, ?), 'B')
                || setweight(to_tsvector(config, ?), 'C') || setweight(to_tsvector(config, ?), 'D')
            FROM (SELECT ?::regconfig AS config) AS own
            ON CONFLICT (number) DO UPDATE SET length = excluded.length, tokens = excluded.tokens""",
            rows,
        )

    def _unindex(self, numbers: Sequence[int]) -> None:
        self._rows("DELETE FROM {s}.words WHERE number {any}", numbers)

    def _put_vectors(self, encoder: str, vectors: Mapping[int, bytes]) -> None:
        query = """INSERT INTO {s}.vectors (entry, encoder, vector)
            SELECT entry, encoders.id, vector FROM {s}.encoders, unnest(?::bigint[], ?::bytea[]) AS new (entry, vector)
            WHERE name = ? ON CONFLICT (entry, encoder) DO UPDATE SET id = DEFAULT, vector = excluded.vector"""
        self._schema.rows(query, list(vectors), list(vectors.values()), encoder)

    def _renew_vectors(self, numbers: Sequence[int]) -> None:
        self._rows("UPDATE {s}.vectors SET id = DEFAULT WHERE entry {any}", numbers)


def _parameter(value: Any) -> Any:
    """Return the words of a list without lone surrogates, which Postgres cannot store."""
    return [storable(each) if isinstance(each, str) else each for each in value] if isinstance(value, list) else value
