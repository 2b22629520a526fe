"""`CallProtocol`: how calls travel between the workbench and a model; and conversion of a parsed reply to a `Reply`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, Protocol

import msgspec

from research._util.nul import without_nul
from research._util.said import say
from research.errors import FormatError
from research.events.transcript import Interaction
from research.parsing import Reading
from research.parsing.answer_account import read_account
from research.parsing.parsed import outside_report
from research.types import Completion, Message, Reply, ToolCall, ToolSpec

ProtocolName = Literal["native", "tagged"]
"""How calls travel: the provider's own tool calls, or tags in the text."""

NewId = Callable[[int], str]
"""Returns the id of the i-th call of a reply, unique within the run."""


class CallProtocol(Protocol):
    """One way for calls to travel."""

    @property
    def name(self) -> ProtocolName: ...

    @property
    def stop(self) -> tuple[str, ...]:
        """Strings at which the model should stop writing."""

    def instructions(self, tools: Sequence[ToolSpec], language: str) -> str:
        """Return what the system prompt says about the tools; empty if they are part of the request."""

    def offer(self, tools: Sequence[ToolSpec]) -> tuple[ToolSpec, ...]:
        """Return the tools that are part of the request."""

    def turn(self, interaction: Interaction) -> list[Message]:
        """Return one round as messages: the reply, then its observations."""

    def read(self, completion: Completion, new_id: NewId, tools: Sequence[ToolSpec]) -> Reply:
        """Parse a reply; `tools` are the offered ones.

        Raises `FormatError` if it contains neither an answer nor a call that can run.
        """


def as_reply(reading: Reading, completion: Completion, new_id: NewId, tools: Sequence[ToolSpec]) -> Reply:
    """Return the parser's reading as a reply.  Raises `FormatError` if the model must be asked again."""
    answer = reading.text
    if reading.kind == "format_error":
        if reading.errors and not tools:
            raise FormatError(say("No tool can be called any more. Give the answer from what is known."))
        answer = outside_report(reading)  # without tools, plain text is the answer
        called = completion.finish_reason in ("tool_calls", "function_call")
        if reading.code != "no_action" or tools or not answer or called:
            raise FormatError(reading.message)
    answer, short, parts = read_account(answer)
    reply = Reply(
        text=reading.said,
        thinking=reading.thinking or completion.reasoning,
        calls=tuple(ToolCall(new_id(call.index), call.name, call.arguments) for call in reading.calls),
        answer=answer,
        report=reading.report,
        reasoning=completion.reasoning,
        blocks=completion.blocks,
        errors=tuple(msgspec.structs.replace(error, id=new_id(error.index)) for error in reading.errors),
        short=short,
        parts=parts,
    )
    return without_nul(reply, Reply)
