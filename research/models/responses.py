"""OpenAI's Responses API, stateless: nothing is stored there, and every output item goes back in its place.

Sources: OpenAI API reference, "Create a model response" and its streaming events; the guide to reasoning, "Encrypted
reasoning items".
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from research._util import decoding
from research.models import assembly
from research.models.endpoint import Quirks
from research.models.heard import unseen
from research.models.schemas import is_closed
from research.models.usage import counted
from research.types import Completion, Delta, Message, Request, ToolCall, Usage

Item = dict[str, Any]

OUTPUT = "responses_output"
"""Type of the block with the output items of a reply, in order."""


def body_of(request: Request, model: str, quirks: Quirks, host: str, rejected: Collection[str]) -> Item:
    """Return the body of a request; reasoning items whose ids are `rejected` are left out."""
    body: Item = {
        "model": model,
        "input": _items(request.messages, host, rejected),
        "store": False,
        "include": ["reasoning.encrypted_content"],
    }
    if quirks.streams:
        body["stream"] = True
    if request.tools:
        body["tools"] = [
            {
                "type": "function",
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.parameters,
                "strict": is_closed(tool.parameters),
            }
            for tool in request.tools
        ]
        if request.must_call and quirks.forced_calls:
            body["tool_choice"] = "required"
    if request.schema is not None:
        form = {"type": "json_schema", "name": "reply", "schema": request.schema, "strict": is_closed(request.schema)}
        body["text"] = {"format": form}
    if request.temperature is not None and quirks.temperature:
        body["temperature"] = request.temperature
    if request.max_tokens is not None:
        body["max_output_tokens"] = request.max_tokens
    return body | quirks.body


def _items(messages: Sequence[Message], host: str, rejected: Collection[str]) -> list[Item]:
    items: list[Item] = []
    for message in messages:
        if message.role == "tool":
            items.append({"type": "function_call_output", "call_id": message.call_id, "output": message.content})
        elif message.role == "assistant":
            items += _said(message, host, rejected)
        else:
            items.append({"role": message.role, "content": message.content})
    return items


def _said(message: Message, host: str, rejected: Collection[str]) -> list[Item]:
    """Return the items of an assistant's message: the original ones if they still fit."""
    items: list[Item] = []
    words, calls = message.content, list(message.calls)
    blocks = (b for b in message.blocks if b.get("type") == OUTPUT and b.get("host") == host)
    thoughts: list[Item] = []
    for item in (item for block in blocks for item in block["items"]):
        if item["type"] == "reasoning":
            if item.get("encrypted_content") and reasoning_id(item) not in rejected:
                thoughts.append(item)
            continue
        # Reasoning goes back only with the item that it led to.
        if item["type"] == "message" and item["text"] and words.startswith(item["text"]):
            words = words.removeprefix(item["text"])
            items += [*thoughts, _message(item["text"])]
        elif item["type"] == "function_call":
            call = next((each for each in calls if each.name == item["name"]), None)
            if call is not None:
                calls.remove(call)
                items += [*thoughts, _call(call)]
        thoughts = []
    rest = [_message(words)] if words.strip() else []
    return [*rest, *items, *map(_call, calls)]  # nothing may come between reasoning and its item


def _message(text: str) -> Item:
    return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}


