"""Where runs run: never in a page's script, so that a closed tab changes nothing."""

from __future__ import annotations

import secrets
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Protocol

import msgspec

from research.ending import execute
from research.errors import ConfigError
from research.events import Earlier, Event, Resumed, RunStarted, UserReplied, WaitingForUser
from research.inherited import carried, fork_of
from research.journal import Journal
from research.recipe import Recipe
from research.run import Run, Shared
from research.store import Origin, RunRow, Store
from research.view import fold

WATCH_EVERY_S = 0.25
"""How often requests from other processes are looked for, and runs at work say that they are."""
DEAD_AFTER_S = 1.5
"""A run that has not said so for this long is not at work any more."""

ENDED = ("completed", "stopped", "failed")
"""What nothing can be added to any more."""

SharedFor = Callable[[Recipe, Journal, threading.Event], Shared]
"""Makes the models and tools of a recipe."""


class Engine(Protocol):
    """Takes questions and works on them in the background."""

    def start(self, question: str, recipe: Recipe) -> str:
        """Begin a run and return its id at once."""

    def stop(self, run_id: str) -> None:
        """Ask a run to stop; it does within one call in flight."""

    def pause(self, run_id: str) -> None:
        """Ask a run to rest; it does within one call in flight."""

    def go_on(self, run_id: str, reply: str | None = None) -> str:
        """Go on with a run that rests."""

    def fork(self, run_id: str, round: int) -> str:
        """A new run with the same first rounds."""

    def follow_up(self, run_id: str, question: str) -> str:
        """A new run that knows what an ended one found."""

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
    """One daemon thread per run in this process, and one that watches for requests to stop or rest."""

    def __init__(self, store: Store, shared_for: SharedFor) -> None:
        self._store = store
        self._shared_for = shared_for
        self._active: dict[str, Shared] = {}
        self._threads: dict[str, threading.Thread] = {}
        self._lock = threading.Lock()
        self._beating = threading.Lock()
        """Held while runs are said to be at work: a run that has ended is never said to be, not even a moment later."""
        self._watcher: threading.Thread | None = None

    # -- new runs ---------------------------------------------------------------------------------------------------

    def start(self, question: str, recipe: Recipe, run_id: str | None = None) -> str:
        """Begin a run.  Raises `ConfigError` for what can be known to be wrong before the first round."""
        return self._in_background(self.follow(question, recipe, run_id))

    def follow(self, question: str, recipe: Recipe, run_id: str | None = None) -> Followed:
        """Run in the caller's thread: iterate to make it happen.  Every event is saved before it is yielded."""
        return self._begin(question, recipe, run_id)

    def follow_up(self, run_id: str, question: str, recipe: Recipe | None = None) -> str:
        """Ask on where a run has ended: the new one knows its question, its report and its sources by their numbers.

        `recipe` None: the same one.  Raises `ConfigError` while the run has not ended.
        """
        return self._in_background(self.followed_up(run_id, question, recipe))

    def followed_up(
        self, run_id: str, question: str, recipe: Recipe | None = None, new_id: str | None = None
    ) -> Followed:
        """`follow_up` in the caller's thread."""
        row = self._store.run(run_id)
        if row.status not in ENDED:
            raise ConfigError(
                f"run {row.id} has not ended ({row.status}); a follow-up needs one that is {', '.join(ENDED)}: "
                "wait for its end, or stop it"
            )
        events = self._store.events(row.id)
        earlier = carried(fold(events), events)
        return self._begin(question, recipe or row.recipe, new_id, Origin(row.id, "follow_up"), earlier)

    def rerun(self, run_id: str, recipe: Recipe) -> str:
        """The same question with another recipe, from the start; a follow-up knows again what it knew."""
        row = self._store.run(run_id)
        earlier = next((e.earlier for e in self._store.events(row.id) if isinstance(e, RunStarted)), None)
        return self._in_background(self._begin(row.question, recipe, None, Origin(row.id, "rerun"), earlier))

    def fork(self, run_id: str, round: int, *, recipe: Recipe | None = None, question: str | None = None) -> str:
        """A new run that has the first `round` rounds of the main agent in common with another, and goes on by itself.

        With the same recipe nothing of them is asked again.  Another recipe, or another question, takes them over as what
        happened so far.  Raises `ConfigError` for rounds that are not there or not complete, and between frameworks that
        cannot go on from rounds of the other: these are rerun.
        """
        return self._in_background(self.forked(run_id, round, recipe=recipe, question=question))

    def forked(self, run_id: str, round: int, *, recipe: Recipe | None = None, question: str | None = None) -> Followed:
        """`fork` in the caller's thread."""
        row = self._store.run(run_id)
        made = fork_of(row, self._store.events(row.id), round, recipe or row.recipe, question or row.question)
        new = new_id()
        events = [msgspec.structs.replace(event, run=new, seq=seq) for seq, event in enumerate(made)]
        run = self._run(question or row.question, recipe or row.recipe, Journal(events))
        self._store.create(new, run.question, run.recipe, origin=Origin(row.id, "fork", round))
        self._store.append(events)
        return Followed(new, chain(events, self._drive(run, new)))

    def _begin(
        self,
        question: str,
        recipe: Recipe,
        run_id: str | None,
        origin: Origin | None = None,
        earlier: Earlier | None = None,
    ) -> Followed:
        run = self._run(question, recipe, Journal(earlier=earlier))
        run_id = run_id or new_id()
        self._store.create(run_id, run.question, recipe, origin=origin)
        return Followed(run_id, self._drive(run, run_id))

    def _run(self, question: str, recipe: Recipe, journal: Journal) -> Run:
        """Made before anything is saved: a wrong model or folder is told to the caller, and no run exists."""
        return Run(checked_question(question), recipe, self._shared_for(recipe, journal, threading.Event()))

    # -- runs that are there ----------------------------------------------------------------------------------------

    def go_on(self, run_id: str, reply: str | None = None) -> str:
        """`resume` in the background."""
        return self._in_background(self.resume(run_id, reply))

    def resume(self, run_id: str, reply: str | None = None) -> Followed:
        """Go on with a run from its journal; `reply` answers its open question.

        Raises `ConfigError` when it has ended, or waits for a reply and gets none.
        """
        row, events = self._standing(run_id)
        waits, text = row.status == "waiting_input", (reply or "").strip()
        if waits and not text:
            raise ConfigError(f"run {row.id} waits for a reply to: {row.answer}")
        if text and not waits:
            raise ConfigError(f"run {row.id} waits for no reply: it is {row.status}")
        if row.status in ENDED:
            raise ConfigError(f"run {row.id} cannot be resumed: {row.status}")
        if row.status == "running" and self._at_work(row):
            raise ConfigError(f"run {row.id} cannot be resumed: it is at work")
        return self._take_up(row, events, text)

    def _standing(self, run_id: str) -> tuple[RunRow, list[Event]]:
        """A run and its events.  Who takes it up meanwhile is seen in the row, read last, or has taken our next `seq`."""
        row = self._store.run(run_id)
        events = self._store.events(row.id)
        return self._store.run(row.id), events

    def _take_up(self, row: RunRow, events: list[Event], reply: str = "", *, stop: bool = False) -> Followed:
        """Drive a run that nobody drives, from its journal: on, or only to its end.

        Raises `ConfigError` when somebody else was first.
        """
        told: list[Event] = []
        if events:
            seq, now = events[-1].seq + 1, time.time()
            told = [Resumed(run=row.id, seq=seq, time=now)]
            if reply:
                agent = next(event.agent for event in reversed(events) if isinstance(event, WaitingForUser))
                told = [UserReplied(run=row.id, seq=seq, time=now, agent=agent, text=reply)]
        run = self._run(row.question, row.recipe, Journal([*events, *told]))
        if stop:
            run.shared.stop.set()
        self._store.beat([row.id])  # from the moment that it stands as running
        if not told:
            self._store.withdraw(row.id)
        self._store.append(told)
        return Followed(row.id, chain(told, self._drive(run, row.id)))

    def stop(self, run_id: str) -> None:
        """Ask a run to stop.  One that nobody works on is ended here, in the background, with what was found.

        A run that has ended stays as it is.
        """
        row, events = self._standing(run_id)
        if row.status in ENDED:
            return
        self._store.ask_for(row.id, "stop")
        with self._lock:
            active = self._active.get(row.id)
            if active is not None:
                active.stop.set()
        if active is None and not self._beats(row):
            self._in_background(self._take_up(row, events, stop=True))

    def pause(self, run_id: str) -> None:
        """Ask a run to rest; it does within one call in flight, and `resume` goes on with it.

        Raises `ConfigError` when it is not at work.
        """
        row = self._store.run(run_id)
        if row.status != "running":
            raise ConfigError(
                f"run {row.id} is not running: {row.outcome or row.status}; only a run at work can be paused"
            )
        if row.id not in self._active and not self._beats(row):
            raise ConfigError(f"run {row.id} was interrupted, and rests already: resume or stop it")
        self._store.ask_for(row.id, "pause")
        with self._lock:
            if row.id in self._active:
                self._active[row.id].rest.set()

    def wait(self, run_id: str, timeout_s: float | None = None) -> bool:
        """Wait for a run of this engine; False when the time was too short."""
        thread = self._threads.get(run_id)
        if thread is not None:
            thread.join(timeout_s)
        return thread is None or not thread.is_alive()

    # -- the machinery ----------------------------------------------------------------------------------------------

    def _in_background(self, events: Followed) -> str:
        thread = threading.Thread(target=deque, args=(events, 0), name=f"run-{events.run_id}", daemon=True)
        self._threads[events.run_id] = thread
        thread.start()
        return events.run_id

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
            if self._watcher is None:
                self._watcher = threading.Thread(target=self._watch, name="watch-controls", daemon=True)
                self._watcher.start()
        try:
            for event in execute(run, run_id, lambda: self._store.events(run_id)):
                self._store.append([event])
                yield event
        finally:
            with self._beating, self._lock:
                del self._active[run_id]

    def _watch(self) -> None:
        while True:
            with self._beating:
                with self._lock:
                    active = dict(self._active)
                    if not active:
                        self._watcher = None
                        return
                self._store.beat(list(active))
                for run_id, control in self._store.controls(list(active)).items():
                    (active[run_id].stop if control == "stop" else active[run_id].rest).set()
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
