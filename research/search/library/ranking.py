"""Rank passages by words, and fuse that ranking with the one by meaning."""

from __future__ import annotations

import math
import re
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain

from msgspec import Struct

from research.search.library import storage
from research.search.library.factbook import Document
from research.search.relevance import said, scores, ways, wordings
from research.text import STOP_WORDS, content_tokens, line_tokens, segment, without_accents

_WORDS = 64
"""Most words of a query used; the rest are ignored."""
_FUSION, _MEANING = 60, 0.5
"""A document's score is coverage / (60 + rank by words) + 0.5 / (60 + rank by meaning); see `fused`."""
_SHELVES = 12
"""Most collections ranked alone; the rest share the last ranking."""
_STRAY, _NEAR = 1 / 3, 0.6
"""Thresholds relative to the best document's share of the query: see `shown`."""
_NAMED = 0.75
"""Least share of the best coverage that puts a document about a named thing first."""
_LEAST, _MOST = 3, 30
"""Most results with which sections not mentioning a name are dropped, and sections examined for that."""
_WEIGHTS = "10, 6, 1"
"""BM25 weights of title, other names and text: a document's subject matters more than what it mentions."""

_SECTION = " · "
"""Separates a thing from its aspect in a title."""
_WORD = re.compile(r"\w+")
_ASIDE = re.compile(r"\([^()]*\)")

Ranking = Sequence[tuple[Document, str]]
"""Passages with their documents, best first."""


def scope(connection: sqlite3.Connection, names: Iterable[str] | None) -> list[int] | None:
    """Return the ids of the collections to search, None for all; `names` None means all that are not forgotten."""
    chosen = storage.collection_ids(connection, names)
    total: int = connection.execute("SELECT count(*) FROM collections").fetchone()[0]
    return None if len(set(chosen)) == total else chosen


def shelves(connection: sqlite3.Connection, scope: Sequence[int] | None) -> list[list[int] | None]:
    """Return the groups of collections ranked together: each alone, so that a large one does not hide a small one.

    [None] means the whole library as one.
    """
    ids = storage.collection_ids(connection, None) if scope is None else list(dict.fromkeys(scope))
    if len(ids) < 2:
        return [None if scope is None else ids]
    return [*([each] for each in ids[: _SHELVES - 1]), *([ids[_SHELVES - 1 :]] if len(ids) >= _SHELVES else [])]


def query_words(query: str) -> list[str]:
    """Return the query's words without stop words, or all if none is left; words in capitals (`US`, `WHO`) are names.

    Chinese words are followed by their English equivalents.
    """
    words = list(dict.fromkeys(_WORD.findall(segment(query))))
    kept = [word for word in words if word.lower() not in STOP_WORDS or (word.isupper() and len(word) > 1)]
    return list(dict.fromkeys([*(kept or words), *chain.from_iterable(sorted(ways(word)) for word in kept)]))[:_WORDS]


def by_words(
    connection: sqlite3.Connection, words: Sequence[str], scope: Sequence[int] | None, limit: int
) -> list[int]:
    """Return the ids of passages by BM25, best first."""
    if not words:
        return []
    match = " OR ".join(f'"{word}"' for word in words)
    inside = "SELECT passages.id FROM passages JOIN documents ON documents.id = document WHERE collection IN"
    # The plus stops SQLite from querying the index once per passage of the collection.
    within = "" if scope is None else f"AND +words.rowid IN ({inside} ({', '.join(map(str, scope))}))"
    rows = connection.execute(
        f"SELECT rowid FROM words WHERE words MATCH ? {within} ORDER BY bm25(words, {_WEIGHTS}) LIMIT ?", [match, limit]
    )
    return [row[0] for row in rows]


def held(connection: sqlite3.Connection, query: str) -> dict[str, float]:
    """Return how much of a query each document has, 0 to 1: the share of its words, rare ones counting more, by address."""
    total: int = connection.execute("SELECT count(*) FROM documents").fetchone()[0]
    found: dict[str, float] = {}
    for word in query_words(query):
        rows = connection.execute(
            """SELECT DISTINCT url FROM words JOIN passages ON passages.id = words.rowid
            JOIN documents ON documents.id = document WHERE words MATCH ?""",
            [f'"{word}"'],
        ).fetchall()
        for (url,) in rows:
            found[url] = found.get(url, 0.0) + math.log((1 + total) / len(rows))
    most = max(found.values(), default=1.0)
    return {url: weight / most for url, weight in found.items()}


