"""The local library: documents in one SQLite file, found by their words and by their meaning.

Words are searchable as soon as a document is stored; vectors are made later, by `embed_missing` or `start_embedding`,
and take part as they come.  Safe for many threads and for several processes at once.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Sequence
from difflib import get_close_matches
from itertools import chain, zip_longest
from pathlib import Path

from msgspec import Struct

from research.errors import ConfigError, ToolError
from research.search import indexing, overview, ranking, shelves
from research.search.embedding import Embedding
from research.search.factbook import Document
from research.search.file import LibraryFile
from research.search.indexing import FACTBOOK, FolderReport, Progress, quiet
from research.search.overview import CollectionInfo, DocumentInfo, Spot
from research.search.vectors import Vectors
from research.types import Embedder, Passage

_QUOTED = 5
"""Passages of a document among which its quote is sought."""
_DEPTH = 50
"""Passages that each of the two rankings brings into the fusion."""


class Hit(Struct, frozen=True):
    """A document that a search found, and why."""

    passage: Passage
    cosine: float | None
    """Of the query and the document's nearest passage, from -1 to 1; None where vectors are still being made."""
    words: int | None
    """Its rank by words, from 1; None when it holds none of them."""
    meaning: int | None
    """Its rank by meaning, from 1; None when it is not among the nearest."""
    collection: str = ""
    """Where it belongs."""


