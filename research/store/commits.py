"""Group commit: how both stores save the events of many runs with few commits.

A commit costs one disk write, and one round trip to a database server, however many events it contains.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct

from research._util.nul import without_nul
from research.errors import ConfigError, StoreUnavailable
from research.events.events import (
    Asked,
    Event,
    Paused,
    PlanApproved,
    Resumed,
    RunFinished,
    Status,
    Streamed,
    ToolStarted,
    UserReplied,
    WaitingForUser,
    encode,
)
from research.types import Outcome

BUFFERED = (Asked, Streamed, ToolStarted)
"""Events whose append does not wait for a commit: if they are lost, their request or call is repeated anyway.

They are written with the next commit, or with the next heartbeat of their run.
"""


class EventRow(Struct, frozen=True):
    """One event as a database row."""

    run: str
    seq: int
    body: str
    """The event as JSON."""


class Change(Struct, frozen=True):
    """The new values of a run's row after an event."""

    run: str
    status: Status
    outcome: Outcome | None
    answer: str
    updated: float


class Batch:
    """Events of one run that are appended together, and the outcome."""

    def __init__(self, events: Sequence[Event]) -> None:
        self.rows = [EventRow(event.run, event.seq, encode(event).decode()) for event in events]
        self.run = events[0].run if events else ""
        self.awaited = not events or not all(isinstance(event, BUFFERED) for event in events)
        """Whether the append waits for the commit."""
        self.change = next((change for event in reversed(events) if (change := _change(event))), None)
        """The change of the last event that has one."""
        self.resumed = any(
            isinstance(event, UserReplied | PlanApproved) or (isinstance(event, Resumed) and not event.by_itself)
            for event in events
        )
        """Whether a user resumes the run, which clears earlier requests; a reclaimed run still obeys them."""
        self.error: ConfigError | StoreUnavailable | None = None
        self.settled = False
        """Whether the outcome of the commit is known; `error` is None when it succeeded."""


def _change(event: Event) -> Change | None:
    match event:
        case RunFinished(status=status, outcome=outcome, answer=answer):
            return Change(event.run, status, outcome, without_nul(answer, str), event.time)
        case WaitingForUser(prompt=prompt):
            return Change(event.run, "waiting_input", "needs_input", without_nul(prompt, str), event.time)
        case Paused(reason=reason):
            return Change(event.run, "paused", None, without_nul(reason, str), event.time)
        case UserReplied() | PlanApproved() | Resumed():
            return Change(event.run, "running", None, "", event.time)
        case _:
            return None


class CollisionError(Exception):
    """A stored event has the same run and number as a new one; the transaction saved nothing."""


class Commits:
    """The batches that wait for a commit.  Safe for threads.

    `commit` saves batches in one transaction.  It raises `CollisionError` or `StoreUnavailable` when it saved none of them,
    and `ConfigError` when it never can.  After `StoreUnavailable` it may have saved all of them, if only the confirmation
    was lost.  `find` returns the stored JSON of the rows with the same run and number.
    """

    def __init__(
        self,
        commit: Callable[[Sequence[Batch]], None],
        find: Callable[[Sequence[EventRow]], Iterable[str]],
    ) -> None:
        self._commit = commit
        self._find = find
        self._turn = threading.Condition()
        self._busy = False
        """Whether a thread is committing."""
        self._queue: deque[Batch] = deque()
        self._failed: dict[str, ConfigError] = {}
        """By run: the error of a buffered batch, raised by the run's next waiting append."""
        self._unsure: set[EventRow] = set()
        """Rows that may be stored although their commit failed."""

    def append(self, events: Sequence[Event]) -> None:
        """Save events of one run; raises as `RunLog.append` does."""
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
        """The number of batches whose commit has not begun."""
        return len(self._queue)

    def flush(self) -> None:
        """Commit everything waiting now, if possible."""
        if self._queue or self._busy:
            self._settle(Batch([]))

    def _settle(self, batch: Batch) -> None:
        """Return when the batch is committed, or known not to be.

        The first thread commits the batches of all threads that wait; the others return as soon as theirs is settled.
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
            self._save([each for each in batches if each.rows])
        except BaseException as error:  # e.g. an interrupt: callers must not assume their events were saved
            self._postpone(batches, StoreUnavailable(f"the commit was interrupted: {error!r}"))
            raise
        finally:
            with self._turn:
                for each in batches:
                    each.settled = True
                self._busy = False
                self._turn.notify_all()

    def _save(self, batches: Sequence[Batch]) -> None:
        if not batches:
            return
        try:
            if any(batch.run in self._failed for batch in batches):
                raise CollisionError
            self._commit(batches)
            self._unsure.difference_update(row for batch in batches for row in batch.rows)
        except CollisionError:
            self._save_one_by_one(batches)
        except StoreUnavailable as error:
            self._postpone(batches, error)
        except ConfigError as error:
            for batch in batches:
                self._refuse(batch, error)

    def _save_one_by_one(self, batches: Sequence[Batch]) -> None:
        """Commit each batch in its own transaction, so that only colliding ones fail."""
        for number, batch in enumerate(batches):
            try:
                if refused := self._failed.pop(batch.run, None):
                    raise refused
                try:
                    self._commit([batch])
                except CollisionError:
                    if not self._saved_before(batch):
                        raise ConfigError(
                            f"run {batch.run} is running elsewhere: event {batch.rows[0].seq} exists already"
                        ) from None
                self._unsure.difference_update(batch.rows)
            except StoreUnavailable as error:
                self._postpone(batches[number:], error)
                return
            except ConfigError as error:
                self._refuse(batch, error)

    def _saved_before(self, batch: Batch) -> bool:
        """Return whether an earlier append saved this batch and only the confirmation was lost."""
        return self._unsure.issuperset(batch.rows) and list(self._find(batch.rows)) == [row.body for row in batch.rows]

    def _postpone(self, batches: Sequence[Batch], error: StoreUnavailable) -> None:
        """Put buffered batches back at the queue's front; tell the callers of the others to append again."""
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
