"""Removing the character U+0000, which some databases cannot store and which ends a text in C."""

from __future__ import annotations

import re
from typing import TypeVar

import msgspec

from research._util import decoding

NUL = re.compile(r"(?<!\\)((?:\\\\)*)\\u0000")
"""The character U+0000 in JSON text; some databases cannot store it, and it ends a text in C."""

T = TypeVar("T")
_IN_JSON = re.compile(NUL.pattern.encode())


def json_without_nul(line: bytes) -> bytes:
    """Return JSON whose texts do not contain the character."""
    return _IN_JSON.sub(rb"\1", line) if b"\\u0000" in line else line


def without_nul(value: T, kind: type[T]) -> T:
    """Return a text, or a value that msgspec can encode, without the character.

    >>> without_nul("a\\0b", str)
    'ab'
    """
    if isinstance(value, str):
        return value.replace("\0", "") if "\0" in value else value  # type: ignore[return-value]
    line = msgspec.json.encode(value)
    return decoding.decode(json_without_nul(line), kind) if b"\\u0000" in line else value
