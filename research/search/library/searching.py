"""Search some collections of the library by words and by meaning, each collection ranked separately."""

from __future__ import annotations

import sqlite3
from collections import ChainMap
from collections.abc import Callable, Sequence
from functools import cache
from itertools import chain, repeat, zip_longest
from typing import Any

from msgspec import Struct

from research._util.decoding import decode
from research._util.said import say
from research.errors import ToolError
from research.search.library import listings, ranking, storage
from research.search.library.factbook import Document
from research.search.relevance import beginning, best_quote, room
from research.text import clip
from research.types import Passage
from research.web import locators

_QUOTED = 5
"""Passages per document to choose its quote from."""
DEPTH = 50
"""Fewest passages from each of the two rankings to fuse."""


class Hit(Struct, frozen=True):
    """A search result with its scores."""

    passage: Passage
    cosine: float | None
    """Cosine of the query and the document's nearest passage, from -1 to 1; None while vectors are missing."""
    words: int | None
    """Rank by words, from 1; None if the document contains none of them."""
    collection: str = ""
    """Name of its collection."""
    heading: str = ""
    """The heading in or above the quote, if near."""
    modified: float = 0.0
    """When its file was last changed, in seconds since 1970; 0 if it has none."""


Nearest = Callable[
    [sqlite3.Connection, str, Sequence[int] | None, int, Sequence[int]], tuple[ranking.Ranking, dict[str, float]]
]
"""Returns passages by meaning, and the cosines of documents by url; takes query, scope, limit, and hits by words."""


def hits(
    connection: sqlite3.Connection, query: str, limit: int, scope: Sequence[int] | None, near: Nearest
) -> list[Hit]:
    """Return the best documents of the collections in `scope`, best first, with their scores.

    Raises `ToolError` for a query without words.
    """
    words = ranking.query_words(query)
    if not words:
        raise ToolError(say("the query {query!r} has no words to search for", query=query))
    depth = max(DEPTH, 5 * limit)
    shelves = ranking.shelves(connection, scope)
    word_hits = [ranking.by_words(connection, words, each, depth) for each in shelves]
    by_shelf = [ranking.fetch(connection, each) for each in word_hits]
    by_words = _in_turn(by_shelf)
    nearest = [near(connection, query, *each) for each in zip(shelves, repeat(depth), word_hits)]
    by_meaning, cosines = _in_turn([found for found, _ in nearest]), ChainMap(*(close for _, close in nearest))
    passages: dict[Document, list[str]] = {}
    for document, text in filter(None, chain.from_iterable(zip_longest(by_words, by_meaning))):
        passages.setdefault(document, []).append(text)
    by_both = ranking.fused(query, by_shelf, by_meaning)
    ranks = {each.document: rank for rank, each in enumerate(ranking.fused(query, by_shelf, ()), 1)}

    @cache
    def texts(document: Document) -> list[str]:
        return storage.around(connection, document.url, passages[document][:_QUOTED])

    collections = listings.collections_of(connection, [each.document.url for each in by_both])
    best = ranking.shown(ranking.to_the_point(query, by_both, texts, collections), limit)
    modified = listings.modified(connection, [document.url for document in best])
    quotes = {
        document: _quote(document, texts(document), passages[document][0], query, room(rank))
        for rank, document in enumerate(best)
    }
    return [
        Hit(
            Passage(
                document.url,
                titled(connection, document, quotes[document]),
                quotes[document],
                decode(document.csl, dict[str, Any]) if document.csl else {},
                notes=locators.told(document.notes.splitlines()),
            ),
            cosines.get(document.url),
            ranks.get(document),
            collections.get(document.url, ""),
            _heading(texts(document), quotes[document]),
            modified.get(document.url, 0.0),
        )
        for document in ranking.unrepeated(query, quotes)
    ]


def _in_turn(rankings: Sequence[ranking.Ranking]) -> ranking.Ranking:
    """Return the best of each ranking, then the second of each, and so on."""
    return [found for each in zip_longest(*rankings) for found in each if found]


def _quote(document: Document, texts: Sequence[str], nearest: str, query: str, limit: int) -> str:
    """Return a document's lines that fit the query best, or its nearest passage if found by meaning only."""
    asked = ranking.asked_about(document, query)
    quote = best_quote(texts, asked, limit) or best_quote(texts, query, limit) or beginning(nearest, limit)
    if not all(line.startswith("#") for line in quote.splitlines() if line):
        return quote
    after = next((text.partition(quote)[2] for text in texts if quote in text), "").strip().partition("\n\n")[0]
    return clip(f"{quote}\n\n{after}", limit) if after and not after.startswith("#") else quote


def _heading(texts: Sequence[str], quote: str) -> str:
    """Return the last heading before the quote's first line that is not a heading."""
    lines = [line for line in quote.splitlines() if line]
    said = next((line for line in lines if not line.startswith("#")), lines[-1] if lines else "").strip("…")
    before = next((text.partition(said)[0] for text in texts if said in text), "")
    return next((line.lstrip("# ") for line in reversed(before.splitlines()) if line.startswith("#")), "")


def titled(connection: sqlite3.Connection, document: Document, quote: str) -> str:
    """Return the document's title with the place of a quote, if it has one."""
    where = storage.located(connection, document.url, quote)
    return locators.title(document.title, storage.file_of(document.url), where) if where else document.title
