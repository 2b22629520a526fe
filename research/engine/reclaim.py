"""Reclaim runs whose process has died: find them by their last heartbeat, and continue them."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Protocol

from research.config.timings import Timings
from research.engine.driver import Driver
from research.errors import WorkbenchError
from research.events.events import Event, Replied, Resumed, ToolFinished
from research.store import RunRow, Store

MAX_RECLAIMS = 3
"""A run reclaimed this often without progress is not reclaimed again: it probably kills its process."""

_log = logging.getLogger(__name__)


class Queue(Protocol):
    """Hands queued runs to workers, in this process or on another machine."""

    def put(self, run_id: str) -> None:
        """Add a run, unless it is already in the queue."""


class Reclaimer:
    """Looks for lost runs and continues each in a thread or, with a queue, by adding it there."""

    def __init__(
        self, store: Store, driver: Driver, timings: Timings, queue: Queue | None, work: Callable[[str], None]
    ) -> None:
        self._store = store
        self._driver = driver
        self._timings = timings
        self._queue = queue
        self._work = work
        self._lock = threading.Lock()
        self._watching = False
        self._closed = threading.Event()
        self._given_up: dict[str, float] = {}
        """Last heartbeat of each run no longer reclaimed, by id."""

    def watch(self) -> None:
        """Reclaim lost runs from now on, in a background thread; with a queue, the workers do so instead."""
        with self._lock:
            begun, self._watching = self._watching, True
        if not begun and self._queue is None:
            threading.Thread(target=self._watch, name="tend-runs", daemon=True).start()

    def close(self) -> None:
        """Stop looking for lost runs; runs that are being driven continue."""
        self._closed.set()

    def interrupted(self, row: RunRow) -> bool:
        """Return whether a run marked as running continues only if a user resumes it: its process died."""
        silent = row.status == "running" and time.time() - row.heartbeat > self._timings.silent_after
        return silent and (not self._watching or row.id in self._given_up) and not self._driver.here(row)

    def reclaim_lost(self) -> list[str]:
        """Continue each lost run and return their ids; runs that made no progress for `MAX_RECLAIMS` are left.

        Returns an empty list for `Timings.settle` after an outage of the store: heartbeats could not be written either.
        """
        reclaimed: list[str] = []
        waiting = self._store.stale(time.time() - self._timings.lost_after)
        if time.monotonic() < self._store.available_since + self._timings.settle:
            return reclaimed
        for row in waiting:
            if self._driver.has(row.id) or self._given_up.get(row.id) == row.heartbeat or self._driver.here(row):
                continue
            if row.status == "running" and _stuck(self._store.events(row.id)):
                self._given_up[row.id] = row.heartbeat
                _log.warning(
                    "run %s is not reclaimed again: its process died %d times without progress", row.id, MAX_RECLAIMS
                )
            elif self._queue is not None:
                self._queue.put(row.id)
                reclaimed.append(row.id)
            elif row.status == "running":
                self._driver.start(row.id, partial(self._work, row.id))
                reclaimed.append(row.id)
        return reclaimed

    def _watch(self) -> None:
        while not self._closed.wait(self._timings.reclaim_every):
            try:
                self.reclaim_lost()
            except WorkbenchError as error:
                _log.warning("cannot look for lost runs: %s", error)


def _stuck(events: list[Event]) -> bool:
    """Return whether a run was reclaimed `MAX_RECLAIMS` times since its last reply or tool result."""
    since = next(
        (n for n, each in enumerate(reversed(events)) if isinstance(each, Replied | ToolFinished)), len(events)
    )
    reclaims = sum(isinstance(each, Resumed) and each.by_itself for each in events[len(events) - since :])
    return reclaims >= MAX_RECLAIMS
