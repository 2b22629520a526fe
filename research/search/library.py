"""The local library: documents in one SQLite file, found by their words and by their meaning.

Words are searchable as soon as a document is stored; vectors are made later, by `embed_missing` or `start_embedding`,
and take part as they come.  Safe for many threads and for several processes at once.
"""

from __future__ import annotations

import hashlib
import os
import re
import sqlite3
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from itertools import chain, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from msgspec import Struct

from research.errors import ConfigError, ToolError
from research.relevance import scores
from research.search import factbook
from research.search.factbook import Document
from research.text import STOP_WORDS, clip, content_tokens, segment
from research.types import Embedder, Passage

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FACTBOOK = "factbook"
"""The collection that `index_factbook` makes; every other one is a folder and has its absolute path for a name."""

Progress = Callable[[int, int, str], None]
"""Called with how many are done, of how many, and what is at work."""

_PASSAGE, _QUOTE = 700, 200  # characters
_QUOTED = 5
"""Passages of a document among which its quote is sought."""
_WORDS = 64
"""Words of a query that count, the first."""
_DEPTH = 50
"""Passages that each of the two rankings brings into the fusion."""
_FUSION, _MEANING = 60, 0.5
"""A document scores coverage / (60 + its rank by words) + 0.5 / (60 + its rank by meaning), see `_fused`."""
_WEIGHTS = "10, 6, 1"
"""Of the title, the other names and the text in BM25: what a document is about matters more than what it mentions."""
_BATCH = 32
"""Passages encoded between two commits."""

_SCHEMA = """
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS collections (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, version TEXT NOT NULL DEFAULT '');
CREATE TABLE IF NOT EXISTS documents (
    id INTEGER PRIMARY KEY, collection INTEGER NOT NULL REFERENCES collections ON DELETE CASCADE,
    url TEXT NOT NULL UNIQUE, title TEXT NOT NULL, text TEXT NOT NULL, names TEXT NOT NULL, mtime INTEGER NOT NULL,
    sha256 TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS documents_collection ON documents (collection, title);
CREATE TABLE IF NOT EXISTS passages (
    id INTEGER PRIMARY KEY AUTOINCREMENT, document INTEGER NOT NULL REFERENCES documents ON DELETE CASCADE,
    ordinal INTEGER NOT NULL, text TEXT NOT NULL, start INTEGER NOT NULL);
CREATE INDEX IF NOT EXISTS passages_document ON passages (document);
CREATE TABLE IF NOT EXISTS vectors (
    id INTEGER PRIMARY KEY AUTOINCREMENT, passage INTEGER NOT NULL REFERENCES passages ON DELETE CASCADE,
    encoder TEXT NOT NULL, vector BLOB NOT NULL, UNIQUE (passage, encoder));
CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5 (
    title, names, text, tokenize = 'porter unicode61 remove_diacritics 2');
CREATE TRIGGER IF NOT EXISTS passages_gone AFTER DELETE ON passages BEGIN
    DELETE FROM words WHERE rowid = old.id;
END;
PRAGMA user_version = 1;
COMMIT;
"""

_WORD = re.compile(r"\w+")
_LINE = re.compile(r"[^\n]*\S[^\n]*")
_SENTENCE_END = re.compile(r"[.;!?]\s+|[。！？；]")
_CLAUSE = re.compile(r".+?(?:[.,;!?](?=\s)|[。，、！？；]|$)\s*")


_Ranking = Sequence[tuple[Document, str]]
"""Passages with their documents, best first."""


class CollectionInfo(Struct, frozen=True):
    """How much a collection holds.  `vectors` of its `passages` can be found by meaning so far."""

    name: str
    documents: int
    passages: int
    vectors: int


