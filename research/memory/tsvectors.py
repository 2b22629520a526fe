"""Index the words of entries as Postgres `tsvector` values, and rank them by BM25."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Final

from research.memory.store import WEIGHTS
from research.text import segment, storable

FIELDS: Final = ("title", "tags", "text", "quote")
"""Fields of an entry, for the labels A to D of a `tsvector`; if the words are too many, the last ones are cut off."""
_MAX_WEIGHT: Final = max(WEIGHTS.values())
_LABELS: Final = ", ".join(str(WEIGHTS[name] / _MAX_WEIGHT) for name in reversed(FIELDS))
_MAX_BYTES: Final = 1_000_000
"""Bytes of the words of one entry; Postgres accepts 2^20, including its own data for each word."""
_RECENT: Final = 500
"""Latest entries, whose mean length approximates that of all entries."""
_WORD: Final = re.compile(r"[^\W_]+")

RANKED: Final = f"""SELECT number FROM (
        SELECT number, tokens || ''::tsvector AS tokens, 1.2 * (0.25 + 0.75 * length / (
            SELECT greatest(avg(length), 1)::float8
            FROM (SELECT length FROM {{s}}.words ORDER BY number DESC LIMIT {_RECENT}) AS recent)) AS spread
        FROM {{s}}.words
        WHERE tokens @@ ?::tsquery {{inside}} OFFSET 0) AS candidates
    ORDER BY (SELECT sum(idf * 2.2 * often / (often + spread))
        FROM unnest(?::tsquery[], ?::float8[]) AS each (query, idf),
            LATERAL (SELECT {_MAX_WEIGHT} * 1.645 * ts_rank(ARRAY[{_LABELS}]::real[], tokens, query) AS often) AS counted
        ) DESC, number
    LIMIT ?"""
"""BM25 (Robertson and Zaragoza 2009) with k1 = 1.2 and b = 0.75, for entries that match the first query.

For a single word, 1.645 * `ts_rank` is the weight of its best occurrence plus a fraction of each other one; to count
those in full, Postgres would have to unpack every word of the entry.  `tokens || ''` makes it unpack a long entry once
instead of once for each word."""


def cut(text: str) -> list[str]:
    """Return the words of a text in lower case without accents; Chinese is segmented into words."""
    plain = unicodedata.normalize("NFKD", segment(storable(text)).lower())
    return _WORD.findall("".join(c for c in plain if not unicodedata.combining(c)))


def indexed(fields: Sequence[str]) -> list[list[str]]:
    """Return the words of each field, cut off at `_MAX_BYTES` in total, which only very unusual texts exceed."""
    known: set[str] = set()
    room = _MAX_BYTES
    found: list[list[str]] = []
    for field in fields:
        words = cut(field)
        for place, word in enumerate(words):
            room -= 2 if word in known else len(word.encode()) + 6
            known.add(word)
            if room < 0:
                del words[place:]
                break
        found.append(words)
    return found
