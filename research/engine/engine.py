"""Start, continue, fork, pause and stop runs, independently of the page or command that asked for it."""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import msgspec

from research._util.bounds import within
from research._util.nul import without_nul
from research.agent.context import RunContext
from research.agent.follow_up import findings_of
from research.agent.inherited import UNEDITED, fork_of
from research.agent.journal import Journal
from research.agent.plan_text import approval
from research.agent.run import Run
from research.config.settings import Settings
from research.engine.caps import Caps
from research.engine.driver import Driver, Observer
from research.engine.presence import Presence
from research.engine.reclaim import Queue, Reclaimer
from research.errors import ConfigError, StoreUnavailable
from research.events.audit_findings import Given
from research.events.events import (
    Event,
    Paused,
    PlanItem,
    Resumed,
    RunStarted,
    Status,
    UserReplied,
    WaitingForUser,
)
from research.events.recipe import Recipe
from research.events.view import fold
from research.store import Origin, RunRow, Store

ENDED = ("completed", "stopped", "failed")
"""Statuses of runs that never get another event."""

LONGEST = 20_000
"""Characters of a question, and of a reply to one."""

ContextFor = Callable[[Recipe, Journal, threading.Event], RunContext]
"""Builds the models and tools of a recipe; raises `ConfigError` for what is missing."""

_log = logging.getLogger(__name__)


class RunHandle:
    """A run that was started or continued: its id, and its events."""

    def __init__(self, run_id: str, events: Iterator[Event]) -> None:
        self.run_id = run_id
        self._events = events

    def events(self) -> Iterator[Event]:
        """Return the iterator over the run's events; the same one each time.

        With `here=True`, iterating drives the run in the caller's thread: nothing happens before, and each event is saved
        before it is yielded.  Otherwise the run goes on by itself, and this yields its saved events as they appear, from
        the first one, until it ends, pauses or asks the user.
        """
        return self._events