class DocumentInfo(Struct, frozen=True):
    """A document in a list."""

    url: str
    title: str
    characters: int


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
        self._vectors = _Vectors(embedder) if embedder else None
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
        words = _query_words(query)
        if not words:
            raise ToolError(f"the query {query!r} has no words to search for")
        connection = self._connection()
        scope = None if collections is None else _scope(connection, collections)
        depth = max(_DEPTH, 5 * limit)
        by_words = _fetch(connection, _by_words(connection, words, scope, depth))
        by_meaning = self._by_meaning(connection, query, scope, depth)
        passages: dict[Document, list[str]] = {}
        for document, text in filter(None, chain.from_iterable(zip_longest(by_words, by_meaning))):
            passages.setdefault(document, []).append(text)
        return [
            Passage(document.url, document.title, _quote(passages[document][:_QUOTED], _beyond(document, query)))
            for document in _fused(query, by_words, by_meaning)[:limit]
        ]

    def open(self, url: str) -> Document:
        """The whole document.  Raises `ToolError` for an unknown url, naming the closest ones."""
        connection = self._connection()
        row = connection.execute("SELECT url, title, text, names FROM documents WHERE url = ?", [url]).fetchone()
        if row is not None:
            return Document(*row)
        near = _by_words(connection, _query_words(url.partition("://")[2]), None, _DEPTH)
        known = get_close_matches(url, {found.url for found, _ in _fetch(connection, near)}, n=3, cutoff=0.0)
        raise ToolError(f"no document {url!r} in the library" + (f"; closest: {', '.join(known)}" if known else ""))

    def collections(self) -> list[CollectionInfo]:
        """By name; `vectors` counts those of the current encoder."""
        rows = self._connection().execute(
            """SELECT name, count(DISTINCT documents.id), count(passages.id), count(vectors.id) FROM collections
            LEFT JOIN documents ON collection = collections.id LEFT JOIN passages ON document = documents.id
            LEFT JOIN vectors ON passage = passages.id AND encoder = ? GROUP BY collections.id ORDER BY name""",
            [self._embedder.id if self._embedder else ""],
        )
        return [CollectionInfo(*row) for row in rows]

    def documents(self, collection: str, query: str = "", limit: int = 100, offset: int = 0) -> list[DocumentInfo]:
        """A page of a collection's documents by title, those with `query` in their title or url."""
        from sqlite_utils import Database

        connection = self._connection()
        connection.create_function("casefold", 1, str.casefold, deterministic=True)  # SQLite's lower is ASCII only
        (scope,) = _ids(connection, [collection])
        rows = (
            Database(connection)
            .table("documents")
            .rows_where(
                "collection = :scope AND (instr(casefold(title), :query) OR instr(casefold(url), :query))",
                {"scope": scope, "query": query.casefold()},
                select="url, title, length(text) AS characters",
                order_by="title",
                limit=limit,
                offset=offset,
            )
        )
        return [DocumentInfo(**row) for row in rows]

    def _by_meaning(
        self, connection: sqlite3.Connection, query: str, scope: Sequence[int] | None, limit: int
    ) -> _Ranking:
        if self._vectors is None:
            return []
        near = self._vectors.nearest(connection, query, scope, limit)
        found = _fetch(connection, near)
        if len(found) < len(near):  # documents have been removed since the vectors were read
            self._vectors.forget()
            found = _fetch(connection, self._vectors.nearest(connection, query, scope, limit))
        return found

    # Indexing

    def index_factbook(self, progress: Progress = _quiet) -> int:
        """Store the World Factbook unless this version of it is there; returns how many documents were written.

        One transaction: it is there as a whole or not at all.
        """
        version = factbook.version()
        if _version(self._connection(), FACTBOOK) == version:
            return 0
        progress(0, 1, "reading the World Factbook")
        documents = list(factbook.documents())
        with self._writing() as connection:
            if _version(connection, FACTBOOK) == version:
                return 0  # another process was faster
            collection = _collection(connection, FACTBOOK)
            known = _known(connection, collection)
            written = 0
            for done, document in enumerate(documents, start=1):
                digest = hashlib.sha256("\n".join((document.title, document.names, document.text)).encode())
                if known.pop(document.url, (0, ""))[1] != digest.hexdigest():
                    _store(connection, collection, document, 0, digest.hexdigest())
                    written += 1
                if done % 100 == 0 or done == len(documents):
                    progress(done, len(documents), document.title)
            _delete(connection, known)
            connection.execute("UPDATE collections SET version = ? WHERE id = ?", [version, collection])
        return written

    def add_folder(self, path: Path, progress: Progress = _quiet) -> FolderReport:
        """Index a folder's files, or what has changed in it since; hidden files and folders are left out.

        Raises `ConfigError` when there is no such folder or nothing in it can be read.
        """
        from research.readers import SUFFIXES, UnreadableFile, read_file

        folder = _folder(path)
        files, unreadable = _files(folder, SUFFIXES)
        connection = self._connection()
        row = connection.execute("SELECT id FROM collections WHERE name = ?", [str(folder)]).fetchone()
        known = _known(connection, row[0]) if row else {}
        indexed = unchanged = 0
        for done, file in enumerate(files):
            progress(done, len(files), file.name)
            url = _file_url(folder, file)
            try:
                mtime = file.stat().st_mtime_ns
                before = known.get(url, (0, ""))
                digest = before[1] if mtime == before[0] else _digest(file)
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
                    document = Document(url, *map(_storable, (text.title, text.text, names)))
                    _store(connection, _collection(connection, str(folder)), document, mtime, digest)
                    indexed += 1
        if not indexed and not unchanged and row is None:
            reasons = "".join(f"; {file.name}: {reason}" for file, reason in unreadable[:5])
            raise ConfigError(f"no readable file in {folder}{reasons} (accepted: {', '.join(sorted(SUFFIXES))})")
        with self._writing():
            _delete(connection, known)
        progress(len(files), len(files), folder.name)
        failed = {_file_url(folder, file) for file, _ in unreadable}
        return FolderReport(indexed, unchanged, len(known.keys() - failed), tuple(unreadable))

    def remove(self, collection: str) -> None:
        """Forget a collection with all that was made from it.  Raises `ConfigError` when it is unknown."""
        from sqlite_utils import Database

        with self._writing() as connection:
            (scope,) = _ids(connection, [collection])
            Database(connection).table("collections").delete(scope)

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
            vectors = _encode([title for _, title, _ in batch], [text for _, _, text in batch], embedder)
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
        with self._connection() as connection:
            if connection.execute("PRAGMA user_version").fetchone()[0] == 0:
                connection.executescript(_SCHEMA)

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


