"""The store of a memory: its statements, which SQLite and Postgres share, and the copy from one to the other."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import accumulate
from typing import Any, ClassVar, Final

from msgspec import Struct

from research._util import decoding
from research.errors import ConfigError
from research.memory import NO_FILTERS, Entry, Filters

WEIGHTS: Final[Mapping[str, int]] = {"title": 4, "text": 4, "quote": 1, "tags": 4}
"""The weight of a word's occurrence, by field."""
MAX_OCCURRENCES: Final = 8_000
"""Approximate number of word occurrences that a search reads to score entries."""
_MAX_SCORED: Final = 500
"""Approximate number of entries scored in a search by words."""
_CHUNK: Final = 128
"""Entries that are read, written and committed together."""
_FETCH: Final = 4_096
"""Vectors read at a time."""
_COLUMNS: Final = "number, id, kind, provenance, text, quote, url, title, run, round, time, tags, pinned"
_OWN: Final = _COLUMNS.split(", ")[1:]


class StoredEntry(Struct, frozen=True):
    """An entry with everything that the store has about it."""

    number: int
    entry: Entry
    last_used: float
    """When it was last learned or recalled, in seconds since the epoch."""
    forgotten: float | None
    """When it was forgotten; None if it was not."""
    vectors: Mapping[str, bytes]
    """By encoder."""