class Library:
    """The documents kept in `home/library.sqlite`.

    `embedder` may be None: then words alone are searched.  It is asked for nothing until vectors are made or exist.
    A file that is no readable database is kept aside, see `kept_aside`, and a new one begun.
    """

    def __init__(self, home: Path, embedder: Embedder | None = None) -> None:
        self._file = LibraryFile(home / "library.sqlite")
        self.kept_aside = self._file.kept_aside
        """Where a damaged file was moved."""
        self._embedder = embedder
        self._vectors = Vectors(embedder) if embedder else None
        self._embedding = Embedding(self._file, embedder) if embedder else None

    # Search

    def search(self, query: str, limit: int = 10, collections: Sequence[str] | None = None) -> list[Passage]:
        """The documents that answer best, each with the lines that do; best first.

        `collections` names where to look, None means everywhere.  Raises `ToolError` when the query has no word and
        `ConfigError` for an unknown collection.
        """
        return [hit.passage for hit in self.scored(query, limit, collections)]

    def scored(self, query: str, limit: int = 10, collections: Sequence[str] | None = None) -> list[Hit]:
        """As `search`, with what each document scored."""
        words = ranking.query_words(query)
        if not words:
            raise ToolError(f"the query {query!r} has no words to search for")
        connection = self._file.connection()
        scope = ranking.scope(connection, collections)
        depth = max(_DEPTH, 5 * limit)
        worded = ranking.by_words(connection, words, scope, depth)
        by_words = ranking.fetch(connection, worded)
        by_meaning, cosines = self._by_meaning(connection, query, scope, depth, worded)
        passages: dict[Document, list[str]] = {}
        for document, text in filter(None, chain.from_iterable(zip_longest(by_words, by_meaning))):
            passages.setdefault(document, []).append(text)
        ranks = [
            {document: rank for rank, document in enumerate(dict.fromkeys(found for found, _ in way), 1)}
            for way in (by_words, by_meaning)
        ]
        best = ranking.fused(query, by_words, by_meaning)[:limit]
        homes = overview.homes(connection, [document.url for document in best])
        return [
            Hit(
                Passage(
                    document.url,
                    document.title,
                    ranking.best_quote(passages[document][:_QUOTED], ranking.beyond(document, query)),
                ),
                cosines.get(document.url),
                ranks[0].get(document),
                ranks[1].get(document),
                homes.get(document.url, ""),
            )
            for document in best
        ]

    def open(self, url: str) -> Document:
        """The whole document.  Raises `ToolError` for an unknown url, naming the closest ones."""
        connection = self._file.connection()
        shown = "collection IN (SELECT id FROM collections WHERE forgotten IS NULL)"
        row = connection.execute(
            f"SELECT url, title, text, names FROM documents WHERE url = ? AND {shown}", [url]
        ).fetchone()
        if row is not None:
            return Document(*row)
        near = ranking.by_words(
            connection, ranking.query_words(url.partition("://")[2]), ranking.scope(connection, None), _DEPTH
        )
        known = get_close_matches(url, {found.url for found, _ in ranking.fetch(connection, near)}, n=3, cutoff=0.0)
        raise ToolError(f"no document {url!r} in the library" + (f"; closest: {', '.join(known)}" if known else ""))

    def collections(self) -> list[CollectionInfo]:
        """By name; `vectors` counts those of the current encoder."""
        return overview.collections(self._file.connection(), self._encoder)

    def documents(self, collection: str, query: str = "", limit: int = 100, offset: int = 0) -> list[DocumentInfo]:
        """A page of a collection's documents by title, those with `query` in their title or url."""
        connection = self._file.connection()
        (scope,) = shelves.ids(connection, [collection])
        return overview.documents(connection, scope, query, limit, offset)

    def collection_of(self, url: str) -> str:
        """The name of the collection that the document belongs to; empty for an unknown one."""
        return overview.homes(self._file.connection(), [url]).get(url, "")

    def unreadable(self, collection: str) -> list[tuple[Path, str]]:
        """The files of a folder that could not be read when it was last looked through, with the reason."""
        connection = self._file.connection()
        (scope,) = shelves.ids(connection, [collection])
        return overview.unreadable(connection, scope)

    def spots(self, collection: str, limit: int = 1_000) -> list[Spot]:
        """The map of a collection: its documents, or a sample of them, as far as they have vectors."""
        connection = self._file.connection()
        (scope,) = shelves.ids(connection, [collection])
        return overview.spots(connection, scope, self._encoder, limit)

    @property
    def _encoder(self) -> str:
        return self._embedder.id if self._embedder else ""

    def _by_meaning(
        self,
        connection: sqlite3.Connection,
        query: str,
        scope: Sequence[int] | None,
        limit: int,
        worded: Sequence[int],
    ) -> tuple[ranking.Ranking, dict[str, float]]:
        """Passages by meaning, and the highest cosine of each document with one among them or the `worded`, by url."""
        if self._vectors is None or not self._vectors.complete(connection, scope):
            return [], {}  # while they are being made, documents that have theirs would rank above those that do not
        near, cosines = self._vectors.nearest(connection, query, scope, limit, worded)
        found = ranking.fetch(connection, near)
        if len(found) < len(near):  # documents have been removed since the vectors were read
            self._vectors.forget()
            near, cosines = self._vectors.nearest(connection, query, scope, limit, worded)
            found = ranking.fetch(connection, near)
        best: dict[str, float] = {}
        for passage, url in ranking.urls(connection, list(cosines)):
            best[url] = max(cosines[passage], best.get(url, -1.0))
        return found, best

    # Indexing

    def index_factbook(self, progress: Progress = quiet) -> int:
        """Store the World Factbook unless this version of it is there; returns how many documents were written."""
        return indexing.add_factbook(self._file, progress)

    def add_folder(self, path: Path, progress: Progress = quiet) -> FolderReport:
        """Index a folder's files, or what has changed in it since; hidden files and folders are left out.

        Raises `ConfigError` when there is no such folder or nothing in it can be read.
        """
        return indexing.add_folder(self._file, path, progress)

    # Forgetting

    def forget(self, collection: str) -> None:
        """Take a collection out of every search and list; until `purge` it can be restored.  Its files stay.

        Raises `ConfigError` when it is unknown, or is the Factbook.
        """
        if collection == FACTBOOK:
            raise ConfigError("the World Factbook belongs to the workbench; only folders can be forgotten")
        with self._file.writing() as connection:
            (scope,) = shelves.ids(connection, [collection])
            connection.execute("UPDATE collections SET forgotten = ? WHERE id = ?", [time.time(), scope])

    def restore(self, collection: str) -> None:
        """Take back a `forget`."""
        with self._file.writing() as connection:
            connection.execute("UPDATE collections SET forgotten = NULL WHERE name = ?", [collection])

    def purge(self, before: float) -> int:
        """Remove with all that was made from it what was forgotten before that time; returns how many collections."""
        with self._file.writing() as connection:
            return connection.execute("DELETE FROM collections WHERE forgotten < ?", [before]).rowcount

    def remove(self, collection: str) -> None:
        """Remove a collection at once, with all that was made from it.  Raises `ConfigError` when it is unknown."""
        with self._file.writing() as connection:
            (scope,) = shelves.ids(connection, [collection])
            connection.execute("DELETE FROM collections WHERE id = ?", [scope])

    # Vectors

    def embed_missing(self, progress: Progress = quiet, stop: threading.Event | None = None) -> int:
        """Make the vectors that passages lack for the current encoder; returns how many were made.

        One caller works at a time, across processes; others wait for their turn, or for `stop`.  Raises `ConfigError`
        without an encoder.
        """
        return self._maker().make(progress, stop)

    def start_embedding(self) -> threading.Thread:
        """Run `embed_missing` in the background, at low priority, until nothing is missing or `close`."""
        return self._maker().start()

    @property
    def embedding_error(self) -> str:
        """Why the encoder could make no vectors in the background."""
        return self._embedding.error if self._embedding else ""

    def close(self) -> None:
        """Stop background work and wait for it; what is done is kept."""
        if self._embedding:
            self._embedding.close()

    def _maker(self) -> Embedding:
        if self._embedding is None:
            raise ConfigError("no encoder is set: vectors cannot be made")
        return self._embedding
