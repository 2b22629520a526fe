"""What an agent has done so far.  Values only: context strategies read them and return new ones."""

from __future__ import annotations

from msgspec import Struct

from research.types import Message, Observation, Reply


class Interaction(Struct, frozen=True):
    """One round: the reply with its calls, and one observation per call in the same order."""

    reply: Reply
    observations: tuple[Observation, ...] = ()
    hint: str = ""
    """A warning from the workbench to the model, placed after the observations."""
    note: str = ""
    """The workbench's addition to the last observation, such as the next round's number."""
    tokens_left: int | None = None
    """Tokens of the run's budget that were left after the round; None: no such cap, or unknown."""


class Summary(Struct, frozen=True):
    """A text that replaces the first `covers` interactions."""

    text: str
    covers: int


class Transcript(Struct, frozen=True):
    """Everything one agent has done: the input of a context strategy."""

    question: str
    interactions: tuple[Interaction, ...] = ()
    report: str = ""
    """The evolving report."""
    report_covers: int = 0
    """Rounds that a strategy has merged into the report."""
    summary: Summary | None = None
    """Replaces the oldest rounds (ReSum)."""
    reflections: tuple[str, ...] = ()
    """Notes on earlier attempts (Reflexion)."""

    @property
    def length(self) -> int:
        """Return the number of completed rounds."""
        return len(self.interactions)


class Composed(Struct, frozen=True):
    """What a context strategy returns; only `Run` writes it into the transcript.

    >>> Composed(run.head() + run.turns(run.transcript.length - 5))
    """

    messages: list[Message]
    summary: Summary | None = None
    """A new summary of the oldest rounds."""
    report: Summary | None = None
    """A new evolving report, and how many rounds it covers."""