def fetch(connection: sqlite3.Connection, passages: Sequence[int]) -> Ranking:
    """Return the passages' documents (without text) and texts, in the given order, skipping deleted passages."""
    rows = connection.execute(
        f"""SELECT passages.id, passages.text, url, title, names, notes, csl
        FROM passages JOIN documents ON documents.id = document
        WHERE passages.id IN ({", ".join(map(str, passages))})"""
    )
    found = {
        passage: (Document(url, title, "", names, notes, csl=csl), text)
        for passage, text, url, title, names, notes, csl in rows
    }
    return [found[passage] for passage in passages if passage in found]


def urls(connection: sqlite3.Connection, passages: Sequence[int]) -> list[tuple[int, str]]:
    """Return pairs of a passage and the url of its document."""
    rows = connection.execute(
        f"""SELECT passages.id, url FROM passages JOIN documents ON documents.id = document
        WHERE passages.id IN ({", ".join(map(str, passages))})"""
    )
    return rows.fetchall()


class Ranked(Struct, frozen=True):
    """A document's place in the fused ranking."""

    document: Document
    score: float
    coverage: float
    """Share of the query in its passages and names; rare words count more."""
    shelf: int
    """Index of its ranking by words; -1 if found by meaning only."""
    near: int
    """Rank by meaning, from 1; 0 if not found by meaning."""


def fused(query: str, by_words: Sequence[Ranking], by_meaning: Ranking) -> list[Ranked]:
    """Fuse the rankings by words of several shelves, and the one by meaning, by weighted reciprocal rank.

    (Cormack, Clarke, Buettcher 2009.)  A rank by words is weighted by the share of the query that the document contains,
    so that the best of poor matches does not win.  A rank by meaning has weight 0.5: vectors confuse countries and names
    more often than words do.  Of the documents that contain much of the query, those about its names come first.
    """
    wanted = wordings(query)
    held: dict[Document, set[str]] = {}
    places: dict[Document, tuple[int, int]] = {}
    for shelf, ranking in enumerate(by_words):
        for document, text in ranking:
            lines = (document.title, document.names, *text.split("\n"))
            held.setdefault(document, set()).update(*(said(wanted, line_tokens(line)) for line in lines))
        for rank, document in enumerate(dict.fromkeys(document for document, _ in ranking), 1):
            places[document] = shelf, rank
    coverage = dict(zip(held, scores(query, [" ".join(words) for words in held.values()]), strict=True))
    plain = len(by_words) == 1 and not by_meaning  # nothing to fuse: the order by words stays
    score = {at: (1.0 if plain else coverage[at]) / (_FUSION + rank) for at, (_, rank) in places.items()}
    near = {document: n for n, document in enumerate(dict.fromkeys(document for document, _ in by_meaning), 1)}
    for document, n in near.items():
        score[document] = score.get(document, 0.0) + _MEANING / (_FUSION + n)
    most = max(coverage.values(), default=0.0)
    for document in _named([each for each in held if coverage[each] >= _NAMED * most], frozenset(wanted)):
        score[document] += 1
    found = [
        Ranked(
            document,
            score[document],
            coverage.get(document, 0.0),
            places.get(document, (-1, 0))[0],
            near.get(document, 0),
        )
        for document in score
    ]
    return sorted(found, key=lambda each: -each.score)