class MemoryStore(ABC):
    """Stores entries with their words and vectors.  Safe for threads and processes.

    Each entry has a `number`, which is never reused and which its words and vectors share.  Vectors belong to an encoder
    and are float32, little-endian.  The ids of vectors grow in the order of the commits, so that a reader can ask for new
    ones only.  Every method raises `StoreUnavailable` when the disk is full or the database does not answer; nothing is
    lost in that case.  Methods that change entries, except `purge`, must be called within `writing`.
    """

    _tagged: ClassVar[str]
    """The condition for any of several tags."""

    @abstractmethod
    def close(self) -> None: ...

    @abstractmethod
    def writing(self) -> AbstractContextManager[None]:
        """Open a transaction: other writers wait, and all changes are on disk when it ends, or none if it raises."""

    @abstractmethod
    def _rows(self, query: str, *parameters: Any) -> list[Any]:
        """Execute a statement and return its rows.

        `?` stands for a parameter, `{any}` for the comparison with any value of a list, `{s}` for the schema.
        """

    # Entries

    def insert(self, entries: Sequence[tuple[Entry, float]]) -> list[int]:
        """Insert entries, each with the time of its last use; return their numbers.

        An entry replaces a forgotten one with the same id.
        """
        self._rows("DELETE FROM {s}.entries WHERE forgotten IS NOT NULL AND id {any}", [e.id for e, _ in entries])
        query = f"""INSERT INTO {{s}}.entries ({", ".join(_OWN)}, seen)
            VALUES ({", ".join("?" * len(_OWN))}, ?) RETURNING number"""
        rows = self._each(
            query,
            [
                (*({name: getattr(entry, name) for name in _OWN} | {"tags": list(entry.tags)}).values(), last_used)
                for entry, last_used in entries
            ],
        )
        numbers = [number for (number,) in rows]
        self._index(dict(zip(numbers, (entry for entry, _ in entries), strict=True)))
        return numbers

    @abstractmethod
    def _each(self, query: str, parameters: Sequence[Sequence[Any]]) -> list[Any]:
        """Execute a statement for each set of parameters; return one row for each."""

    def update(self, number: int, entry: Entry) -> None:
        """Replace the text, tags and provenance of an entry."""
        query = "UPDATE {s}.entries SET text = ?, provenance = ?, tags = ? WHERE number = ?"
        self._rows(query, entry.text, entry.provenance, list(entry.tags), number)
        self._index({number: entry})

    def touch(self, ids: Sequence[str], when: float) -> None:
        """Set the time of the last use of entries."""
        self._rows("UPDATE {s}.entries SET seen = ? WHERE id {any}", when, list(ids))

    def pin(self, ids: Sequence[str], pinned: bool) -> None:
        self._rows("UPDATE {s}.entries SET pinned = ? WHERE id {any}", pinned, list(ids))

    def forget(self, ids: Sequence[str], when: float) -> list[int]:
        """Hide entries from every list and search until `restore` or `purge`; return their numbers."""
        query = "UPDATE {s}.entries SET forgotten = ? WHERE forgotten IS NULL AND id {any} RETURNING number"
        numbers = self._numbers(query, when, list(ids))
        self._unindex(numbers)
        return numbers

    def restore(self, ids: Sequence[str]) -> None:
        """Undo `forget`."""
        query = "UPDATE {s}.entries SET forgotten = NULL WHERE forgotten IS NOT NULL AND id {any} RETURNING number"
        numbers = self._numbers(query, list(ids))
        self._index(self.entries(numbers))
        self._renew_vectors(numbers)

    def purge(self, before: float) -> int:
        """Delete for good the entries forgotten before this time, in seconds since the epoch; return how many."""
        with self.writing():
            return len(self._rows("DELETE FROM {s}.entries WHERE forgotten < ? RETURNING number", before))

    def evict(self, capacity: int) -> list[int]:
        """Delete the least recently used unpinned entries above `capacity`; return their numbers.

        Raises `ConfigError` when the pinned entries alone reach the capacity.
        """
        surplus = self.count() - capacity
        if surplus <= 0:
            return []
        if self.count(Filters(pinned=True)) >= capacity:
            raise ConfigError(
                f"the memory is full: all of its {capacity:,} entries are pinned; unpin or forget some, or raise the limit"
            )
        query = """DELETE FROM {s}.entries WHERE number IN (SELECT number FROM {s}.entries
            WHERE forgotten IS NULL AND NOT pinned ORDER BY seen, number LIMIT ?) RETURNING number"""
        return self._numbers(query, surplus)

    def entries(self, numbers: Sequence[int]) -> dict[int, Entry]:
        """Return entries by number, without those that were forgotten or deleted."""
        query = f"SELECT {_COLUMNS} FROM {{s}}.entries WHERE forgotten IS NULL AND number {{any}}"
        return dict(map(_entry, self._rows(query, list(numbers))))

    def by_id(self, ids: Sequence[str], *, forgotten: bool = False) -> dict[str, int]:
        """Return the numbers of known ids; `forgotten`: include those of forgotten entries."""
        query = "SELECT id, number FROM {s}.entries WHERE (? OR forgotten IS NULL) AND id {any}"
        return dict(self._rows(query, forgotten, list(ids)))

    def page(self, filters: Filters, limit: int, offset: int) -> list[tuple[int, Entry]]:
        """Return entries with their numbers, newest first."""
        where, parameters = self._where(filters)
        query = f"SELECT {_COLUMNS} FROM {{s}}.entries WHERE {where} ORDER BY time DESC, number DESC LIMIT ? OFFSET ?"
        return list(map(_entry, self._rows(query, *parameters, limit, offset)))

    def numbers(self, filters: Filters = NO_FILTERS) -> list[int]:
        where, parameters = self._where(filters)
        return self._numbers(f"SELECT number FROM {{s}}.entries WHERE {where} ORDER BY number", *parameters)

    def by_url(self, urls: Iterable[str]) -> list[int]:
        """Return the numbers of entries with these source urls; the empty url selects entries without a source."""
        query = "SELECT number FROM {s}.entries WHERE forgotten IS NULL AND url {any} ORDER BY number"
        return self._numbers(query, list(urls))

    def count(self, filters: Filters = NO_FILTERS) -> int:
        where, parameters = self._where(filters)
        return self._numbers(f"SELECT count(*) FROM {{s}}.entries WHERE {where}", *parameters)[0]

    @abstractmethod
    def tags(self) -> list[str]:
        """Return all tags, sorted."""

    def runs(self) -> list[str]:
        """Return the ids of all runs that entries were learned in, the latest first."""
        query = "SELECT run FROM {s}.entries WHERE forgotten IS NULL AND run <> '' GROUP BY run ORDER BY max(time) DESC"
        return [run for (run,) in self._rows(query)]

    def stored(self, after: int, limit: int) -> list[StoredEntry]:
        """Return at most `limit` entries with a number above `after`, by number, including forgotten ones."""
        query = f"SELECT {_COLUMNS}, seen, forgotten FROM {{s}}.entries WHERE number > ? ORDER BY number LIMIT ?"
        rows = self._rows(query, after, limit)
        vectors: dict[int, dict[str, bytes]] = {row[0]: {} for row in rows}
        of_these = """SELECT entry, name, vector FROM {s}.vectors JOIN {s}.encoders ON encoders.id = encoder
            WHERE entry {any}"""
        for number, name, vector in self._rows(of_these, list(vectors)):
            vectors[number][name] = vector
        return [StoredEntry(*_entry(row[:-2]), row[-2], row[-1], vectors[row[0]]) for row in rows]

    def _numbers(self, query: str, *parameters: Any) -> list[int]:
        return [number for (number,) in self._rows(query, *parameters)]

    def _where(self, filters: Filters) -> tuple[str, list[object]]:
        """Return the SQL condition for entries that match the filters and are not forgotten, with its parameters."""
        found: dict[str, object] = {
            "kind {any}": list(filters.kinds),
            "run {any}": list(filters.runs),
            "provenance {any}": list(filters.provenance),
            self._tagged: list(filters.tags),
            "time >= ?": filters.since,
            "time < ?": filters.until,
        }
        given = {condition: value for condition, value in found.items() if value not in ([], None)}
        pinned = ["pinned"] if filters.pinned else []
        return " AND ".join(["forgotten IS NULL", *given, *pinned]), list(given.values())

    # Words

    @abstractmethod
    def search_words(self, words: Sequence[str], limit: int, filters: Filters) -> list[int]:
        """Return the numbers of the entries that contain these words, best first by BM25.

        If many entries contain one of the words, scores only those with one of the rarest, and without the most common
        words: they would hardly change the order.
        """

    @abstractmethod
    def _index(self, entries: Mapping[int, Entry]) -> None:
        """Index entries by their current words, replacing earlier ones."""

    @abstractmethod
    def _unindex(self, numbers: Sequence[int]) -> None: ...

    # Vectors

    def encoders(self) -> list[str]:
        """Return the encoders that made the stored vectors."""
        query = """SELECT name FROM {s}.encoders
            WHERE EXISTS (SELECT 1 FROM {s}.vectors WHERE encoder = encoders.id)"""
        return [name for (name,) in self._rows(query)]

    def drop_other_encoders(self, name: str) -> None:
        """Delete the vectors of all encoders except this one."""
        self._rows("DELETE FROM {s}.encoders WHERE name <> ?", name)

    def put_vectors(self, encoder: str, vectors: Mapping[int, bytes]) -> None:
        """Store vectors by number, replacing earlier ones of this encoder."""
        if not vectors:
            return
        dimension = len(next(iter(vectors.values()))) // 4
        query = "INSERT INTO {s}.encoders (name, dimension) VALUES (?, ?) ON CONFLICT DO NOTHING"
        self._rows(query, encoder, dimension)
        self._put_vectors(encoder, vectors)

    @abstractmethod
    def _put_vectors(self, encoder: str, vectors: Mapping[int, bytes]) -> None:
        """Store the vectors of a known encoder with new ids."""

    @abstractmethod
    def _renew_vectors(self, numbers: Sequence[int]) -> None:
        """Give the vectors of these entries new ids, so that every process loads them again."""

    def vectors(self, encoder: str, after: int) -> Iterator[list[tuple[int, int, bytes]]]:
        """Yield lists of (id, number, vector) with ids above `after`, by id."""
        query = """SELECT vectors.id, entry, vector FROM {s}.vectors JOIN {s}.entries ON number = entry
            WHERE vectors.id > ? AND encoder = (SELECT id FROM {s}.encoders WHERE name = ?) AND forgotten IS NULL
            ORDER BY vectors.id LIMIT ?"""
        while rows := self._rows(query, after, encoder, _FETCH):
            yield rows
            after = rows[-1][0]

    def without_vector(self, encoder: str, limit: int) -> dict[int, Entry]:
        """Return by number at most `limit` entries that this encoder has not encoded yet."""
        query = f"""SELECT {_COLUMNS} FROM {{s}}.entries WHERE forgotten IS NULL AND NOT EXISTS (
            SELECT 1 FROM {{s}}.vectors WHERE entry = number
            AND encoder = (SELECT id FROM {{s}}.encoders WHERE name = ?)) ORDER BY number LIMIT ?"""
        return dict(map(_entry, self._rows(query, encoder, limit)))