def _call(call: ToolCall) -> Item:
    arguments = msgspec.json.encode(call.arguments).decode()
    return {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": arguments}


def reasoning_id(item: Item) -> str:
    """Return an id of a reasoning item: its own, or else its content."""
    return str(item.get("id") or item.get("encrypted_content") or "")


def sent_reasoning(body: Item) -> set[str]:
    """Return the ids of the reasoning items in a request."""
    return {reasoning_id(item) for item in body["input"] if item.get("type") == "reasoning"}


class _Details(Struct):
    cached_tokens: Any = None


class _Usage(Struct):
    input_tokens: Any = None
    output_tokens: Any = None
    input_tokens_details: _Details | None = None


class _Incomplete(Struct):
    reason: str | None = None


class _Response(Struct):
    status: str | None = None
    output: list[Item] | None = None
    usage: Any = None
    """`_Usage`; anything else a server writes there is not about the reply."""
    error: dict[str, Any] | None = None
    incomplete_details: _Incomplete | None = None


class Event(Struct):
    """One event of a stream; unknown types are ignored."""

    type: str = ""
    delta: str | None = None
    item: Item | None = None
    response: _Response | None = None


class Whole(_Response):
    """A reply that is not streamed."""

    object: str | None = None


class Reply:
    """Collects a reply from the events of its stream."""

    def __init__(self, host: str) -> None:
        self.ended: _Response | None = None
        self._host = host
        self._items: list[Item] = []

    def take(self, event: Event) -> Iterator[Delta]:
        if event.type in ("response.output_text.delta", "response.refusal.delta") and event.delta:
            yield Delta(event.delta)
        elif event.type.startswith("response.reasoning") and event.type.endswith(".delta") and event.delta:
            yield Delta(event.delta, kind="reasoning")
        elif event.type == "response.function_call_arguments.delta" and event.delta:
            unseen(event.delta)
        elif event.type == "response.output_item.done" and event.item:
            self._items.append(event.item)
            assembly.check_number(self._items, self._host)
            if event.item.get("type") == "function_call":
                unseen(str(event.item.get("arguments") or ""))
        elif event.type in ("response.completed", "response.incomplete", "response.failed"):
            self.ended = event.response or _Response()
            self.ended.status = event.type.partition(".")[2]

    def take_whole(self, whole: Whole) -> Iterator[Delta]:
        """Take a reply that is not streamed."""
        self.ended = whole
        if thought := "".join(map(_thought, whole.output or ())):
            yield Delta(thought, kind="reasoning")
        if text := "".join(_text(item)[0] for item in whole.output or ()):
            yield Delta(text)

    def completion(self, position: int) -> Completion:
        assert self.ended is not None
        items = self._items or self.ended.output or []
        said = [_text(item) for item in items]
        # The arguments of a call that was cut off may be valid JSON by chance.
        whole = [item for item in items if item.get("type") == "function_call" and item.get("status") != "incomplete"]
        calls = [
            assembly.Call(
                str(item.get("call_id") or ""), str(item.get("name") or ""), [str(item.get("arguments") or "")]
            )
            for item in whole
        ]
        reason = "tool_calls" if calls else "stop"
        if self.ended.status == "incomplete":
            why = (self.ended.incomplete_details or _Incomplete()).reason
            reason = "content_filter" if why == "content_filter" else "length"
        elif any(refused for _, refused in said):
            reason = "content_filter"
        kept = [kept for item in items if (kept := _kept(item))]
        blocks: tuple[Item, ...] = ({"type": OUTPUT, "host": self._host, "items": kept},)
        said_all = Completion(
            "".join(text for text, _ in said),
            reasoning="".join(map(_thought, items)),
            finish_reason=reason,
            usage=self._counted(),
            blocks=blocks if any(item["type"] == "reasoning" for item in kept) else (),
        )
        return assembly.with_calls(said_all, calls, position)

    def _counted(self) -> Usage | None:
        usage = decoding.loosely(self.ended.usage, _Usage) if self.ended else None
        if usage is None or usage.input_tokens is None:
            return None
        cached = (usage.input_tokens_details or _Details()).cached_tokens
        return counted(usage.input_tokens, usage.output_tokens, cached)


def _text(item: Item) -> tuple[str, bool]:
    """Return the words of a message, and whether they refuse."""
    if item.get("type") != "message":
        return "", False
    parts = [part for part in item.get("content") or () if isinstance(part, dict)]
    refused = any(part.get("type") == "refusal" for part in parts)
    return "".join(str(part.get("text") or part.get("refusal") or "") for part in parts), refused


def _thought(item: Item) -> str:
    if item.get("type") != "reasoning":
        return ""
    parts = [*(item.get("summary") or ()), *(item.get("content") or ())]
    return "\n".join(str(part.get("text") or "") for part in parts if isinstance(part, dict))


def _kept(item: Item) -> Item | None:
    """Return the parts of an output item to keep: all of reasoning; of others, enough to find their place again."""
    match item.get("type"):
        case "reasoning":
            return {"summary": [], **item}  # the service requires a summary, even an empty one
        case "message":
            return {"type": "message", "text": _text(item)[0]}
        case "function_call":
            return {"type": "function_call", "name": item.get("name")}
    return None