class ThreadEngine:
    """Drives runs in threads of this process or, with a queue, hands them to workers.

    Methods that return a `RunHandle` return at once; with `here=True` the caller drives the run by iterating its events.
    """

    def __init__(
        self,
        store: Store,
        context_for: ContextFor,
        queue: Queue | None = None,
        *,
        settings: Settings,
        observers: Sequence[Observer] = (),
        caps: Caps | None = None,
    ) -> None:
        self._store, self._context_for, self._queue = store, context_for, queue
        self._caps = caps or Caps({}, lambda: store, Path())
        self._timings, presence = settings.timings, Presence(settings.home / "driving")
        self._driver = Driver(store, presence, self._timings, user=settings.user, observers=observers)
        self.reclaimer = Reclaimer(store, self._driver, self._timings, queue, self.drive)

    # -- new runs ---------------------------------------------------------------------------------------------------

    def start(
        self,
        question: str,
        recipe: Recipe,
        run_id: str | None = None,
        *,
        given: Given | None = None,
        here: bool = False,
    ) -> RunHandle:
        """Start a run, with the report to check.  Raises `ConfigError` for errors that are found before the first round."""
        return self._begin(RunStarted(question=question, recipe=recipe, given=given), run_id, here=here)

    def follow_up(
        self, run_id: str, question: str, recipe: Recipe | None = None, new_id: str | None = None, *, here: bool = False
    ) -> RunHandle:
        """Start a run that knows the question, the report and the numbered sources of an ended one.

        `recipe` None: the recipe of the ended run.  Raises `ConfigError` while that run has not ended.
        """
        row = self._store.run(run_id)
        if row.status not in ENDED:
            raise ConfigError(
                f"run {row.id} has not ended ({row.status}); a follow-up needs one that is {', '.join(ENDED)}: "
                "wait for its end, or stop it"
            )
        events = self._store.events(row.id)
        started = RunStarted(question=question, recipe=recipe or row.recipe, earlier=findings_of(fold(events), events))
        return self._begin(started, new_id, Origin(row.id, "follow_up"), here=here)

    def rerun(self, run_id: str, recipe: Recipe) -> RunHandle:
        """Start the same question with another recipe; a follow-up gets the same earlier findings."""
        row = self._store.run(run_id)
        started = next(event for event in self._store.events(row.id) if isinstance(event, RunStarted))
        return self._begin(msgspec.structs.replace(started, recipe=recipe), None, Origin(row.id, "rerun"))

    def fork(
        self,
        run_id: str,
        round: int,
        *,
        recipe: Recipe | None = None,
        question: str | None = None,
        edits: Mapping[str, str] = UNEDITED,
        here: bool = False,
    ) -> RunHandle:
        """Start a run that shares the first `round` rounds with another run.

        With the same recipe, none of these rounds is requested again.  With another recipe or question, or with `edits`,
        they become the run's past. `edits` maps the id of a call to the text that replaces its observation, and
        `report` to the text that replaces the evolving report.  Raises `ConfigError` for a round that does not exist or is
        not complete, for an edit that no prompt shows, and for a framework that cannot continue these rounds; use
        `rerun` then.
        """
        row = self._store.run(run_id)
        recipe, question = recipe or row.recipe, checked_question(question) if question else row.question
        inherited = fork_of(row, self._store.events(row.id), round, recipe, question, edits)
        new = new_id()
        events = [msgspec.structs.replace(event, run=new, seq=seq) for seq, event in enumerate(inherited)]
        return self._create(new, question, recipe, events, Origin(row.id, "fork", round), here)

    def _begin(
        self, started: RunStarted, run_id: str | None, origin: Origin | None = None, *, here: bool = False
    ) -> RunHandle:
        run_id, question = run_id or new_id(), checked_question(started.question)
        first = msgspec.structs.replace(started, run=run_id, seq=0, time=time.time(), question=question)
        return self._create(run_id, question, started.recipe, [first], origin, here)

    def _create(
        self, run_id: str, question: str, recipe: Recipe, events: list[Event], origin: Origin | None, here: bool
    ) -> RunHandle:
        run = self._run(question, recipe, Journal(events))
        status: Status = "running" if here or self._queue is None else "queued"
        with self._caps.new_run():
            # Saved before anything happens, so that any process can continue the run from here.
            self._store.create(RunRow(run_id, run.question, recipe, status, origin=origin), events)
        self._driver.log(events[-1:])
        return self._handle(run_id, _chain(events, self._driver.drive(run, run_id)), here)

    def _run(self, question: str, recipe: Recipe, journal: Journal) -> Run:
        """Build the run before anything is saved: a missing model or folder raises, and no run exists."""
        return Run(checked_question(question), recipe, self._context_for(recipe, journal, threading.Event()))

    def _handle(self, run_id: str, steps: Iterator[Event], here: bool) -> RunHandle:
        """Return the run for the caller to drive, or hand it to the queue or to a thread."""
        if here:
            return RunHandle(run_id, steps)
        if self._queue is not None:
            self._queue.put(run_id)
        else:
            self._driver.start(run_id, partial(self._driver.exhaust, run_id, steps))
        return RunHandle(run_id, self._saved(run_id))

    def _saved(self, run_id: str) -> Iterator[Event]:
        seq, over = -1, False
        while not over:
            over = self.wait(run_id, self._timings.heartbeat_every)
            for event in self._store.events(run_id, seq):
                seq = event.seq
                yield event

    # -- existing runs ------------------------------------------------------------------------------------------------

    def resume(
        self, run_id: str, reply: str | None = None, *, plan: Sequence[PlanItem | str] | None = None, here: bool = False
    ) -> RunHandle:
        """Continue a run from its journal; `reply` answers its open question, `plan` is the user's approved plan.

        A reply of yes approves the proposed one.  Raises `ConfigError` for a run that has ended or is running, and when a
        reply or a plan is missing, wrong or not expected.
        """
        row, events = _load(self._store, run_id)
        queue = None if here else self._queue
        if queue is not None and row.status == "queued":
            queue.put(row.id)
            return RunHandle(row.id, self._saved(row.id))
        text = within(LONGEST, "the reply", (reply or "").strip())
        approved = approval(row, events, text, plan)
        _check_reply(row, text or approved)
        if row.status in ENDED or (row.status == "running" and self._driver.at_work(row)):
            why: str = row.status if row.status in ENDED else "it is already running"
            if silent_s := self.silence(row):
                why += f" in a process that has not responded for {silent_s:.0f} s; end that process first"
            raise ConfigError(f"run {row.id} cannot be resumed: {why}")
        with self._caps.new_run(resumed=True):
            steps = self._continue(row, events, approved or _resumption(row.id, events, text))
            if queue is not None:
                self._store.set_queued(row.id)
        return self._handle(row.id, steps, here)

    def stop(self, run_id: str) -> None:
        """Ask a run to stop, and end it in the background if no process drives it; an ended run stays as it is."""
        row, events = _load(self._store, run_id)
        if row.status in ENDED:
            return
        self._store.request(row.id, "stop")
        active = self._driver.active(row.id)
        if active is not None:
            active.stop.set()
        elif not self._driver.alive(row):
            try:
                steps = self._continue(row, events, stop=True)
                self._driver.start(row.id, partial(self._driver.exhaust, row.id, steps))
            except ConfigError:
                if len(self._store.events(row.id)) == len(events):
                    raise
                # Another process has resumed the run, which withdrew the request.
                self._store.request(row.id, "stop")

    def pause(self, run_id: str) -> None:
        """Ask a run to pause; it does so after the call in flight.  Raises `ConfigError` when it is not running."""
        row = self._store.run(run_id)
        if row.status != "running":
            raise ConfigError(
                f"run {row.id} is not running: {row.outcome or row.status}; only an active run can be paused"
            )
        active = self._driver.active(row.id)
        if not self._driver.alive(row):
            raise ConfigError(f"run {row.id} was interrupted and is not running: resume or stop it")
        self._store.request(row.id, "pause")
        if active is not None:
            active.pause.set()

    def wait(self, run_id: str, timeout_s: float | None = None) -> bool:
        """Wait until a run of this engine has ended or paused; return False if it has not within the time."""
        thread = self._driver.thread(run_id)
        if thread is not None:
            thread.join(timeout_s)
            return not thread.is_alive()
        until = None if timeout_s is None else time.monotonic() + timeout_s
        while self._queue is not None and self._store.run(run_id).status in ("queued", "running"):
            if until is not None and time.monotonic() > until:
                return False
            time.sleep(self._timings.heartbeat_every)
        return True

    def blocked(self, run_id: str) -> str:
        """Return why the events of this process's run cannot be saved at the moment; empty when they can."""
        return self._driver.blocked(run_id)

    def _continue(
        self, row: RunRow, events: list[Event], resumption: Event | None = None, *, stop: bool = False
    ) -> Iterator[Event]:
        """Continue a run that no process drives, and return its steps; with `stop`, only end it.

        Raises `ConfigError` if another process has already continued it.
        """
        new = [each for each in (resumption or _resumption(row.id, events),) if each]
        self._store.heartbeat([row.id])  # the run's model may take long to load
        run = self._run(row.question, row.recipe, Journal([*events, *new]))
        if stop:
            run.context.stop.set()
        self._store.heartbeat([row.id])  # a run marked as running needs a heartbeat from the start
        if not new:
            self._store.clear_requests(row.id)
        self._store.append(new)
        self._driver.log(new)
        return _chain(new, self._driver.drive(run, row.id))

    def silence(self, row: RunRow) -> float:
        """Return for how many seconds the run's living process has not responded; 0 while it responds."""
        silent_s = time.time() - row.heartbeat
        stalled = row.status == "running" and silent_s > self._timings.silent_after and self._driver.here(row)
        return silent_s if stalled else 0.0

    def drive(self, run_id: str) -> None:
        """Drive a queued or lost run in the caller's thread to its end, pause or question; do nothing if it is running.

        A run that cannot continue here, e.g. without a key, pauses with the reason.
        """
        try:
            row, events = _load(self._store, run_id)
            if row.status not in ("queued", "running") or self._driver.at_work(row):
                return
            try:
                steps = self._continue(row, events, _resumption(row.id, events, by_itself=row.status == "running"))
            except ConfigError as error:
                # E.g. its model is not installed here: a process with it can resume the run.
                if not events:  # of an earlier version, whose process died before the first one: it is found again
                    _log.warning("run %s cannot be reclaimed: %s", run_id, error)
                    return
                paused = Paused(run=row.id, seq=events[-1].seq + 1, time=time.time(), reason=str(error))
                steps = self._driver.leave(events, paused)
        except StoreUnavailable as error:  # it is found again when the store is back
            _log.warning("run %s cannot be reclaimed: %s", run_id, error)
            return
        self._driver.exhaust(row.id, steps)


