"""The store of a memory in one SQLite file."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from research._util import decoding
from research.errors import StoreUnavailable
from research.memory import NO_FILTERS, Entry, Filters
from research.memory.store import MAX_OCCURRENCES, WEIGHTS, StoredEntry, conditions, excess, rarest
from research.store.database import LOCK_WAIT_S, new_migrations, open_sqlite
from research.text import segment, storable

if TYPE_CHECKING:
    from sqlite_utils import Database
    from sqlite_utils.migrations import Migrations

_COLUMNS = "number, id, kind, provenance, text, quote, url, title, run, round, time, tags, pinned"
_LISTED = "(SELECT value FROM json_each(?))"
_EACH_TAG = "json_each(CASE WHEN json_valid(tags) THEN tags ELSE '[]' END)"
"""A list as one parameter, because SQLite limits the number of parameters."""
_FETCH = 4_096
"""Vectors read at a time."""
_BM25 = f"bm25(words, {', '.join(map(str, WEIGHTS.values()))})"


class SqliteMemoryStore:
    """Uses a write-ahead log with every commit on disk before it returns, and a connection of its own to search words.

    Raises `ConfigError` when the file is not a readable database.
    """

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

    # Entries

    def insert(self, entries: Sequence[tuple[Entry, float]]) -> list[int]:
        return [self._insert(entry, last_used) for entry, last_used in entries]

    def _insert(self, entry: Entry, last_used: float) -> int:
        self._db.conn.execute("DELETE FROM entries WHERE forgotten IS NOT NULL AND id = ?", [entry.id])
        values = {name: getattr(entry, name) for name in _COLUMNS.split(", ")[1:]} | {"tags": _json(entry.tags)}
        cursor = self._db.conn.execute(
            "INSERT INTO entries (id, kind, provenance, text, quote, url, title, run, round, time, tags, pinned, seen) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (*values.values(), last_used),
        )
        number = cursor.lastrowid or 0
        self._index(number, entry)
        return number

    def update(self, number: int, entry: Entry) -> None:
        change = (entry.text, entry.provenance, _json(entry.tags), number)
        self._db.conn.execute("UPDATE entries SET text = ?, provenance = ?, tags = ? WHERE number = ?", change)
        self._unindex([number])
        self._index(number, entry)

    def touch(self, ids: Sequence[str], when: float) -> None:
        self._db.conn.execute(f"UPDATE entries SET seen = ? WHERE id IN {_LISTED}", (when, _among(ids)))

    def pin(self, ids: Sequence[str], pinned: bool) -> None:
        self._db.conn.execute(f"UPDATE entries SET pinned = ? WHERE id IN {_LISTED}", (pinned, _among(ids)))

    def forget(self, ids: Sequence[str], when: float) -> list[int]:
        query = f"UPDATE entries SET forgotten = ? WHERE forgotten IS NULL AND id IN {_LISTED} RETURNING number"
        numbers = [number for (number,) in self._db.conn.execute(query, (when, _among(ids)))]
        self._unindex(numbers)
        return numbers

    def restore(self, ids: Sequence[str]) -> None:
        back = f"""UPDATE entries SET forgotten = NULL
            WHERE forgotten IS NOT NULL AND id IN {_LISTED} RETURNING number"""
        numbers = [number for (number,) in self._db.conn.execute(back, [_among(ids)]).fetchall()]
        for number, entry in self.entries(numbers).items():
            self._index(number, entry)
        # Give the vectors new ids, so that every process loads them again.
        self._db.conn.executemany(
            "REPLACE INTO vectors (entry, encoder, vector) SELECT entry, encoder, vector FROM vectors WHERE entry = ?",
            [(number,) for number in numbers],
        )

    def purge(self, before: float) -> int:
        with self._using(self._lock):
            return self._db.conn.execute("DELETE FROM entries WHERE forgotten < ?", [before]).rowcount

    def evict(self, capacity: int) -> list[int]:
        surplus = excess(self, capacity)
        if not surplus:
            return []
        query = "SELECT number FROM entries WHERE forgotten IS NULL AND NOT pinned ORDER BY seen, number LIMIT ?"
        oldest = self._db.conn.execute(query, [surplus]).fetchall()
        self._db.conn.executemany("DELETE FROM entries WHERE number = ?", oldest)
        return [number for (number,) in oldest]

    def entries(self, numbers: Sequence[int]) -> dict[int, Entry]:
        found = f"SELECT {_COLUMNS} FROM entries WHERE forgotten IS NULL AND number IN {_LISTED}"
        with self._using(self._lock):
            return {row[0]: _entry(row[1:]) for row in self._db.conn.execute(found, [_json(numbers)])}

    def by_id(self, ids: Sequence[str], *, forgotten: bool = False) -> dict[str, int]:
        query = f"SELECT id, number FROM entries WHERE (? OR forgotten IS NULL) AND id IN {_LISTED}"
        with self._using(self._lock):
            return dict(self._db.conn.execute(query, (forgotten, _among(ids))).fetchall())

    def page(self, filters: Filters, limit: int, offset: int) -> list[tuple[int, Entry]]:
        where, parameters = _where(filters)
        query = f"SELECT {_COLUMNS} FROM entries WHERE {where} ORDER BY time DESC, number DESC LIMIT ? OFFSET ?"
        with self._using(self._lock):
            rows = self._db.conn.execute(query, (*parameters, limit, offset)).fetchall()
        return [(row[0], _entry(row[1:])) for row in rows]

    def numbers(self, filters: Filters = NO_FILTERS) -> list[int]:
        where, parameters = _where(filters)
        with self._using(self._lock):
            return [n for (n,) in self._db.conn.execute(f"SELECT number FROM entries WHERE {where}", parameters)]

    def by_url(self, urls: Iterable[str]) -> list[int]:
        query = f"SELECT number FROM entries WHERE forgotten IS NULL AND url IN {_LISTED}"
        with self._using(self._lock):
            return [number for (number,) in self._db.conn.execute(query, [_among(urls)])]

    def count(self, filters: Filters = NO_FILTERS) -> int:
        where, parameters = _where(filters)
        with self._using(self._lock):
            total: int = self._db.conn.execute(f"SELECT count(*) FROM entries WHERE {where}", parameters).fetchone()[0]
        return total

    def tags(self) -> list[str]:
        query = f"SELECT DISTINCT value FROM entries, {_EACH_TAG} WHERE forgotten IS NULL AND tags <> '[]' ORDER BY 1"
        with self._using(self._lock):
            return [tag for (tag,) in self._db.conn.execute(query)]

    def runs(self) -> list[str]:
        query = "SELECT run FROM entries WHERE forgotten IS NULL AND run <> '' GROUP BY run ORDER BY max(time) DESC"
        with self._using(self._lock):
            return [run for (run,) in self._db.conn.execute(query)]

    def stored(self, after: int, limit: int) -> list[StoredEntry]:
        found = f"SELECT {_COLUMNS}, seen, forgotten FROM entries WHERE number > ? ORDER BY number LIMIT ?"
        query = (
            f"SELECT entry, name, vector FROM vectors JOIN encoders ON encoders.id = encoder WHERE entry IN {_LISTED}"
        )
        with self._using(self._lock):
            rows = self._db.conn.execute(found, (after, limit)).fetchall()
            vectors: dict[int, dict[str, bytes]] = {row[0]: {} for row in rows}
            for number, name, vector in self._db.conn.execute(query, [_json(list(vectors))]):
                vectors[number][name] = vector
        return [StoredEntry(row[0], _entry(row[1:-2]), row[-2], row[-1], vectors[row[0]]) for row in rows]

    # Words

    def search_words(self, words: Sequence[str], limit: int, filters: Filters) -> list[int]:
        with self._using(self._searching):
            if filters == NO_FILTERS:
                rare, scored = self._rarest(words)
                # FTS5 scores a row that matches both sides of AND by the words of both.
                match = f"({_any(rare)}) AND ({_any(scored)})" if rare != scored else _any(rare)
                query = "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rank LIMIT ?"
                return [number for (number,) in self._words.execute(query, (match, limit))] if rare else []
            where, parameters = _where(filters)
            # The plus keeps SQLite from searching the index once per entry; `bm25` then scores only the matching ones.
            query = f"""SELECT rowid FROM words WHERE words MATCH ?
                AND +rowid IN (SELECT number FROM entries WHERE {where}) ORDER BY {_BM25} LIMIT ?"""
            return [number for (number,) in self._words.execute(query, (_any(words), *parameters, limit))]

    def _rarest(self, words: Sequence[str]) -> tuple[list[str], list[str]]:
        counted = "SELECT count(*) FROM (SELECT 1 FROM words WHERE words MATCH ? LIMIT ?)"
        parameters = [each for word in words for each in (_any([word]), MAX_OCCURRENCES + 1)]
        counts = self._words.execute(" UNION ALL ".join([counted] * len(words)), parameters)
        return rarest((count, word) for word, (count,) in zip(words, counts, strict=True))

    def _index(self, number: int, entry: Entry) -> None:
        row = (number, *map(segment, (entry.title, entry.text, entry.quote, " ".join(entry.tags))))
        self._db.conn.execute("INSERT INTO words (rowid, title, text, quote, tags) VALUES (?, ?, ?, ?, ?)", row)

    def _unindex(self, numbers: Iterable[int]) -> None:
        self._db.conn.executemany("DELETE FROM words WHERE rowid = ?", [(number,) for number in numbers])

    # Vectors

    def encoders(self) -> list[str]:
        query = "SELECT name FROM encoders WHERE EXISTS (SELECT 1 FROM vectors WHERE encoder = encoders.id)"
        with self._using(self._lock):
            return [name for (name,) in self._db.conn.execute(query)]

    def drop_other_encoders(self, name: str) -> None:
        self._db.conn.execute("DELETE FROM encoders WHERE name <> ?", [name])

    def put_vectors(self, encoder: str, vectors: Mapping[int, bytes]) -> None:
        execute = self._db.conn.execute
        if not vectors:
            return
        dimension = len(next(iter(vectors.values()))) // 4
        execute("INSERT OR IGNORE INTO encoders (name, dimension) VALUES (?, ?)", [encoder, dimension])
        (key,) = execute("SELECT id FROM encoders WHERE name = ?", [encoder]).fetchone()
        self._db.conn.executemany(
            "REPLACE INTO vectors (entry, encoder, vector) VALUES (?, ?, ?)",
            [(number, key, vector) for number, vector in vectors.items()],
        )

    def vectors(self, encoder: str, after: int) -> Iterator[list[tuple[int, int, bytes]]]:
        query = """SELECT vectors.id, entry, vector FROM vectors JOIN entries ON number = entry
            WHERE vectors.id > ? AND encoder = (SELECT id FROM encoders WHERE name = ?) AND forgotten IS NULL
            ORDER BY vectors.id"""
        with self._using(self._lock):
            cursor = self._db.conn.execute(query, (after, encoder))
            while rows := cursor.fetchmany(_FETCH):
                yield rows

    def without_vector(self, encoder: str, limit: int) -> dict[int, Entry]:
        query = f"""SELECT {_COLUMNS} FROM entries WHERE forgotten IS NULL AND NOT EXISTS (SELECT 1 FROM vectors
            WHERE entry = number AND encoder = (SELECT id FROM encoders WHERE name = ?)) ORDER BY number LIMIT ?"""
        with self._using(self._lock):
            return {row[0]: _entry(row[1:]) for row in self._db.conn.execute(query, (encoder, limit))}


def _where(filters: Filters) -> tuple[str, tuple[object, ...]]:
    tagged = f"EXISTS (SELECT 1 FROM {_EACH_TAG} WHERE value IN {_LISTED})"
    return conditions(filters, _among, mark="?", listed=f"IN {_LISTED}", tagged=tagged)


def _entry(row: Sequence[Any]) -> Entry:
    id_, kind, provenance, text, quote, url, title, run = map(_text, row[:8])
    number, time, tags, pinned = row[8:]
    try:
        words = tuple(decoding.decode(tags, list[str]))
    except (ValueError, TypeError):
        words = ()  # damaged: the entry itself can still be read
    number, time = number if isinstance(number, int) else 0, time if isinstance(time, int | float) else 0.0
    return Entry(text, kind, id_, provenance, run, number, url, title, quote, time, words, bool(pinned))


def _text(value: Any) -> Any:
    """Return a text as it was stored; of a damaged one what can be read."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value or ""


def _any(words: Iterable[str]) -> str:
    """Return the FTS5 query for any of the words."""
    return " OR ".join(f'"{word}"' for word in words)


def _among(words: Iterable[str]) -> str:
    """Return the parameter of `_LISTED`.  A word with NUL is left out: none is stored, and SQLite would truncate it."""
    return _json([storable(word) for word in words if "\0" not in word])


def _json(values: Sequence[Any]) -> str:
    return msgspec.json.encode(values).decode()


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
    # For the count and for the oldest entry, without forgotten and pinned ones.
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
