"""The form that replies are held to, so that any model, however small, writes a call that can run or an answer.

    {"thought": "...", "tool": "search", "arguments": {...}}    one for each tool, with the schema of its arguments
    {"thought": "...", "answer": "..."}

llama.cpp's own tool calls are no help here: a chat template that knows no tools drops them without a word, and
`tool_choice` binds nobody (tried with llama.cpp b11549).  One call a reply: offered a list, a small model fills it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec
from pydantic_core import from_json

from research.types import Completion, Delta, Message, RawCall, Request, ToolCall, ToolSpec, Usage

_PARTS = 300
"""Parts of a schema that are held to; where references lead in circles or fan out, the rest is any JSON."""
_ITEMS = 20
_NUMBER = 10**12
"""Limits of lists and numbers: whatever need not end, some model does not end."""

_FORM = (
    """Reply with one JSON object and nothing else. "thought" says in one sentence what is known and what is missing."""
)
_CALL = """To use a tool: {"thought": "...", "tool": "...", "arguments": {...}}"""
_ANSWER = """To answer, when nothing is missing: {"thought": "...", "answer": "..."}"""

Json = dict[str, Any]


def applies(request: Request) -> bool:
    """Whether the conversation is one of calls.

    Without tools but with calls behind it, a model imitates them: then only an answer is accepted.
    """
    return bool(request.tools) or (request.schema is None and any(message.calls for message in request.messages))


def schema_of(request: Request, answer: int) -> Json | None:
    """JSON Schema of the reply; None when any text will do.

    `answer`: characters of an answer at most; a quarter for an argument, an eighth for a thought.
    """
    if not applies(request):
        return tame(request.schema, answer) if request.schema is not None else None
    thought = {"type": "string", "maxLength": answer // 8}
    forms = [
        _object(thought=thought, tool={"const": tool.name}, arguments=tame(tool.parameters, answer // 4))
        for tool in request.tools
    ]
    if not (request.tools and request.must_call):
        text = {"type": "string", "minLength": 1, "maxLength": answer}
        forms.append(_object(thought=thought, answer=text))
    return {"anyOf": forms}


def tame(schema: Json, longest: int) -> Json:
    """The part of a JSON Schema that llama.cpp can hold a reply to.

    It drops a grammar it does not understand altogether, so what is doubtful is left out: patterns, `not`, `allOf`,
    bounds that contradict each other.  The arguments are checked against the whole schema where they are used.
    """
    return _tame(schema, schema, longest, iter(range(_PARTS)))


def messages_of(request: Request, harmless: Callable[[str], str]) -> list[Json]:
    """The conversation for a chat template that knows system, user and assistant, by turns.

    `harmless` is applied to all that stands in a message.
    """
    turns: list[tuple[str, str]] = []
    names = {call.id: call.name for message in request.messages for call in message.calls}
    formal = applies(request)
    for message in request.messages:
        role, text = message.role, message.content
        if role == "assistant" and formal:
            text = _as_written(message)
        elif role == "tool":
            role, text = "user", f"Result of {names.get(message.call_id or '', 'the tool')}:\n{text}"
        if turns and turns[-1][0] == role:
            turns[-1] = (role, f"{turns[-1][1]}\n\n{text}")
        else:
            turns.append((role, text))
    if formal:
        told = _instructions(request)
        first = turns[0][1] if turns and turns[0][0] == "system" else ""
        turns[: 1 if first else 0] = [("system", f"{first}\n\n{told}".strip())]
    # Lone surrogates, which JSON can hold and UTF-8 cannot, become question marks.
    return [
        {"role": role, "content": harmless(text.encode("utf-8", errors="replace").decode())} for role, text in turns
    ]


class Plain:
    """A reply in free text, while it grows."""

    def __init__(self) -> None:
        self._text = ""
        self._reasoning = ""

    def take(self, text: str, reasoning: str) -> Iterator[Delta]:
        """What was added."""
        self._text += text
        self._reasoning += reasoning
        if reasoning:
            yield Delta(reasoning, kind="reasoning")
        if text:
            yield Delta(text)

    def completion(self, finish_reason: str, usage: Usage | None) -> Completion:
        """The whole reply."""
        return Completion(self._text, (), self._reasoning, finish_reason, usage)


class Written:
    """A reply in the form, while it grows."""

    def __init__(self, position: int) -> None:
        """`position` of the reply in the conversation: makes the ids of calls."""
        self._raw = ""
        self._position = position
        self._shown = {"thought": 0, "answer": 0}

    def take(self, text: str, reasoning: str) -> Iterator[Delta]:
        """What has become readable: the thought as reasoning, the answer as text, neither as JSON."""
        self._raw += reasoning + text
        value = self._value(partial=True)
        for key, shown in self._shown.items():
            words = value.get(key)
            if isinstance(words, str) and len(words) > shown:
                self._shown[key] = len(words)
                yield Delta(words[shown:], kind="reasoning" if key == "thought" else "text")

    def completion(self, finish_reason: str, usage: Usage | None) -> Completion:
        """The whole reply.  What is not in the form after all is its text, for the parser to judge."""
        value = self._value(partial=finish_reason == "length")
        thought, name, answer = value.get("thought"), value.get("tool"), value.get("answer")
        if not isinstance(thought, str):
            return Completion(self._raw, finish_reason=finish_reason, usage=usage)
        if isinstance(name, str):
            call_id, arguments = f"call_{self._position}_0", value.get("arguments")
            # As far as it was written; within a string the quotes would have backslashes.
            raw = self._raw.partition('"arguments":')[2].strip()
            if finish_reason == "length":
                return Completion("", (), thought, finish_reason, usage, (RawCall(call_id, name, raw),))
            if isinstance(arguments, dict):
                written = RawCall(call_id, name, msgspec.json.encode(arguments).decode())
                return Completion("", (ToolCall(call_id, name, arguments),), thought, "tool_calls", usage, (written,))
        return Completion(answer if isinstance(answer, str) else "", (), thought, finish_reason, usage)

    def _value(self, *, partial: bool) -> Json:
        try:
            value = from_json(self._raw, allow_partial="trailing-strings" if partial else False)
        except ValueError:
            return {}
        return value if isinstance(value, dict) else {}


def _instructions(request: Request) -> str:
    if not request.tools:
        return f"{_FORM}\n{_ANSWER}"
    forms = [_CALL] if request.must_call else [_CALL, _ANSWER]
    return "\n".join([_FORM, *forms, "Tools:", *map(_told, request.tools)])


def _told(tool: ToolSpec) -> str:
    return f"- {tool.name}: {tool.description}\n  arguments: {json.dumps(tool.parameters, ensure_ascii=False)}"


def _as_written(message: Message) -> str:
    """An assistant's message in the form."""
    if not message.calls:
        return _line({"thought": message.reasoning or "", "answer": message.content})
    thought = "\n".join(filter(None, [message.reasoning, message.content]))
    return "\n".join(
        _line({"thought": thought, "tool": call.name, "arguments": call.arguments}) for call in message.calls
    )


