"""Read the requests of other programs' agents: OpenAI's chat completions and responses, and Anthropic's messages."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from json import JSONDecodeError, JSONDecoder
from typing import Any, Final, Literal

import msgspec
from msgspec import Struct

from research.errors import ConfigError
from research.types import Message, ToolCall

Api = Literal["chat", "responses", "messages"]
PATHS: Final[Mapping[str, Api]] = {"chat/completions": "chat", "responses": "responses", "messages": "messages"}
"""The paths whose calls are recorded, below the base address."""
LISTS: Final[Mapping[Api, str]] = {"chat": "messages", "responses": "input", "messages": "messages"}
"""The field of a body with the conversation."""

Item = dict[str, Any]


class Asking(Struct, frozen=True, kw_only=True):
    """One request as an agent sent it."""

    api: Api
    raw: bytes
    """The body as sent on."""
    sha256: str
    model: str
    stream: bool
    previous: str
    """The response that the request continues (`previous_response_id`); empty: it has the whole conversation."""
    head: Item
    """The body without its messages."""
    items: list[Any]
    """The messages as in the body."""
    messages: tuple[Message, ...]
    spoken: tuple[Message, ...]
    """The messages without the rules, which may change with each request."""
    tools: tuple[str, ...]
    failed: frozenset[str]
    """Ids of calls whose result is marked as an error."""

    @property
    def begins(self) -> bool:
        """Return whether it has no reply of the model yet."""
        return not self.previous and not any(message.role in ("assistant", "tool") for message in self.messages)

    @property
    def question(self) -> str:
        """Return what the user says first."""
        return next(
            (each.content.strip() for each in self.messages if each.role == "user" and each.content.strip()), ""
        )


def read(api: Api, raw: bytes) -> Asking:
    """Return the request in a body.  Raises `ConfigError` that names what is wrong with it."""
    try:
        body = msgspec.json.decode(raw)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"the body is not JSON: {error}") from None
    field = LISTS[api]
    if not isinstance(body, dict) or not isinstance(body.get("model"), str) or not body["model"]:
        raise ConfigError("expected a JSON object with the name of a model in the field 'model'")
    given = body.get(field, [])
    items = [{"role": "user", "content": given}] if isinstance(given, str) else given
    if not isinstance(items, list):
        raise ConfigError(f"the field {field!r} must be a list of messages")
    head = {name: value for name, value in body.items() if name != field or isinstance(given, str)}
    kept = [] if isinstance(given, str) else items
    messages, failed = _MESSAGES[api](body, [item for item in items if isinstance(item, dict)])
    return Asking(
        api=api,
        raw=raw,
        sha256=hashlib.sha256(raw).hexdigest(),
        model=body["model"],
        stream=body.get("stream") is True,
        previous=str(body.get("previous_response_id") or "") if api == "responses" else "",
        head=head,
        items=kept,
        messages=tuple(messages),
        spoken=tuple(message for message in messages if message.role != "system"),
        tools=tuple(_tool_names(body.get("tools"))),
        failed=frozenset(failed),
    )


def with_model(raw: bytes, model: str) -> bytes:
    """Return the body with another model; every other byte is unchanged."""
    text = raw.decode()
    decoder = JSONDecoder()
    at = text.index("{") + 1
    spans = []
    while True:
        at = _skip(text, at, " \t\r\n,")
        if at >= len(text) or text[at] == "}":
            break
        name, at = decoder.raw_decode(text, at)
        start = _skip(text, at, " \t\r\n:")
        try:
            _, at = decoder.raw_decode(text, start)
        except JSONDecodeError as error:
            raise ConfigError(f"the body is not JSON: {error}") from None
        if name == "model":
            spans.append((start, at))
    for start, end in reversed(spans):  # a repeated field, of which readers take the last
        text = f"{text[:start]}{msgspec.json.encode(model).decode()}{text[end:]}"
    return text.encode()


def _skip(text: str, at: int, characters: str) -> int:
    while at < len(text) and text[at] in characters:
        at += 1
    return at


def _tool_names(tools: object) -> Iterable[str]:
    for tool in tools if isinstance(tools, list) else ():
        if isinstance(tool, dict):
            function = tool.get("function")
            name = function.get("name") if isinstance(function, dict) else None
            yield str(name or tool.get("name") or tool.get("type") or "?")


def words(content: object) -> str:
    """Return the text of a content (a text or a list of parts); parts without text become their type."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(filter(None, map(words, content)))
    if not isinstance(content, dict):
        return "" if content is None else str(content)
    for name in ("text", "refusal", "content", "output"):
        if content.get(name):
            return words(content[name])
    kind = str(content.get("type") or "")
    return "" if kind in ("", "text", "input_text", "output_text") else f"[{kind}]"


