"""Where runs run: never in a page's script, so that a closed tab changes nothing."""

from __future__ import annotations

import secrets
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Protocol

from research.ending import execute
from research.errors import ConfigError
from research.events import Event, UserReplied, WaitingForUser
from research.journal import Journal
from research.recipe import Recipe
from research.run import Run, Shared
from research.store import RunRow, Store

WATCH_EVERY_S = 0.25
"""How often requests from other processes are looked for, and runs at work say that they are."""
DEAD_AFTER_S = 1.5
"""A run that has not said so for this long is not at work any more."""

SharedFor = Callable[[Recipe, Journal, threading.Event], Shared]
"""Makes the models and tools of a recipe."""


class Engine(Protocol):
    """Takes questions and works on them in the background."""

    def start(self, question: str, recipe: Recipe) -> str:
        """Begin a run and return its id at once."""

    def stop(self, run_id: str) -> None:
        """Ask a run to stop; it does within one call in flight."""

    def wait(self, run_id: str, timeout_s: float | None = None) -> bool:
        """Wait for a run of this engine; False when the time was too short."""


class Followed:
    """A run's id, and its events as they happen."""

    def __init__(self, run_id: str, events: Iterator[Event]) -> None:
        self.run_id = run_id
        self._events = events

    def __iter__(self) -> Iterator[Event]:
        return self._events

    def __next__(self) -> Event:
        return next(self._events)


class ThreadEngine:
    """One daemon thread per run in this process, and one that watches for requests to stop."""

    def __init__(self, store: Store, shared_for: SharedFor) -> None:
        self._store = store
        self._shared_for = shared_for
        self._active: dict[str, threading.Event] = {}
        self._threads: dict[str, threading.Thread] = {}
        self._lock = threading.Lock()
        self._watcher: threading.Thread | None = None

    def start(self, question: str, recipe: Recipe, run_id: str | None = None) -> str:
        """Begin a run.  Raises `ConfigError` for what can be known to be wrong before the first round."""
        return self._in_background(self.follow(question, recipe, run_id))

    def go_on(self, run_id: str, reply: str | None = None) -> str:
        """`resume` in the background."""
        return self._in_background(self.resume(run_id, reply))

    def _in_background(self, events: Followed) -> str:
        thread = threading.Thread(target=deque, args=(events, 0), name=f"run-{events.run_id}", daemon=True)
        self._threads[events.run_id] = thread
        thread.start()
        return events.run_id

    def follow(self, question: str, recipe: Recipe, run_id: str | None = None) -> Followed:
        """Run in the caller's thread: iterate to make it happen.  Every event is saved before it is yielded."""
        stop = threading.Event()
        # Made before anything is saved: a wrong model or folder is told to the caller, and no run exists.
        run = Run(checked_question(question), recipe, self._shared_for(recipe, Journal(), stop))
        run_id = run_id or new_id()
        self._store.create(run_id, run.question, recipe)
        return Followed(run_id, self._drive(run, run_id))

    def resume(self, run_id: str, reply: str | None = None) -> Followed:
        """Go on with a run from its journal; `reply` answers its open question.

        Raises `ConfigError` when it has ended, or waits for a reply and gets none.
        """
        row = self._store.run(run_id)
        waits, text = row.status == "waiting_input", (reply or "").strip()
        if waits and not text:
            raise ConfigError(f"run {row.id} waits for a reply to: {row.answer}")
        if text and not waits:
            raise ConfigError(f"run {row.id} waits for no reply: it is {row.status}")
        if row.status not in ("running", "waiting_input", "paused"):
            raise ConfigError(f"run {row.id} cannot be resumed: {row.status}")
        if row.status == "running" and self._at_work(row):
            raise ConfigError(f"run {row.id} cannot be resumed: it is at work")
        events = self._store.events(row.id)
        told: list[Event] = []
        if waits:
            agent = next(event.agent for event in reversed(events) if isinstance(event, WaitingForUser))
            told.append(UserReplied(run=row.id, seq=events[-1].seq + 1, time=time.time(), agent=agent, text=text))
        # Made before anything is saved, as for a new run.
        shared = self._shared_for(row.recipe, Journal([*events, *told]), threading.Event())
        run = Run(row.question, row.recipe, shared)
        self._store.withdraw(row.id)
        self._store.append(told)
        return Followed(row.id, chain(told, self._drive(run, row.id)))

    def _at_work(self, row: RunRow) -> bool:
        """Whether this process or another one drives the run: then its heart beats."""
        if row.id in self._active:
            return True
        if time.time() - row.beat > DEAD_AFTER_S:
            return False
        time.sleep(DEAD_AFTER_S)
        return self._store.run(row.id).beat != row.beat

    def stop(self, run_id: str) -> None:
        self._store.ask_for(run_id, "stop")
        with self._lock:
            if run_id in self._active:
                self._active[run_id].set()

    def wait(self, run_id: str, timeout_s: float | None = None) -> bool:
        thread = self._threads.get(run_id)
        if thread is not None:
            thread.join(timeout_s)
        return thread is None or not thread.is_alive()

    def _drive(self, run: Run, run_id: str) -> Iterator[Event]:
        with self._lock:
            self._active[run_id] = run.shared.stop
            if self._watcher is None:
                self._watcher = threading.Thread(target=self._watch, name="watch-controls", daemon=True)
                self._watcher.start()
        try:
            for event in execute(run, run_id):
                self._store.append([event])
                yield event
        finally:
            with self._lock:
                del self._active[run_id]

    def _watch(self) -> None:
        while True:
            with self._lock:
                active = dict(self._active)
                if not active:
                    self._watcher = None
                    return
            self._store.beat(list(active))
            for run_id in self._store.controls(list(active)):
                active[run_id].set()
            time.sleep(WATCH_EVERY_S)


def new_id() -> str:
    """Sorts by time and can be read aloud: `261121-142530-9f3a`."""
    return time.strftime("%y%m%d-%H%M%S-", time.gmtime()) + secrets.token_hex(2)


def checked_question(question: str) -> str:
    """The question without surrounding space.  Raises `ConfigError`."""
    question = question.strip()
    if not question:
        raise ConfigError('the question is empty; ask something, e.g. "What is the population of Japan?"')
    if len(question) > 20_000:
        raise ConfigError(f"the question has {len(question):,} characters; at most 20,000 are accepted")
    return question
