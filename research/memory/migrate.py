"""Copy a memory from one store to another, such as from a file to Postgres."""

from __future__ import annotations

from collections.abc import Callable

from research.memory.store import MemoryStore

_CHUNK = 128
"""Entries that are read, written and committed together."""


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
