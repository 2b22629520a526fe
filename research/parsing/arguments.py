"""Checks and converts a call's arguments to its tool's schema, for the parser and the toolbox."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

from research._util.nul import NUL
from research._util.said import say
from research.errors import ToolError
from research.parsing.relaxed import Malformed, decode_all
from research.text import clip
from research.types import ToolSpec

FILTERS = frozenset({"filter_year", "year", "year_from", "year_to", "site"})
"""Undeclared arguments that are refused: ignoring them would find what was not asked for."""
LARGEST = 100_000
"""Most bytes of JSON in the arguments of one call."""

MOST = 20
"""Most values of an argument given as a list instead of one value."""

_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,300}")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,300})(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,3})?")
_LISTLIKE = re.compile(r"""\s*[\[［]\s*["'“‘\[{\]］]""")
_EXACT = 2**53
_TYPES: dict[str, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "array": list,
    "object": dict,
    "null": type(None),
}


class ArgumentError(ToolError):
    """The arguments do not match the schema; `code` is `missing_arg`, `bad_args` or `too_large`."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def checked(arguments: dict[str, Any], spec: ToolSpec) -> dict[str, Any]:
    """Return the arguments in their declared types, without undeclared ones; an undeclared filter is refused.

    Types are converted only if nothing is lost, such as `"5"` to an integer, or one string to a list of strings.
    Raises `ArgumentError`, a `ToolError` whose message the model can act on.
    """
    from jsonschema import Draft202012Validator

    schema = spec.parameters
    properties = schema.get("properties", {})
    rest = schema.get("additionalProperties", False)
    arguments = {name: value for name, value in arguments.items() if not _left_out(name, value, schema)}
    known = {}
    for name, value in arguments.items():
        if name in properties:
            known[name] = _coerced(value, properties[name])
        elif rest:
            known[name] = _coerced(value, rest)
    _sendable(known, spec.name)
    lost = sorted(name for name in arguments.keys() - known.keys() if name in FILTERS and arguments[name] is not None)
    if lost:
        raise ArgumentError(
            "bad_args",
            say(
                "{name} cannot filter by {value}. {schema}",
                name=spec.name,
                value=", ".join(lost),
                schema=_accepted(schema),
            ),
        )
    problems = sorted(Draft202012Validator(schema).iter_errors(known), key=lambda error: list(map(str, error.path)))
    if problems:
        where = ".".join(str(part) for part in problems[0].path) or "arguments"
        code = "missing_arg" if any(problem.validator == "required" for problem in problems) else "bad_args"
        raise ArgumentError(code, f"{spec.name}: {where}: {clip(problems[0].message, 300)}. {_accepted(schema)}")
    if arguments and not known:
        # Without these arguments it would be a different call.
        unknown = clip(", ".join(map(repr, arguments)), 200)
        raise ArgumentError(
            "bad_args",
            say(
                "{name}: unknown arguments {unknown}. {schema}",
                name=spec.name,
                unknown=unknown,
                schema=_accepted(schema),
            ),
        )
    return known


def spread(arguments: dict[str, Any], spec: ToolSpec) -> list[dict[str, Any]]:
    """Return the arguments of each call that a list represents; other lists of its length are split likewise."""
    listed = arguments.get(spec.each)
    if isinstance(listed, str) and _LISTLIKE.match(listed):
        listed = _as_json(listed, list)
    if not isinstance(listed, list) or not 0 < len(listed) <= MOST or not all(isinstance(one, str) for one in listed):
        return [arguments]
    beside = {name: value for name, value in arguments.items() if isinstance(value, list) and len(value) == len(listed)}
    calls = [
        {**arguments, **{name: value[i] for name, value in beside.items()}, spec.each: one}
        for i, one in enumerate(listed)
    ]
    return [call for i, call in enumerate(calls) if call not in calls[:i]]


def _left_out(name: str, value: Any, schema: dict[str, Any]) -> bool:
    """Return whether an optional argument was given as null although null is not one of its values."""
    properties = schema.get("properties", {})
    if value is not None or name not in properties or name in schema.get("required", ()):
        return False
    kinds = [kind for kind, _ in _declared(properties[name])]
    return bool(kinds) and None not in kinds and "null" not in kinds


def _accepted(schema: dict[str, Any]) -> str:
    return say("Accepted: {schema}", schema=json.dumps(schema, ensure_ascii=False))


def _sendable(arguments: dict[str, Any], name: str) -> None:
    try:
        written = json.dumps(arguments, ensure_ascii=False, allow_nan=False)
        size = len(written.encode())
    except UnicodeEncodeError:
        raise ArgumentError(
            "bad_args", say("{name}: the arguments hold half of a character (a lone \\ud83d)", name=name)
        ) from None
    except (ValueError, RecursionError) as error:
        raise ArgumentError(
            "bad_args", say("{name}: the arguments cannot be sent: {error}", name=name, error=error)
        ) from error
    if NUL.search(written):
        raise ArgumentError(
            "bad_args", say("{name}: the arguments contain the character \\u0000, which no tool accepts", name=name)
        )
    if size > LARGEST:
        raise ArgumentError(
            "too_large",
            say(
                "{name}: the arguments take {size:,} bytes, at most {largest:,} are accepted",
                name=name,
                size=size,
                largest=LARGEST,
            ),
        )


def _coerced(value: Any, schema: Any) -> Any:
    """Return the value, converted to a declared type if nothing is lost."""
    if not isinstance(schema, dict):
        return value
    declared = _declared(schema)
    for kind, option in declared:
        if kind is None or _is(value, kind):
            return _inside(value, option)
    for kind, option in declared:
        changed = None if kind is None else _converted(value, kind, option)
        if changed is not None:
            return changed
    return value


def _declared(schema: Any) -> list[tuple[str | None, dict[str, Any]]]:
    """Return each type that a schema accepts, with the part that says so; the type is None if it names none."""
    options = [*schema.get("anyOf", ()), *schema.get("oneOf", ())] or [schema] if isinstance(schema, dict) else []
    return [
        (kind, option)
        for option in options
        if isinstance(option, dict)
        for kind in (option["type"] if isinstance(option.get("type"), list) else [option.get("type")])
    ]


def _is(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    return isinstance(value, _TYPES.get(kind, object))


def _inside(value: Any, schema: dict[str, Any]) -> Any:
    if isinstance(value, list) and "items" in schema:
        return [_coerced(item, schema["items"]) for item in value]
    if isinstance(value, dict) and "properties" in schema:
        given = {name: item for name, item in value.items() if not _left_out(name, item, schema)}
        return {name: _coerced(item, schema["properties"].get(name)) for name, item in given.items()}
    return value


def _converted(value: Any, kind: str, schema: dict[str, Any]) -> Any:
    """Return the value as a `kind`; None if that would lose or guess anything."""
    written = value.strip() if isinstance(value, str) else ""
    match kind:
        case "integer" if _INTEGER.fullmatch(written):
            return int(written)
        case "integer" if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT:
            return int(value)
        case "number" if _NUMBER.fullmatch(written) and math.isfinite(float(written)):
            return int(written) if _INTEGER.fullmatch(written) else float(written)
        case "boolean" if written in ("true", "True", "false", "False"):
            return written in ("true", "True")
        case "string" if isinstance(value, int) and not isinstance(value, bool):
            return str(value)  # not a float: 1.10 would become 1.1
        case "string" if isinstance(value, list) and len(value) == 1 and isinstance(value[0], str):
            return value[0]
        case "array":
            return _listed(value, schema)
        case "object" if written[:1] in ("{", "｛"):
            return _as_json(written, dict)
    return None


def _listed(value: Any, schema: dict[str, Any]) -> Any:
    """Return a list written as JSON text, or a list of the one value."""
    if isinstance(value, str) and _LISTLIKE.match(value):
        return _as_json(value, list)  # None for a cut list, which must not become one string
    items = schema.get("items")
    kind = items.get("type") if isinstance(items, dict) else None
    return [value] if isinstance(kind, str) and kind not in ("array", "null") and _is(value, kind) else None


def _as_json(text: str, kind: type) -> Any:
    try:
        value = decode_all(text)
    except Malformed:
        return None
    return value if isinstance(value, kind) else None


def as_words(value: object) -> str:
    """Return an argument of a tool call as words, without the brackets and quotes of a list or an object.

    >>> as_words([{"name": "Spain", "description": "Its coast"}, "Italy"])
    'Spain: Its coast; Italy'
    """
    if isinstance(value, Mapping):
        return ": ".join(dict.fromkeys(filter(None, map(as_words, value.values()))))
    if isinstance(value, list | tuple):
        return "; ".join(filter(None, map(as_words, value)))
    return "" if value is None else str(value)
