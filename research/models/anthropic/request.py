"""Requests as Anthropic's messages API wants them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from research.types import Message, Request

Block = dict[str, Any]

THINKING = ("thinking", "redacted_thinking")
"""Types of the blocks that go back unchanged."""

_CACHED = {"cache_control": {"type": "ephemeral"}}


def turns_of(messages: Sequence[Message], stale: Collection[str]) -> list[Block]:
    """The conversation in turns: what belongs to one role and stands together is one message.

    Thinking whose mark is `stale` is left out.
    """
    turns: list[Block] = []
    for message in messages:
        if message.role == "system":
            continue
        role = "assistant" if message.role == "assistant" else "user"
        blocks = _content(message, stale)
        if not blocks:
            continue
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"] += blocks
        else:
            turns.append({"role": role, "content": blocks})
    for turn in turns:
        if turn["role"] == "user":  # results stand directly behind their calls, words after them
            turn["content"].sort(key=lambda block: block["type"] != "tool_result")
    return turns


def _content(message: Message, stale: Collection[str]) -> list[Block]:
    if message.role == "tool":
        result = {"type": "tool_result", "tool_use_id": message.call_id}
        return [{**result, "content": message.content} if message.content.strip() else result]
    blocks: list[Block] = []
    words = message.content
    for block in message.blocks:
        if block.get("type") in THINKING and mark_of(block) not in stale:
            blocks.append(block)
        elif block.get("type") == "text" and words.startswith(block["text"]):  # it came between two thoughts
            blocks.append({"type": "text", "text": block["text"]})
            words = words.removeprefix(block["text"])
    if words.strip():  # empty text is refused
        blocks.append({"type": "text", "text": words})
    for call in message.calls:
        blocks.append({"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments})
    return blocks


def tools_of(request: Request) -> list[Block]:
    """The tools that are offered, or else those that were called."""
    if request.tools:
        return [
            {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}
            for tool in request.tools
        ]
    # A conversation with calls has to define their tools, also where none may be called any more.
    names = dict.fromkeys(call.name for message in request.messages for call in message.calls)
    return [{"name": name, "description": "Not available.", "input_schema": {"type": "object"}} for name in names]


def mark_cached(body: dict[str, Any]) -> None:
    """Set breakpoints of the prompt cache, 3 of the 4 allowed: tools and system, and the ends of the last two user turns.

    So each round reads what the round before has written, however many calls it made (the service looks back over 20
    blocks only).  A single question that no round follows is not written: that costs a quarter more than reading it.
    """
    head = body.get("system") or body.get("tools")
    ends = [turn["content"] for turn in body["messages"] if turn["role"] == "user"][-2:]
    if len(body["messages"]) == 1 and "tools" not in body:
        ends = []
    for blocks in [*([head] if head else []), *ends]:
        blocks[-1] = blocks[-1] | _CACHED


def mark_of(block: Block) -> str:
    """What tells one thought from another."""
    return str(block.get("signature") or block.get("data") or block.get("thinking") or "")


def closed(schema: Any) -> Any:
    """The schema with its objects closed, as the service asks."""
    if isinstance(schema, list):
        return [closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    shut = {"additionalProperties": False} if schema.get("type") == "object" else {}
    return shut | {key: closed(value) for key, value in schema.items()}
