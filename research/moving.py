"""Runs, and what is kept beside them, go from a file of the home folder to a Postgres."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from typing import Final

from msgspec import Struct

from research.errors import ConfigError
from research.store.postgres import PostgresStore
from research.store.rows import Whole
from research.store.sqlite import SqliteStore

AT_WORK_S: Final = 5.0
"""A run whose engine has said so within this time is at work."""

Report = Callable[[int, int, str], None]
"""Takes (done, total, what)."""


class Moved(Struct, frozen=True):
    """What stands in the database after a move."""

    runs: int
    """Deleted ones too."""
    new: int
    """Runs that were not there before, or not to their end."""
    events: int
    things: int
    """Presets, comparisons and opinions."""


def move(source: SqliteStore, url: str, schema: str, progress: Report) -> Moved:
    """Copy every run with all that belongs to it, and the desk; then read both again and compare.

    The source is only read.  What is there already stays, so that a move that was broken off is finished by another one,
    and a second one changes nothing.  A run that has gone on in the database since stays as it is there.  Raises
    `ConfigError` while a run is at work, and when one was changed meanwhile or has gone on differently in both places.
    """
    ids = source.ids()
    now = time.time()
    for run in ids:
        whole = _found(source, run)
        if whole.row.status == "running" and now - whole.row.beat <= AT_WORK_S:
            raise ConfigError(f"run {run} is at work; let it end or pause it, close the workbench, and move again")
    target = PostgresStore(url, schema)
    new = 0
    for done, run in enumerate(ids):
        progress(done, len(ids), "runs copied")
        new += target.take(_found(source, run))
    progress(len(ids), len(ids), "runs copied")
    things = source.things()
    for thing in things:
        target.take_thing(thing)
    events = 0
    for done, run in enumerate(ids):
        progress(done, len(ids), "runs compared")
        ours, theirs = _found(source, run), target.whole(run)
        if theirs is None or _digest(ours) != _digest(theirs, len(ours.events)):
            raise ConfigError(f"run {run} was changed while it was moved; close the workbench, and move again")
        events += len(ours.events)
    there = {(thing.kind, thing.key): thing.time for thing in target.things()}
    if source.ids() != ids or any(there.get((each.kind, each.key), 0.0) < each.time for each in source.things()):
        raise ConfigError("something was added while it was moved; close the workbench, and move again")
    progress(len(ids), len(ids), "runs compared")
    return Moved(len(ids), new, events, len(things))


def _found(source: SqliteStore, run: str) -> Whole:
    whole = source.whole(run)
    if whole is None:
        raise ConfigError(f"run {run} was removed while it was moved; close the workbench, and move again")
    return whole


def _digest(whole: Whole, events: int | None = None) -> str:
    """A hash of what a run is and of its first events."""
    row = whole.row
    digest = hashlib.sha256(repr((row.id, row.question, row.recipe.hash, row.created, row.origin)).encode())
    for event in whole.events[:events]:
        digest.update(repr(event).encode())
    return digest.hexdigest()
