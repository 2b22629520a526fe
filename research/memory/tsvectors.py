"""Words of entries as a Postgres indexes and ranks them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Final

from research.memory.shelf import WEIGHTS
from research.search.shelves import storable
from research.text import segment

FIELDS: Final = ("title", "tags", "text", "quote")
"""Of an entry, under the labels A to D of a `tsvector`; the last comes short where there is too much."""
_MOST: Final = max(WEIGHTS.values())
_LABELS: Final = ", ".join(str(WEIGHTS[name] / _MOST) for name in reversed(FIELDS))
_INDEXED: Final = 1_000_000
"""Bytes of the words of an entry; Postgres takes 2^20 of them, with what it notes beside each."""
_RECENT: Final = 500
"""Entries whose mean length stands for that of all."""
_WORD: Final = re.compile(r"[^\W_]+")

RANKED: Final = f"""SELECT number FROM (
        SELECT number, tokens || ''::tsvector AS tokens, 1.2 * (0.25 + 0.75 * length / (
            SELECT greatest(avg(length), 1)::float8
            FROM (SELECT length FROM {{s}}.words ORDER BY number DESC LIMIT {_RECENT}) AS recent)) AS spread
        FROM {{s}}.words
        WHERE tokens @@ %s::tsquery {{inside}} OFFSET 0) AS candidates
    ORDER BY (SELECT sum(idf * 2.2 * often / (often + spread))
        FROM unnest(%s::tsquery[], %s::float8[]) AS each (query, idf),
            LATERAL (SELECT {_MOST} * 1.645 * ts_rank(ARRAY[{_LABELS}]::real[], tokens, query) AS often) AS counted
        ) DESC, number
    LIMIT %s"""
"""BM25 (Robertson and Zaragoza 2009) with k1 = 1.2 and b = 0.75, of entries that hold a word of the first query.

For one word 1.645 * `ts_rank` is the weight of its best place and a smaller part of that of each other one: to count
these in full every word of an entry would have to be unpacked.  `tokens || ''` unpacks a long entry once, not once for
each word."""


def cut(text: str) -> list[str]:
    """Its words in lower case without accents, Chinese cut."""
    plain = unicodedata.normalize("NFKD", segment(storable(text)).lower())
    return _WORD.findall("".join(c for c in plain if not unicodedata.combining(c)))


def indexed(fields: Sequence[str]) -> list[list[str]]:
    """The words of each field, as many as the server takes: in all but the strangest texts that is all of them."""
    known: set[str] = set()
    room = _INDEXED
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
