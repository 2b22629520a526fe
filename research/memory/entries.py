"""`Memory`: add, search, edit and forget entries."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from msgspec import Struct

from research._util import decoding
from research._util.bounds import checked_tags, within
from research._util.said import say
from research.errors import ConfigError, ToolError
from research.memory import CAPACITY, NO_FILTERS, Added, Entry, Filters, Imported, Match
from research.memory.adding import add_chunk
from research.memory.entry_vectors import Vectors
from research.memory.rank_fusion import diversify, fuse
from research.memory.sqlite_store import SqliteMemoryStore
from research.memory.store import MemoryStore
from research.search.embedders import Embedder
from research.search.library.ranking import query_words
from research.text import clip, storable

if TYPE_CHECKING:
    from numpy.typing import NDArray

Progress = Callable[[int, int], None]
"""Takes (done, total)."""

MAX_CHARACTERS = 100_000
"""Maximum length of each text field of an entry."""
_CHUNK = 128
"""Entries that are encoded, compared and committed together."""
_DEPTH = 20
"""Fewest entries that each of the two rankings contributes to a search."""
_MAX_TIME_S = 250_000_000_000
"""Late in the year 9892; Python cannot format dates after the year 9999."""
_MAX_ROUND = 1_000_000
_RESTORABLE_S = 86_400.0
"""Forgotten entries that are older are deleted for good when the memory is next opened."""


class MapPoint(Struct, frozen=True):
    """An entry on the map; both coordinates are between -1 and 1."""

    entry: Entry
    x: float
    y: float


class Memory:
    """The entries of one store, with their vectors in a matrix.

    Uses the encoder only when an entry is added or searched for.  Safe for threads and processes.  Raises `ConfigError`
    when the file is not a readable database.  Every method raises `StoreUnavailable` when the disk is full or the
    database does not answer; nothing is lost in that case.
    """

    def __init__(self, place: Path | MemoryStore, embedder: Embedder, capacity: int = CAPACITY) -> None:
        """`place`: a store, or the path of an SQLite file."""
        self.capacity = capacity
        """Maximum number of entries.  A new one replaces the unpinned one learned or recalled longest ago."""
        self._store = SqliteMemoryStore(place) if isinstance(place, Path) else place
        self._vectors = Vectors(self._store, embedder, capacity)
        self._lock = threading.RLock()
        self._word_search = ThreadPoolExecutor(1, "memory-words")
        self._store.purge(time.time() - _RESTORABLE_S)

    def close(self) -> None:
        """Close the store and end the search thread."""
        self._word_search.shutdown()
        with self._lock:
            self._store.close()

    # Changes

    def add(self, entries: Iterable[Entry]) -> list[Added]:
        """Add entries; an entry that says the same as an earlier one of its kind and source is merged into it.

        Commits `_CHUNK` entries at a time; all of them are on disk when this returns.  Raises `ConfigError`, before
        anything is added, for an invalid entry, and when the memory was encoded by another encoder.
        """
        checked = [_checked(entry) for entry in entries]
        self._vectors.same_encoder()
        added: list[Added] = []
        for start in range(0, len(checked), _CHUNK):
            chunk = checked[start : start + _CHUNK]
            encoded = self._vectors.encode(chunk)
            with self._lock:
                added += add_chunk(self._store, self._vectors, chunk, encoded, self.capacity)
        return added

    def edit(self, id_: str, *, text: str | None = None, tags: Sequence[str] | None = None) -> Entry:
        """Change the text or the tags of an entry; a changed text counts as written by the user.

        Raises `ConfigError` for an unknown id or an invalid entry.
        """
        before = self.get(id_)
        text = before.text if text is None else text
        tags = before.tags if tags is None else tags
        after = _checked(msgspec.structs.replace(before, text=text, tags=tuple(tags)))
        vectors = None
        if after.text != before.text:
            after = msgspec.structs.replace(after, provenance="user")
            self._vectors.same_encoder()
            vectors = self._vectors.encode([after])
        with self._lock, self._store.writing():
            number = self._number(id_)
            self._store.update(number, after)
            if vectors is not None:
                self._store.put_vectors(self._vectors.embedder.id, {number: vectors[0].tobytes()})
        return after

    def pin(self, ids: Sequence[str], pinned: bool = True) -> None:
        """Pin or unpin entries.  A pinned entry is never evicted."""
        with self._store.writing():
            self._store.pin(ids, pinned)

    def touch(self, ids: Sequence[str]) -> None:
        """Record that entries were used now, so that others are evicted first.  Ignores unknown ids."""
        with self._store.writing():
            self._store.touch(ids, time.time())

    def forget(self, ids: Sequence[str]) -> int:
        """Hide entries from every list and search until `restore` or `purge`; return how many were hidden."""
        with self._lock:
            with self._store.writing():
                forgotten = self._store.forget(ids, time.time())
            self._vectors.drop(forgotten)
        return len(forgotten)

    def restore(self, ids: Sequence[str]) -> None:
        """Undo `forget`; if the memory has filled up meanwhile, evict the oldest other entries."""
        with self._lock:
            with self._store.writing():
                self._store.restore(ids)
                evicted = self._store.evict(self.capacity)
            self._vectors.drop(evicted)
        if not self.other_encoder:
            # Reencoding skips forgotten entries, so a restored one may have no vector.
            self._encode_missing(None, threading.Event())

    def purge(self, before: float) -> int:
        """Delete for good the entries forgotten before this time, in seconds since the epoch; return how many."""
        return self._store.purge(before)

    # Queries

    def get(self, id_: str) -> Entry:
        """Return an entry.  Raises `ConfigError` for an unknown id."""
        number = self._number(id_)
        return self._store.entries([number])[number]

    def entries(self, filters: Filters = NO_FILTERS, limit: int = 100, offset: int = 0) -> list[Entry]:
        """Return entries, newest first."""
        return [entry for _, entry in self._store.page(filters, limit, offset)]

    def count(self, filters: Filters = NO_FILTERS) -> int:
        """Return the number of entries that match."""
        return self._store.count(filters)

    def tags(self) -> list[str]:
        """Return all tags, sorted."""
        return self._store.tags()

    def runs(self) -> list[str]:
        """Return the ids of all runs that entries were learned in, the latest first."""
        return self._store.runs()

    def search(
        self, query: str, limit: int = 5, filters: Filters = NO_FILTERS, *, diversity: float = 0.0
    ) -> list[Match]:
        """Return the entries that match the query best by words and by meaning, best first.

        `diversity`, from 0 to 1, trades similarity to the query for difference from better results.  Raises `ToolError`
        when the query has no words, and `ConfigError` when the memory was encoded by another encoder.
        """
        words = query_words(query)
        if not words:
            raise ToolError(say("the query {query!r} has no words to search for", query=query))
        if not self._vectors.same_encoder():
            return []  # the memory is empty, so the encoder need not be loaded
        depth = max(_DEPTH, 2 * limit)
        # In parallel with encoding and comparing the query: all of these release the interpreter lock.
        worded = self._word_search.submit(self._store.search_words, words, depth, filters)
        vector = self._vectors.embedder.encode([query])[0]
        by_words, by_meaning, entries, rows = self._candidates(worded, vector, depth, filters)
        cosines = dict(zip(entries, np.vecdot(rows, vector).tolist(), strict=True))
        scores = fuse(query, entries, by_words, cosines)
        order = diversify(scores, dict(zip(entries, rows, strict=True)), limit, diversity)
        ranks = [{number: rank for rank, number in enumerate(each, 1)} for each in (by_words, by_meaning)]
        return [Match(entries[n], scores[n], cosines[n], ranks[0].get(n, 0), ranks[1].get(n, 0)) for n in order]

    def _candidates(
        self, worded: Future[list[int]], vector: NDArray[np.float32], depth: int, filters: Filters
    ) -> tuple[list[int], list[int], dict[int, Entry], NDArray[np.float32]]:
        """Return the numbers found by words and by meaning, the entries of both, and the vector of each entry."""
        with self._lock:
            while True:
                matrix = self._vectors.synced()
                if matrix is None:
                    return [], [], {}, vector[None][:0]
                scope = None if filters == NO_FILTERS else self._store.numbers(filters)
                by_meaning = matrix.nearest(vector, depth, scope)
                by_words = [number for number in worded.result() if number in matrix]
                numbers = list(dict.fromkeys([*by_words, *by_meaning]))
                entries = self._store.entries(numbers)
                removed = [number for number in numbers if number not in entries]
                if not removed:
                    return by_words, by_meaning, entries, matrix.take(list(entries))
                # Another process has removed these, perhaps with others, since their vectors were read.
                matrix.drop([*removed, *matrix.others(self._store.numbers())])

    def map_points(self, filters: Filters = NO_FILTERS, limit: int = 2_000) -> list[MapPoint]:
        """Return the newest entries on a map of their meaning: similar entries are close together."""
        from research.search.library.plane import plane

        self._vectors.same_encoder()
        with self._lock:
            rows = self._store.page(filters, limit, 0)
            matrix = self._vectors.synced()
            if matrix is None:
                return []
            known = [(number, entry) for number, entry in rows if number in matrix]
            vectors = matrix.take([number for number, _ in known])
        return [MapPoint(entry, x, y) for (_, entry), (x, y) in zip(known, plane(vectors).tolist(), strict=True)]

    def _number(self, id_: str) -> int:
        found = self._store.by_id([id_])
        if id_ not in found:
            raise ConfigError(f"unknown entry {id_!r}; `python -m research memory list` prints all ids")
        return found[id_]

    # Files

    def export(self, filters: Filters = NO_FILTERS) -> Iterator[str]:
        """Yield each entry as a line of JSON without its vector, newest first."""
        numbers = sorted(self._store.numbers(filters), reverse=True)
        for start in range(0, len(numbers), _CHUNK):
            found = self._store.entries(numbers[start : start + _CHUNK])
            for number in sorted(found, reverse=True):
                yield msgspec.json.encode(found[number]).decode() + "\n"

    def load(self, lines: Iterable[str | bytes]) -> Imported:
        """Add exported entries.  Raises `ConfigError` with the number of an invalid line, and when not all fit."""
        entries: list[Entry] = []
        for number, line in enumerate(lines, 1):
            if line.strip():
                try:
                    entries.append(_checked(decoding.decode(line, Entry)))
                except (msgspec.DecodeError, UnicodeDecodeError, ConfigError) as error:
                    raise ConfigError(f"line {number} is not an exported entry: {clip(str(error), 300)}") from error
            if len(entries) > self.capacity:  # read no further
                raise _too_many(f"more than {self.capacity:,} entries", self.capacity, self.count())
        known = self._store.by_id([entry.id for entry in entries if entry.id])
        if len(entries) - len(known) > max(0, self.capacity - self.count()):
            raise _too_many(f"{len(entries) - len(known):,} new entries", self.capacity, self.count())
        new = sum(added.new for added in self.add(reversed(entries)))
        return Imported(new, len(entries) - new)

    # Encoders

    @property
    def other_encoder(self) -> str:
        """The encoder that the memory was encoded by, if it is not the current one, else empty.

        In that case call `reembed`, or change the setting back.
        """
        return self._vectors.other_encoder()

    def reembed(self, progress: Progress | None = None, stop: threading.Event | None = None) -> int:
        """Encode every entry with the current encoder and delete other vectors; return how many were encoded.

        Commits `_CHUNK` entries at a time: after an interruption, also by `stop`, the next call continues from there.
        """
        stop = stop or threading.Event()
        done = self._encode_missing(progress, stop)
        if not stop.is_set():
            with self._store.writing():
                self._store.drop_other_encoders(self._vectors.embedder.id)
        return done

    def _encode_missing(self, progress: Progress | None, stop: threading.Event) -> int:
        name = self._vectors.embedder.id
        total, done = self.count(), 0
        while not stop.is_set() and (entries := self._store.without_vector(name, _CHUNK)):
            vectors = self._vectors.encode(list(entries.values()))
            with self._store.writing():
                now = self._store.entries(list(entries))  # an entry may have been changed or removed meanwhile
                made = zip(entries.items(), vectors, strict=True)
                self._store.put_vectors(name, {n: row.tobytes() for (n, e), row in made if now.get(n) == e})
            done += len(entries)
            if progress:
                progress(done, max(done, total))
        return done


def _too_many(entries: str, capacity: int, count: int) -> ConfigError:
    room = max(0, capacity - count)
    return ConfigError(
        f"the file has {entries}, and the memory has room for {room:,} of {capacity:,}; forget some, or raise the limit of "
        "the memory"
    )


def _checked(entry: Entry) -> Entry:
    """Return the entry with its texts as they will be stored.  Raises `ConfigError` for an invalid entry."""
    texts = {name: storable(getattr(entry, name)) for name in ("text", "quote", "url", "title", "run", "id")}
    texts["text"] = texts["text"].strip()
    if not texts["text"]:
        raise ConfigError("an entry has no text; write what it should say")
    if "\0" in texts["id"]:
        raise ConfigError(f"an entry's id {texts['id'][:100]!r} contains the character NUL; remove it")
    for name, text in texts.items():
        within(MAX_CHARACTERS, f"an entry's {name}", text)
    if not 0 <= entry.time <= _MAX_TIME_S:
        raise ConfigError(f"an entry's time {entry.time:.6g} is not a valid date in seconds since the epoch")
    if not 0 <= entry.round <= _MAX_ROUND:
        raise ConfigError(f"an entry's round {entry.round:.6g} is out of range; give 0 to {_MAX_ROUND:,}")
    tags = checked_tags(storable(tag).replace("\0", " ") for tag in entry.tags)
    return msgspec.structs.replace(entry, **texts, tags=tuple(tags))
