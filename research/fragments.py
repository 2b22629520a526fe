"""A reply that came in fragments, put together when it has ended."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct

from research.text import clip
from research.types import Completion, RawCall, ToolCall, Usage

_CUT = {"length", "content_filter"}
"""Reasons to end under which the last call may be unfinished."""


class Call(Struct):
    """A tool call while its fragments arrive."""

    id: str = ""
    name: str = ""
    arguments: str = ""


def completion(
    text: str, calls: Sequence[Call], reasoning: str, reason: str, usage: Usage | None,
    *, position: int, blocks: tuple[dict[str, Any], ...] = (),
) -> Completion:  # fmt: skip
    """A reply that has ended.

    `raw_calls` holds every call as it came, for the parser.  Calls whose arguments are not a JSON object are left out of
    `calls`; `finish_reason` then reads `bad_tool_call:NAME: WHY`.  Under `length` and `content_filter`, an unfinished call
    is just left out.  `position`, the number of messages before, makes ids for calls that came without.
    """
    ids = [call.id or f"call_{position}_{i}" for i, call in enumerate(calls)]
    good, bad = [], []
    for call_id, call in zip(ids, calls, strict=True):
        if reason in _CUT and not call.arguments:
            continue  # cut off before its arguments began
        try:
            good.append(ToolCall(call_id, call.name, _arguments(call)))
        except ValueError as error:
            bad.append(f"{call.name}: {error}")
    if bad and reason not in _CUT:
        reason = "bad_tool_call:" + "; ".join(bad)
    raw = tuple(RawCall(call_id, call.name, call.arguments) for call_id, call in zip(ids, calls, strict=True))
    return Completion(text, tuple(good), reasoning, reason, usage, raw, blocks)


def _arguments(call: Call) -> dict[str, Any]:
    """The arguments of a finished call.  Raises `ValueError` with a reason the model can act on."""
    text = call.arguments
    if not call.name:
        raise ValueError(f"the call names no tool: {clip(text, 200)}")
    if not text.strip():
        return {}  # how servers write a call without arguments
    try:
        arguments = msgspec.json.decode(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"the arguments are not JSON ({error}): {clip(text, 200)}") from error
    if not isinstance(arguments, dict):
        raise ValueError(f"the arguments are not a JSON object: {clip(text, 200)}")
    return arguments
