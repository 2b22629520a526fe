"""The store of a memory in one SQLite file."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from research.errors import StoreUnavailable
from research.memory import NO_FILTERS, Entry, Filters
from research.memory.store import MAX_OCCURRENCES, WEIGHTS, MemoryStore, rarest
from research.store.database import LOCK_WAIT_S, in_sqlite, new_migrations, open_sqlite, sqlite_parameter
from research.text import segment

if TYPE_CHECKING:
    from sqlite_utils import Database
    from sqlite_utils.migrations import Migrations

_EACH_TAG = "json_each(CASE WHEN json_valid(tags) THEN tags ELSE '[]' END)"
_BM25 = f"bm25(words, {', '.join(map(str, WEIGHTS.values()))})"


class SqliteMemoryStore(MemoryStore):
    """Uses a write-ahead log with every commit on disk before it returns, and a connection of its own to search words.

    Raises `ConfigError` when the file is not a readable database.
    """

    _tagged = f"EXISTS (SELECT 1 FROM {_EACH_TAG} WHERE value {{any}})"

    def __init__(self, path: Path) -> None:
        self._name = path.name
        self._lock = threading.RLock()
        self._db = open_sqlite(path, _migrations())
        self._searching = threading.Lock()
        self._words = sqlite3.connect(path, check_same_thread=False, timeout=LOCK_WAIT_S, isolation_level=None)

    def close(self) -> None:
        with self._lock, self._searching:
            self._words.close()
            self._db.conn.close()

    @contextmanager
    def writing(self) -> Iterator[None]:
        with self._using(self._lock), self._db.conn:
            self._db.conn.execute("BEGIN IMMEDIATE")
            yield

    @contextmanager
    def _using(self, lock: AbstractContextManager[object]) -> Iterator[None]:
        """Hold the lock, and raise `StoreUnavailable` when the file is locked or the disk is full."""
        with lock:
            try:
                yield
            except sqlite3.OperationalError as error:
                raise StoreUnavailable(f"{self._name}: {error}") from error

    def _rows(self, query: str, *parameters: Any) -> list[Any]:
        with self._using(self._lock):
            return self._db.conn.execute(in_sqlite(query), [*map(sqlite_parameter, parameters)]).fetchall()

    def _each(self, query: str, parameters: Sequence[Sequence[Any]]) -> list[Any]:
        return [row for values in parameters for row in self._rows(query, *values)]

    def tags(self) -> list[str]:
        query = f"SELECT DISTINCT value FROM entries, {_EACH_TAG} WHERE forgotten IS NULL AND tags <> '[]' ORDER BY 1"
        return [tag for (tag,) in self._rows(query)]

    def search_words(self, words: Sequence[str], limit: int, filters: Filters) -> list[int]:
        with self._using(self._searching):
            if filters == NO_FILTERS:
                rare, scored = self._rarest(words)
                # FTS5 scores a row that matches both sides of AND by the words of both.
                match = f"({_any(rare)}) AND ({_any(scored)})" if rare != scored else _any(rare)
                query = "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rank LIMIT ?"
                return [number for (number,) in self._words.execute(query, (match, limit))] if rare else []
            where, parameters = self._where(filters)
            # The plus keeps SQLite from searching the index once per entry; `bm25` then scores only the matching ones.
            query = f"""SELECT rowid FROM words WHERE words MATCH ?
                AND +rowid IN (SELECT number FROM entries WHERE {where}) ORDER BY {_BM25} LIMIT ?"""
            values = [_any(words), *map(sqlite_parameter, parameters), limit]
            return [number for (number,) in self._words.execute(in_sqlite(query), values)]

    def _rarest(self, words: Sequence[str]) -> tuple[list[str], list[str]]:
        counted = "SELECT count(*) FROM (SELECT 1 FROM words WHERE words MATCH ? LIMIT ?)"
        parameters = [each for word in words for each in (_any([word]), MAX_OCCURRENCES + 1)]
        counts = self._words.execute(" UNION ALL ".join([counted] * len(words)), parameters)
        return rarest((count, word) for word, (count,) in zip(words, counts, strict=True))

    def _index(self, entries: Mapping[int, Entry]) -> None:
        rows = [
            (number, *map(segment, (entry.title, entry.text, entry.quote, " ".join(entry.tags))))
            for number, entry in entries.items()
        ]
        self._db.conn.executemany("REPLACE INTO words (rowid, title, text, quote, tags) VALUES (?, ?, ?, ?, ?)", rows)

    def _unindex(self, numbers: Sequence[int]) -> None:
        self._db.conn.executemany("DELETE FROM words WHERE rowid = ?", [(number,) for number in numbers])

    def _put_vectors(self, encoder: str, vectors: Mapping[int, bytes]) -> None:
        query = "REPLACE INTO vectors (entry, encoder, vector) SELECT ?, id, ? FROM encoders WHERE name = ?"
        self._db.conn.executemany(query, [(number, vector, encoder) for number, vector in vectors.items()])

    def _renew_vectors(self, numbers: Sequence[int]) -> None:
        query = (
            "REPLACE INTO vectors (entry, encoder, vector) SELECT entry, encoder, vector FROM vectors WHERE entry = ?"
        )
        self._db.conn.executemany(query, [(number,) for number in numbers])


def _any(words: Iterable[str]) -> str:
    """Return the FTS5 query for any of the words."""
    return " OR ".join(f'"{word}"' for word in words)


def _migrations() -> Migrations:
    """Return all changes of the schema, in order; add a new one as a function at the end."""
    migration = new_migrations("memory")

    @migration()
    def entries_words_and_vectors(db: Database) -> None:
        for statement in _FIRST_SCHEMA:
            db.execute(statement)

    @migration()
    def runs_by_the_time_they_taught(db: Database) -> None:
        db.execute("DROP INDEX entries_run")
        db.execute("CREATE INDEX entries_run ON entries (run, time, forgotten)")

    return migration


_FIRST_SCHEMA = (
    """CREATE TABLE entries (
        number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, kind TEXT NOT NULL, provenance TEXT NOT NULL,
        text TEXT NOT NULL, quote TEXT NOT NULL, url TEXT NOT NULL, title TEXT NOT NULL, run TEXT NOT NULL,
        round INTEGER NOT NULL, time REAL NOT NULL, tags TEXT NOT NULL, pinned INTEGER NOT NULL, seen REAL NOT NULL,
        forgotten REAL)""",
    "CREATE INDEX entries_time ON entries (time)",
    "CREATE INDEX entries_run ON entries (run)",
    "CREATE INDEX entries_url ON entries (url)",
    # For the count and the oldest entry, without forgotten and pinned ones.
    "CREATE INDEX entries_seen ON entries (seen, pinned) WHERE forgotten IS NULL",
    "CREATE TABLE encoders (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, dimension INTEGER NOT NULL)",
    """CREATE TABLE vectors (
        id INTEGER PRIMARY KEY AUTOINCREMENT, entry INTEGER NOT NULL REFERENCES entries ON DELETE CASCADE,
        encoder INTEGER NOT NULL REFERENCES encoders ON DELETE CASCADE, vector BLOB NOT NULL)""",
    "CREATE UNIQUE INDEX vectors_entry ON vectors (entry, encoder)",
    "CREATE INDEX vectors_encoder ON vectors (encoder)",
    """CREATE VIRTUAL TABLE words USING fts5 (
        title, text, quote, tags, tokenize = 'porter unicode61 remove_diacritics 2')""",
    "INSERT INTO words (words, rank) VALUES ('rank', 'bm25(4, 4, 1, 4)')",
    """CREATE TRIGGER entries_gone AFTER DELETE ON entries BEGIN
        DELETE FROM words WHERE rowid = old.number;
    END""",
)