def _line(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)


def _object(**properties: Json) -> Json:
    return {
        "type": "object", "properties": properties, "required": list(properties), "additionalProperties": False,
    }  # fmt: skip


def _tame(schema: Any, root: Json, longest: int, parts: Iterator[int]) -> Json:
    if next(parts, None) is None or not isinstance(schema, Mapping):
        return {}
    if isinstance(schema.get("$ref"), str):
        return _tame(_resolve(schema["$ref"], root), root, longest, parts)
    if "const" in schema:
        return {"const": schema["const"]}
    if isinstance(schema.get("enum"), list) and schema["enum"]:
        return {"enum": schema["enum"]}
    for key in ("anyOf", "oneOf"):
        if isinstance(schema.get(key), list) and schema[key]:
            return {"anyOf": [_tame(option, root, longest, parts) for option in schema[key]]}
    kind = schema.get("type")
    if isinstance(kind, list) and kind:
        return {"anyOf": [_tame({**schema, "type": each}, root, longest, parts) for each in kind]}
    match kind:
        case "object":
            properties = schema.get("properties")
            if not isinstance(properties, Mapping) or not properties:
                return {"type": "object"}
            required = schema.get("required")
            return {
                "type": "object",
                "properties": {name: _tame(part, root, longest, parts) for name, part in properties.items()},
                "required": [name for name in properties if isinstance(required, list) and name in required],
                "additionalProperties": False,
            }
        case "array":
            return {
                "type": "array",
                "items": _tame(schema.get("items"), root, longest, parts),
                **_bounds(schema, "minItems", "maxItems", 0, _ITEMS),
            }
        case "string":
            return {"type": "string", **_bounds(schema, "minLength", "maxLength", 0, longest)}
        case "integer":
            return {"type": "integer", **_bounds(schema, "minimum", "maximum", -_NUMBER, _NUMBER)}
        case "number":
            bounds = _bounds(schema, "minimum", "maximum", -_NUMBER, _NUMBER)
            return {"type": "number", "multipleOf": 0.0001, **bounds}
        case "boolean" | "null":
            return {"type": kind}
    return {}


def _bounds(schema: Mapping[str, Any], lower: str, upper: str, least: int, most: int) -> Json:
    """The two bounds, within `least` and `most`; those where the schema's own contradict each other."""
    low, high = (value if type(value := schema.get(key)) is int else None for key in (lower, upper))
    low = least if low is None else max(low, least)
    high = most if high is None else min(high, most)
    return {lower: low, upper: high} if low <= high else {lower: least, upper: most}


def _resolve(reference: str, root: Json) -> Any:
    """The part of the schema that a reference such as `#/$defs/Place` names; None when there is none."""
    place: Any = root
    head, *steps = reference.split("/")
    if head != "#":
        return None
    for step in steps:
        place = place.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(place, Mapping) else None
    return place
