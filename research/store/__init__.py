"""The run log, saved values and leases, in SQLite or Postgres; may import `events` and what is below it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final, Literal, Protocol

from msgspec import Struct, field

from research.events.events import Event, Status
from research.events.recipe import Recipe
from research.types import Outcome

Control = Literal["stop", "pause"]
Kind = Literal[
    "preset",
    "egress",
    "comparison",
    "opinion",
    "share",
    "row",
    "evaluation",
    "models",
    "spent",
    "declined",
    "tested",
    "world",
    "set",
    "set_documents",
    "ended",
]


class Origin(Struct, frozen=True):
    """The run from which another was made."""

    run: str
    how: Literal["fork", "follow_up", "rerun"]
    round: int = 0
    """Rounds that a fork shares with its origin."""


EVALUATED: Final = "eval:"
"""Start of the tag of an evaluation's runs; its name follows."""


class Filters(Struct, frozen=True):
    """Conditions on a list of runs; an empty field matches all runs."""

    outcomes: tuple[str, ...] = ()
    """As in `RunRow.ending`."""
    frameworks: tuple[str, ...] = ()
    contexts: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    """Runs with any of these tags."""
    not_tagged: str = ""
    """Leaves out runs that have a tag with this prefix."""
    since: float | None = None
    """Runs created at this time or later, in seconds since the epoch."""
    origin: str = ""
    """Only runs made from the run with this id."""


class RunRow(Struct, frozen=True):
    """A run as a list shows it."""

    id: str
    question: str
    recipe: Recipe
    status: Status = "running"
    outcome: Outcome | None = None
    created: float = field(default_factory=lambda: time.time())
    """Seconds since the epoch, like all times here."""
    updated: float = 0.0
    heartbeat: float = 0.0
    """When a process last reported that it drives the run."""
    answer: str = ""
    origin: Origin | None = None
    tags: tuple[str, ...] = ()
    damaged: tuple[str, ...] = ()
    """Unreadable columns, which have a default here: the run can be exported as stored, and deleted."""

    @property
    def ending(self) -> str:
        """Return the outcome: `failed` where an error has paused the run, `running` while there is none."""
        return "failed" if self.status == "paused" and self.answer else self.outcome or "running"


NO_FILTERS = Filters()


class RunLog(Protocol):
    """Runs, each with its append-only list of events."""

    def create(self, row: RunRow, events: Sequence[Event] = ()) -> None:
        """Add a run that is running or queued (it waits for a worker) with its first events, all or nothing.

        Raises `ConfigError` when the id is taken.
        """

    def append(self, events: Sequence[Event]) -> None:
        """Save events of one run; when this returns they survive a power loss.

        The exceptions are `Streamed`, `Asked` and `ToolStarted`, which may be written a moment later, in order.  Raises
        `ConfigError` when another process has written an event with the same number.  After `StoreUnavailable` the same
        events can be appended again.
        """

    def events(self, run_id: str, after: int = -1) -> list[Event]:
        """Return the events with a number (`seq`) above `after`, in order."""

    def bodies(self, run_id: str) -> list[str]:
        """Return the events of a run as they are stored, also those that cannot be read."""

    def run(self, run_id: str) -> RunRow:
        """Return the run with that id, or the only one starting with it.  Raises `ConfigError`."""

    def runs(self, query: str = "", limit: int = 100, offset: int = 0, filters: Filters = NO_FILTERS) -> list[RunRow]:
        """Return the runs whose question or answer contains the query, newest first."""

    def endings(self, query: str = "", filters: Filters = NO_FILTERS) -> dict[str, int]:
        """Return how many of the runs that `runs` lists have each ending."""

    def tag(self, run_id: str, tags: Sequence[str]) -> None:
        """Replace the tags of a run."""

    def tags(self) -> list[str]:
        """Return every tag in use, sorted."""

    def delete(self, run_ids: Sequence[str]) -> None:
        """Remove runs from every list; `restore` brings them back until `purge`."""

    def restore(self, run_ids: Sequence[str]) -> None:
        """Undo `delete`."""

    def purge(self, before: float) -> int:
        """Erase the runs that were deleted before that time, and return how many there were."""


class KeyValue(Protocol):
    """Small JSON values by kind and key."""

    def put(self, kind: Kind, key: str, body: bytes) -> None:
        """Add or replace a value."""

    def values(self, kind: Kind, prefix: str = "") -> list[bytes]:
        """Return the values of that kind whose key starts with the prefix, newest first."""

    def remove(self, kind: Kind, key: str) -> None:
        """Remove a value, if it exists."""


class Leases(Protocol):
    """Which runs are being driven, the requests to them, and whose turn it is at a rate-limited service."""

    @property
    def available_since(self) -> float:
        """When the store came back after an outage, by `time.monotonic`; -inf when this process has seen no outage."""

    def heartbeat(self, run_ids: Sequence[str]) -> None:
        """Report that these runs are being driven; queued ones become running."""

    def stale(self, before: float) -> list[RunRow]:
        """Return the running and queued runs without a heartbeat since that time, the longest silent first."""

    def set_queued(self, run_id: str) -> None:
        """Change a running run to queued."""

    def request(self, run_id: str, control: Control) -> None:
        """Ask the process that drives the run to pause or stop it."""

    def requests(self, run_ids: Sequence[str]) -> dict[str, Control]:
        """Return the last request of each of these runs that has one."""

    def clear_requests(self, run_id: str) -> None:
        """Forget the requests to a run, because it is resumed."""

    def take_turn(self, key: str, per_minute: float) -> float:
        """Reserve the next turn at a rate limit that all processes share, and return the seconds until it.

        Turns are evenly spaced.
        """


class Store(RunLog, KeyValue, Leases, Protocol):
    """All that is saved for one user.  Safe for threads and processes.

    Any method raises `StoreUnavailable`, with no data lost, when the disk is full or the database does not respond.
    """

    def close(self) -> None:
        """Write what is still buffered, and release files and connections."""
