"""Copy runs and saved values from a SQLite file to Postgres."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from typing import Final

from msgspec import Struct

from research.errors import ConfigError
from research.store.postgres import PostgresStore
from research.store.rows import StoredRun
from research.store.sqlite import SqliteStore

AT_WORK_S: Final = 5.0
"""A run with a more recent heartbeat is running."""

Report = Callable[[int, int, str], None]
"""Takes (done, total, label)."""


class Moved(Struct, frozen=True):
    """What the database contains after a move."""

    runs: int
    """All runs of the source, deleted ones included."""
    new: int
    """Runs that were missing or incomplete in the database."""
    events: int
    values: int
    """Presets, comparisons, opinions and other saved values."""


def move(source: SqliteStore, url: str, schema: str, progress: Report) -> Moved:
    """Copy every run and every saved value, then read both stores again and compare them.

    The source is only read.  Data in the database is kept, so an interrupted move can be repeated, and a second move
    changes nothing.  A run that has continued in the database stays as it is there.  Raises `ConfigError` while a run is at
    work, and for a run that changed during the move or has different events in the two stores.
    """
    ids = source.ids()
    now = time.time()
    for run in ids:
        row = _stored(source, run).row
        if row.status == "running" and now - row.heartbeat <= AT_WORK_S:
            raise ConfigError(f"run {run} is running; let it end or pause it, close the workbench, and move again")
    target = PostgresStore(url, schema)
    new = 0
    for done, run in enumerate(ids):
        progress(done, len(ids), "runs copied")
        new += target.add_stored_run(_stored(source, run))
    progress(len(ids), len(ids), "runs copied")
    values = source.stored_values()
    for value in values:
        target.add_stored_value(value)
    events = 0
    for done, run in enumerate(ids):
        progress(done, len(ids), "runs compared")
        events += _compare(source, target, run)
    copied = {(value.kind, value.key): value.time for value in target.stored_values()}
    late = any(copied.get((each.kind, each.key), 0.0) < each.time for each in source.stored_values())
    if source.ids() != ids or late:
        raise ConfigError("a run or value was added during the move; close the workbench, and move again")
    progress(len(ids), len(ids), "runs compared")
    return Moved(len(ids), new, events, len(values))


def _compare(source: SqliteStore, target: PostgresStore, run: str) -> int:
    """Return the number of events of the run.  Raises `ConfigError` when the copy differs."""
    ours, theirs = _stored(source, run), target.stored_run(run)
    if theirs is None or _digest(ours) != _digest(theirs, len(ours.events)):
        raise ConfigError(f"run {run} changed during the move; close the workbench, and move again")
    return len(ours.events)


def _stored(source: SqliteStore, run: str) -> StoredRun:
    found = source.stored_run(run)
    if found is None:
        raise ConfigError(f"run {run} was removed during the move; close the workbench, and move again")
    return found


def _digest(run: StoredRun, events: int | None = None) -> str:
    """Return a hash of the run's identity and of its first `events` events."""
    row = run.row
    digest = hashlib.sha256(repr((row.id, row.question, row.recipe.hash, row.created, row.origin)).encode())
    for event in run.events[:events]:
        digest.update(repr(event).encode())
    return digest.hexdigest()