def _load(store: Store, run_id: str) -> tuple[RunRow, list[Event]]:
    """Return a run and its events.

    The row is read last: if another process continues the run meanwhile, either the row shows it or our next event collides
    with one of that process.
    """
    row = store.run(run_id)
    events = store.events(row.id)
    return store.run(row.id), events


def _check_reply(row: RunRow, given: object) -> None:
    """Raise `ConfigError` if a waiting run gets no reply, or another run gets one."""
    if row.status == "waiting_input" and not given:
        raise ConfigError(f"run {row.id} waits for a reply to: {row.answer}")
    if given and row.status != "waiting_input":
        raise ConfigError(f"run {row.id} does not wait for a reply: it is {row.status}")


def _resumption(run_id: str, events: list[Event], reply: str = "", *, by_itself: bool = False) -> Event | None:
    """Return the event with which a run continues after these events; None before the first one."""
    if not events:
        return None
    seq, now = events[-1].seq + 1, time.time()
    if not reply:
        return Resumed(run=run_id, seq=seq, time=now, by_itself=by_itself)
    agent = next(event.agent for event in reversed(events) if isinstance(event, WaitingForUser))
    return UserReplied(run=run_id, seq=seq, time=now, agent=agent, text=without_nul(reply, str))


def _chain(saved: Sequence[Event], coming: Iterator[Event]) -> Iterator[Event]:
    """Yield the saved events, then new ones."""
    yield from saved
    yield from coming


def new_id() -> str:
    """Return an id that sorts by time and can be read aloud, e.g. `261121-142530-9f3a04c7`; unique within a second."""
    return time.strftime("%y%m%d-%H%M%S-", time.gmtime()) + secrets.token_hex(4)


def checked_question(question: str) -> str:
    """Return the question without surrounding space.  Raises `ConfigError` for an empty or very long one.

    Undecodable bytes and lone surrogates become the replacement character.
    """
    question = question.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    question = without_nul(question, str).strip()
    if not question:
        raise ConfigError('the question is empty; ask something, e.g. "What is the population of Japan?"')
    return within(LONGEST, "the question", question)
