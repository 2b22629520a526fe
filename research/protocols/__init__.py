"""How calls and tags travel between the workbench and a model.

A protocol turns what happened into messages and a model's words back into a `Reply`.  Frameworks and context strategies
never see which one is in use.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from research.transcript import Interaction
from research.types import Completion, Message, ProtocolName, Reply, ToolSpec

NewId = Callable[[int], str]
"""Gives the id of the i-th call of a reply, unique within the run."""


class CallProtocol(Protocol):
    """One way for calls to travel."""

    @property
    def name(self) -> ProtocolName: ...

    @property
    def stop(self) -> tuple[str, ...]:
        """Strings at which the model should stop writing."""

    def instructions(self, tools: Sequence[ToolSpec], language: str) -> str:
        """What the system prompt says about calling tools; empty when the provider says it."""

    def offer(self, tools: Sequence[ToolSpec]) -> tuple[ToolSpec, ...]:
        """The tools that go into the request itself."""

    def turn(self, interaction: Interaction) -> list[Message]:
        """One round as messages: the reply, then its observations."""

    def read(self, completion: Completion, new_id: NewId) -> Reply:
        """What the model said.  Raises `FormatError` when it is neither a call nor an answer."""


def create(name: ProtocolName) -> CallProtocol:
    """The protocol of that name."""
    if name == "native":
        from research.protocols.native import Native

        return Native()
    from research.protocols.tagged import Tagged

    return Tagged()
