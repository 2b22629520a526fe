"""Checks and converts a call's arguments to its tool's schema, for the parser and the toolbox."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from research.agent.parsing.relaxed import Malformed, decode_all
from research.errors import ToolError
from research.text import clip
from research.types import ToolSpec

LARGEST = 100_000
"""Most bytes of JSON in the arguments of one call."""

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
    """Return the arguments in their declared types, without undeclared ones.

    Types are converted only if nothing is lost, such as `"5"` to an integer, or one string to a list of strings.
    Raises `ArgumentError`, a `ToolError` whose message the model can act on.
    """
    from jsonschema import Draft202012Validator

    schema = spec.parameters
    properties = schema.get("properties", {})
    rest = schema.get("additionalProperties", False)
    known = {}
    for name, value in arguments.items():
        if name in properties:
            known[name] = _coerced(value, properties[name])
        elif rest:
            known[name] = _coerced(value, rest)
    _sendable(known, spec.name)
    problems = sorted(Draft202012Validator(schema).iter_errors(known), key=lambda error: list(map(str, error.path)))
    if problems:
        where = ".".join(str(part) for part in problems[0].path) or "arguments"
        code = "missing_arg" if any(problem.validator == "required" for problem in problems) else "bad_args"
        raise ArgumentError(code, f"{spec.name}: {where}: {clip(problems[0].message, 300)}. {_accepted(schema)}")
    if arguments and not known:
        # Without its arguments this would be a different call.
        unknown = clip(", ".join(map(repr, arguments)), 200)
        raise ArgumentError("bad_args", f"{spec.name}: unknown arguments {unknown}. {_accepted(schema)}")
    return known


def _accepted(schema: dict[str, Any]) -> str:
    return f"Accepted: {json.dumps(schema, ensure_ascii=False)}"


def _sendable(arguments: dict[str, Any], name: str) -> None:
    try:
        size = len(json.dumps(arguments, ensure_ascii=False, allow_nan=False).encode())
    except UnicodeEncodeError:
        raise ArgumentError("bad_args", f"{name}: the arguments hold half of a character (a lone \\ud83d)") from None
    except (ValueError, RecursionError) as error:
        raise ArgumentError("bad_args", f"{name}: the arguments cannot be sent: {error}") from error
    if size > LARGEST:
        raise ArgumentError("too_large", f"{name}: the arguments take {size:,} bytes, at most {LARGEST:,} are accepted")


def _coerced(value: Any, schema: Any) -> Any:
    """Return the value, converted to a type that the schema declares if nothing is lost."""
    if not isinstance(schema, dict):
        return value
    options = [*schema.get("anyOf", ()), *schema.get("oneOf", ())] or [schema]
    declared = [
        (kind, option)
        for option in options
        if isinstance(option, dict)
        for kind in (option["type"] if isinstance(option.get("type"), list) else [option.get("type")])
    ]
    for kind, option in declared:
        if kind is None or _is(value, kind):
            return _inside(value, option)
    for kind, option in declared:
        changed = None if kind is None else _converted(value, kind, option)
        if changed is not None:
            return changed
    return value


def _is(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    return isinstance(value, _TYPES.get(kind, object))


def _inside(value: Any, schema: dict[str, Any]) -> Any:
    if isinstance(value, list) and "items" in schema:
        return [_coerced(item, schema["items"]) for item in value]
    if isinstance(value, dict) and "properties" in schema:
        return {name: _coerced(item, schema["properties"].get(name)) for name, item in value.items()}
    return value


def _converted(value: Any, kind: str, schema: dict[str, Any]) -> Any:
    """Return the value as a `kind`; None if the conversion would lose or guess something."""
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
        case "array":
            return _listed(value, schema)
        case "object" if written[:1] in ("{", "｛"):
            return _as_json(written, dict)
    return None


def _listed(value: Any, schema: dict[str, Any]) -> Any:
    """Return a list that was written as JSON text, or a list of the one value."""
    if isinstance(value, str) and _LISTLIKE.match(value):
        return _as_json(value, list)  # None for a list that was cut off, which must not become one string
    items = schema.get("items")
    kind = items.get("type") if isinstance(items, dict) else None
    return [value] if isinstance(kind, str) and kind not in ("array", "null") and _is(value, kind) else None


def _as_json(text: str, kind: type) -> Any:
    try:
        value = decode_all(text)
    except Malformed:
        return None
    return value if isinstance(value, kind) else None
