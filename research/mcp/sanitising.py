"""Make the names, descriptions and schemas of a server's tools safe to offer to a model.

All of them are untrusted text that reaches the model, and arguments are checked against the schema.  So control and
invisible characters are removed, lengths are limited, and only the keywords of JSON Schema that describe arguments are
kept: no references that leave the document or recurse, and no regular expressions, which can take for ever to match.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Container
from typing import Any

from research.prompts import escape
from research.text import clip

DESCRIPTION_CHARACTERS = 1_024
"""Maximum characters of a tool's description, as OpenAI accepts."""
SCHEMA_CHARACTERS = 8_000
"""Approximate maximum characters of a tool's parameters."""
_VALUE_CHARACTERS = 300
"""Maximum characters of a description within a schema, and of a value."""
_NUMBER = 1e18
"""Numbers in a schema are smaller: JSON has no infinity, and Python writes no number of 5,000 digits."""
_MAX_DEPTH = 8
_ENUM_VALUES = 100
"""Maximum entries of an enumeration."""

_TYPES = ("string", "integer", "number", "boolean", "array", "object", "null")
_LENGTHS = ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties")
_BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")


def fingerprint(description: str, schema: Any) -> str:
    """Return a hash of everything that a model is told about a tool."""
    return hashlib.sha256(json.dumps([description, schema], sort_keys=True).encode()).hexdigest()


def offered_name(server: str, tool: str, taken: Container[str]) -> str:
    """Return `server__tool` in the characters that OpenAI accepts, at most 64 of them.

    A changed or shortened name ends in a hash of the original.
    """
    plain = f"{server}__{tool}"
    name = re.sub(r"[^a-zA-Z0-9_-]", "_", plain)
    salt = 0
    while name in taken or len(name) > 64 or (salt == 0 and name != plain):
        mark = hashlib.sha256(f"{plain}\0{salt}".encode()).hexdigest()[:8]
        name = f"{re.sub(r'[^a-zA-Z0-9_-]', '_', plain)[:55]}_{mark}"
        salt += 1
    return name


def clean(text: str, *, lines: bool = False) -> str:
    """Remove control, formatting, private-use and unassigned characters and surrogates: a model must not see hidden text.

    `lines`: keep line breaks and spacing; otherwise the text is put on one line.
    """
    kept = "".join(
        character
        for character in text.replace("\r\n", "\n")
        if character in "\n\t" or unicodedata.category(character) not in ("Cc", "Cf", "Co", "Cs", "Cn")
    )
    return kept if lines else " ".join(kept.split())


def description(server: str, text: str) -> str:
    """Return a tool's description with the name of its server; our own tags in it are escaped."""
    return clip(f"From the MCP server {server}, in its words: {escape(clean(text))}", DESCRIPTION_CHARACTERS)


def parameters(schema: Any) -> dict[str, Any]:
    """Return the JSON Schema of a tool's arguments, reduced to safe keywords and to `SCHEMA_CHARACTERS`.

    A part that is left out accepts anything: the server itself checks its arguments.
    """
    kept = _Pruner(schema).schema(schema, 0)
    properties = kept.get("properties", {})
    return {
        **{key: kept[key] for key in ("description", "additionalProperties") if key in kept},
        "type": "object",
        "properties": properties,
        "required": [name for name in kept.get("required", []) if name in properties],
    }


class _Pruner:
    """Copies a schema without unsafe keywords, up to a limit of characters."""

    def __init__(self, root: Any) -> None:
        self._root = root
        self._characters_left = SCHEMA_CHARACTERS

    def schema(self, given: Any, depth: int) -> dict[str, Any]:
        given = self._resolved(given)
        self._characters_left -= 10
        if not isinstance(given, dict) or depth > _MAX_DEPTH or self._characters_left <= 0:
            return {}
        kept: dict[str, Any] = {}
        for key, value in given.items():
            if self._characters_left <= 0:
                break
            part = self._part(key, value, depth)
            if part is not None:
                kept[key] = part
                self._characters_left -= len(key) + 6
        return kept

    def _part(self, key: str, value: Any, depth: int) -> Any:
        """Return the value of one keyword, or None to leave it out."""
        number = isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < _NUMBER
        match key:
            case "description" if isinstance(value, str):
                return self._text(value)
            case "type":
                kinds = value if isinstance(value, list) else [value]
                known = kinds and all(isinstance(kind, str) and kind in _TYPES for kind in kinds)
                return value if known and len(kinds) <= len(_TYPES) else None
            case "enum" if isinstance(value, list) and 0 < len(value) <= _ENUM_VALUES:
                return value if all(map(self._is_short_value, value)) else None
            case "const" | "default" if self._is_short_value(value):
                return value
            case "format" if isinstance(value, str) and re.fullmatch(r"[\w.+-]{1,40}", value, re.ASCII):
                return value
            case "uniqueItems" if isinstance(value, bool):
                return value
            case _ if key in _BOUNDS:
                return value if number else None
            case _ if key in _LENGTHS:
                return value if isinstance(value, int) and number and value >= 0 else None
            case "required" if isinstance(value, list):
                return [name for name in value if self._is_name(name)]
            case "properties" if isinstance(value, dict):
                return self._properties(value, depth)
            case "items":
                return self.schema(value, depth + 1)
            case "additionalProperties":
                return value if isinstance(value, bool) else self.schema(value, depth + 1)
            case "anyOf" | "oneOf" | "allOf" if isinstance(value, list) and 0 < len(value) <= 20:
                return [self.schema(each, depth + 1) for each in value]
        return None

    def _properties(self, given: dict[str, Any], depth: int) -> dict[str, Any]:
        kept = {}
        for name, schema in given.items():
            if self._characters_left <= 0:
                break
            if self._is_name(name):
                kept[name] = self.schema(schema, depth + 1)
        return kept

    def _is_name(self, name: Any) -> bool:
        """Return whether the value can be the name of an argument and fits into the remaining characters."""
        if not isinstance(name, str) or self._characters_left <= 0:
            return False
        self._characters_left -= len(name) + 4
        return 0 < len(name) <= 100 and name == escape(clean(name))

    def _text(self, text: str) -> str | None:
        text = clip(escape(clean(text)), _VALUE_CHARACTERS)
        self._characters_left -= len(text)
        return text if text and self._characters_left > 0 else None

    def _is_short_value(self, value: Any) -> bool:
        """Return whether the value is a scalar that is short enough and fits into the remaining characters."""
        if isinstance(value, str):
            self._characters_left -= len(value)
            return (
                self._characters_left > 0
                and len(value) <= _VALUE_CHARACTERS
                and value == escape(clean(value, lines=True))
            )
        return value is None or (isinstance(value, (bool, int, float)) and abs(value) < _NUMBER)

    def _resolved(self, given: Any) -> Any:
        """Return the schema that a `$ref` within the document points to; a schema without one is returned unchanged."""
        for _ in range(_MAX_DEPTH):
            reference = given.get("$ref") if isinstance(given, dict) else None
            if not isinstance(reference, str) or not reference.startswith("#/"):
                break
            target = self._root
            for step in reference[2:].split("/"):
                target = target.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(target, dict) else None
            given = {**target, **{k: v for k, v in given.items() if k != "$ref"}} if isinstance(target, dict) else {}
        return given
