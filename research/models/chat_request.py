"""Write a history as messages of OpenAI's chat completions that a service with these quirks accepts."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct

from research.models.endpoint import Quirks
from research.models.families import wants_marks
from research.models.schemas import is_closed, subset
from research.types import Message, Request, ToolSpec

Wire = dict[str, Any]

EXTRA, DETAILS = "extra_content", "reasoning_details"
"""Types of blocks sent back only to the service that sent them."""


class Form(Struct, frozen=True):
    """How messages are written for one service."""

    quirks: Quirks
    host: str
    reasoning: str = ""
    """The name under which past reasoning is sent; empty: it is not."""

    def messages(self, messages: Sequence[Message]) -> list[Wire]:
        """Return the history as the service accepts it."""
        sent: list[Wire] = []
        for message in messages:
            if message.role == "assistant" and not (message.content or message.calls):
                continue  # several services refuse an empty turn
            written = self._message(message)
            if written["role"] == "system" and sent and not self.quirks.later_system:
                written["role"] = "user"
            if written["role"] == "user" and sent and sent[-1]["role"] == "tool" and not self.quirks.user_after_tool:
                sent[-1]["content"] += f"\n\n{written['content']}"
                continue
            sent.append(written)
        return sent

    def _message(self, message: Message) -> Wire:
        sent: Wire = {"role": message.role, "content": message.content}
        if message.calls:
            sent["tool_calls"] = self._calls(message)
            if not message.content and self.quirks.empty_content:
                sent |= {"content": None}
                if self.quirks.empty_content == "omit":
                    del sent["content"]
        if message.call_id is not None:
            sent["tool_call_id"] = self._id(message.call_id)
        if self.reasoning and (message.calls or message.reasoning is not None):
            # required with calls, even if empty
            sent[self.reasoning] = message.reasoning or (self.quirks.reasoning_filler if message.calls else "")
        for block in message.blocks:
            if block.get("type") == DETAILS and block.get("host") == self.host:
                sent[DETAILS] = block["value"]
        return sent

    def _calls(self, message: Message) -> list[Wire]:
        calls: list[Wire] = [
            {
                "id": self._id(call.id),
                "type": "function",
                "function": {"name": call.name, "arguments": msgspec.json.encode(call.arguments).decode()},
            }
            for call in message.calls
        ]
        kept = [block for block in message.blocks if block.get("type") == EXTRA and block.get("host") == self.host]
        for block in kept:
            # The call has a new id by now, and unparsable calls are gone.
            same = (n for n, call in enumerate(message.calls) if call.name == block["name"] and EXTRA not in calls[n])
            if (n := next(same, None)) is not None:
                calls[n][EXTRA] = block["value"]
        if not kept and self.quirks.signature_filler:
            calls[0][EXTRA] = {"google": {"thought_signature": self.quirks.signature_filler}}
        return calls

    def _id(self, call_id: str) -> str:
        return hashlib.sha256(call_id.encode()).hexdigest()[:9] if self.quirks.call_ids == "nine" else call_id

    def tools(self, tools: Sequence[ToolSpec]) -> list[Wire]:
        """Return the definitions of tools."""
        return [
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": subset(tool.parameters) if self.quirks.schemas == "subset" else tool.parameters,
                },
            }
            for tool in tools
        ]


def mark_cached(messages: list[Wire]) -> None:
    """Mark the ends of prefixes that later prompts share: the system message, and the last two that are not the model's.

    A single question is not marked: it would be cached and never read.
    """
    system = [each for each in messages[:1] if each["role"] == "system"]
    ends = [each for each in messages[1:] if each["role"] in ("user", "tool")][-2:]
    for each in [*system, *ends] if len(messages) > 2 else []:
        if each["content"]:
            each["content"] = [{"type": "text", "text": each["content"], "cache_control": {"type": "ephemeral"}}]


def body_of(request: Request, form: Form, model: str, limit: str | None) -> Wire:
    """Return the body of a request; `limit` is the parameter that limits the reply, if any is accepted."""
    quirks = form.quirks
    body: Wire = {"model": model, "messages": form.messages(request.messages)}
    if quirks.prompt_cache == "marks" or (quirks.prompt_cache == "auto" and wants_marks(form.host, model)):
        mark_cached(body["messages"])
    if quirks.streams:
        body["stream"] = True
        if quirks.usage_in_streams:
            body["stream_options"] = {"include_usage": True}
    if request.tools:
        body["tools"] = form.tools(request.tools)
        if request.must_call and quirks.forced_calls:
            body["tool_choice"] = "required"
    if request.schema is not None:
        reply = {"name": "reply", "schema": request.schema, "strict": is_closed(request.schema)}
        body["response_format"] = {"type": "json_schema", "json_schema": reply}
    if request.stop:
        body["stop"] = request.stop
    if request.temperature is not None and quirks.temperature:
        body["temperature"] = request.temperature
    if request.seed is not None:
        body["seed"] = request.seed
    if request.max_tokens is not None and limit:
        body[limit] = request.max_tokens
    return body | quirks.body
