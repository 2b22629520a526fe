"""How calls and tags travel between the workbench and a model.

A protocol turns what happened into messages and a model's words back into a `Reply`.  Frameworks and context strategies
never see which one is in use.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec

from research.errors import FormatError
from research.parsing import Reading
from research.parsing.reading import outside_report
from research.transcript import Interaction
from research.types import Completion, Message, ProtocolName, Reply, ToolCall, ToolSpec

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

    def read(self, completion: Completion, new_id: NewId, tools: Sequence[ToolSpec]) -> Reply:
        """What the model said; `tools` are those it was offered.

        Raises `FormatError` when there is neither an answer nor a call that can run.
        """


def as_reply(reading: Reading, completion: Completion, new_id: NewId, tools: Sequence[ToolSpec]) -> Reply:
    """What the parser found, as the run's reply.  Raises `FormatError` for what has to be asked again."""
    answer = reading.text
    if reading.kind == "format_error":
        if reading.errors and not tools:
            raise FormatError("No tool can be called any more. Give the answer from what is known.")
        answer = outside_report(reading)  # told to answer without tools, plain words are the answer
        if reading.code != "no_action" or tools or not answer:
            raise FormatError(reading.message)
    return Reply(
        text=reading.said,
        thinking=reading.thinking or completion.reasoning,
        calls=tuple(ToolCall(new_id(call.index), call.name, call.arguments) for call in reading.calls),
        answer=answer,
        report=reading.report,
        reasoning=completion.reasoning,
        blocks=completion.blocks,
        errors=tuple(msgspec.structs.replace(error, id=new_id(error.index)) for error in reading.errors),
    )


def create(name: ProtocolName) -> CallProtocol:
    """The protocol of that name."""
    if name == "native":
        from research.protocols.native import Native

        return Native()
    from research.protocols.tagged import Tagged

    return Tagged()
