"""Calls as tags in the text: `<think> <tool_call> <tool_response> <report> <action> <answer>`.

Works with any model that can follow a format.
Source: the ReAct format of Yao et al. 2023 (arXiv:2210.03629) with the Hermes tool-call tags.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from research.events.transcript import Interaction
from research.parsing.calls import offered
from research.parsing.tagged_calls import read_tagged
from research.prompts import escape
from research.protocols.protocol import NewId, ProtocolName, as_reply
from research.types import Completion, Message, Reply, ToolSpec

FAILED = ' failed="true"'
"""Marks the response of a failed call."""


class Tagged:
    """Tags in the text; observations come back as a user message."""

    name: ProtocolName = "tagged"
    stop: tuple[str, ...] = ("<tool_response",)

    def instructions(self, tools: Sequence[ToolSpec], language: str) -> str:
        return "\n".join(
            f"- {tool.name}: {tool.description}\n  {json.dumps(tool.parameters, ensure_ascii=False)}" for tool in tools
        )

    def offer(self, tools: Sequence[ToolSpec]) -> tuple[ToolSpec, ...]:
        return ()

    def turn(self, interaction: Interaction) -> list[Message]:
        seen = [
            f'<tool_response id="{each.call_id}" name="{each.name}"{"" if each.ok else FAILED}>\n'
            f"{escape(each.text)}\n</tool_response>"
            for each in interaction.observations
        ]
        if interaction.note:
            seen.append(interaction.note)
        if interaction.hint:
            seen.append(interaction.hint)
        return [Message("assistant", interaction.reply.text), Message("user", "\n".join(seen))]

    def read(self, completion: Completion, new_id: NewId, tools: Sequence[ToolSpec]) -> Reply:
        return as_reply(
            read_tagged(completion.text, offered(tools), completion.finish_reason), completion, new_id, tools
        )


def read_calls(text: str) -> list[tuple[str, dict[str, Any]]]:
    """Return the calls of a reply, unchecked and in order: (name, arguments); an unreadable one has no arguments."""
    reading = read_tagged(text, None)
    found = {call.index: (call.name, call.arguments) for call in reading.calls}
    found |= {error.index: (error.name, {}) for error in reading.errors}
    return [found[index] for index in sorted(found)]


def write_call(name: str, /, **arguments: Any) -> str:
    """Return one call as a model writes it."""
    body = json.dumps({"name": name, "arguments": arguments}, ensure_ascii=False)
    return f"<tool_call>{body}</tool_call>"


def split_reasoning(text: str) -> tuple[str, str]:
    """Return (reasoning, rest) of a reply still being written; `parsing` reads complete ones."""
    head, closed, rest = text.partition("</think>")
    if closed:
        before, opened, inside = head.partition("<think>")
        return (inside.strip(), before + rest) if opened else (head.strip(), rest)
    before, opened, inside = text.partition("<think>")
    if not opened:
        return "", text
    # An unclosed <think> ends where the first real action begins.
    start = re.search(r"<(?:tool_call|action|answer|report)\b", inside)
    return (inside[: start.start()].strip(), before + inside[start.start() :]) if start else (inside.strip(), before)


def tag(text: str, name: str) -> str:
    """Return the last `<name>` block of a draft, to the end if it is not closed yet; empty if there is none."""
    start = text.rfind(f"<{name}>")
    if start < 0:
        return ""
    return text[start + len(name) + 2 :].split(f"</{name}>", 1)[0].strip()