class _Vectors:
    """The vectors of one encoder in memory: read once, then grown by what has been made since."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._lock = threading.Lock()
        self.forget()

    def forget(self) -> None:
        """Read everything anew next time."""
        self._last = 0
        self._rows: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]] | None = None
        """Passage, collection and unit vector, the same row of each."""

    def nearest(self, connection: sqlite3.Connection, query: str, scope: Sequence[int] | None, limit: int) -> list[int]:
        """Passages by cosine with the query, best first; none, and no encoder loaded, while there are no vectors."""
        import numpy as np

        with self._lock:
            self._grow(connection)
            rows = self._rows
        if rows is None:
            return []
        passages, collections, matrix = rows
        scores = matrix @ self._embedder.encode([query])[0]
        if scope is not None:
            inside = np.isin(collections, scope)
            passages, scores = passages[inside], scores[inside]
        top = np.argpartition(-scores, limit)[:limit] if limit < len(scores) else np.arange(len(scores))
        found: list[int] = passages[top[np.argsort(-scores[top], kind="stable")]].tolist()
        return found

    def _grow(self, connection: sqlite3.Connection) -> None:
        import numpy as np

        made = connection.execute(
            """SELECT vectors.id, passage, collection, vector FROM vectors
            JOIN passages ON passages.id = passage JOIN documents ON documents.id = document
            WHERE vectors.id > ? AND encoder = ? ORDER BY vectors.id""",
            [self._last, self._embedder.id],
        ).fetchall()
        if not made:
            return
        ids, passages, collections, blobs = zip(*made, strict=True)
        matrix = np.frombuffer(b"".join(blobs), "<f4").reshape(len(made), self._embedder.dimension)
        if self._rows is None:
            self._rows = np.array(passages), np.array(collections), matrix
        else:
            before = self._rows
            self._rows = (
                np.concatenate([before[0], passages]),
                np.concatenate([before[1], collections]),
                np.concatenate([before[2], matrix]),
            )
        self._last = ids[-1]


def _encode(titles: Sequence[str], texts: Sequence[str], embedder: Embedder) -> NDArray[np.float32]:
    """Unit vectors of passages, half way between the title and the titled text: a long text alone drowns its title."""
    import numpy as np

    names = list(dict.fromkeys(titles))
    rows = embedder.encode([*names, *(f"{title}\n{text}" for title, text in zip(titles, texts, strict=True))])
    vectors = rows[[names.index(title) for title in titles]] + rows[len(names) :]
    unit: NDArray[np.float32] = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype("<f4")
    return unit


# Reading


def _scope(connection: sqlite3.Connection, names: Iterable[str]) -> list[int] | None:
    """The collections to search in, None for all of them."""
    chosen = _ids(connection, names)
    total: int = connection.execute("SELECT count(*) FROM collections").fetchone()[0]
    return None if len(set(chosen)) == total else chosen


def _query_words(query: str) -> list[str]:
    """The words that carry a topic, or all when none does; capitals mark a name (`US`, `WHO`)."""
    words = list(dict.fromkeys(_WORD.findall(segment(query))))
    kept = [word for word in words if word.lower() not in STOP_WORDS or (word.isupper() and len(word) > 1)]
    return (kept or words)[:_WORDS]


def _by_words(
    connection: sqlite3.Connection, words: Sequence[str], scope: Sequence[int] | None, limit: int
) -> list[int]:
    """Passages by BM25, best first."""
    if not words:
        return []
    match = " OR ".join(f'"{word}"' for word in words)
    inside = "SELECT passages.id FROM passages JOIN documents ON documents.id = document WHERE collection IN"
    # The plus keeps SQLite from asking the index once for each passage of the collection.
    within = "" if scope is None else f"AND +words.rowid IN ({inside} ({', '.join(map(str, scope))}))"
    rows = connection.execute(
        f"SELECT rowid FROM words WHERE words MATCH ? {within} ORDER BY bm25(words, {_WEIGHTS}) LIMIT ?", [match, limit]
    )
    return [row[0] for row in rows]


def _fetch(connection: sqlite3.Connection, passages: Sequence[int]) -> _Ranking:
    """The text of passages, in the given order, each with its document (without text); those gone are left out."""
    rows = connection.execute(
        f"""SELECT passages.id, passages.text, url, title, names FROM passages JOIN documents ON documents.id = document
        WHERE passages.id IN ({", ".join(map(str, passages))})"""
    )
    found = {passage: (Document(url, title, "", names), text) for passage, text, url, title, names in rows}
    return [found[passage] for passage in passages if passage in found]


def _fused(query: str, by_words: _Ranking, by_meaning: _Ranking) -> list[Document]:
    """Reciprocal rank fusion (Cormack, Clarke, Buettcher 2009), with what each ranking is worth here.

    A rank by words counts for the share of the query that the document holds: the best of bad matches is no find.  A
    rank by meaning counts for half: it takes one country, or one name, for another more often than words do.
    """
    if not by_meaning:
        return list(dict.fromkeys(document for document, _ in by_words))
    wanted = frozenset(content_tokens(query))
    held: dict[Document, set[str]] = {}
    for document, text in by_words:
        lines = (document.title, document.names, *text.split("\n"))
        held.setdefault(document, set()).update(*(wanted.intersection(content_tokens(line)) for line in lines))
    coverage = scores(query, [" ".join(words) for words in held.values()])
    score = {document: share / (_FUSION + n) for n, (document, share) in enumerate(zip(held, coverage, strict=True), 1)}
    for n, document in enumerate(dict.fromkeys(document for document, _ in by_meaning), 1):
        score[document] = score.get(document, 0.0) + _MEANING / (_FUSION + n)
    return sorted(score, key=lambda document: -score[document])


def _beyond(document: Document, query: str) -> str:
    """What the query asks about the document: its words without those that only name the document."""
    named = set(content_tokens(f"{document.title} {document.names}"))
    return " ".join(token for token in content_tokens(query) if token not in named) or query


def _quote(texts: Sequence[str], query: str) -> str:
    """The neighbouring lines of one of the passages, or the part of one long line, that serve the query best."""
    pairs = [(line, text) for text in texts for line in text.split("\n")]
    served = scores(query, [line for line, _ in pairs])
    _, text = pairs[max(range(len(pairs)), key=lambda i: (served[i], -len(pairs[i][0])))]
    lines = [match.span() for match in _LINE.finditer(text)]
    start, end = _best(text, lines, query, 0.5)
    if end - start <= _QUOTE:
        return text[start:end]
    clauses = [match.span() for match in _CLAUSE.finditer(text, start, end)]
    inner, outer = _best(text, clauses, query, 0.0)
    chosen = clip(text[inner:outer].rstrip(), _QUOTE - 2)
    cut = outer < end and not chosen.endswith("…")
    return f"{'…' if inner > start else ''}{chosen}{'…' if cut else ''}"


def _best(text: str, spans: Sequence[tuple[int, int]], query: str, share: float) -> tuple[int, int]:
    """The best span with the neighbours that serve at least this share as well, up to the length of a quote."""
    served = scores(query, [text[start:end] for start, end in spans])
    first = last = max(range(len(spans)), key=served.__getitem__)
    least = served[first] * share
    while True:
        near = [
            i
            for i in (last + 1, first - 1)
            if 0 <= i < len(spans)
            and served[i] >= least
            and spans[max(i, last)][1] - spans[min(i, first)][0] <= _QUOTE - 2
        ]
        if not near:
            return spans[first][0], spans[last][1]
        chosen = max(near, key=served.__getitem__)
        first, last = min(first, chosen), max(last, chosen)


# Writing


def _ids(connection: sqlite3.Connection, names: Iterable[str]) -> list[int]:
    """Collections by name; a folder may be written as any path that leads to it.  Raises `ConfigError`."""
    known = dict(connection.execute("SELECT name, id FROM collections"))
    found = []
    for name in names:
        number = known.get(name) or known.get(str(_resolved(Path(name))))
        if number is None:
            raise ConfigError(f"unknown collection {name!r}; known: {', '.join(sorted(known)) or 'none yet'}")
        found.append(number)
    return found


def _version(connection: sqlite3.Connection, name: str) -> str | None:
    row = connection.execute("SELECT version FROM collections WHERE name = ?", [name]).fetchone()
    return row[0] if row else None


def _collection(connection: sqlite3.Connection, name: str) -> int:
    connection.execute("INSERT OR IGNORE INTO collections (name) VALUES (?)", [name])
    found: int = connection.execute("SELECT id FROM collections WHERE name = ?", [name]).fetchone()[0]
    return found


def _known(connection: sqlite3.Connection, collection: int) -> dict[str, tuple[int, str]]:
    """Modification time in ns and SHA-256 of each document of a collection."""
    rows = connection.execute("SELECT url, mtime, sha256 FROM documents WHERE collection = ?", [collection])
    return {url: (mtime, digest) for url, mtime, digest in rows}


def _delete(connection: sqlite3.Connection, urls: Iterable[str]) -> None:
    connection.executemany("DELETE FROM documents WHERE url = ?", [(url,) for url in urls])


def _store(connection: sqlite3.Connection, collection: int, document: Document, mtime: int, digest: str) -> None:
    """Write a document, in place of the one with its url."""
    _delete(connection, [document.url])
    row = connection.execute(
        """INSERT INTO documents (collection, url, title, text, names, mtime, sha256)
        VALUES (?, ?, ?, ?, ?, ?, ?)""",
        [collection, document.url, document.title, document.text, document.names, mtime, digest],
    )
    title, names = segment(document.title), segment(document.names)
    for ordinal, (start, end) in enumerate(_passages(document.text)):
        text = document.text[start:end]
        passage = connection.execute(
            "INSERT INTO passages (document, ordinal, text, start) VALUES (?, ?, ?, ?)",
            [row.lastrowid, ordinal, text, start],
        )
        connection.execute(
            "INSERT INTO words (rowid, title, names, text) VALUES (?, ?, ?, ?)",
            [passage.lastrowid, title, names, segment(text)],
        )


def _passages(text: str) -> Iterator[tuple[int, int]]:
    """Spans of neighbouring lines, together 700 characters at most; a longer line is cut."""
    begin = end = None
    for start, stop in _pieces(text):
        if begin is not None and end is not None and stop - begin > _PASSAGE:
            yield begin, end
            begin = None
        begin, end = (start if begin is None else begin), stop
    if begin is not None and end is not None:
        yield begin, end


def _pieces(text: str) -> Iterator[tuple[int, int]]:
    """Lines; long ones in parts that end with a sentence where possible, else with a word."""
    for line in _LINE.finditer(text):
        start, end = line.span()
        while end - start > _PASSAGE:
            middle, limit = start + _PASSAGE // 2, start + _PASSAGE
            stops = [stop.end() for stop in _SENTENCE_END.finditer(text, middle, limit)]
            cut = stops[-1] if stops else text.rfind(" ", middle, limit) + 1 or limit
            yield start, cut
            start = cut
        yield start, end


# Folders


def _resolved(path: Path) -> Path:
    return path.expanduser().resolve()


def _folder(path: Path) -> Path:
    folder = _resolved(path)
    if not folder.exists():
        raise ConfigError(f"no folder {folder}")
    if not folder.is_dir():
        raise ConfigError(f"{folder} is a file; a folder is accepted")
    return folder


def _files(folder: Path, suffixes: Iterable[str]) -> tuple[list[Path], list[tuple[Path, str]]]:
    """The files with these suffixes by path, and the folders that could not be listed."""
    accepted, found, unreadable = frozenset(suffixes), [], []

    def note(error: OSError) -> None:
        unreadable.append((Path(error.filename), error.strerror or str(error)))

    for parent, folders, names in os.walk(folder, onerror=note):
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += [
            Path(parent, name) for name in names if not name.startswith(".") and Path(name).suffix.lower() in accepted
        ]
    return sorted(found), unreadable


def _storable(text: str) -> str:
    """Without the lone surrogates that stand for undecodable bytes, in file names above all."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _digest(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _file_url(folder: Path, file: Path) -> str:
    """Stable, and as readable as a url can be: only what would break it is escaped."""
    name = re.sub(r"[^\w]+", "-", folder.name.lower()).strip("-")
    place = hashlib.sha256(str(folder).encode()).hexdigest()[:8]
    within = re.sub(
        r"[\s%?#<>\[\]()\ud800-\udfff]",
        lambda char: quote(char[0], errors="surrogateescape"),
        file.relative_to(folder).as_posix(),
    )
    return f"library://{name}-{place}/{within}"
