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


class _Usage(Struct):
    input_tokens: Any = None
    """Tokens neither read from the cache nor written to it."""
    output_tokens: Any = None
    cache_read_input_tokens: Any = None
    cache_creation_input_tokens: Any = None


class _Message(Struct):
    usage: Any = None
    """`_Usage`; whatever else a server writes there says nothing of the reply."""


class _Delta(Struct):
    type: str = ""
    text: str = ""
    thinking: str = ""
    signature: str = ""
    partial_json: str = ""
    stop_reason: str | None = None


class Event(Struct):
    """One event of a stream; unknown types are ignored, as the service requires."""

    type: str = ""
    index: int = 0
    message: _Message | None = None
    content_block: Block | None = None
    delta: _Delta | None = None
    usage: Any = None
    content: list[Block] | None = None
    stop_reason: str | None = None
    """Both of a whole reply, which is an event of type `message` here."""


class Reply:
    """Collects a reply from the events of its stream."""

    def __init__(self) -> None:
        self.stop_reason = ""
        self._blocks: dict[int, Block] = {}
        self._grown: dict[int, dict[str, list[str]]] = {}
        """The pieces of each block's texts, by field."""
        self._calls: dict[int, assembly.Call] = {}
        self._usage: dict[str, Any] = {}

    def take(self, event: Event) -> Iterator[Delta]:
        for usage in (event.message and event.message.usage, event.usage):
            if usage and (counts := decoding.loosely(usage, _Usage)):  # cumulative, and omitted if unchanged
                given = {name: count for name, count in msgspec.structs.asdict(counts).items() if count is not None}
                self._usage |= given
        if event.type == "message":
            for index, block in enumerate(event.content or ()):
                yield from self._begin(index, block)
            self.stop_reason = event.stop_reason or ""
        elif event.type == "content_block_start" and event.content_block:
            yield from self._begin(event.index, event.content_block)
        elif event.type == "content_block_delta" and event.delta:
            yield from self._add(event.index, event.delta)
        elif event.type == "message_delta" and event.delta:
            self.stop_reason = event.delta.stop_reason or self.stop_reason

    def _begin(self, index: int, block: Block) -> Iterator[Delta]:
        texts = {name: str(block[name] or "") for name in ("text", "thinking", "signature") if name in block}
        block = self._blocks[index] = block | texts
        if block.get("type") == "tool_use":
            given = block.get("input")  # some servers send the complete arguments here
            arguments = msgspec.json.encode(given).decode() if given else ""
            self._calls[index] = assembly.Call(str(block.get("id") or ""), str(block.get("name") or ""), [arguments])
            assembly.check_number(self._calls, "the model's server")
            unseen(arguments)
        elif block.get("type") in ("text", "thinking") and block.get(block["type"]):
            yield Delta(block[block["type"]], kind="text" if block["type"] == "text" else "reasoning")

    def _add(self, index: int, delta: _Delta) -> Iterator[Delta]:
        self._blocks.setdefault(index, {})
        grown = self._grown.setdefault(index, {})
        if delta.type == "text_delta":
            grown.setdefault("text", []).append(delta.text)
            if delta.text:
                yield Delta(delta.text)
        elif delta.type == "thinking_delta":
            grown.setdefault("thinking", []).append(delta.thinking)
            if delta.thinking:  # empty if the service withholds it
                yield Delta(delta.thinking, kind="reasoning")
        elif delta.type == "signature_delta":
            grown.setdefault("signature", []).append(delta.signature)
            unseen(delta.signature)
        elif delta.type == "input_json_delta" and index in self._calls:
            self._calls[index].parts.append(delta.partial_json)
            unseen(delta.partial_json)

    def _whole(self, index: int) -> Block:
        """Return a block with all of its pieces."""
        block = self._blocks[index]
        return block | {
            name: "".join([block.get(name, ""), *pieces]) for name, pieces in self._grown.get(index, {}).items()
        }

    def completion(self, position: int) -> Completion:
        blocks = [self._whole(index) for index in sorted(self._blocks)]
        text = "".join(block.get("text", "") for block in blocks if block.get("type") == "text")
        reasoning = "".join(block.get("thinking", "") for block in blocks if block.get("type") == "thinking")
        calls = [call for _, call in sorted(self._calls.items())]
        # Keep the text before the last thinking block too, so that all blocks go back in their order.
        thoughts = [n for n, block in enumerate(blocks) if block.get("type") in THINKING]
        kept = blocks[: thoughts[-1] + 1] if thoughts else []
        return assembly.completion(
            text,
            calls,
            reasoning,
            _REASONS.get(self.stop_reason, self.stop_reason),
            self._counted(),
            position=position,
            blocks=tuple(block for block in kept if block.get("type") in (*THINKING, "text")),
        )

    def _counted(self) -> Usage | None:
        if "input_tokens" not in self._usage:
            return None
        read = self._usage.get("cache_read_input_tokens", 0)
        written = self._usage.get("cache_creation_input_tokens", 0)
        parts = [whole_number(value) for value in (self._usage["input_tokens"], read, written)]
        prompt = -1 if None in parts else sum(filter(None, parts))
        return counted(prompt, self._usage.get("output_tokens"), read, written)
