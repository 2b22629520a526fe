"""A memory goes from one shelf to another, as when files become a Postgres."""

from __future__ import annotations

from collections.abc import Callable

from research.memory.shelf import Shelf

_CHUNK = 128
"""Entries that are read, written and committed together."""


def move(source: Shelf, target: Shelf, progress: Callable[[int], None] | None = None) -> int:
    """Copy every entry with its id, times, pin and vectors, forgotten ones too; returns how many came.

    What the target holds already stays as it is there, so that a move that was broken off is finished by another one;
    the source is only read.  The order of what makes room for others stays.
    """
    after, moved = 0, 0
    while some := source.kept(after, _CHUNK):
        with target.writing():
            there = target.by_id([each.entry.id for each in some], forgotten=True)
            new = [each for each in some if each.entry.id not in there]
            came = dict(zip(target.insert([(each.entry, each.seen) for each in new]), new, strict=True))
            for encoder in {name for each in new for name in each.vectors}:
                vectors = {n: each.vectors[encoder] for n, each in came.items() if encoder in each.vectors}
                target.put_vectors(encoder, vectors)
            for each in new:
                if each.forgotten is not None:
                    target.forget([each.entry.id], each.forgotten)
        after, moved = some[-1].number, moved + len(came)
        if progress:
            progress(moved)
    return moved
