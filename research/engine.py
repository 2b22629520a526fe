"""Where runs run: never in a page's script, so that a closed tab changes nothing."""

from __future__ import annotations

import secrets
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Protocol

from research.errors import ConfigError
from research.events import Event, UserReplied, WaitingForUser
from research.journal import Journal
from research.recipe import Recipe
from research.run import Run, Shared, execute
from research.store import Store

WATCH_EVERY_S = 0.25
"""How often requests from other processes are looked for."""

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
        events = self.follow(question, recipe, run_id)
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
        if row.status == "waiting_input" and not (reply or "").strip():
            raise ConfigError(f"run {row.id} waits for a reply to: {row.answer}")
        if row.status not in ("running", "waiting_input", "paused") or row.id in self._active:
            raise ConfigError(
                f"run {row.id} cannot be resumed: {'it is at work' if row.id in self._active else row.status}"
            )
        events = self._store.events(row.id)
        if row.status == "waiting_input":
            agent = next(event.agent for event in reversed(events) if isinstance(event, WaitingForUser))
            told = UserReplied(run=row.id, seq=events[-1].seq + 1, time=time.time(), agent=agent, text=reply or "")
            self._store.append([told])
            events.append(told)
        shared = self._shared_for(row.recipe, Journal(events), threading.Event())
        return Followed(row.id, self._drive(Run(row.question, row.recipe, shared), row.id))

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