def _entry(row: Sequence[Any]) -> tuple[int, Entry]:
    """Return an entry with its number from the values of `_COLUMNS`; of a damaged value, what can be read."""
    key = row[0]
    id_, kind, provenance, text, quote, url, title, run = map(_text, row[1:9])
    number, time, tags, pinned = row[9:]
    try:
        words = tuple(tags if isinstance(tags, list) else decoding.decode(tags, list[str]))
    except (ValueError, TypeError):
        words = ()
    number, time = number if isinstance(number, int) else 0, time if isinstance(time, int | float) else 0.0
    return key, Entry(text, kind, id_, provenance, run, number, url, title, quote, time, words, bool(pinned))


def _text(value: Any) -> Any:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value or ""


def rarest(counts: Iterable[tuple[int, str]]) -> tuple[list[str], list[str]]:
    """Return the words to find entries by, and the words to score them by, given (entries that contain it, word).

    Both are the rarest words whose counts total at most `_MAX_SCORED` and `MAX_OCCURRENCES`, at least one.
    """
    found = sorted((count, word) for count, word in counts if count)
    sums = list(accumulate(count for count, _ in found))
    rare, scored = (max(1, bisect_right(sums, most)) for most in (_MAX_SCORED, MAX_OCCURRENCES))
    ordered = [word for _, word in found]
    return ordered[:rare], ordered[:scored]


def copy_entries(source: MemoryStore, target: MemoryStore, progress: Callable[[int], None] | None = None) -> int:
    """Copy every entry with its id, times, pin and vectors, including forgotten ones; return how many were new.

    Entries that the target already has are skipped, so an interrupted copy can be repeated.  The source is only read.
    The order of eviction is preserved.
    """
    after, moved = 0, 0
    while some := source.stored(after, _CHUNK):
        with target.writing():
            known = target.by_id([each.entry.id for each in some], forgotten=True)
            new = [each for each in some if each.entry.id not in known]
            copied = dict(zip(target.insert([(each.entry, each.last_used) for each in new]), new, strict=True))
            for encoder in {name for each in new for name in each.vectors}:
                vectors = {n: each.vectors[encoder] for n, each in copied.items() if encoder in each.vectors}
                target.put_vectors(encoder, vectors)
            for each in new:
                if each.forgotten is not None:
                    target.forget([each.entry.id], each.forgotten)
        after, moved = some[-1].number, moved + len(copied)
        if progress:
            progress(moved)
    return moved
