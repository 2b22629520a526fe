"""How every store keeps events: who gets to write commits for all that wait (group commit).

A commit costs a write to the disk, and to another machine a way there and back, however much is in it.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct

from research.errors import ConfigError, StoreUnavailable
from research.events import (
    Asked,
    Event,
    Paused,
    Resumed,
    RunFinished,
    Streamed,
    ToolStarted,
    UserReplied,
    WaitingForUser,
    encode,
)
from research.types import Outcome, Status

PASSING = (Asked, Streamed, ToolStarted)
"""Events that nobody waits for: characters of a reply being written need no such promise, nor does the word that a request
or a call begins.  What leads to it is kept, and without its result it is made again in any case.  They stand on disk with
the next commit, or when the run next says that it is at work (`driving.WATCH_EVERY_S`).
"""


class Kept(Struct, frozen=True):
    """One event as a row."""

    run: str
    seq: int
    body: str
    """Its JSON."""


class Change(Struct, frozen=True):
    """What events do to the row of their run."""

    run: str
    status: Status
    outcome: Outcome | None
    answer: str
    updated: float


class Batch:
    """Events of one run on their way to the disk."""

    def __init__(self, events: Sequence[Event]) -> None:
        self.rows = [Kept(event.run, event.seq, encode(event).decode()) for event in events]
        self.run = events[0].run if events else ""
        self.awaited = not events or not all(isinstance(event, PASSING) for event in events)
        """Whether whoever appends it waits until it is on disk."""
        self.change = next((change for event in reversed(events) if (change := _change(event))), None)
        """The last of its events' changes."""
        self.taken_up = any(isinstance(event, UserReplied | Resumed) and not _by_itself(event) for event in events)
        """What was asked of the run before it rested is done with; what was asked of one that was lost is not."""
        self.error: ConfigError | StoreUnavailable | None = None
        self.settled = False
        """Nobody has to wait for it any more; how it went is seen in `error`."""


def _by_itself(event: Event) -> bool:
    return isinstance(event, Resumed) and event.by_itself


def _change(event: Event) -> Change | None:
    match event:
        case RunFinished(status=status, outcome=outcome, answer=answer):
            return Change(event.run, status, outcome, answer, event.time)
        case WaitingForUser(prompt=prompt):
            return Change(event.run, "waiting_input", "needs_input", prompt, event.time)
        case Paused():
            return Change(event.run, "paused", None, "", event.time)
        case UserReplied() | Resumed():
            return Change(event.run, "running", None, "", event.time)
        case _:
            return None


class TakenError(Exception):
    """An event stands in the place of one that was to be kept; nothing of it all is kept."""


class Commits:
    """The events that wait for their commit.  Safe for threads.

    `commit` keeps some batches in one transaction.  It raises `TakenError` or `StoreUnavailable` when it kept none of them,
    `ConfigError` when it never will; after `StoreUnavailable` it may have kept all of them, because the word that it did
    was lost.  `find` gives the bodies that stand in the place of rows.
    """

    def __init__(
        self,
        commit: Callable[[Sequence[Batch]], None],
        find: Callable[[Sequence[Kept]], Iterable[str]],
    ) -> None:
        self._commit = commit
        self._find = find
        self._turn = threading.Condition()
        self._busy = False
        """Somebody commits."""
        self._queue: deque[Batch] = deque()
        self._failed: dict[str, ConfigError] = {}
        """Runs of which something that nobody waited for could not be kept: what is appended next learns of it."""
        self._unsure: set[Kept] = set()
        """Rows that may stand although their commit has failed."""

    def append(self, events: Sequence[Event]) -> None:
        """Keep events of one run; raises as `Store.append`."""
        if not events:
            return
        batch = Batch(events)
        if batch.awaited:
            self._settle(batch)
        else:
            self._queue.append(batch)
        if batch.error:
            raise batch.error

    @property
    def waiting(self) -> int:
        """Batches that nobody has begun to commit."""
        return len(self._queue)

    def flush(self) -> None:
        """Commit all that waits now, as far as that is possible."""
        if self._queue or self._busy:
            self._settle(Batch([]))

    def _settle(self, batch: Batch) -> None:
        """Return when the batch is committed, or is known not to be.

        Who is first commits for all that wait; whose batch was committed meanwhile goes on at once, without a turn.
        """
        with self._turn:
            self._queue.append(batch)
            self._turn.wait_for(lambda: batch.settled or not self._busy)
            if batch.settled:
                return
            self._busy = True
        batches: list[Batch] = []
        try:
            batches += [self._queue.popleft() for _ in range(len(self._queue))]
            self._keep([each for each in batches if each.rows])
        except BaseException as error:  # e.g. an interrupt: nobody may believe that his events are kept
            self._put_off(batches, StoreUnavailable(f"the commit was broken off: {error!r}"))
            raise
        finally:
            with self._turn:
                for each in batches:
                    each.settled = True
                self._busy = False
                self._turn.notify_all()

    def _keep(self, batches: Sequence[Batch]) -> None:
        if not batches:
            return
        try:
            if any(batch.run in self._failed for batch in batches):
                raise TakenError
            self._commit(batches)
            self._unsure.difference_update(row for batch in batches for row in batch.rows)
        except TakenError:
            self._one_by_one(batches)
        except StoreUnavailable as error:
            self._put_off(batches, error)
        except ConfigError as error:
            for batch in batches:
                self._refuse(batch, error)

    def _one_by_one(self, batches: Sequence[Batch]) -> None:
        """Each batch in a transaction of its own: who is to blame learns of it, and nobody else does."""
        for number, batch in enumerate(batches):
            try:
                if refused := self._failed.pop(batch.run, None):
                    raise refused
                try:
                    self._commit([batch])
                except TakenError:
                    if not self._ours(batch):
                        raise ConfigError(
                            f"run {batch.run} is at work elsewhere: event {batch.rows[0].seq} is there already"
                        ) from None
                self._unsure.difference_update(batch.rows)
            except StoreUnavailable as error:
                self._put_off(batches[number:], error)
                return
            except ConfigError as error:
                self._refuse(batch, error)

    def _ours(self, batch: Batch) -> bool:
        """Whether it was kept when it was appended before, and only the word of it was lost."""
        return self._unsure.issuperset(batch.rows) and list(self._find(batch.rows)) == [row.body for row in batch.rows]

    def _put_off(self, batches: Sequence[Batch], error: StoreUnavailable) -> None:
        """Who waits appends again; what nobody waits for keeps its place before that."""
        self._queue.extendleft(batch for batch in reversed(batches) if not batch.awaited)
        for batch in batches:
            self._unsure.update(batch.rows)
            if batch.awaited:
                batch.error = error

    def _refuse(self, batch: Batch, error: ConfigError) -> None:
        if batch.awaited:
            batch.error = error
        else:
            self._failed[batch.run] = error
