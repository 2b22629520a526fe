"""Add entries to a memory; an entry that says the same as an earlier one is merged into it."""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from research.memory import Added, Entry
from research.memory.duplicates import MIN_COSINE, is_duplicate, merged
from research.memory.entry_vectors import Vectors
from research.memory.store import MemoryStore

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_CANDIDATES = 8
"""Nearest stored entries that a new one is compared with."""


def add_chunk(
    store: MemoryStore, vectors: Vectors, chunk: Sequence[Entry], encoded: NDArray[np.float32], capacity: int
) -> list[Added]:
    """Add some entries with their vectors, shape (len(chunk), dimension), in one transaction.

    Evicts the oldest entries above `capacity`.  The caller must hold the lock of the memory.
    """
    now = time.time()
    with store.writing():
        vectors.same_encoder()  # another process may have written first
        new, added = _merge(store, vectors, chunk, encoded, now)
        numbers = store.insert([(entry, now) for entry in new.values()])
        rows = {number: encoded[place].tobytes() for number, place in zip(numbers, new, strict=True)}
        store.put_vectors(vectors.embedder.id, rows)
        evicted = store.evict(capacity)
    vectors.drop(evicted)
    return added


def _merge(
    store: MemoryStore, vectors: Vectors, chunk: Sequence[Entry], encoded: NDArray[np.float32], now: float
) -> tuple[dict[int, Entry], list[Added]]:
    """Merge duplicates; return the entries that are new, by place in the chunk, and the outcome for every entry."""
    added: list[Added] = []
    known = set(store.by_id([entry.id for entry in chunk if entry.id]))
    candidates = _candidates(store, vectors, chunk, encoded)
    cosines = encoded @ encoded.T
    new: dict[int, Entry] = {}
    for place, entry in enumerate(chunk):
        if entry.id in known:
            added.append(Added(entry.id, new=False))
            continue
        stored = next((each for each in candidates[place] if is_duplicate(entry, each[1])), None)
        similar = (earlier for earlier in new if cosines[place, earlier] >= MIN_COSINE)
        in_chunk = None if stored else next((each for each in similar if is_duplicate(entry, new[each])), None)
        if stored is not None:
            _learn_again(store, stored[0], entry, now)
            added.append(Added(stored[1].id, new=False))
        elif in_chunk is not None:
            new[in_chunk] = merged(new[in_chunk], entry)
            added.append(Added(new[in_chunk].id, new=False))
        else:
            made = msgspec.structs.replace(entry, id=entry.id or secrets.token_hex(8), time=entry.time or now)
            new[place] = made
            known.add(made.id)
            added.append(Added(made.id, new=True))
    return new, added


def _candidates(
    store: MemoryStore, vectors: Vectors, chunk: Sequence[Entry], encoded: NDArray[np.float32]
) -> list[list[tuple[int, Entry]]]:
    """Return for each entry of the chunk the stored ones of its source that may say the same, nearest first."""
    matrix = vectors.synced()
    if matrix is None:
        return [[] for _ in chunk]
    among = [number for number in store.by_url({entry.url for entry in chunk}) if number in matrix]
    similar = matrix.similar(encoded, among, MIN_COSINE, _CANDIDATES)
    entries = store.entries([number for numbers in similar for number in numbers])
    return [[(number, entries[number]) for number in numbers if number in entries] for numbers in similar]


def _learn_again(store: MemoryStore, number: int, duplicate: Entry, now: float) -> None:
    """Record that a stored entry was learned again, with the tags and the pin of its duplicate."""
    before = store.entries([number])[number]
    after = merged(before, duplicate)
    if after.tags != before.tags:
        store.update(number, after)
    if duplicate.pinned:
        store.pin([before.id], True)
    store.touch([before.id], now)
