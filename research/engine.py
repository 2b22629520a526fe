"""Where runs run: never in a page's script, so that a closed tab changes nothing."""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections.abc import Iterator, Mapping
from functools import partial

import msgspec

from research.database import ANSWER_S
from research.driving import Driver, Followed, after
from research.errors import ConfigError, StoreUnavailable, WorkbenchError
from research.events import (
    Earlier,
    Event,
    Replied,
    Resumed,
    RunFailed,
    RunFinished,
    RunStarted,
    ToolFinished,
    UserReplied,
    WaitingForUser,
)
from research.inherited import UNEDITED, carried, fork_of
from research.journal import Journal
from research.recipe import Recipe
from research.run import Run
from research.store import Origin, RunRow
from research.view import fold

LOST_AFTER_S = 2.5
"""A run that has not said so for this long goes on by itself: that nobody has to wait for, but it must be sure."""
SILENT_S = 5.0
"""A run that has not said so for this long is called interrupted where it is shown: a busy disk may hold its word up."""
TEND_EVERY_S = 0.5
"""How often lost runs are looked for."""
SETTLE_S = ANSWER_S + 2.0
"""After the store was away, whoever is at work has this long to find it again and to say so; nobody is lost before."""
TAKE_UPS = 3
"""Times that a run goes on by itself without getting any further; then something in it ends its process."""
ENDED = ("completed", "stopped", "failed")
"""What nothing can be added to any more."""

_log = logging.getLogger(__name__)


