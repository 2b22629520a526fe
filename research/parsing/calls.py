"""One call as a model wrote it: a name and arguments that may run, or why they may not."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from research._util.said import say
from research.parsing.answer_account import with_account
from research.parsing.arguments import ArgumentError, checked, spread
from research.parsing.parsed import FoundCall
from research.parsing.relaxed import Malformed, decode_all
from research.text import clip
from research.types import CallError, Part, ToolSpec

FINAL = "final_answer"
"""The tool that ends a run; a call to it is the answer, even if not offered."""

_ANSWER = {"type": "string", "description": "The complete answer, each statement with the number of its source."}
_SHORT = {"type": "string", "description": "The answer in a few words, if the question has a short one."}
_PART = {
    "type": "object",
    "properties": {
        "text": {"type": "string", "description": "What is asked for."},
        "status": {"type": "string", "enum": ["answered", "not_found"]},
        "reason": {"type": "string", "description": "Why it was not found."},
    },
    "required": ["text", "status"],
}
_PARTS = {"type": "array", "items": _PART, "description": "Each thing that the question asks for, found or not."}
FINAL_ANSWER = ToolSpec(
    FINAL,
    "Give the final answer; this ends the research. Call it as soon as the question can be answered.",
    {"type": "object", "properties": {"answer": _ANSWER, "short": _SHORT, "parts": _PARTS}, "required": ["answer"]},
)
"""The tool offered where every reply must be a call."""
_SHAPE = 'A call is one JSON object {{"name": …, "arguments": {{…}}}}.'
_BESIDE = frozenset({"name", "arguments", "id", "type"})
_WIRE = frozenset({"type", "function", "id", "index"})
"""Keys of a call as providers send it."""
_NESTED = 3
"""How deep arguments may be nested as JSON inside a JSON string."""

Tools = Mapping[str, ToolSpec] | None
"""The tools offered, by name; None to read calls without checking them."""


class BadCall(ValueError):
    """A call that must not run."""

    def __init__(self, code: str, message: str, name: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.name = name


def plain_name(name: str) -> str:
    """Return a tool's name without templates' additions: `functions.f:0`, `f<|channel|>commentary`."""
    name = name.split("<|", 1)[0].strip().removeprefix("functions.")
    return re.sub(r":\d{1,6}\Z", "", name)


def offered(tools: Sequence[ToolSpec]) -> Mapping[str, ToolSpec]:
    return {tool.name: tool for tool in tools}


def from_object(value: Any, tools: Tools) -> tuple[str, list[dict[str, Any]]]:
    """Return the name and the arguments of each call of `{"name", "arguments"}`, or of a provider's `{"function": {…}}`.

    Raises `BadCall`.
    """
    if not isinstance(value, dict):
        raise BadCall("bad_json", say("{shape} It was: {value}", shape=say(_SHAPE), value=clip(str(value), 100)))
    function = value.get("function")
    if isinstance(function, dict) and "arguments" in function and value.keys() <= _WIRE:
        value = function
    beside = sorted(str(key) for key in value if key not in _BESIDE)
    key = "parameters" if "arguments" not in value and beside == ["parameters"] else "arguments"
    if "name" in value and key not in value and beside:
        raise BadCall(
            "missing_arg",
            say('{shape} Put {value} into "arguments".', shape=say(_SHAPE), value=clip(", ".join(beside), 100)),
        )
    if "arguments" in value and value.get("parameters"):
        raise BadCall("bad_args", say('{shape} Give the arguments once, as "arguments".', shape=say(_SHAPE)))
    if key == "parameters" and _is_schema(value[key]):
        raise BadCall("bad_args", say("This defines a tool, it does not call one. {shape}", shape=say(_SHAPE)))
    return from_parts(value.get("name"), value.get(key), tools)


def _is_schema(value: Any) -> bool:
    return isinstance(value, dict) and value.get("type") == "object" and isinstance(value.get("properties"), dict)


def from_parts(name: Any, arguments: Any, tools: Tools) -> tuple[str, list[dict[str, Any]]]:
    """Return the trimmed name and the checked arguments of each call; one, unless an argument lists several (`each`).

    `arguments` may be an object, JSON text or None.  Raises `BadCall`.
    """
    if not isinstance(name, str) or not name.strip():
        raise BadCall("missing_name", say("The call names no tool. {shape}", shape=say(_SHAPE)))
    name = name.strip()
    if tools is None or (name not in tools and plain_name(name) in (*tools, FINAL)):
        name = plain_name(name)
    if tools is not None and name not in tools and name != FINAL:
        known = ", ".join(tools) or "none"
        raise BadCall(
            "unknown_tool",
            say("There is no tool {name!r}. The tools are: {known}.", name=clip(name, 80), known=known),
            clip(name, 80),
        )
    try:
        given = _object(arguments, name)
        if tools is not None and name in tools:
            given = _object(_inside(given, name, tools[name]), name)
        if name == FINAL:
            return name, [_final(given, (tools or {}).get(FINAL, FINAL_ANSWER))]
        return name, [given] if tools is None else [checked(each, tools[name]) for each in spread(given, tools[name])]
    except Malformed as error:
        raise BadCall(
            error.code, say("{name}: the arguments cannot be read: {error}", name=name, error=error), name
        ) from error
    except ArgumentError as error:
        raise BadCall(error.code, str(error), name) from error


def _object(arguments: Any, name: str) -> dict[str, Any]:
    for _ in range(_NESTED):
        if not isinstance(arguments, str):
            break
        text = arguments.strip()
        if name == FINAL and text and text[0] not in "{[\"'`~｛［“":
            return {"answer": text}  # plain text is safe as an answer, since no tool runs on it
        arguments = decode_all(text, spare=True) if text else None
    if arguments is None:
        return {}
    if not isinstance(arguments, dict):
        raise Malformed("bad_args", say("they must be one JSON object"), 0)
    return arguments


def _inside(given: dict[str, Any], name: str, spec: ToolSpec) -> Any:
    """Return the arguments of a call nested in its own arguments; others unchanged."""
    keys = [key for key in ("arguments", "parameters") if key in given]
    beside = given.keys() - keys
    if len(keys) != 1 or not beside <= _BESIDE or given.keys() & spec.parameters.get("properties", {}).keys():
        return given
    return given[keys[0]] if plain_name(str(given.get("name", name))) == name else given


def _final(given: dict[str, Any], spec: ToolSpec) -> dict[str, Any]:
    """Return the answer, with the other fields in separate lines (`answer_account`)."""
    answer = given.get("answer")
    if not isinstance(answer, str):
        return checked(given, spec)
    # The answer may be of any length, since it is not sent to a tool.
    said = checked({name: given[name] for name in ("short", "parts") if name in given} | {"answer": ""}, spec)
    parts = [Part(each["text"], each["status"], each.get("reason", "")) for each in said.get("parts", ())]
    return {"answer": with_account(answer, said.get("short", ""), parts)}


class Found:
    """The calls of one reply in order, valid and invalid, or its answer, whichever comes first.

    An answer after a call is ignored because it does not know the result; a call after an answer never runs.
    """

    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        self.calls: list[FoundCall] = []
        self.errors: list[CallError] = []
        self.answer: str | None = None
        """None until there is one; may be blank."""

    def __len__(self) -> int:
        return len(self.calls) + len(self.errors)

    def say(self, text: str) -> None:
        """Set the answer; the last of several counts."""
        if not len(self):
            self.answer = text

    def call(self, name: Any, arguments: Any) -> None:
        self._add(lambda: from_parts(name, arguments, self._tools))

    def call_object(self, value: Any) -> None:
        listed = value.get("tool_calls") if isinstance(value, dict) else None
        if isinstance(listed, list) and listed and not any(value[key] for key in value.keys() - {"tool_calls", "role"}):
            for each in listed:  # a whole message of a provider
                self._add(lambda each=each: from_object(each, self._tools))
            return
        self._add(lambda: from_object(value, self._tools))

    def bad(self, code: str, message: str, name: str = "") -> None:
        if self.answer is None:
            self.errors.append(CallError(len(self), code, message, name))

    def distrust(self, *, all_of_them: bool = False) -> None:
        """Mark all calls, or those after the first invalid one, as invalid: they may be text inside a broken call."""
        if not self.errors and not all_of_them:
            return
        first = self.errors[0].index if self.errors else 0
        doubtful = [call for call in self.calls if call.index >= first]
        self.calls = [call for call in self.calls if call.index < first]
        why = say("It could not be told apart from the broken call before it.")
        self.errors += [CallError(call.index, "bad_json", why, call.name) for call in doubtful]
        self.errors.sort(key=lambda error: error.index)

    def _add(self, read: Any) -> None:
        if self.answer is not None:
            return
        try:
            name, given = read()
        except BadCall as error:
            self.bad(error.code, str(error), error.name)
            return
        if name != FINAL:
            for arguments in given:
                self.calls.append(FoundCall(len(self), name, arguments))
        elif not len(self):
            self.answer = str(given[0]["answer"])
