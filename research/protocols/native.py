"""Calls as the provider's own structures: `tools` in the request, `tool_calls` in the reply.

Source: OpenAI chat completions, "Function calling"; every OpenAI-compatible server follows it.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from research.events.transcript import Interaction
from research.parsing.calls import offered
from research.parsing.native_calls import Given, read_native
from research.protocols.protocol import NewId, ProtocolName, as_reply
from research.types import Completion, Message, Reply, ToolSpec


class Native:
    """The provider's tool calls; a reply without calls is the answer."""

    name: ProtocolName = "native"
    stop: tuple[str, ...] = ()

    def instructions(self, tools: Sequence[ToolSpec], language: str) -> str:
        return ""

    def offer(self, tools: Sequence[ToolSpec]) -> tuple[ToolSpec, ...]:
        return tuple(tools)

    def turn(self, interaction: Interaction) -> list[Message]:
        reply = interaction.reply
        messages = [
            Message("assistant", reply.text, reply.calls, reasoning=reply.reasoning or None, blocks=reply.blocks)
        ]
        made = {call.id for call in reply.calls}
        results = [seen for seen in interaction.observations if seen.call_id in made]
        messages += [Message("tool", seen.text, call_id=seen.call_id) for seen in results]
        if results and interaction.note:  # strict servers refuse a user message right after a result
            messages[-1] = msgspec.structs.replace(messages[-1], content=f"{results[-1].text}\n\n{interaction.note}")
        # Strict servers reject calls with invalid JSON, so invalid calls are not sent back.  Errors and hints come after
        # all results, because nothing may come between a call and its result.
        notes = [seen.text for seen in interaction.observations if seen.call_id not in made]
        if interaction.hint:
            notes.append(interaction.hint)
        return [*messages, Message("user", "\n".join(notes))] if notes else messages

    def read(self, completion: Completion, new_id: NewId, tools: Sequence[ToolSpec]) -> Reply:
        given = [Given(call.name, call.arguments) for call in completion.raw_calls or completion.calls]
        reading = read_native(completion.text, given, offered(tools), completion.finish_reason)
        return as_reply(reading, completion, new_id, tools)