def to_the_point(
    query: str, ranked: Sequence[Ranked], texts: Callable[[Document], Sequence[str]], collections: Mapping[str, str]
) -> list[Ranked]:
    """Leave out sections about things that the query does not name, such as other countries.

    This concerns documents titled `Thing · Section` in the collections that have one about what is named; `collections` has
    that of each URL.  A query that names nothing, or only names, gets all.  Of what is named, only those sections stay that
    say something of the rest of the query; of other things, those with a line that has a name and half of the rest.  Where
    none of these has as much of the query as any, there are at least three results from these collections; the last of them
    is about other things.  `texts` returns what a document says that fits the query.
    """
    wanted = frozenset(content_tokens(query))
    subjects = _named((each.document for each in ranked), wanted)
    names = [name for document in subjects for name in _names(document)]
    rest = wanted.difference(*names)
    if not subjects or not rest:
        return list(ranked)
    homes = {collections.get(document.url) for document in subjects}
    most = max(each.coverage for each in ranked)
    words = {
        word: re.compile(rf"(?<![a-z])(?:{'|'.join(map(re.escape, ways(word)))})", re.I) for word in rest.union(*names)
    }
    sections = [
        each for each in ranked if _SECTION in each.document.title and collections.get(each.document.url) in homes
    ]

    def held(text: str) -> set[str]:
        return {word for word, pattern in words.items() if pattern.search(text)}

    def tells(each: Ranked) -> bool:
        title, text = (without_accents(part) for part in (each.document.title, "\n".join(texts(each.document))))
        if each.document in subjects:
            fits = not rest.isdisjoint(held(f"{title}\n{text}"))
        else:
            told = (held(f"{title}\n{line}") for line in text.split("\n"))
            fits = any(2 * len(rest & line) >= len(rest) and any(name <= line for name in names) for line in told)
        return fits and each.coverage >= _STRAY * most

    left = [each for n, each in enumerate(sections) if n >= _MOST or not tells(each)]
    kept = [each for each in ranked if each not in left]
    own = sum(collections.get(each.document.url) in homes for each in kept)
    spare = 0 if any(each.coverage == most for each in kept) else max(0, _LEAST - own)
    elsewhere = [each for each in left if each.document not in subjects][:1]
    spared = [*left[: spare - 1], *elsewhere][:spare] if spare else []
    return [each for each in ranked if each in kept or each in spared]


def _names(document: Document) -> list[frozenset[str]]:
    """Return the words of each name of a document's subject."""
    names = [document.title.partition(_SECTION)[0], *document.names.split(";")]
    return [name for name in map(frozenset, map(content_tokens, names)) if name]


def _named(documents: Iterable[Document], wanted: frozenset[str]) -> list[Document]:
    """Return the documents whose subject the words name: `Guinea`, but not where they name `Papua New Guinea`."""
    named: dict[Document, frozenset[str]] = {}
    for document in documents:
        told = [name for name in _names(document) if name <= wanted]
        if told:
            named[document] = max(told, key=len)
    return [document for document, name in named.items() if not any(name < other for other in named.values())]


def shown(ranked: Sequence[Ranked], limit: int) -> list[Document]:
    """Return the documents to show of several shelves, best first.

    A document that shares only a stray word with the query is left out: it contains less than a third of the best one's
    share, and is not among the `limit` nearest by meaning either. Each shelf's best documents with nearly the best share
    are always among the results.
    """
    if len({each.shelf for each in ranked} - {-1}) < 2:
        return [each.document for each in ranked[:limit]]
    best = max(each.coverage for each in ranked)
    fitting = [each for each in ranked if each.coverage >= _STRAY * best or 0 < each.near <= limit]
    chosen = fitting[:limit]
    room = max(1, limit // 2)
    for shelf in sorted({each.shelf for each in fitting} - {-1}):
        near = [each for each in fitting if each.shelf == shelf and each.coverage >= _NEAR * best]
        for late in [each for each in near[: max(1, limit // 4)] if each not in chosen][:room]:
            others = [each for each in chosen if sum(other.shelf == each.shelf for other in chosen) > 1]
            if others:
                chosen.remove(others[-1])
                chosen.append(late)
                room -= 1
    return [each.document for each in sorted(chosen, key=lambda each: -each.score)]


def unrepeated(query: str, quotes: Mapping[Document, str]) -> list[Document]:
    """Leave out sections of a reference work that only repeat a better one, such as a ranking one of its figures.

    Text in parentheses, such as a rank, counts only if the query has a word of it.
    """
    wanted = set(content_tokens(query))
    kept: dict[Document, set[str]] = {}
    for document, quote in quotes.items():
        whole, main = set(content_tokens(quote)), set(content_tokens(_ASIDE.sub(" ", quote)))
        repeats = _SECTION in document.title and any(
            main <= said for other, said in kept.items() if _SECTION in other.title
        )
        if not repeats or wanted & (whole - main):
            kept[document] = whole | set(content_tokens(document.title))
    return list(kept)


def asked_about(document: Document, query: str) -> str:
    """Return the query without the words that name the document; the rest names the fact to find."""
    named = set(content_tokens(f"{document.title} {document.names}"))
    return " ".join(token for token in content_tokens(query) if token not in named) or query
