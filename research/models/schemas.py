"""JSON Schemas in the forms that model services accept."""

from __future__ import annotations

from typing import Any

_UNKNOWN = frozenset(
    {
        "$schema", "$id", "$defs", "$comment", "definitions", "additionalProperties", "propertyNames",
        "patternProperties", "unevaluatedProperties", "dependentRequired", "exclusiveMinimum", "exclusiveMaximum",
        "examples", "const", "contentEncoding", "contentMediaType", "not", "if", "then", "else",
    }
)  # fmt: skip
"""Keywords that OpenAPI 3.0 does not know, or that its users refuse."""
_DEPTH = 12


def is_closed(schema: object) -> bool:
    """Return whether every object in a schema requires all its properties and allows no others.

    OpenAI's strict mode accepts only such schemas.
    """
    if isinstance(schema, list):
        return all(map(is_closed, schema))
    if not isinstance(schema, dict):
        return True
    properties = schema.get("properties")
    if schema.get("type") == "object" or isinstance(properties, dict):
        named = set(properties) if isinstance(properties, dict) else set()
        if schema.get("additionalProperties") is not False or set(schema.get("required") or ()) != named:
            return False
    return all(map(is_closed, schema.values()))


def subset(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema with the keywords of OpenAPI 3.0 only: references are replaced by what they name.

    The parser checks calls against the full schema, so omitting keywords loses nothing.
    """
    definitions = {**(schema.get("definitions") or {}), **(schema.get("$defs") or {})}
    plain: dict[str, Any] = _subset(schema, definitions, 0)
    return plain


def _subset(schema: Any, definitions: dict[str, Any], depth: int) -> Any:
    if not isinstance(schema, dict):
        return schema
    if depth > _DEPTH:  # a definition that contains itself
        return {}
    if isinstance(name := schema.get("$ref"), str):
        rest = {key: value for key, value in schema.items() if key != "$ref"}
        return _subset({**definitions.get(name.rpartition("/")[2], {}), **rest}, definitions, depth + 1)
    plain = {key: value for key, value in schema.items() if key not in _UNKNOWN}
    if "const" in schema:
        plain["enum"] = [schema["const"]]
    if isinstance(properties := schema.get("properties"), dict):
        plain["properties"] = {key: _subset(value, definitions, depth + 1) for key, value in properties.items()}
    if "items" in schema:
        plain["items"] = _subset(schema["items"], definitions, depth + 1)
    for key in ("anyOf", "oneOf", "allOf"):
        if isinstance(choices := plain.pop(key, None), list):
            plain |= _choice([_subset(each, definitions, depth + 1) for each in choices], key)
    return _nullable(plain)


def _choice(choices: list[Any], key: str) -> dict[str, Any]:
    given = [each for each in choices if each != {"type": "null"}]
    nullable = {"nullable": True} if len(given) < len(choices) else {}
    if len(given) == 1 and isinstance(given[0], dict):
        return given[0] | nullable
    return {"anyOf" if key == "oneOf" else key: given} | nullable


def _nullable(plain: dict[str, Any]) -> dict[str, Any]:
    """Replace a list of types by one, as far as OpenAPI can."""
    types = plain.get("type")
    if not isinstance(types, list):
        return plain
    given = [each for each in types if each != "null"]
    plain = {key: value for key, value in plain.items() if key != "type"}
    if len(given) < len(types):
        plain["nullable"] = True
    return plain | ({"type": given[0]} if len(given) == 1 else {"anyOf": [{"type": each} for each in given]})
