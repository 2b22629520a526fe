"""How runs are driven in this process: one thread each, every event saved before anybody sees it."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Protocol

from research import logs
from research.ending import execute
from research.errors import ConfigError, StoreUnavailable
from research.events import Event
from research.journal import Journal
from research.recipe import Recipe
from research.run import Run, Shared
from research.store import RunRow, Store

WATCH_EVERY_S = 0.25
"""How often requests from other processes are looked for, and runs at work say that they are."""
DEAD_AFTER_S = 1.5
"""A run that has not said so for this long is not at work any more: whoever asks for it may take it up."""
HELD_S = 0.25
"""How often it is tried again to keep an event while the store cannot."""

Follows = Callable[[Sequence[Event]], Callable[[Event], None]]
"""Given the events of a run so far, what is to hear of the rest."""

SharedFor = Callable[[Recipe, Journal, threading.Event], Shared]
"""Makes the models and tools of a recipe."""


_log = logging.getLogger(__name__)


class Queue(Protocol):
    """Hands runs that stand as queued to whoever works on them, in this process or on another machine."""

    def put(self, run_id: str) -> None:
        """Let somebody take the run up; one that is in the queue already stays there once."""


class Followed:
    """A run's id, and its events as they happen."""

    def __init__(self, run_id: str, events: Iterator[Event]) -> None:
        self.run_id = run_id
        self._events = events

    def __iter__(self) -> Iterator[Event]:
        return self._events

    def __next__(self) -> Event:
        return next(self._events)


class Driver:
    """One daemon thread per run in this process, and one that watches for requests to stop or rest.

    With a queue, what is to run in the background is put there, and a worker's engine takes it up.
    """

    def __init__(
        self,
        store: Store,
        shared_for: SharedFor,
        queue: Queue | None = None,
        *,
        user: str = "",
        follows: Sequence[Follows] = (),
    ) -> None:
        self._store = store
        self._shared_for = shared_for
        self._queue = queue
        self._user = user
        self._follows = follows
        self._active: dict[str, Shared] = {}
        self._threads: dict[str, threading.Thread] = {}
        self._lock = threading.Lock()
        self._beating = threading.Lock()
        """Held while runs are said to be at work: a run that has ended is never said to be, not even a moment later."""
        self._watcher: threading.Thread | None = None
        self._held: dict[str, str] = {}
        """Why runs cannot go on just now, by id."""
        self._tending = False
        self._closed = threading.Event()
        self._left: dict[str, float] = {}
        """Runs that do not go on by themselves any more, by id, with their last beat."""

    def wait(self, run_id: str, timeout_s: float | None = None) -> bool:
        """Wait for a run of this engine; False when the time was too short."""
        thread = self._threads.get(run_id)
        if thread is not None:
            thread.join(timeout_s)
            return not thread.is_alive()
        until = None if timeout_s is None else time.monotonic() + timeout_s
        while self._queues and self._store.run(run_id).status in ("queued", "running"):
            if until is not None and time.monotonic() > until:
                return False
            time.sleep(WATCH_EVERY_S)
        return True

    def held(self, run_id: str) -> str:
        """Why a run of this process cannot go on just now, in words; empty where it can."""
        return self._held.get(run_id, "")

    @property
    def _queues(self) -> bool:
        return self._queue is not None

    def _in_background(self, events: Followed) -> str:
        if self._queue is None:
            return self._here(events)
        self._queue.put(events.run_id)
        return events.run_id

    def _here(self, events: Followed) -> str:
        self._in_thread(events.run_id, partial(self._work, events))
        return events.run_id

    def _in_thread(self, run_id: str, work: Callable[[], None]) -> None:
        self._threads = {run: thread for run, thread in self._threads.items() if thread.is_alive()}
        self._threads[run_id] = thread = threading.Thread(target=work, name=f"run-{run_id}", daemon=True)
        thread.start()

    def _work(self, events: Followed) -> None:
        """Make a run happen."""
        try:
            deque(events, 0)
        except ConfigError as error:  # somebody else has taken it up
            _log.warning("run %s is left: %s", events.run_id, error)

    def _has(self, run_id: str) -> bool:
        """Whether this process works on the run, or is about to."""
        thread = self._threads.get(run_id)
        return run_id in self._active or (thread is not None and thread.is_alive())

    def _beats(self, row: RunRow) -> bool:
        """Whether somebody said a moment ago to be at work on the run."""
        return row.status == "running" and time.time() - row.beat <= DEAD_AFTER_S

    def _at_work(self, row: RunRow) -> bool:
        """Whether this process or another one drives the run: then its heart beats."""
        if row.id in self._active:
            return True
        if not self._beats(row):
            return False
        time.sleep(DEAD_AFTER_S)
        return self._store.run(row.id).beat != row.beat

    def _drive(self, run: Run, run_id: str) -> Iterator[Event]:
        with self._lock:
            if run_id in self._active:
                raise ConfigError(f"run {run_id} is at work")
            self._active[run_id] = run.shared
        try:
            self._be_watched()
            past = self._store.events(run_id) if self._follows else []
            hears = [follow(past) for follow in self._follows]
            steps = execute(run, run_id, lambda: self._store.events(run_id))
            for event in logs.within(steps, run=run_id, user=self._user):
                self._keep(event)
                self._tell([event])
                for hear in hears:
                    hear(event)
                yield event
        finally:
            with self._beating, self._lock:
                del self._active[run_id]

    def _tell(self, events: Iterable[Event]) -> None:
        for event in events:
            logs.tell(event, self._user)

    def _keep(self, event: Event) -> None:
        """Save an event, however long that takes: what was done is not done again because a disk was full."""
        while True:
            try:
                self._store.append([event])
            except StoreUnavailable as error:
                self._held[event.run] = str(error)
                _log.warning("run %s waits until it can be saved: %s", event.run, error)
                time.sleep(HELD_S)
            else:
                self._held.pop(event.run, None)
                return

    def _be_watched(self) -> None:
        with self._lock:
            if self._watcher is None:
                watcher = threading.Thread(target=self._watch, name="watch-controls", daemon=True)
                watcher.start()
                self._watcher = watcher

    def _watch(self) -> None:
        while True:
            with self._beating:
                with self._lock:
                    active = dict(self._active)
                    if not active:
                        self._watcher = None
                        return
                try:
                    self._store.beat(list(active))
                    asked = self._store.controls(list(active))
                except StoreUnavailable:
                    asked = {}  # whoever has something to save says so
                for run_id, control in asked.items():
                    (active[run_id].stop if control == "stop" else active[run_id].rest).set()
            time.sleep(WATCH_EVERY_S)


def after(told: Iterable[Event], coming: Iterator[Event]) -> Iterator[Event]:
    """What is saved already, then what happens."""
    yield from told
    yield from coming
