"""Drive runs in this process: one thread per run, and one that sends heartbeats and reads requests."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence

from research._util import egress
from research.agent.context import RunContext
from research.agent.lifecycle import execute
from research.agent.run import Run
from research.config.timings import Timings
from research.engine.presence import Presence
from research.errors import ConfigError, StoreUnavailable
from research.events.events import Event
from research.ops import logs
from research.store import RunRow, Store

RETRY_S = 0.25
"""Seconds between two attempts to save an event while the store is unavailable."""

Observer = Callable[[Sequence[Event]], Callable[[Event], None]]
"""Called with the events of a run so far; returns the function that receives each later event."""

_log = logging.getLogger(__name__)


class Driver:
    """Drives runs, saves each event before it is passed on, and sends the heartbeats of all runs it drives.

    Threads are daemons: runs survive the end of their process in the store, not in memory.
    """

    def __init__(
        self, store: Store, presence: Presence, timings: Timings, *, user: str = "", observers: Sequence[Observer] = ()
    ) -> None:
        self._store = store
        self._presence = presence
        self._timings = timings
        self._user = user
        self._observers = observers
        self._active: dict[str, RunContext] = {}
        self._threads: dict[str, threading.Thread] = {}
        self._lock = threading.Lock()
        self._beating = threading.Lock()
        """Held while heartbeats are written, so that none is written for a run that has just ended."""
        self._watcher: threading.Thread | None = None
        self._blocked: dict[str, str] = {}
        """By run id, why its events cannot be saved now."""

    # -- what this process drives -------------------------------------------------------------------------------------

    def active(self, run_id: str) -> RunContext | None:
        """Return the run's shared state while this process drives it, else None."""
        with self._lock:
            return self._active.get(run_id)

    def has(self, run_id: str) -> bool:
        """Return whether this process drives the run or is about to."""
        thread = self._threads.get(run_id)
        return run_id in self._active or (thread is not None and thread.is_alive())

    def thread(self, run_id: str) -> threading.Thread | None:
        """Return the background thread of a run, if this process has started one."""
        return self._threads.get(run_id)

    def blocked(self, run_id: str) -> str:
        """Return why the run's events cannot be saved at the moment; empty when they can."""
        return self._blocked.get(run_id, "")

    # -- what any process drives --------------------------------------------------------------------------------------

    def here(self, row: RunRow) -> bool:
        """Return whether a process on this machine drives the run, even if it is suspended and sends no heartbeats."""
        return row.id in self._active or self._presence.driven(row.id)

    def alive(self, row: RunRow) -> bool:
        """Return whether a process drives the run; across machines, judged by its last heartbeat."""
        recent = row.status == "running" and time.time() - row.heartbeat <= self._timings.dead_after
        return self.here(row) or recent

    def at_work(self, row: RunRow) -> bool:
        """Like `alive`, but wait for the next heartbeat of a process that this machine cannot see."""
        if self.here(row) or not self.alive(row):
            return self.here(row)
        time.sleep(self._timings.dead_after)
        return self._store.run(row.id).heartbeat != row.heartbeat

    # -- driving ------------------------------------------------------------------------------------------------------

    def start(self, run_id: str, work: Callable[[], None]) -> None:
        """Call `work` in a background thread of that run."""
        self._threads = {run: thread for run, thread in self._threads.items() if thread.is_alive()}
        self._threads[run_id] = thread = threading.Thread(target=work, name=f"run-{run_id}", daemon=True)
        thread.start()

    def exhaust(self, run_id: str, steps: Iterator[Event]) -> None:
        """Drive a run to its end, pause or question."""
        try:
            deque(steps, 0)
        except ConfigError as error:  # another process has resumed it
            _log.warning("run %s is left to another process: %s", run_id, error)

    def drive(self, run: Run, run_id: str) -> Iterator[Event]:
        """Execute the run while the caller iterates; each event is saved before it is yielded.

        Raises `ConfigError` if this process already drives the run, or another has continued it.
        """
        with self._lock:
            if run_id in self._active:
                raise ConfigError(f"run {run_id} is already running")
            self._active[run_id] = run.context
        try:
            self._ensure_watcher()
            past = self._store.events(run_id) if self._observers else []
            # An offline run is not traced either: its spans would leave.
            observers = () if run.recipe.egress == "offline" else self._observers
            receivers = [observe(past) for observe in observers]
            steps = egress.carrying(run.context.egress, execute(run, run_id, lambda: self._store.events(run_id)))
            with self._presence.driving(run_id):
                for event in logs.with_fields(steps, run=run_id, user=self._user):
                    self._save(event)
                    self.log([event])
                    for receive in receivers:
                        receive(event)
                    yield event
        finally:
            with self._beating, self._lock:
                del self._active[run_id]

    def leave(self, past: Sequence[Event], last: Event) -> Iterator[Event]:
        """Save and yield the last event of a run that this process cannot drive; observers receive it, too."""
        self._store.append([last])
        self.log([last])
        for observe in self._observers:
            observe(past)(last)
        yield last

    def log(self, events: Iterable[Event]) -> None:
        """Write a log line for each event that deserves one."""
        for event in events:
            logs.log_event(event, self._user)

    def _save(self, event: Event) -> None:
        """Save an event, retrying for as long as the store is unavailable: finished work is never done twice."""
        while True:
            try:
                self._store.append([event])
            except StoreUnavailable as error:
                self._blocked[event.run] = str(error)
                _log.warning("run %s waits until its events can be saved: %s", event.run, error)
                time.sleep(RETRY_S)
            else:
                self._blocked.pop(event.run, None)
                return

    def _ensure_watcher(self) -> None:
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
                    self._store.heartbeat(list(active))
                    requests = self._store.requests(list(active))
                except StoreUnavailable:
                    requests = {}  # `_save` reports it, once there is something to save
                for run_id, control in requests.items():
                    (active[run_id].stop if control == "stop" else active[run_id].pause).set()
            time.sleep(self._timings.heartbeat_every)
