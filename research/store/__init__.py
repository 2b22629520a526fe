"""Where runs are kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

from msgspec import Struct

from research.events import Event
from research.recipe import Recipe
from research.types import Outcome, Status

Control = Literal["stop"]


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


class Store(Protocol):
    """Append-only events of runs, and what is asked of them from outside.  Safe for threads and processes."""

    def create(self, run_id: str, question: str, recipe: Recipe) -> None: ...

    def append(self, events: Sequence[Event]) -> None:
        """Keep the events of one run; when this returns they survive a power loss."""

    def events(self, run_id: str, after: int = -1) -> list[Event]:
        """The events with a seq above `after`, in order."""

    def run(self, run_id: str) -> RunRow:
        """The run of that id or of that unique beginning of one.  Raises `ConfigError`."""

    def runs(self, query: str = "", limit: int = 100, offset: int = 0) -> list[RunRow]:
        """Newest first; those whose question or answer holds the query."""

    def ask_for(self, run_id: str, control: Control) -> None:
        """Ask the engine that holds the run, wherever it is, to do something."""

    def controls(self, run_ids: Sequence[str]) -> dict[str, Control]:
        """What was asked for, of these runs."""

    def withdraw(self, run_id: str) -> None:
        """Forget what was asked of a run: it is taken up again."""

    def beat(self, run_ids: Sequence[str]) -> None:
        """Say that these runs are being worked on."""