def _arguments(given: object) -> dict[str, Any]:
    if isinstance(given, str):
        try:
            given = msgspec.json.decode(given) if given.strip() else {}
        except (ValueError, RecursionError):
            return {"arguments": given}
    return given if isinstance(given, dict) else {"arguments": given}


Read = tuple[list[Message], set[str]]


def _chat(body: Item, items: list[Item]) -> Read:
    found = []
    for item in items:
        role, content = item.get("role"), words(item.get("content"))
        if role in ("tool", "function"):
            found.append(Message("tool", content, call_id=str(item.get("tool_call_id") or item.get("name") or "")))
        elif role == "assistant":
            calls = [call for call in item.get("tool_calls") or () if isinstance(call, dict)]
            reasoning = item.get("reasoning_content") or item.get("reasoning")
            said = Message("assistant", content, tuple(map(_chat_call, calls)))
            found.append(msgspec.structs.replace(said, reasoning=reasoning) if isinstance(reasoning, str) else said)
        else:
            found.append(Message("system" if role in ("system", "developer") else "user", content))
    return found, set()


def _chat_call(call: Item) -> ToolCall:
    function = call.get("function") or call.get("custom") or {}
    given = function.get("arguments", function.get("input"))
    return ToolCall(str(call.get("id") or ""), str(function.get("name") or ""), _arguments(given))


def _anthropic(body: Item, items: list[Item]) -> Read:
    found, failed = [], set()
    if rules := words(body.get("system")):
        found.append(Message("system", rules))
    for item in items:
        content = item.get("content")
        blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
        results = [block for block in blocks if block.get("type") == "tool_result"]
        failed |= {str(block.get("tool_use_id")) for block in results if block.get("is_error")}
        found += [
            Message("tool", words(block.get("content")), call_id=str(block.get("tool_use_id") or ""))
            for block in results
        ]
        special = ("tool_result", "tool_use", "thinking", "redacted_thinking")
        text = words([block for block in blocks if block.get("type") not in special]) if blocks else words(content)
        if item.get("role") == "assistant":
            calls = [
                ToolCall(str(block.get("id") or ""), str(block.get("name") or ""), _arguments(block.get("input")))
                for block in blocks
                if block.get("type") == "tool_use"
            ]
            found.append(Message("assistant", text, tuple(calls)))
        elif text or not results:
            found.append(Message("system" if item.get("role") == "system" else "user", text))
    return found, failed


def _responses(body: Item, items: list[Item]) -> Read:
    found: list[Message] = []
    if rules := words(body.get("instructions")):
        found.append(Message("system", rules))
    turn: list[Item] = []
    """Items of one reply, which become one message."""
    for item in items:
        kind, role = item.get("type") or "message", item.get("role")
        if (kind == "message" and role == "assistant") or (kind != "message" and not kind.endswith("_output")):
            turn.append(item)
            continue
        found += _reply(turn)
        turn = []
        if kind == "message":
            found.append(Message("system" if role in ("system", "developer") else "user", words(item.get("content"))))
        else:
            found.append(Message("tool", words(item.get("output")), call_id=str(item.get("call_id") or "")))
    return [*found, *_reply(turn)], set()


def _reply(items: list[Item]) -> list[Message]:
    if not items:
        return []
    calls = [
        ToolCall(
            str(item.get("call_id") or item.get("id") or ""),
            str(item.get("name") or item["type"]),
            _arguments(item.get("arguments", item.get("input", {}))),
        )
        for item in items
        if item.get("type") in ("function_call", "custom_tool_call")
    ]
    text = "\n".join(filter(None, (words(each.get("content")) for each in items if each.get("role") == "assistant")))
    return [Message("assistant", text, tuple(calls))]


_MESSAGES: Final[Mapping[Api, Callable[[Item, list[Item]], Read]]] = {
    "chat": _chat,
    "responses": _responses,
    "messages": _anthropic,
}


def error_body(api: Api, kind: str, message: str) -> bytes:
    """Return an error as the API writes one, so that its SDK shows the message."""
    error = {"type": kind, "message": message}
    whole: Item = {"error": {**error, "param": None, "code": kind}}
    if api == "messages":
        whole = {"type": "error", "error": error}
    return msgspec.json.encode(whole)
