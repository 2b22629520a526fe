"""Calls as the provider's own structures: `tools` in the request, `tool_calls` in the reply.

Source: OpenAI chat completions, "Function calling"; every OpenAI-compatible server follows it.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from research.errors import FormatError
from research.protocols import NewId
from research.protocols.tagged import FINAL, split_reasoning, tag
from research.transcript import Interaction
from research.types import Completion, Message, ProtocolName, Reply, ToolSpec


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
        messages = [Message("assistant", reply.text, reply.calls, reasoning=reply.reasoning or None)]
        messages += [Message("tool", seen.text, call_id=seen.call_id) for seen in interaction.observations]
        if interaction.hint:
            # After all results: strict servers refuse anything between a call and its result.
            messages.append(Message("user", interaction.hint))
        return messages

    def read(self, completion: Completion, new_id: NewId) -> Reply:
        if completion.finish_reason.startswith("bad_tool_call"):
            raise FormatError(
                f"A tool call could not be read ({completion.finish_reason}). Send it again as valid JSON."
            )
        thinking, text = split_reasoning(completion.text)
        calls = tuple(msgspec.structs.replace(call, id=new_id(index)) for index, call in enumerate(completion.calls))
        final = next((call for call in calls if call.name == FINAL), None)
        if final is not None:
            return Reply(text=text, thinking=thinking, answer=str(final.arguments.get("answer", "")))
        if completion.finish_reason == "length" and not calls:
            raise FormatError("The reply was cut off at the length limit. Be shorter.")
        answer = "" if calls else (tag(text, "answer") or text).strip()
        if not calls and not answer:
            raise FormatError("The reply was empty. Call a tool or give the answer.")
        return Reply(
            text=text,
            thinking=thinking or completion.reasoning,
            calls=calls,
            answer=answer,
            reasoning=completion.reasoning,
        )
