"""Assemble a completion from the fragments of a stream."""

from __future__ import annotations

from collections.abc import Sequence, Sized
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from research.errors import ProviderError
from research.text import clip
from research.types import Completion, RawCall, ToolCall

MOST_CALLS = 1_000
"""Most calls of a reply; a run makes only the first few."""
_CUT = {"length", "content_filter"}
"""Finish reasons after which the last call may be incomplete."""


class Call(Struct):
    """A tool call while its fragments arrive."""

    id: str = ""
    name: str = ""
    parts: list[str] = []
    """The pieces of its arguments."""

    @property
    def arguments(self) -> str:
        """The arguments so far."""
        return "".join(self.parts)


def check_number(calls: Sized, host: str) -> None:
    """Raise `ProviderError` if a reply has implausibly many calls."""
    if len(calls) > MOST_CALLS:
        raise ProviderError(f"the reply of {host} has more than {MOST_CALLS:,} calls")


def with_calls(completion: Completion, calls: Sequence[Call], position: int) -> Completion:
    """Add the calls of an ended reply to its completion.

    `raw_calls` contains every call as received, for the parser.  Calls whose arguments are not a JSON object are omitted
    from `calls`, and `finish_reason` becomes `bad_tool_call:NAME: WHY`; after `length` and `content_filter` they are
    omitted silently.  `position` is the number of preceding messages; it makes ids for calls without one.
    """
    check_number(calls, "the model's server")
    ids = [call.id or f"call_{position}_{i}" for i, call in enumerate(calls)]
    good, bad, reason = [], [], completion.finish_reason
    for call_id, call in zip(ids, calls, strict=True):
        if reason in _CUT and not call.arguments:
            continue  # the reply was cut off before the arguments
        try:
            good.append(ToolCall(call_id, call.name, _arguments(call)))
        except ValueError as error:
            bad.append(f"{call.name}: {error}")
    if bad and reason not in _CUT:
        reason = "bad_tool_call:" + "; ".join(bad)
    raw = tuple(RawCall(call_id, call.name, call.arguments) for call_id, call in zip(ids, calls, strict=True))
    return replace(completion, calls=tuple(good), finish_reason=reason, raw_calls=raw)


def _arguments(call: Call) -> dict[str, Any]:
    """Parse the arguments of a complete call.  Raises `ValueError` with a reason that the model can act on."""
    text = call.arguments
    if not call.name:
        raise ValueError(f"the call names no tool: {clip(text, 200)}")
    if not text.strip():
        return {}  # some servers send an empty text for no arguments
    try:
        arguments = msgspec.json.decode(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"the arguments are not JSON ({error}): {clip(text, 200)}") from error
    if not isinstance(arguments, dict):
        raise ValueError(f"the arguments are not a JSON object: {clip(text, 200)}")
    return arguments
