"""The JSON form that replies are constrained to, so that even a small model writes a valid call or an answer.

    {"thought": "...", "tool": "search", "arguments": {...}}    one for each tool, with the schema of its arguments
    {"thought": "...", "answer": "..."}

Each also has a "report" if the request asks for the evolving report.

llama.cpp's own tool calls are not used: chat templates without tool support drop them silently, and `tool_choice` is
not enforced (tested with llama.cpp b11549).  A reply has one call only: a small model would fill a list of calls.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec
from pydantic_core import from_json

from research.types import Completion, Delta, Message, RawCall, Request, ToolCall, ToolSpec, Usage

_PARTS = 300
"""Parts of a schema to enforce; beyond that, e.g. for circular references, any JSON is accepted."""
_ITEMS = 20
_NUMBER = 10**12
"""Limits of lists and numbers: without a limit, some models never end them."""

_FORM = (
    """Reply with one JSON object and nothing else. "thought" says in one sentence what is known and what is missing."""
)
_REPORT = """ "report" is the whole updated report: it comes after the thought in every reply."""
_CALL = """To use a tool: {"thought": "...", "tool": "...", "arguments": {...}}"""
_ANSWER = """To answer, when nothing is missing: {"thought": "...", "answer": "..."}"""

Json = dict[str, Any]


def applies(request: Request) -> bool:
    """Return whether replies must be in the form.

    Also true without tools if the history contains calls: the model would imitate them, so only an answer is allowed.
    """
    return bool(request.tools) or (request.schema is None and any(message.calls for message in request.messages))


def schema_of(request: Request, answer: int) -> Json | None:
    """Return the JSON Schema of the reply; None if any text is allowed.

    `answer` is the limit of an answer in characters; a report gets half of it, an argument a quarter, a thought an eighth.
    """
    if not applies(request):
        return supported_schema(request.schema, answer) if request.schema is not None else None
    thought = {"type": "string", "maxLength": answer // 8}
    head: Json = {"thought": thought}
    if request.report:
        head["report"] = {"type": "string", "minLength": 1, "maxLength": answer // 2}
    forms = [
        _object(**head, tool={"const": tool.name}, arguments=supported_schema(tool.parameters, answer // 4))
        for tool in request.tools
    ]
    if not (request.tools and request.must_call):
        text = {"type": "string", "minLength": 1, "maxLength": answer}
        forms.append(_object(**head, answer=text))
    return {"anyOf": forms}


def supported_schema(schema: Json, longest: int) -> Json:
    """Return the part of a JSON Schema that llama.cpp can enforce.

    llama.cpp drops a grammar that it does not understand, so everything doubtful is omitted: patterns, `not`, `allOf`,
    contradictory bounds.  The tool validates the arguments against the whole schema later.
    """
    return _supported(schema, schema, longest, iter(range(_PARTS)))


def messages_of(request: Request, defuse: Callable[[str], str]) -> list[Json]:
    """Convert the conversation for a chat template with alternating system, user and assistant turns.

    `defuse` is applied to the text of every message.
    """
    turns: list[tuple[str, str]] = []
    names = {call.id: call.name for message in request.messages for call in message.calls}
    formal = applies(request)
    for message in request.messages:
        role, text = message.role, message.content
        if role == "assistant" and formal:
            text = _in_form(message)
        elif role == "tool":
            role, text = "user", f"Result of {names.get(message.call_id or '', 'the tool')}:\n{text}"
        if turns and turns[-1][0] == role:
            turns[-1] = (role, f"{turns[-1][1]}\n\n{text}")
        else:
            turns.append((role, text))
    if formal:
        instructions = _instructions(request)
        first = turns[0][1] if turns and turns[0][0] == "system" else ""
        turns[: 1 if first else 0] = [("system", f"{first}\n\n{instructions}".strip())]
    # Lone surrogates are valid in JSON but not in UTF-8: replace them by question marks.
    return [{"role": role, "content": defuse(text.encode("utf-8", errors="replace").decode())} for role, text in turns]


class FormReply:
    """Collects a reply in the form."""

    def __init__(self, position: int) -> None:
        """`position` is the reply's index in the conversation; it makes the ids of calls."""
        self._raw = ""
        self._position = position
        self._shown = {"thought": 0, "answer": 0}

    def take(self, text: str) -> Iterator[Delta]:
        """Add to the reply; yield the new part of the thought as reasoning and of the answer as text, without JSON."""
        self._raw += text
        value = self._value(partial=True)
        for key, shown in self._shown.items():
            words = value.get(key)
            if isinstance(words, str) and len(words) > shown:
                self._shown[key] = len(words)
                yield Delta(words[shown:], kind="reasoning" if key == "thought" else "text")

    def completion(self, finish_reason: str, usage: Usage | None) -> Completion:
        """Return the whole reply; if it is not in the form, return it as text for the parser."""
        value = self._value(partial=finish_reason == "length")
        thought, name, answer = value.get("thought"), value.get("tool"), value.get("answer")
        report = f"<report>{value['report']}</report>" if isinstance(value.get("report"), str) else ""
        if not isinstance(thought, str):
            return Completion(self._raw, finish_reason=finish_reason, usage=usage)
        if isinstance(name, str):
            call_id, arguments = f"call_{self._position}_0", value.get("arguments")
            # The arguments generated so far; inside a string their quotes would be escaped.
            raw = self._raw.partition('"arguments":')[2].strip()
            if finish_reason == "length":
                return Completion(report, (), thought, finish_reason, usage, (RawCall(call_id, name, raw),))
            if isinstance(arguments, dict):
                written = RawCall(call_id, name, msgspec.json.encode(arguments).decode())
                return Completion(
                    report, (ToolCall(call_id, name, arguments),), thought, "tool_calls", usage, (written,)
                )
        return Completion(report + (answer if isinstance(answer, str) else ""), (), thought, finish_reason, usage)

    def _value(self, *, partial: bool) -> Json:
        try:
            value = from_json(self._raw, allow_partial="trailing-strings" if partial else False)
        except ValueError:
            return {}
        return value if isinstance(value, dict) else {}


