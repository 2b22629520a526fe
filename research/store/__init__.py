"""Where runs are kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

from msgspec import Struct

from research.desk import Keeper
from research.events import Event
from research.recipe import Recipe
from research.types import Outcome, Status

Control = Literal["stop", "pause"]


class Origin(Struct, frozen=True):
    """Where a run comes from, when it was not asked anew."""

    run: str
    how: Literal["fork", "follow_up", "rerun"]
    round: int = 0
    """Rounds that a fork has in common with its origin."""


class Filters(Struct, frozen=True):
    """What is wanted of a list of runs; an empty field wants nothing in particular."""

    outcomes: tuple[str, ...] = ()
    """Outcomes, or `running` for runs without one."""
    frameworks: tuple[str, ...] = ()
    contexts: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    """A run with any of them."""
    since: float | None = None
    """Created at this time or later, seconds since the epoch."""
    origin: str = ""
    """Id of the run they come from."""


class RunRow(Struct, frozen=True):
    """A run as a list shows it."""

    id: str
    question: str
    recipe: Recipe
    status: Status
    outcome: Outcome | None
    created: float
    """Seconds since the epoch."""
    updated: float
    beat: float
    """When its engine last said that it is at work on it."""
    answer: str = ""
    origin: Origin | None = None
    tags: tuple[str, ...] = ()


NO_FILTERS = Filters()


class Store(Keeper, Protocol):
    """Append-only events of runs, and what is asked of them from outside.  Safe for threads and processes.

    Any method raises `StoreUnavailable` when the disk is full or the database does not answer; nothing is lost then.
    """

    @property
    def answers_since(self) -> float:
        """When it answered again after it was away, by `time.monotonic`; -inf when it never was, as far as is known."""

    def close(self) -> None:
        """Let go of files and connections; what was appended is kept first."""

    def create(
        self,
        run_id: str,
        question: str,
        recipe: Recipe,
        *,
        origin: Origin | None = None,
        created: float | None = None,
        queued: bool = False,
        events: Sequence[Event] = (),
    ) -> None:
        """A new run with its first events, all or nothing; `queued`: it waits for somebody to take it up.

        Raises `ConfigError` when the id is taken.
        """

    def append(self, events: Sequence[Event]) -> None:
        """Keep the events of one run; when this returns they survive a power loss.

        Characters of a reply being written (`Streamed`) may follow a moment later, in their order.  Raises `ConfigError`
        when somebody else writes this run.  After `StoreUnavailable` the same events can be appended again.
        """

    def events(self, run_id: str, after: int = -1) -> list[Event]:
        """The events with a seq above `after`, in order."""

    def run(self, run_id: str) -> RunRow:
        """The run of that id or of that unique beginning of one.  Raises `ConfigError`."""

    def runs(self, query: str = "", limit: int = 100, offset: int = 0, filters: Filters = NO_FILTERS) -> list[RunRow]:
        """Newest first; those whose question or answer holds the query."""

    def tag(self, run_id: str, tags: Sequence[str]) -> None:
        """These tags and no others."""

    def tags(self) -> list[str]:
        """Every tag that a run has, sorted."""

    def delete(self, run_ids: Sequence[str]) -> None:
        """Take runs out of every list; until `purge` they can be restored."""

    def restore(self, run_ids: Sequence[str]) -> None:
        """Take back a `delete`."""

    def purge(self, before: float) -> int:
        """Remove for good what was deleted before that time, seconds since the epoch; returns how many runs."""

    def ask_for(self, run_id: str, control: Control) -> None:
        """Ask the engine that holds the run, wherever it is, to do something."""

    def controls(self, run_ids: Sequence[str]) -> dict[str, Control]:
        """What was asked for, of these runs."""

    def withdraw(self, run_id: str) -> None:
        """Forget what was asked of a run: it is taken up again."""

    def beat(self, run_ids: Sequence[str]) -> None:
        """Say that these runs are being worked on; those that were queued are running now."""

    def queue(self, run_id: str) -> None:
        """A run that stands as running waits for somebody to take it up."""

    def waiting(self, before: float) -> list[RunRow]:
        """Runs that nobody works on and somebody should, the oldest first.

        Those that stand as running or queued, with no beat since that time, seconds since the epoch.
        """

    def pace(self, key: str, per_minute: float) -> float:
        """Take a turn at something that may be done so often, by all processes together.

        Returns the seconds to wait before doing it; turns are evenly spaced.
        """
