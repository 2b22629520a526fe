"""What an agent has lived through so far.  Values only: a context strategy reads it and changes nothing."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from research.types import Observation, Reply


class Interaction(Struct, frozen=True):
    """One round: the reply with its calls, and one observation for each call, in the order asked."""

    reply: Reply
    observations: tuple[Observation, ...] = ()
    hint: str = ""
    """A warning of the workbench to the model, placed after the observations."""


class Summary(Struct, frozen=True):
    """A summary that stands for the first `covers` interactions (ReSum)."""

    text: str
    covers: int


class Transcript(Struct, frozen=True):
    question: str
    interactions: tuple[Interaction, ...] = ()
    report: str = ""
    summary: Summary | None = None
    reflections: tuple[str, ...] = ()

    @property
    def length(self) -> int:
        """Rounds completed."""
        return len(self.interactions)

    def add(self, interaction: Interaction) -> Transcript:
        return msgspec.structs.replace(self, interactions=(*self.interactions, interaction))
