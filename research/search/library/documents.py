"""The local library: documents in one SQLite file, searched by words and by meaning.

Words are searchable as soon as a document is stored.  Vectors are made later, by `embed_missing` or `start_embedding`;
a search uses them once every passage in its collections has one.  Safe for many threads and several processes.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path

from research.defaults import FACTBOOK
from research.errors import ConfigError, ToolError
from research.search.embedders import Embedder
from research.search.library import catalogue, indexing, listings, ranking, searching, storage
from research.search.library.catalogue import TableEntry
from research.search.library.embedding import Embedding
from research.search.library.factbook import Document
from research.search.library.file import LibraryFile
from research.search.library.indexing import FolderReport, Progress, no_progress
from research.search.library.kept import KeptPages
from research.search.library.listings import CollectionInfo, DocumentInfo, Spot
from research.search.library.quota import DEFAULT_QUOTA, Quota, Usage
from research.search.library.vectors import Vectors
from research.types import Passage
from research.web.readers import FileText
from research.web.table import Table


class Library:
    """The documents in `home/library.sqlite`.

    Without an `embedder` the search uses words only.  The encoder is not loaded before vectors are made or exist.
    A file that is not a readable database is moved aside (see `kept_aside`) and replaced by a new one.
    """

    def __init__(self, home: Path, embedder: Embedder | None = None, quota: Quota = DEFAULT_QUOTA) -> None:
        self._file = LibraryFile(home / "library.sqlite")
        self._quota = quota
        self.pages = KeptPages(self._file, quota)
        self.kept_aside = self._file.kept_aside
        """The new path of a damaged file."""
        self._embedder = embedder
        self._vectors = Vectors(embedder) if embedder else None
        self._embedding = Embedding(self._file, embedder) if embedder else None

    # Search

    def search(self, query: str, limit: int = 10, collections: Sequence[str] | None = None) -> list[Passage]:
        """Return the best documents for a query, best first, each with its most relevant lines.

        `collections` limits the search to these; None means all.  Raises `ToolError` for a query without words,
        `ConfigError` for an unknown collection.
        """
        return [hit.passage for hit in self.scored(query, limit, collections)]

    def scored(self, query: str, limit: int = 10, collections: Sequence[str] | None = None) -> list[searching.Hit]:
        """Search as `search` does; return each document with its scores."""
        connection = self._file.connection()
        scope = ranking.scope(connection, collections)
        return searching.hits(connection, query, limit, scope, self._by_meaning)

    def open(self, url: str) -> Document:
        """Return the whole document, also for the address of its cells, which ends in `#B2:B9`.

        Raises `ToolError` for an unknown url, with the closest known ones.
        """
        url = url.partition("#")[0]
        connection = self._file.connection()
        shown = "collection IN (SELECT id FROM collections WHERE forgotten IS NULL)"
        row = connection.execute(
            f"SELECT url, title, text, names, notes FROM documents WHERE url = ? AND {shown}", [url]
        ).fetchone()
        if row is not None:
            return Document(*row)
        near = ranking.by_words(
            connection, ranking.query_words(url.partition("://")[2]), ranking.scope(connection, None), searching.DEPTH
        )
        known = get_close_matches(url, {found.url for found, _ in ranking.fetch(connection, near)}, n=3, cutoff=0.0)
        raise ToolError(f"no document {url!r} in the library" + (f"; closest: {', '.join(known)}" if known else ""))

    def titled(self, document: Document, quote: str) -> str:
        """Return a document's title with the place of a quote: `report.pdf › page 3`."""
        return searching.titled(self._file.connection(), document, quote)

    def places(self, url: str) -> list[tuple[int, str]]:
        """Return where the pages, slides, chapters or sheets of a document begin in its text, each with its name."""
        return storage.places(self._file.connection(), url)

    def names(self) -> list[str]:
        """List the names of the collections, without those that an evaluation brought."""
        return storage.names(self._file.connection())

    def tables(self, collections: Sequence[str] | None = None) -> list[TableEntry]:
        """Return the catalogue of the tables in these collections, without their rows; None means all."""
        return catalogue.entries(self._file.connection(), collections)

    def held(self, query: str) -> dict[str, float]:
        """Return how much of a query each document has, 0 to 1, by address."""
        return ranking.held(self._file.connection(), query)

    def rows(self, entry: TableEntry) -> Table:
        """Return a table of the catalogue with its rows.  Raises `ToolError` if its file has changed or is gone."""
        return catalogue.table(self._file.connection(), entry)

    def collections(self) -> list[CollectionInfo]:
        """List the collections by name; `vectors` counts those of the current encoder."""
        return listings.collections(self._file.connection(), self._encoder)

    def unknown(self, names: Sequence[str]) -> list[str]:
        """Return the named collections that the library does not have (any more)."""
        return storage.unknown(self._file.connection(), names)

    def documents(self, collection: str, query: str = "", limit: int = 100, offset: int = 0) -> list[DocumentInfo]:
        """List a page of a collection's documents by title, limited to those with `query` in their title or url."""
        return listings.documents(*self._one(collection), query, limit, offset)

    def collection_of(self, url: str) -> str:
        """Return the name of the document's collection; empty for an unknown document."""
        return listings.collections_of(self._file.connection(), [url]).get(url, "")

    def unreadable(self, collection: str) -> list[tuple[Path, str]]:
        """List the files of a folder that could not be read at the last indexing, with the reason."""
        return listings.unreadable(*self._one(collection))

    def partial(self, collection: str) -> list[tuple[str, str]]:
        """List the files of a folder that were read in part, each with what was left out and why."""
        return listings.partial(*self._one(collection))

    def spots(self, collection: str, limit: int = 1_000) -> list[Spot]:
        """Return the map of a collection: its documents that have vectors, or a sample of them."""
        return listings.spots(*self._one(collection), self._encoder, limit)

    def _one(self, collection: str) -> tuple[sqlite3.Connection, int]:
        connection = self._file.connection()
        return connection, storage.collection_ids(connection, [collection])[0]

    @property
    def _encoder(self) -> str:
        return self._embedder.id if self._embedder else ""

    def _by_meaning(
        self,
        connection: sqlite3.Connection,
        query: str,
        scope: Sequence[int] | None,
        limit: int,
        word_hits: Sequence[int],
    ) -> tuple[ranking.Ranking, dict[str, float]]:
        """Return passages by meaning, and by url the highest cosine of each document found by meaning or by words."""
        if self._vectors is None or not self._vectors.complete(connection, scope):
            return [], {}  # with some vectors missing, documents that have one would outrank the others
        near, cosines = self._vectors.nearest(connection, query, scope, limit, word_hits)
        found = ranking.fetch(connection, near)
        if len(found) < len(near):  # documents were removed since the vectors were read
            self._vectors.forget()
            near, cosines = self._vectors.nearest(connection, query, scope, limit, word_hits)
            found = ranking.fetch(connection, near)
        best: dict[str, float] = {}
        for passage, url in ranking.urls(connection, list(cosines)):
            best[url] = max(cosines[passage], best.get(url, -1.0))
        return found, best

    # Indexing

    def index_factbook(self, progress: Progress = no_progress) -> int:
        """Store the World Factbook unless this version is stored already; return the number of documents written."""
        return indexing.add_factbook(self._file, progress)

    def add_folder(
        self, path: Path, progress: Progress = no_progress, known_texts: Mapping[str, FileText] | None = None
    ) -> FolderReport:
        """Index the files of a folder that are new or changed, except hidden ones; drop those that are gone.

        `known_texts` holds texts already read from files, by the SHA-256 of their content.  Raises `ConfigError`
        for a missing folder, or one without a readable file.
        """
        return indexing.add_folder(self._file, path, progress, known_texts, self._quota)

    def usage(self, collection: str) -> Usage:
        """Return the disk use of a collection and the library, which tells whether a document fits."""
        return Usage(self._file.connection(), self._file.path.parent, collection, self._quota)

    # Forgetting

    def forget(self, collection: str) -> None:
        """Hide a collection from searches and lists; it can be restored until `purge`.  Its files are not touched.

        Raises `ConfigError` for an unknown collection and for the Factbook.
        """
        if collection == FACTBOOK:
            raise ConfigError("the World Factbook is part of the workbench; only folders can be forgotten")
        with self._file.writing() as connection:
            (scope,) = storage.collection_ids(connection, [collection])
            connection.execute("UPDATE collections SET forgotten = ? WHERE id = ?", [time.time(), scope])

    def restore(self, collection: str) -> None:
        """Undo a `forget`."""
        with self._file.writing() as connection:
            connection.execute("UPDATE collections SET forgotten = NULL WHERE name = ?", [collection])

    def purge(self, before: float) -> int:
        """Delete the collections that were forgotten before this time, in seconds since 1970; return their number."""
        self.pages.purge(before)
        with self._file.writing() as connection:
            return connection.execute("DELETE FROM collections WHERE forgotten < ?", [before]).rowcount

    def remove(self, collection: str) -> None:
        """Delete a collection with its documents and vectors at once.  Raises `ConfigError` if it is unknown."""
        with self._file.writing() as connection:
            (scope,) = storage.collection_ids(connection, [collection])
            connection.execute("DELETE FROM collections WHERE id = ?", [scope])

    # Vectors

    def embed_missing(self, progress: Progress = no_progress, stop: threading.Event | None = None) -> int:
        """Make the missing vectors of the current encoder; return the number made.

        One caller at a time works, across processes; the others wait, or return when `stop` is set.  Raises
        `ConfigError` without an encoder.
        """
        return self._require_embedding().make(progress, stop)

    def start_embedding(self) -> threading.Thread:
        """Run `embed_missing` in the background at low priority, until nothing is missing or `close` is called."""
        return self._require_embedding().start()

    @property
    def embedding_error(self) -> str:
        """Why the encoder failed in the background; empty if it did not."""
        return self._embedding.error if self._embedding else ""

    def close(self) -> None:
        """Stop background work and wait for it to end; finished vectors are kept."""
        if self._embedding:
            self._embedding.close()

    def _require_embedding(self) -> Embedding:
        if self._embedding is None:
            raise ConfigError("vectors need an encoder, and none is set")
        return self._embedding
