"""The local library: documents in one SQLite file, found by their words and by their meaning.

Words are searchable as soon as a document is stored; vectors are made later, by `embed_missing` or `start_embedding`,
and take part as they come.  Safe for many threads and for several processes at once.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from itertools import chain, zip_longest
from pathlib import Path

from msgspec import Struct

from research.errors import ConfigError, ToolError
from research.search import factbook, overview, ranking, schema, shelves
from research.search.factbook import Document
from research.search.overview import CollectionInfo, DocumentInfo, Spot
from research.search.vectors import Vectors, encoded
from research.types import Embedder, Passage

FACTBOOK = "factbook"
"""The collection that `index_factbook` makes; every other one is a folder and has its absolute path for a name."""

Progress = Callable[[int, int, str], None]
"""Called with how many are done, of how many, and what is at work."""

_QUOTED = 5
"""Passages of a document among which its quote is sought."""
_DEPTH = 50
"""Passages that each of the two rankings brings into the fusion."""
_BATCH = 32
"""Passages encoded between two commits."""


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


class FolderReport(Struct, frozen=True):
    """What `add_folder` found: numbers of files, and those that could not be read with the reason."""

    indexed: int
    unchanged: int
    removed: int
    unreadable: tuple[tuple[Path, str], ...] = ()


def _quiet(done: int, total: int, what: str) -> None:
    """No progress shown."""


class Library:
    """The documents kept in `home/library.sqlite`.

    `embedder` may be None: then words alone are searched.  It is asked for nothing until vectors are made or exist.
    A file that is no readable database is kept aside, see `kept_aside`, and a new one begun.
    """

    def __init__(self, home: Path, embedder: Embedder | None = None) -> None:
        home.mkdir(parents=True, exist_ok=True)
        self._path = home / "library.sqlite"
        self._embedder = embedder
        self._vectors = Vectors(embedder) if embedder else None
        self._local = threading.local()
        self._guard = threading.Lock()
        self._embedding: threading.Thread | None = None
        self._again = False
        self._closing = threading.Event()
        self.embedding_error = ""
        """Why the encoder could make no vectors in the background."""
        self.kept_aside: Path | None = None
        """Where a damaged file was moved."""
        try:
            self._prepare()
        except sqlite3.OperationalError:
            raise  # busy, full or not permitted: nothing is wrong with the file
        except sqlite3.DatabaseError:
            self.kept_aside = self._move_aside()
            self._prepare()

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
        connection = self._connection()
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
        connection = self._connection()
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
        return overview.collections(self._connection(), self._encoder)

    def documents(self, collection: str, query: str = "", limit: int = 100, offset: int = 0) -> list[DocumentInfo]:
        """A page of a collection's documents by title, those with `query` in their title or url."""
        connection = self._connection()
        (scope,) = shelves.ids(connection, [collection])
        return overview.documents(connection, scope, query, limit, offset)

    def collection_of(self, url: str) -> str:
        """The name of the collection that the document belongs to; empty for an unknown one."""
        return overview.homes(self._connection(), [url]).get(url, "")

    def unreadable(self, collection: str) -> list[tuple[Path, str]]:
        """The files of a folder that could not be read when it was last looked through, with the reason."""
        connection = self._connection()
        (scope,) = shelves.ids(connection, [collection])
        return overview.unreadable(connection, scope)

    def spots(self, collection: str, limit: int = 1_000) -> list[Spot]:
        """The map of a collection: its documents, or a sample of them, as far as they have vectors."""
        connection = self._connection()
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

    def index_factbook(self, progress: Progress = _quiet) -> int:
        """Store the World Factbook unless this version of it is there; returns how many documents were written.

        One transaction: it is there as a whole or not at all.
        """
        version = factbook.version()
        if shelves.version_of(self._connection(), FACTBOOK) == version:
            return 0
        progress(0, 1, "reading the World Factbook")
        documents = list(factbook.documents())
        with self._writing() as connection:
            if shelves.version_of(connection, FACTBOOK) == version:
                return 0  # another process was faster
            collection = shelves.collection(connection, FACTBOOK)
            known = shelves.known(connection, collection)
            written = 0
            for done, document in enumerate(documents, start=1):
                digest = hashlib.sha256("\n".join((document.title, document.names, document.text)).encode())
                if known.pop(document.url, (0, ""))[1] != digest.hexdigest():
                    shelves.store(connection, collection, document, 0, digest.hexdigest())
                    written += 1
                if done % 100 == 0 or done == len(documents):
                    progress(done, len(documents), document.title)
            shelves.delete(connection, known)
            connection.execute(
                "UPDATE collections SET version = ?, indexed = ? WHERE id = ?", [version, time.time(), collection]
            )
        return written

    def add_folder(self, path: Path, progress: Progress = _quiet) -> FolderReport:
        """Index a folder's files, or what has changed in it since; hidden files and folders are left out.

        Raises `ConfigError` when there is no such folder or nothing in it can be read.
        """
        from research.readers import SUFFIXES, UnreadableFile, read_file

        folder = shelves.existing(path)
        files, unreadable = shelves.files(folder, SUFFIXES)
        connection = self._connection()
        row = connection.execute("SELECT id FROM collections WHERE name = ?", [str(folder)]).fetchone()
        known = shelves.known(connection, row[0]) if row else {}
        indexed = unchanged = 0
        for done, file in enumerate(files):
            progress(done, len(files), file.name)
            url = shelves.file_url(folder, file)
            try:
                mtime = file.stat().st_mtime_ns
                before = known.get(url, (0, ""))
                digest = before[1] if mtime == before[0] else shelves.digest(file)
                text = None if digest == before[1] else read_file(file)
            except UnreadableFile as error:
                unreadable.append((file, error.reason))
                continue
            except OSError as error:
                unreadable.append((file, error.strerror or str(error)))
                continue
            known.pop(url, None)
            if text is None and mtime == before[0]:
                unchanged += 1
                continue
            with self._writing():
                if text is None:
                    connection.execute("UPDATE documents SET mtime = ? WHERE url = ?", [mtime, url])
                    unchanged += 1
                else:
                    names = " ".join(file.relative_to(folder).with_suffix("").parts)
                    document = Document(url, *map(shelves.storable, (text.title, text.text, names)))
                    shelves.store(connection, shelves.collection(connection, str(folder)), document, mtime, digest)
                    indexed += 1
        if not indexed and not unchanged and row is None:
            reasons = "".join(f"; {file.name}: {reason}" for file, reason in unreadable[:5])
            raise ConfigError(f"no readable file in {folder}{reasons} (accepted: {', '.join(sorted(SUFFIXES))})")
        with self._writing():
            shelves.delete(connection, known)
            overview.note_visit(connection, str(folder), time.time(), unreadable)
        progress(len(files), len(files), folder.name)
        failed = {shelves.file_url(folder, file) for file, _ in unreadable}
        return FolderReport(indexed, unchanged, len(known.keys() - failed), tuple(unreadable))

    def forget(self, collection: str) -> None:
        """Take a collection out of every search and list; until `purge` it can be restored.  Its files stay.

        Raises `ConfigError` when it is unknown, or is the Factbook.
        """
        if collection == FACTBOOK:
            raise ConfigError("the World Factbook belongs to the workbench; only folders can be forgotten")
        with self._writing() as connection:
            (scope,) = shelves.ids(connection, [collection])
            connection.execute("UPDATE collections SET forgotten = ? WHERE id = ?", [time.time(), scope])

    def restore(self, collection: str) -> None:
        """Take back a `forget`."""
        with self._writing() as connection:
            connection.execute("UPDATE collections SET forgotten = NULL WHERE name = ?", [collection])

    def purge(self, before: float) -> int:
        """Remove with all that was made from it what was forgotten before that time; returns how many collections."""
        with self._writing() as connection:
            return connection.execute("DELETE FROM collections WHERE forgotten < ?", [before]).rowcount

    def remove(self, collection: str) -> None:
        """Remove a collection at once, with all that was made from it.  Raises `ConfigError` when it is unknown."""
        with self._writing() as connection:
            (scope,) = shelves.ids(connection, [collection])
            connection.execute("DELETE FROM collections WHERE id = ?", [scope])

    # Vectors

    def embed_missing(self, progress: Progress = _quiet, stop: threading.Event | None = None) -> int:
        """Make the vectors that passages lack for the current encoder; returns how many were made.

        Committed every few passages, so that `stop` or a crash loses little.  One caller works at a time, across
        processes; others wait for their turn.  Raises `ConfigError` without an encoder.
        """
        from filelock import FileLock, Timeout

        if self._embedder is None:
            raise ConfigError("no encoder is set: vectors cannot be made")
        stop = stop or threading.Event()
        turn = FileLock(self._path.with_name("library.embedding.lock"))
        while not stop.is_set():
            try:
                turn.acquire(timeout=0.5)
            except Timeout:
                continue
            try:
                return self._embed(self._embedder, progress, stop)
            finally:
                turn.release()
        return 0

    def start_embedding(self) -> threading.Thread:
        """Run `embed_missing` in the background, at low priority, until nothing is missing or `close`."""
        if self._embedder is None:
            raise ConfigError("no encoder is set: vectors cannot be made")
        with self._guard:
            if self._embedding is not None and self._embedding.is_alive():
                self._again = True
            else:
                self._again = False
                self._embedding = threading.Thread(target=self._keep_embedding, name="embedding", daemon=True)
                self._embedding.start()
            return self._embedding

    def close(self) -> None:
        """Stop background work and wait for it; what is done is kept."""
        self._closing.set()
        with self._guard:
            thread = self._embedding
        if thread is not None:
            thread.join()

    def _keep_embedding(self) -> None:
        if sys.platform == "linux":  # where each thread has a priority of its own
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 10)
        while True:
            try:
                self.embed_missing(stop=self._closing)
            except ConfigError as error:
                self.embedding_error = str(error)
            with self._guard:
                if not self._again or self._closing.is_set():
                    self._embedding = None
                    return
                self._again = False

    def _embed(self, embedder: Embedder, progress: Progress, stop: threading.Event) -> int:
        connection = self._connection()
        missing = "NOT EXISTS (SELECT 1 FROM vectors WHERE passage = passages.id AND encoder = ?)"
        total = connection.execute(f"SELECT count(*) FROM passages WHERE {missing}", [embedder.id]).fetchone()[0]
        made = last = 0
        while not stop.is_set():
            batch = connection.execute(
                f"""SELECT passages.id, title, passages.text FROM passages JOIN documents ON documents.id = document
                WHERE passages.id > ? AND {missing} ORDER BY passages.id LIMIT {_BATCH}""",
                [last, embedder.id],
            ).fetchall()
            if not batch:
                break
            last = batch[-1][0]
            vectors = encoded([title for _, title, _ in batch], [text for _, _, text in batch], embedder)
            with self._writing():
                connection.executemany(  # a passage may have gone while it was encoded
                    "INSERT INTO vectors (passage, encoder, vector) SELECT id, ?, ? FROM passages WHERE id = ?",
                    [
                        (embedder.id, row.tobytes(), passage)
                        for (passage, _, _), row in zip(batch, vectors, strict=True)
                    ],
                )
            made += len(batch)
            progress(made, max(made, total), batch[-1][1])
        return made

    # The file

    def _connection(self) -> sqlite3.Connection:
        """This thread's own."""
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            self._local.connection = connection = sqlite3.connect(self._path, timeout=60, isolation_level=None)
            connection.execute("PRAGMA journal_mode = WAL")
            # All of this can be made again from its sources: a power cut may take the last commits, never more.
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute("PRAGMA foreign_keys = ON")
        return connection

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        connection = self._connection()
        with connection:  # commits, or rolls back
            connection.execute("BEGIN IMMEDIATE")
            yield connection

    def _prepare(self) -> None:
        if not schema.is_current(self._connection()):
            with self._writing() as connection:
                schema.bring_up_to_date(connection)

    def _move_aside(self) -> Path:
        self._local.connection.close()
        del self._local.connection
        number = 1
        while (aside := self._path.with_name(f"{self._path.name}.damaged-{number}")).exists():
            number += 1
        for suffix in ("-wal", "-shm", ""):
            part = self._path.with_name(self._path.name + suffix)
            if part.exists():
                part.rename(aside.with_name(aside.name + suffix))
        return aside
