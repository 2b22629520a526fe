"""The protocol of a memory's store, the copy from one to another, and the helpers that the SQLite and Postgres stores share."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import accumulate
from typing import Final, Protocol

from msgspec import Struct

from research.errors import ConfigError
from research.memory import NO_FILTERS, Entry, Filters

WEIGHTS: Final[Mapping[str, int]] = {"title": 4, "text": 4, "quote": 1, "tags": 4}
"""The weight of a word's occurrence, by field."""
MAX_OCCURRENCES: Final = 8_000
"""Approximate number of word occurrences that a search reads to score entries."""
_MAX_SCORED: Final = 500
"""Approximate number of entries that a search by words scores."""
_CHUNK: Final = 128
"""Entries that are read, written and committed together."""


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


class MemoryStore(Protocol):
    """Stores entries with their words and vectors.  Safe for threads and processes.

    Each entry has a `number`, which is never reused and which its words and vectors share.  Vectors belong to an encoder
    and are float32, little-endian.  The ids of vectors grow in the order of the commits, so that a reader can ask for new
    ones only.  Every method raises `StoreUnavailable` when the disk is full or the database does not answer; nothing is
    lost in that case.  Methods that change entries, except `purge`, must be called within `writing`.
    """

    def close(self) -> None: ...

    def writing(self) -> AbstractContextManager[None]:
        """Open a transaction: other writers wait, and all changes are on disk when it ends, or none if it raises."""

    # Entries

    def insert(self, entries: Sequence[tuple[Entry, float]]) -> list[int]:
        """Insert entries, each with the time of its last use; return their numbers.

        An entry replaces a forgotten one with the same id.
        """

    def update(self, number: int, entry: Entry) -> None:
        """Replace the text, tags and provenance of an entry."""

    def touch(self, ids: Sequence[str], when: float) -> None:
        """Set the time of the last use of entries."""

    def pin(self, ids: Sequence[str], pinned: bool) -> None: ...

    def forget(self, ids: Sequence[str], when: float) -> list[int]:
        """Hide entries from every list and search until `restore` or `purge`; return their numbers."""

    def restore(self, ids: Sequence[str]) -> None:
        """Undo `forget`."""

    def purge(self, before: float) -> int:
        """Delete for good the entries forgotten before this time, in seconds since the epoch; return how many."""

    def evict(self, capacity: int) -> list[int]:
        """Delete the least recently used unpinned entries above `capacity`; return their numbers.

        Raises `ConfigError` when the pinned entries alone reach the capacity.
        """

    def entries(self, numbers: Sequence[int]) -> dict[int, Entry]:
        """Return entries by number, without those that were forgotten or deleted."""

    def by_id(self, ids: Sequence[str], *, forgotten: bool = False) -> dict[str, int]:
        """Return the numbers of known ids; `forgotten`: include those of forgotten entries."""

    def page(self, filters: Filters, limit: int, offset: int) -> list[tuple[int, Entry]]:
        """Return entries with their numbers, newest first."""

    def numbers(self, filters: Filters = NO_FILTERS) -> list[int]: ...

    def by_url(self, urls: Iterable[str]) -> list[int]:
        """Return the numbers of entries with these source urls; the empty url selects entries without a source."""

    def count(self, filters: Filters = NO_FILTERS) -> int: ...

    def tags(self) -> list[str]:
        """Return all tags, sorted."""

    def runs(self) -> list[str]:
        """Return the ids of all runs that entries were learned in, the latest first."""

    def stored(self, after: int, limit: int) -> list[StoredEntry]:
        """Return at most `limit` entries with a number above `after`, by number, including forgotten ones."""

    # Words

    def search_words(self, words: Sequence[str], limit: int, filters: Filters) -> list[int]:
        """Return the numbers of the entries that contain these words, best first by BM25.

        Where many entries contain one of the words, scores only those that contain one of the rarest, and leaves the
        most common words out of the score: they would hardly change the order.
        """

    # Vectors

    def encoders(self) -> list[str]:
        """Return the encoders that the stored vectors were made by."""

    def drop_other_encoders(self, name: str) -> None:
        """Delete the vectors of all encoders except this one."""

    def put_vectors(self, encoder: str, vectors: Mapping[int, bytes]) -> None:
        """Store vectors by number, replacing earlier ones of this encoder."""

    def vectors(self, encoder: str, after: int) -> Iterator[list[tuple[int, int, bytes]]]:
        """Yield lists of (id, number, vector) with ids above `after`, by id."""

    def without_vector(self, encoder: str, limit: int) -> dict[int, Entry]:
        """Return by number at most `limit` entries that this encoder has not encoded yet."""


def rarest(counts: Iterable[tuple[int, str]]) -> tuple[list[str], list[str]]:
    """Return the words to find entries by, and the words to score them by, given (entries that contain it, word).

    Both are the rarest words whose counts add up to at most `_MAX_SCORED` and `MAX_OCCURRENCES`, but at least one.
    """
    found = sorted((count, word) for count, word in counts if count)
    sums = list(accumulate(count for count, _ in found))
    rare, scored = (max(1, bisect_right(sums, most)) for most in (_MAX_SCORED, MAX_OCCURRENCES))
    ordered = [word for _, word in found]
    return ordered[:rare], ordered[:scored]


def excess(store: MemoryStore, capacity: int) -> int:
    """Return how many entries are above the capacity.  Raises `ConfigError` when the pinned ones alone reach it."""
    number = store.count() - capacity
    if number > 0 and store.count(Filters(pinned=True)) >= capacity:
        raise ConfigError(
            f"the memory is full: all of its {capacity:,} entries are pinned; unpin or forget some, or raise the limit"
        )
    return max(0, number)


def conditions(
    filters: Filters, among: Callable[[Iterable[str]], object], *, mark: str, listed: str, tagged: str
) -> tuple[str, tuple[object, ...]]:
    """Return the SQL condition for entries that match the filters and are not forgotten, with its parameters.

    `mark` is the placeholder of one value, `listed` the operator for one of several values, and `tagged` the condition
    for any of several tags.  `among` turns several values into one parameter.
    """
    found, parameters = ["forgotten IS NULL"], list[object]()
    for column, values in {"kind": filters.kinds, "run": filters.runs, "provenance": filters.provenance}.items():
        if values:
            found.append(f"{column} {listed}")
            parameters.append(among(values))
    if filters.tags:
        found.append(tagged)
        parameters.append(among(filters.tags))
    for sign, bound in ((">=", filters.since), ("<", filters.until)):
        if bound is not None:
            found.append(f"time {sign} {mark}")
            parameters.append(bound)
    if filters.pinned:
        found.append("pinned")
    return " AND ".join(found), tuple(parameters)


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
