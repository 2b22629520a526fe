"""What a server says about its tools, made safe to offer: names providers accept, bounded text, plain schemas.

All of it is text by somebody else.  It reaches the model, and the schema is run against the model's arguments: so
control and invisible characters go, lengths are bounded, and of JSON Schema only what describes arguments is kept:
no references that lead out, run in circles or unfold without end, and no patterns, which can take for ever to match.
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

DESCRIPTION = 1_024
"""Characters of a tool's description, the most that OpenAI accepts."""
SCHEMA = 8_000
"""Characters of a tool's parameters, about."""
_NOTE = 300
"""Characters of a description within a schema, and of a value."""
_DEPTH = 8
_VALUES = 100
"""Entries of an enumeration."""

_TYPES = ("string", "integer", "number", "boolean", "array", "object", "null")
_LENGTHS = ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties")
_BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")


def fingerprint(description: str, schema: Any) -> str:
    """Changes when anything does that a model is told about a tool."""
    return hashlib.sha256(json.dumps([description, schema], sort_keys=True).encode()).hexdigest()


def offered_name(server: str, tool: str, taken: Container[str]) -> str:
    """`server__tool` in OpenAI's alphabet, at most 64 characters; a name that had to change ends in a hash of it."""
    plain = f"{server}__{tool}"
    name = re.sub(r"[^a-zA-Z0-9_-]", "_", plain)
    salt = 0
    while name in taken or len(name) > 64 or (salt == 0 and name != plain):
        mark = hashlib.sha256(f"{plain}\0{salt}".encode()).hexdigest()[:8]
        name = f"{re.sub(r'[^a-zA-Z0-9_-]', '_', plain)[:55]}_{mark}"
        salt += 1
    return name


def clean(text: str, *, lines: bool = False) -> str:
    """Without control, formatting, private and half characters: what nobody sees must not reach a model either."""
    kept = "".join(
        character
        for character in text.replace("\r\n", "\n")
        if character in "\n\t" or unicodedata.category(character) not in ("Cc", "Cf", "Co", "Cs", "Cn")
    )
    return kept if lines else " ".join(kept.split())


def description(server: str, text: str) -> str:
    """A tool's description with who says it; our own tags in it are made harmless."""
    return clip(f"From the MCP server {server}, in its words: {escape(clean(text))}", DESCRIPTION)


def parameters(schema: Any) -> dict[str, Any]:
    """The JSON Schema of a tool's arguments, an object, as far as it is understood here and fits.

    What is left out accepts anything: the server itself checks its arguments.
    """
    kept = _Pruning(schema).schema(schema, 0)
    properties = kept.get("properties", {})
    return {
        **{key: kept[key] for key in ("description", "additionalProperties") if key in kept},
        "type": "object",
        "properties": properties,
        "required": [name for name in kept.get("required", []) if name in properties],
    }


class _Pruning:
    def __init__(self, root: Any) -> None:
        self._root = root
        self._room = SCHEMA

    def schema(self, given: Any, depth: int) -> dict[str, Any]:
        given = self._resolved(given)
        self._room -= 10
        if not isinstance(given, dict) or depth > _DEPTH or self._room <= 0:
            return {}
        kept: dict[str, Any] = {}
        for key, value in given.items():
            if self._room <= 0:
                break
            part = self._part(key, value, depth)
            if part is not None:
                kept[key] = part
                self._room -= len(key) + 6
        return kept

    def _part(self, key: str, value: Any, depth: int) -> Any:
        """The value of one keyword; None when it is left out."""
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        match key:
            case "description" if isinstance(value, str):
                return self._text(value)
            case "type":
                kinds = value if isinstance(value, list) else [value]
                known = kinds and all(isinstance(kind, str) and kind in _TYPES for kind in kinds)
                return value if known else None
            case "enum" if isinstance(value, list) and 0 < len(value) <= _VALUES:
                return value if all(map(self._plain, value)) else None
            case "const" | "default" if self._plain(value):
                return value
            case "format" if isinstance(value, str) and value.isascii() and len(value) <= 40:
                return value
            case "uniqueItems" if isinstance(value, bool):
                return value
            case _ if key in _BOUNDS:
                return value if number else None
            case _ if key in _LENGTHS:
                return value if isinstance(value, int) and number and value >= 0 else None
            case "required" if isinstance(value, list):
                return [name for name in value if isinstance(name, str)]
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
            self._room -= len(name)
            if self._room <= 0:
                break
            if name and len(name) <= 100 and name == clean(name):
                kept[name] = self.schema(schema, depth + 1)
        return kept

    def _text(self, text: str) -> str | None:
        text = clip(escape(clean(text)), _NOTE)
        self._room -= len(text)
        return text if text and self._room > 0 else None

    def _plain(self, value: Any) -> bool:
        """Whether it is one short value for which there is room."""
        if isinstance(value, str):
            self._room -= len(value)
            return self._room > 0 and len(value) <= _NOTE and value == clean(value, lines=True)
        return value is None or isinstance(value, (bool, int, float))

    def _resolved(self, given: Any) -> Any:
        """The schema itself where a reference leads within the document, else as it is: `$ref` is not kept."""
        for _ in range(_DEPTH):
            reference = given.get("$ref") if isinstance(given, dict) else None
            if not isinstance(reference, str) or not reference.startswith("#/"):
                break
            target = self._root
            for step in reference[2:].split("/"):
                target = target.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(target, dict) else None
            given = {**target, **{k: v for k, v in given.items() if k != "$ref"}} if isinstance(target, dict) else {}
        return given
