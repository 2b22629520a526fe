"""Calls as tags in the text: `<think> <tool_call> <tool_response> <report> <action> <answer>`.

Works with any model that can follow a format.  The reader repairs spelling, never meaning: a call that is cut off or
not an object is refused and the model is asked again.
Source: the ReAct format of Yao et al. 2023 (arXiv:2210.03629) with the Hermes tool-call tags.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from research.errors import FormatError
from research.protocols import NewId
from research.transcript import Interaction
from research.types import Completion, Message, ProtocolName, Reply, ToolCall, ToolSpec

FINAL = "final_answer"
"""The tool that ends a run; under both protocols a call of it is the answer."""

FAILED = ' failed="true"'
"""Marks the response of a call that could not be done."""

_TAG = re.compile(r"</?(think|tool_call|tool_response|report|action|answer)\b[^>]*>")


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
        if interaction.hint:
            seen.append(interaction.hint)
        return [Message("assistant", interaction.reply.text), Message("user", "\n".join(seen))]

    def read(self, completion: Completion, new_id: NewId) -> Reply:
        # What follows an invented observation is the model talking to itself.
        text = completion.text.split("<tool_response", 1)[0].rstrip()
        thinking, body = split_reasoning(text)
        bodies = _blocks(body, ("tool_call", "action"))
        calls = tuple(_call(raw, new_id(index)) for index, raw in enumerate(bodies))
        final = next((call for call in calls if call.name == FINAL), None)
        answer = str(final.arguments.get("answer", "")) if final else tag(body, "answer")
        if completion.finish_reason == "length" and not answer and not calls:
            raise FormatError("The reply was cut off at the length limit. Be shorter.")
        if not calls and not answer:
            raise FormatError(
                "The reply held neither a <tool_call> nor an <answer>. Write exactly one of them after <think>."
            )
        return Reply(
            text=text,
            thinking=thinking or completion.reasoning,
            calls=() if final else calls,
            answer=answer if final or not calls else "",
            report=tag(body, "report"),
            reasoning=completion.reasoning,
        )


def read_calls(text: str) -> list[tuple[str, dict[str, Any]]]:
    """Names and arguments of the calls in a well-formed reply."""
    _, body = split_reasoning(text)
    calls = [_call(raw, "") for raw in _blocks(body, ("tool_call", "action"))]
    return [(call.name, call.arguments) for call in calls]


def write_call(name: str, **arguments: Any) -> str:
    """One call as a model writes it."""
    body = json.dumps({"name": name, "arguments": arguments}, ensure_ascii=False)
    return f"<tool_call>{body}</tool_call>"


def escape(text: str) -> str:
    """Make our tags inside foreign text harmless: a page cannot close its own quotation."""
    return _TAG.sub(lambda match: match.group().replace("<", "&lt;"), text)


def split_reasoning(text: str) -> tuple[str, str]:
    """(reasoning, the rest).  Reasoning is a closed `<think>`, or all text before an orphan `</think>`."""
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
    """The last `<name>` block; one that is never closed reaches to the end.  Empty when there is none."""
    start = text.rfind(f"<{name}>")
    if start < 0:
        return ""
    return text[start + len(name) + 2 :].split(f"</{name}>", 1)[0].strip()


def _blocks(text: str, names: tuple[str, ...]) -> list[str]:
    """Bodies of the call blocks that stand before any answer: a call after an answer never runs."""
    alternatives = "|".join(names)
    found = []
    position = 0
    opening = re.compile(rf"<({alternatives}|answer)>")
    while match := opening.search(text, position):
        if match.group(1) == "answer":
            break
        end = text.find(f"</{match.group(1)}>", match.end())
        found.append(text[match.end() : end if end >= 0 else len(text)])
        position = end if end >= 0 else len(text)
    return found


def _call(raw: str, call_id: str) -> ToolCall:
    body = re.sub(r"^\s*```(?:json)?\s*|\s*```\s*$", "", raw.strip())
    try:
        value: Any = json.loads(body, strict=False)
    except json.JSONDecodeError as error:
        raise FormatError(f'A call must be one JSON object {{"name": …, "arguments": {{…}}}}: {error}') from error
    if not isinstance(value, dict) or not isinstance(value.get("name"), str):
        raise FormatError('A call must be one JSON object {"name": …, "arguments": {…}}.')
    arguments = value.get("arguments", {})
    if not isinstance(arguments, dict):
        raise FormatError(f"The arguments of {value['name']!r} must be a JSON object.")
    return ToolCall(call_id, value["name"].strip(), arguments)
