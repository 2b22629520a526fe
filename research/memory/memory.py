"""The memory itself: adds, finds, changes and forgets entries."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from msgspec import Struct

from research import decoding
from research.errors import ConfigError, ToolError
from research.memory import CAPACITY, NO_FILTERS, Added, Entry, Filters, Found, Imported, near
from research.memory.ranking import diverse, fused
from research.memory.shelf import Shelf
from research.memory.sqlite import SqliteShelf
from research.memory.vectors import Vectors
from research.search.ranking import query_words
from research.search.shelves import storable
from research.types import Embedder

if TYPE_CHECKING:
    from numpy.typing import NDArray

Progress = Callable[[int, int], None]
"""Called with how many are done, of how many."""

LONGEST = 100_000
"""Characters of a text or a quote."""
_CHUNK = 128
"""Entries that are encoded, compared and committed together."""
_DEPTH = 20
"""Entries that each of the two rankings brings into the fusion."""
_TWINS = 8
"""Near entries that a new one is compared with."""
_CALENDAR_S = 250_000_000_000
"""Late in the year 9892: what is later has no date."""
_ROUNDS = 1_000_000
_FORGOTTEN_S = 86_400.0
"""After this time what was forgotten is removed for good, when the memory is next opened."""


class Placed(Struct, frozen=True):
    """An entry on the map; both coordinates within -1 and 1."""

    entry: Entry
    x: float
    y: float


class Memory:
    """The entries of one shelf, or kept in one file, with their vectors in one matrix.

    The encoder is asked for nothing until something is added or sought.  Safe for many threads and for several
    processes at once.  Raises `ConfigError` when the file is no readable database, and from every method
    `StoreUnavailable` when the disk is full or the database does not answer: nothing is lost then.
    """

    def __init__(self, place: Path | Shelf, embedder: Embedder, capacity: int = CAPACITY) -> None:
        self.capacity = capacity
        """Entries kept; the unpinned one that was learned or recalled longest ago makes room for a new one."""
        self._shelf = SqliteShelf(place) if isinstance(place, Path) else place
        self._vectors = Vectors(self._shelf, embedder, capacity)
        self._lock = threading.RLock()
        self._beside = ThreadPoolExecutor(1, "memory-words")
        self._shelf.purge(time.time() - _FORGOTTEN_S)

    def close(self) -> None:
        self._beside.shutdown()
        with self._lock:
            self._shelf.close()

    # What goes in

    def add(self, entries: Iterable[Entry]) -> list[Added]:
        """Keep entries; one that says the same as an earlier one of its kind and source only freshens that.

        Some at a time are encoded and committed: when this returns all of them survive a power loss.  Raises
        `ConfigError`, before anything is kept, for an entry without text, and when the encoder is not the memory's own.
        """
        checked = [_checked(entry) for entry in entries]
        self._vectors.same_encoder()
        added: list[Added] = []
        for start in range(0, len(checked), _CHUNK):
            chunk = checked[start : start + _CHUNK]
            added += self._keep(chunk, self._vectors.encode(chunk))
        return added

    def _keep(self, chunk: Sequence[Entry], vectors: NDArray[np.float32]) -> list[Added]:
        """Add some entries with their vectors, in one transaction."""
        now = time.time()
        added: list[Added] = []
        with self._lock:
            with self._shelf.writing():
                self._vectors.same_encoder()  # another process may have been the first to write
                there = set(self._shelf.by_id([entry.id for entry in chunk if entry.id]))
                rivals = self._rivals(chunk, vectors)
                likeness = vectors @ vectors.T
                new: dict[int, Entry] = {}
                for place, entry in enumerate(chunk):
                    if entry.id in there:
                        added.append(Added(entry.id, new=False))
                        continue
                    twin = next((each for each in rivals[place] if near.same(entry, each[1])), None)
                    close = (earlier for earlier in new if likeness[place, earlier] >= near.LEAST)
                    own = None if twin else next((each for each in close if near.same(entry, new[each])), None)
                    if twin is not None:
                        self._freshen(twin[0], entry, now)
                        added.append(Added(twin[1].id, new=False))
                    elif own is not None:
                        new[own] = near.together(new[own], entry)
                        added.append(Added(new[own].id, new=False))
                    else:
                        made = msgspec.structs.replace(
                            entry, id=entry.id or secrets.token_hex(8), time=entry.time or now
                        )
                        new[place] = made
                        there.add(made.id)
                        added.append(Added(made.id, new=True))
                numbers = self._shelf.insert([(entry, now) for entry in new.values()])
                rows = {number: vectors[place].tobytes() for number, place in zip(numbers, new, strict=True)}
                self._shelf.put_vectors(self._vectors.embedder.id, rows)
                gone = self._shelf.evict(self.capacity)
            self._vectors.drop(gone)
        return added

    def _rivals(self, chunk: Sequence[Entry], vectors: NDArray[np.float32]) -> list[list[tuple[int, Entry]]]:
        """For each of some new entries the kept ones that may say the same, nearest first."""
        matrix = self._vectors.synced()
        if matrix is None:
            return [[] for _ in chunk]
        among = [number for number in self._shelf.of_sources({entry.url for entry in chunk}) if number in matrix]
        alike = matrix.alike(vectors, among, near.LEAST, _TWINS)
        entries = self._shelf.entries([number for numbers in alike for number in numbers])
        return [[(number, entries[number]) for number in numbers if number in entries] for numbers in alike]

    def _freshen(self, number: int, again: Entry, now: float) -> None:
        """What an entry says was learned again, perhaps with other tags."""
        before = self._shelf.entries([number])[number]
        after = near.together(before, again)
        if after.tags != before.tags:
            self._shelf.update(number, after)
        if again.pinned:
            self._shelf.pin([before.id], True)
        self._shelf.freshen([before.id], now)

    def edit(self, id_: str, *, text: str | None = None, tags: Sequence[str] | None = None) -> Entry:
        """Give an entry another text, which is then the user's own, or other tags.  Raises `ConfigError`."""
        before = self.get(id_)
        after = _checked(
            msgspec.structs.replace(
                before,
                text=before.text if text is None else text,
                tags=before.tags if tags is None else tuple(tags),
            )
        )
        vectors = None
        if after.text != before.text:
            after = msgspec.structs.replace(after, provenance="user")
            self._vectors.same_encoder()
            vectors = self._vectors.encode([after])
        with self._lock, self._shelf.writing():
            number = self._number(id_)
            self._shelf.update(number, after)
            if vectors is not None:
                self._shelf.put_vectors(self._vectors.embedder.id, {number: vectors[0].tobytes()})
        return after

    def pin(self, ids: Sequence[str], pinned: bool = True) -> None:
        """Keep entries whatever else is added, or no longer."""
        with self._shelf.writing():
            self._shelf.pin(ids, pinned)

    def freshen(self, ids: Sequence[str]) -> None:
        """They were of use now: others make room before them.  Unknown ids are passed over."""
        with self._shelf.writing():
            self._shelf.freshen(ids, time.time())

    def forget(self, ids: Sequence[str]) -> int:
        """Take entries out of every list and search until `restore`, or for good by `purge`; returns how many."""
        with self._lock:
            with self._shelf.writing():
                gone = self._shelf.forget(ids, time.time())
            self._vectors.drop(gone)
        return len(gone)

    def restore(self, ids: Sequence[str]) -> None:
        """Take back a `forget`; the oldest others make room if theirs was taken meanwhile."""
        with self._lock:
            with self._shelf.writing():
                self._shelf.restore(ids)
                gone = self._shelf.evict(self.capacity)
            self._vectors.drop(gone)
        if not self.other_encoder:
            # It may have been encoded anew meanwhile, and what is forgotten is left out of that.
            self._encode_missing(None, threading.Event())

    def purge(self, before: float) -> int:
        """Remove for good what was forgotten before that time, seconds since the epoch; returns how many."""
        return self._shelf.purge(before)

    # What comes out

    def get(self, id_: str) -> Entry:
        """Raises `ConfigError` for an entry that is not there."""
        number = self._number(id_)
        return self._shelf.entries([number])[number]

    def entries(self, filters: Filters = NO_FILTERS, limit: int = 100, offset: int = 0) -> list[Entry]:
        """Newest first."""
        return [entry for _, entry in self._shelf.page(filters, limit, offset)]

    def count(self, filters: Filters = NO_FILTERS) -> int:
        return self._shelf.count(filters)

    def tags(self) -> list[str]:
        """Every tag there is, sorted."""
        return self._shelf.tags()

    def runs(self) -> list[str]:
        """Every run that something was learned in, the latest first."""
        return self._shelf.runs()

    def search(
        self, query: str, limit: int = 5, filters: Filters = NO_FILTERS, *, diversity: float = 0.0
    ) -> list[Found]:
        """The entries that answer best, by their words and by their meaning; best first.

        `diversity` from 0 to 1 trades likeness to the query for unlikeness to what is found already.  Raises
        `ToolError` when the query has no word and `ConfigError` when the encoder is not the memory's own.
        """
        words = query_words(query)
        if not words:
            raise ToolError(f"the query {query!r} has no words to search for")
        if not self._vectors.same_encoder():
            return []  # nothing is kept: no reason to load the encoder
        depth = max(_DEPTH, 2 * limit)
        # While the query is encoded and compared, which does not hold the lock of the interpreter either.
        worded = self._beside.submit(self._shelf.by_words, words, depth, filters)
        vector = self._vectors.embedder.encode([query])[0]
        by_words, by_meaning, entries, rows = self._candidates(worded, vector, depth, filters)
        cosines = dict(zip(entries, np.vecdot(rows, vector).tolist(), strict=True))
        scores = fused(query, entries, by_words, cosines)
        order = diverse(scores, dict(zip(entries, rows, strict=True)), limit, diversity)
        ranks = [{number: rank for rank, number in enumerate(each, 1)} for each in (by_words, by_meaning)]
        return [Found(entries[n], scores[n], cosines[n], ranks[0].get(n, 0), ranks[1].get(n, 0)) for n in order]

    def _candidates(
        self, worded: Future[list[int]], vector: NDArray[np.float32], depth: int, filters: Filters
    ) -> tuple[list[int], list[int], dict[int, Entry], NDArray[np.float32]]:
        """Numbers by words and by meaning, their entries, and a row of a matrix for each of these."""
        with self._lock:
            while True:
                matrix = self._vectors.synced()
                if matrix is None:
                    return [], [], {}, vector[None][:0]
                scope = None if filters == NO_FILTERS else self._shelf.numbers(filters)
                by_meaning = matrix.nearest(vector, depth, scope)
                by_words = [number for number in worded.result() if number in matrix]
                numbers = list(dict.fromkeys([*by_words, *by_meaning]))
                entries = self._shelf.entries(numbers)
                gone = [number for number in numbers if number not in entries]
                if not gone:
                    return by_words, by_meaning, entries, matrix.take(list(entries))
                # Another process has removed some since their vectors were read, these and perhaps more.
                matrix.drop([*gone, *matrix.others(self._shelf.numbers())])

    def placed(self, filters: Filters = NO_FILTERS, limit: int = 2_000) -> list[Placed]:
        """The newest entries on a map of their meaning: what is alike lies close together."""
        from research.memory.plane import plane

        self._vectors.same_encoder()
        with self._lock:
            rows = self._shelf.page(filters, limit, 0)
            matrix = self._vectors.synced()
            if matrix is None:
                return []
            known = [(number, entry) for number, entry in rows if number in matrix]
            vectors = matrix.take([number for number, _ in known])
        return [Placed(entry, x, y) for (_, entry), (x, y) in zip(known, plane(vectors).tolist(), strict=True)]

    def _number(self, id_: str) -> int:
        found = self._shelf.by_id([id_])
        if id_ not in found:
            raise ConfigError(f"unknown entry {id_!r}; `python -m research memory list` names those that are there")
        return found[id_]

    # Files

    def export(self, filters: Filters = NO_FILTERS) -> Iterator[str]:
        """Each entry as a line of JSON, the latest kept first, without its vector."""
        numbers = sorted(self._shelf.numbers(filters), reverse=True)
        for start in range(0, len(numbers), _CHUNK):
            found = self._shelf.entries(numbers[start : start + _CHUNK])
            for number in sorted(found, reverse=True):
                yield msgspec.json.encode(found[number]).decode() + "\n"

    def load(self, lines: Iterable[str | bytes]) -> Imported:
        """Add what `export` wrote.  Raises `ConfigError` that names the line, and when there is no room for all."""
        entries: list[Entry] = []
        for number, line in enumerate(lines, 1):
            if line.strip():
                try:
                    entries.append(_checked(decoding.decode(line, Entry)))
                except (msgspec.DecodeError, UnicodeDecodeError, ConfigError) as error:
                    raise ConfigError(f"line {number} is no entry of a memory: {error}") from error
        there = self._shelf.by_id([entry.id for entry in entries if entry.id])
        room = max(0, self.capacity - self.count())
        if len(entries) - len(there) > room:
            raise ConfigError(
                f"the file holds {len(entries) - len(there):,} new entries, and there is room for {room:,} of "
                f"{self.capacity:,}; forget some, or let the memory hold more"
            )
        new = sum(added.new for added in self.add(reversed(entries)))
        return Imported(new, len(entries) - new)

    # Encoders

    @property
    def other_encoder(self) -> str:
        """The encoder that the memory was encoded by, when it is not the present one: then `reembed`, or set it back."""
        return self._vectors.other_encoder()

    def reembed(self, progress: Progress | None = None, stop: threading.Event | None = None) -> int:
        """Encode every entry with the present encoder and drop the vectors of others; returns how many were encoded.

        Committed some at a time: when it is broken off, by `stop` too, the next call goes on from there.
        """
        stop = stop or threading.Event()
        done = self._encode_missing(progress, stop)
        if not stop.is_set():
            with self._shelf.writing():
                self._shelf.keep_encoder(self._vectors.embedder.id)
        return done

    def _encode_missing(self, progress: Progress | None, stop: threading.Event) -> int:
        name = self._vectors.embedder.id
        total, done = self.count(), 0
        while not stop.is_set() and (entries := self._shelf.without_vector(name, _CHUNK)):
            vectors = self._vectors.encode(list(entries.values()))
            with self._shelf.writing():
                now = self._shelf.entries(list(entries))  # one may have changed, or gone, while it was encoded
                made = zip(entries.items(), vectors, strict=True)
                self._shelf.put_vectors(name, {n: row.tobytes() for (n, e), row in made if now.get(n) == e})
            done += len(entries)
            if progress:
                progress(done, max(done, total))
        return done


def _checked(entry: Entry) -> Entry:
    """The entry with its text as it is kept.  Raises `ConfigError`."""
    texts = {name: storable(getattr(entry, name)) for name in ("text", "quote", "url", "title", "run", "id")}
    texts["text"] = texts["text"].strip()
    if not texts["text"]:
        raise ConfigError("an entry without text cannot be remembered; write what it says")
    if "\0" in texts["id"]:
        raise ConfigError("an entry's id holds the character NUL, and could not be found by it; leave it out")
    for name, text in texts.items():
        if len(text) > LONGEST:
            raise ConfigError(f"an entry's {name} has {len(text):,} characters; at most {LONGEST:,} are accepted")
    if not 0 <= entry.time <= _CALENDAR_S:
        raise ConfigError(f"an entry's time {entry.time:.6g} is no date")
    if not 0 <= entry.round <= _ROUNDS:
        raise ConfigError(f"an entry's round {entry.round:.6g}: 0 to {_ROUNDS:,} are accepted")
    tags = dict.fromkeys(" ".join(storable(tag).replace("\0", " ").split()) for tag in entry.tags)
    return msgspec.structs.replace(entry, **texts, tags=tuple(tag for tag in tags if tag))
