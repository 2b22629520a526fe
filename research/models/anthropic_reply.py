"""Read replies from the event stream of Anthropic's messages API."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct

from research._util import decoding
from research.models import assembly
from research.models.anthropic_request import THINKING, Block
from research.models.heard import unseen
from research.models.usage import counted, whole_number
from research.types import Completion, Delta, Usage

# `pause_turn` counts as unfinished: only server-side tools pause a turn, and none are offered.
_REASONS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "pause_turn": "length",
    "refusal": "content_filter",
}


_TEXTS = ("text", "thinking", "signature")
"""Fields of a block that arrive in pieces."""


class _Usage(Struct):
    input_tokens: Any = None
    """Tokens neither read from the cache nor written to it."""
    output_tokens: Any = None
    cache_read_input_tokens: Any = None
    cache_creation_input_tokens: Any = None


class _Message(Struct):
    usage: Any = None
    """`_Usage`; anything else a server writes there is not about the reply."""


class _Delta(Struct):
    type: str = ""
    text: str | None = None
    thinking: str | None = None
    signature: str | None = None
    partial_json: str | None = None
    stop_reason: str | None = None


class Event(Struct):
    """One event of a stream; unknown types are ignored, as the service requires."""

    type: str = ""
    index: int | str | None = None
    message: _Message | None = None
    content_block: Block | None = None
    delta: _Delta | None = None
    usage: Any = None
    error: Any = None
    content: list[Block] | str | None = None
    stop_reason: str | None = None
    """Both are of a whole reply: here an event of type `message`."""


class Reply:
    """Collects a reply from the events of its stream."""

    def __init__(self) -> None:
        self.stop_reason = ""
        self._blocks: list[Block] = []
        self._open: dict[int | str | None, int] = {}
        """The latest block for each index in the stream; gateways give several blocks the same index."""
        self._grown: dict[int, dict[str, list[str]]] = {}
        """The pieces of each text, by the position of its block and by field."""
        self._calls: dict[int | None, assembly.Call] = {}
        """The calls, by the position of their block."""
        self._usage: dict[str, Any] = {}

    def take(self, event: Event) -> Iterator[Delta]:
        for usage in (event.message and event.message.usage, event.usage):
            if usage and (counts := decoding.loosely(usage, _Usage)):  # cumulative, and omitted if unchanged
                given = {name: count for name, count in msgspec.structs.asdict(counts).items() if count is not None}
                self._usage |= given
        if event.type == "message":
            whole = [{"type": "text", "text": event.content}] if isinstance(event.content, str) else event.content
            for index, block in enumerate(whole or ()):
                yield from self._begin(index, block)
            self.stop_reason = event.stop_reason or ""
        elif event.type == "content_block_start" and event.content_block:
            yield from self._begin(event.index, event.content_block)
        elif event.type == "content_block_delta" and event.delta:
            yield from self._add(event.index, event.delta)
        elif event.type == "message_delta" and event.delta:
            self.stop_reason = event.delta.stop_reason or self.stop_reason

    def _begin(self, index: int | str | None, block: Block) -> Iterator[Delta]:
        texts = {name: str(block[name] or "") for name in _TEXTS if name in block}
        place = self._open[index] = len(self._blocks)
        block = block | texts
        self._blocks.append(block)
        if block.get("type") == "tool_use":
            given = block.get("input") or ""  # some servers send the complete arguments here
            arguments = given if isinstance(given, str) else msgspec.json.encode(given).decode()
            self._calls[place] = assembly.Call(str(block.get("id") or ""), str(block.get("name") or ""), [arguments])
            assembly.check_number(self._calls, "the model's server")
            unseen(arguments)
        elif block.get("type") in ("text", "thinking") and block.get(block["type"]):
            yield Delta(block[block["type"]], kind="text" if block["type"] == "text" else "reasoning")

    def _add(self, index: int | str | None, delta: _Delta) -> Iterator[Delta]:
        kind = delta.type.removesuffix("_delta")
        place = self._open.get(index)
        if kind == "input_json" and place in self._calls:
            self._calls[place].parts.append(delta.partial_json or "")
            unseen(delta.partial_json or "")
        more = getattr(delta, kind, None) if kind in _TEXTS else None
        if not more:  # thinking is empty if the service withholds it
            return
        if place is None:
            place = self._open[index] = len(self._blocks)
            self._blocks.append({"type": kind})
        self._grown.setdefault(place, {}).setdefault(kind, []).append(more)
        if kind == "signature":
            unseen(more)
        else:
            yield Delta(more, kind="text" if kind == "text" else "reasoning")

    def _whole(self, place: int) -> Block:
        """Return a block with all of its pieces."""
        block = self._blocks[place]
        grown = self._grown.get(place, {})
        return block | {name: "".join([block.get(name) or "", *pieces]) for name, pieces in grown.items()}

    def completion(self, position: int) -> Completion:
        blocks = [self._whole(place) for place in range(len(self._blocks))]
        text = "".join(block.get("text") or "" for block in blocks if block.get("type") == "text")
        reasoning = "".join(block.get("thinking") or "" for block in blocks if block.get("type") == "thinking")
        # Keep the text before the last thinking block too, so that all blocks go back in their order.
        thoughts = [n for n, block in enumerate(blocks) if block.get("type") in THINKING]
        kept = blocks[: thoughts[-1] + 1] if thoughts else []
        said = Completion(
            text,
            reasoning=reasoning,
            finish_reason=_REASONS.get(self.stop_reason, self.stop_reason),
            usage=self._counted(),
            blocks=tuple(block for block in kept if block.get("type") in (*THINKING, "text")),
        )
        return assembly.with_calls(said, list(self._calls.values()), position)

    def _counted(self) -> Usage | None:
        if "input_tokens" not in self._usage:
            return None
        read = self._usage.get("cache_read_input_tokens", 0)
        written = self._usage.get("cache_creation_input_tokens", 0)
        parts = [whole_number(value) for value in (self._usage["input_tokens"], read, written)]
        prompt = -1 if None in parts else sum(filter(None, parts))
        return counted(prompt, self._usage.get("output_tokens"), read, written)