def _instructions(request: Request) -> str:
    intro = _FORM + _REPORT if request.report else _FORM
    if not request.tools:
        return f"{intro}\n{_ANSWER}"
    forms = [_CALL] if request.must_call else [_CALL, _ANSWER]
    return "\n".join([intro, *forms, "Tools:", *map(_describe, request.tools)])


def _describe(tool: ToolSpec) -> str:
    return f"- {tool.name}: {tool.description}\n  arguments: {json.dumps(tool.parameters, ensure_ascii=False)}"


def _in_form(message: Message) -> str:
    """Return an assistant's message in the form."""
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
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _supported(schema: Any, root: Json, longest: int, parts: Iterator[int]) -> Json:
    if next(parts, None) is None or not isinstance(schema, Mapping):
        return {}
    if isinstance(schema.get("$ref"), str):
        return _supported(_resolve(schema["$ref"], root), root, longest, parts)
    if "const" in schema:
        return {"const": schema["const"]}
    if isinstance(schema.get("enum"), list) and schema["enum"]:
        return {"enum": schema["enum"]}
    for key in ("anyOf", "oneOf"):
        if isinstance(schema.get(key), list) and schema[key]:
            return {"anyOf": [_supported(option, root, longest, parts) for option in schema[key]]}
    kind = schema.get("type")
    if isinstance(kind, list) and kind:
        return {"anyOf": [_supported({**schema, "type": each}, root, longest, parts) for each in kind]}
    match kind:
        case "object":
            properties = schema.get("properties")
            if not isinstance(properties, Mapping) or not properties:
                return {"type": "object"}
            required = schema.get("required")
            return {
                "type": "object",
                "properties": {name: _supported(part, root, longest, parts) for name, part in properties.items()},
                "required": [name for name in properties if isinstance(required, list) and name in required],
                "additionalProperties": False,
            }
        case "array":
            return {
                "type": "array",
                "items": _supported(schema.get("items"), root, longest, parts),
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
    """Return the schema's bounds clamped to `least` and `most`, or these two if the bounds contradict each other."""
    low, high = (value if type(value := schema.get(key)) is int else None for key in (lower, upper))
    low = least if low is None else max(low, least)
    high = most if high is None else min(high, most)
    return {lower: low, upper: high} if low <= high else {lower: least, upper: most}


def _resolve(reference: str, root: Json) -> Any:
    """Return the part of the schema that a reference such as `#/$defs/Place` names; None if it is missing."""
    place: Any = root
    head, *steps = reference.split("/")
    if head != "#":
        return None
    for step in steps:
        place = place.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(place, Mapping) else None
    return place