class ThreadEngine(Driver):
    """Begins runs and goes on with them, here in threads or, with a queue, by putting them there."""

    # -- new runs ---------------------------------------------------------------------------------------------------

    def start(self, question: str, recipe: Recipe, run_id: str | None = None) -> str:
        """Begin a run.  Raises `ConfigError` for what can be known to be wrong before the first round."""
        return self._in_background(self._begin(question, recipe, run_id, queued=self._queues))

    def follow(self, question: str, recipe: Recipe, run_id: str | None = None) -> Followed:
        """Run in the caller's thread: iterate to make it happen.  Every event is saved before it is yielded."""
        return self._begin(question, recipe, run_id)

    def follow_up(self, run_id: str, question: str, recipe: Recipe | None = None) -> str:
        """Ask on where a run has ended: the new one knows its question, its report and its sources by their numbers.

        `recipe` None: the same one.  Raises `ConfigError` while the run has not ended.
        """
        return self._in_background(self.followed_up(run_id, question, recipe, queued=self._queues))

    def followed_up(
        self,
        run_id: str,
        question: str,
        recipe: Recipe | None = None,
        new_id: str | None = None,
        *,
        queued: bool = False,
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
        return self._begin(question, recipe or row.recipe, new_id, Origin(row.id, "follow_up"), earlier, queued)

    def rerun(self, run_id: str, recipe: Recipe) -> str:
        """The same question with another recipe, from the start; a follow-up knows again what it knew."""
        row = self._store.run(run_id)
        earlier = next((e.earlier for e in self._store.events(row.id) if isinstance(e, RunStarted)), None)
        origin = Origin(row.id, "rerun")
        return self._in_background(self._begin(row.question, recipe, None, origin, earlier, self._queues))

    def fork(
        self,
        run_id: str,
        round: int,
        *,
        recipe: Recipe | None = None,
        question: str | None = None,
        edits: Mapping[str, str] = UNEDITED,
    ) -> str:
        """A new run that has the first `round` rounds of the main agent in common with another, and goes on by itself.

        With the same recipe nothing of them is asked again.  Another recipe, another question or `edits` take them over as
        what happened so far.  `edits`: what the user wants read in the place of an observation, by the id of its call, or
        of the evolving report, as `report`; all that comes after is made anew.  Raises `ConfigError` for rounds that are
        not there or not complete, for an edit that no prompt would show, and between frameworks that cannot go on from
        rounds of the other: these are rerun.
        """
        return self._in_background(
            self.forked(run_id, round, recipe=recipe, question=question, edits=edits, queued=self._queues)
        )

    def forked(
        self,
        run_id: str,
        round: int,
        *,
        recipe: Recipe | None = None,
        question: str | None = None,
        edits: Mapping[str, str] = UNEDITED,
        queued: bool = False,
    ) -> Followed:
        """`fork` in the caller's thread."""
        row = self._store.run(run_id)
        made = fork_of(row, self._store.events(row.id), round, recipe or row.recipe, question or row.question, edits)
        new = new_id()
        events = [msgspec.structs.replace(event, run=new, seq=seq) for seq, event in enumerate(made)]
        run = self._run(question or row.question, recipe or row.recipe, Journal(events))
        origin = Origin(row.id, "fork", round)
        self._store.create(new, run.question, run.recipe, origin=origin, queued=queued, events=events)
        self._tell(events[-1:])
        return Followed(new, after(events, self._drive(run, new)))

    def _begin(
        self,
        question: str,
        recipe: Recipe,
        run_id: str | None,
        origin: Origin | None = None,
        earlier: Earlier | None = None,
        queued: bool = False,
    ) -> Followed:
        run_id, asked = run_id or new_id(), checked_question(question)
        # On record before anything happens: any process can go on from here.
        started = RunStarted(run=run_id, seq=0, time=time.time(), question=asked, recipe=recipe, earlier=earlier)
        run = self._run(asked, recipe, Journal([started]))
        self._store.create(run_id, asked, recipe, origin=origin, queued=queued, events=[started])
        self._tell([started])
        return Followed(run_id, after([started], self._drive(run, run_id)))

    def _run(self, question: str, recipe: Recipe, journal: Journal) -> Run:
        """Made before anything is saved: a wrong model or folder is told to the caller, and no run exists."""
        return Run(checked_question(question), recipe, self._shared_for(recipe, journal, threading.Event()))

    # -- runs that are there ----------------------------------------------------------------------------------------

    def go_on(self, run_id: str, reply: str | None = None) -> str:
        """`resume` in the background."""
        row, events = self._standing(run_id)
        if self._queue is not None and row.status == "queued":
            self._queue.put(row.id)
            return row.id
        going = self._resumed(row, events, reply)
        if self._queue is not None:
            self._store.queue(row.id)
        return self._in_background(going)

    def resume(self, run_id: str, reply: str | None = None) -> Followed:
        """Go on with a run from its journal; `reply` answers its open question.

        Raises `ConfigError` when it has ended, or waits for a reply and gets none.
        """
        return self._resumed(*self._standing(run_id), reply)

    def _resumed(self, row: RunRow, events: list[Event], reply: str | None) -> Followed:
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

    def _take_up(
        self, row: RunRow, events: list[Event], reply: str = "", *, stop: bool = False, by_itself: bool = False
    ) -> Followed:
        """Drive a run that nobody drives, from its journal: on, or only to its end.

        Raises `ConfigError` when somebody else was first.
        """
        told: list[Event] = []
        if events:
            seq, now = events[-1].seq + 1, time.time()
            told = [Resumed(run=row.id, seq=seq, time=now, by_itself=by_itself)]
            if reply:
                agent = next(event.agent for event in reversed(events) if isinstance(event, WaitingForUser))
                told = [UserReplied(run=row.id, seq=seq, time=now, agent=agent, text=reply)]
        self._store.beat([row.id])  # what it needs may take a while to load
        run = self._run(row.question, row.recipe, Journal([*events, *told]))
        if stop:
            run.shared.stop.set()
        self._store.beat([row.id])  # from the moment that it stands as running
        if not told:
            self._store.withdraw(row.id)
        self._store.append(told)
        self._tell(told)
        return Followed(row.id, after(told, self._drive(run, row.id)))

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
            try:
                self._here(self._take_up(row, events, stop=True))
            except ConfigError:
                if len(self._store.events(row.id)) == len(events):
                    raise
                # Somebody else has taken it up meanwhile, which withdrew what had been asked.
                self._store.ask_for(row.id, "stop")

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

    def forsaken(self, row: RunRow) -> bool:
        """Whether nobody works on a run that stands as running, and nobody will by itself."""
        silent = row.status == "running" and time.time() - row.beat > SILENT_S and row.id not in self._active
        return silent and (not self._tending or row.id in self._left)

    # -- runs that nobody works on ----------------------------------------------------------------------------------

    def tend(self) -> None:
        """From now on let runs whose process is gone go on by themselves here; with a queue, its workers do so."""
        with self._lock:
            begun, self._tending = self._tending, True
        if not begun and self._queue is None:
            threading.Thread(target=self._tend, name="tend-runs", daemon=True).start()

    def _tend(self) -> None:
        while not self._closed.wait(TEND_EVERY_S):
            try:
                self.take_up_lost()
            except WorkbenchError as error:
                _log.warning("lost runs cannot be looked for: %s", error)

    def close(self) -> None:
        """Look for no more lost runs; those at work go on."""
        self._closed.set()

    def take_up_lost(self) -> list[str]:
        """Let each lost run go on, unless it has ended its process several times without getting any further.

        None is lost for a while after the store was away, when nobody could say that he is at work.
        """
        going: list[str] = []
        waiting = self._store.waiting(time.time() - LOST_AFTER_S)
        if time.monotonic() < self._store.answers_since + SETTLE_S:
            return going
        for row in waiting:
            if self._has(row.id) or self._left.get(row.id) == row.beat:
                continue
            if row.status == "running" and _stuck(self._store.events(row.id)):
                self._left[row.id] = row.beat
                _log.warning("run %s has ended its process %d times without getting further", row.id, TAKE_UPS)
            elif self._queue is not None:
                self._queue.put(row.id)
                going.append(row.id)
            elif row.status == "running":
                self._in_thread(row.id, partial(self.work_off, row.id))
                going.append(row.id)
        return going

    def work_off(self, run_id: str) -> None:
        """Take up a queued or lost run in the caller's thread, until it ends or rests; one that is at work is left."""
        try:
            row, events = self._standing(run_id)
            if row.status not in ("queued", "running") or self._at_work(row):
                return
            try:
                going = self._take_up(row, events, by_itself=row.status == "running")
            except ConfigError as error:
                going = self._failed(row, events, str(error))
        except StoreUnavailable as error:  # it is found again when the store is there again
            _log.warning("run %s cannot be taken up: %s", run_id, error)
            return
        self._work(going)

    def _failed(self, row: RunRow, events: list[Event], error: str) -> Followed:
        """The end of a run that cannot be taken up here, e.g. because its model is not installed.

        It is refused, as any other event is, where somebody has taken up the run since its events were read.
        """
        seq, now, answer = (events[-1].seq + 1 if events else 0), time.time(), fold(events).answer
        told: list[Event] = [
            RunFailed(run=row.id, seq=seq, time=now, error=error, traceback=""),
            RunFinished(
                run=row.id, seq=seq + 1, time=now, status="failed", outcome="failed", answer=answer or error,
                report=answer,
            ),
        ]  # fmt: skip

        def end() -> Iterator[Event]:
            self._store.append(told)
            self._tell(told)
            for follow in self._follows:
                hear = follow(events)
                for event in told:
                    hear(event)
            yield from told

        return Followed(row.id, end())


def _stuck(events: list[Event]) -> bool:
    """Whether a run went on by itself several times, and nothing was done since."""
    done = next((n for n, each in enumerate(reversed(events)) if isinstance(each, Replied | ToolFinished)), len(events))
    return sum(isinstance(each, Resumed) and each.by_itself for each in events[len(events) - done :]) >= TAKE_UPS


def new_id() -> str:
    """Sorts by time and can be read aloud: `261121-142530-9f3a04c7`; hundreds of one second do not meet."""
    return time.strftime("%y%m%d-%H%M%S-", time.gmtime()) + secrets.token_hex(4)


def checked_question(question: str) -> str:
    """The question without surrounding space.  Raises `ConfigError`."""
    question = question.strip()
    if not question:
        raise ConfigError('the question is empty; ask something, e.g. "What is the population of Japan?"')
    if len(question) > 20_000:
        raise ConfigError(f"the question has {len(question):,} characters; at most 20,000 are accepted")
    return question
