"""Convert requests to the format of Anthropic's messages API."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from research.types import Message, Request

Block = dict[str, Any]

THINKING = ("thinking", "redacted_thinking")
"""Types of the blocks that must be sent back unchanged."""

_CACHED = {"cache_control": {"type": "ephemeral"}}


def turns_of(messages: Sequence[Message], rejected: Collection[str]) -> list[Block]:
    """Merge consecutive messages of one role into turns, and omit the thinking blocks whose ids are `rejected`."""
    turns: list[Block] = []
    for message in messages:
        if message.role == "system":
            continue
        role = "assistant" if message.role == "assistant" else "user"
        blocks = _content(message, rejected)
        if not blocks:
            continue
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"] += blocks
        else:
            turns.append({"role": role, "content": blocks})
    for turn in turns:
        if turn["role"] == "user":  # the API requires results before text
            turn["content"].sort(key=lambda block: block["type"] != "tool_result")
    return turns


def _content(message: Message, rejected: Collection[str]) -> list[Block]:
    if message.role == "tool":
        result = {"type": "tool_result", "tool_use_id": message.call_id}
        return [{**result, "content": message.content} if message.content.strip() else result]
    blocks: list[Block] = []
    words = message.content
    for block in message.blocks:
        if block.get("type") in THINKING and thinking_id(block) not in rejected:
            blocks.append(block)
        elif block.get("type") == "text" and words.startswith(block["text"]):  # text between thinking blocks
            blocks.append({"type": "text", "text": block["text"]})
            words = words.removeprefix(block["text"])
    if words.strip():  # the API rejects empty text
        blocks.append({"type": "text", "text": words})
    for call in message.calls:
        blocks.append({"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments})
    return blocks


def tools_of(request: Request) -> list[Block]:
    """Return the definitions of the offered tools, or of the tools called so far if none are offered."""
    if request.tools:
        return [
            {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}
            for tool in request.tools
        ]
    # A conversation with calls must define their tools even if it allows no more.
    names = dict.fromkeys(call.name for message in request.messages for call in message.calls)
    return [{"name": name, "description": "Not available.", "input_schema": {"type": "object"}} for name in names]


def mark_cached(body: dict[str, Any]) -> None:
    """Set 3 of the 4 allowed cache breakpoints: after tools and system, and after each of the last two user turns.

    Each round then reads what the previous round wrote, however many calls it made: the service looks back over only 20
    blocks. A single question without tools is not cached: writing costs 25 % more, and nothing would read it.
    """
    head = body.get("system") or body.get("tools")
    ends = [turn["content"] for turn in body["messages"] if turn["role"] == "user"][-2:]
    if len(body["messages"]) == 1 and "tools" not in body:
        ends = []
    for blocks in [*([head] if head else []), *ends]:
        blocks[-1] = blocks[-1] | _CACHED


def thinking_id(block: Block) -> str:
    """Return an id of a thinking block: its signature, or else its content."""
    return str(block.get("signature") or block.get("data") or block.get("thinking") or "")


def close_objects(schema: Any) -> Any:
    """Return the schema with `additionalProperties: false` in every object, as the service requires."""
    if isinstance(schema, list):
        return [close_objects(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    shut = {"additionalProperties": False} if schema.get("type") == "object" else {}
    return shut | {key: close_objects(value) for key, value in schema.items()}
