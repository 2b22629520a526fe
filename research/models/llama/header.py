"""Read the header of a GGUF file.

Source: "GGUF" in ggml's documentation (versions 2 and 3, little endian), and the `tokenizer.ggml` keys of llama.cpp.
"""

from __future__ import annotations

import mmap
import re
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct

from research.errors import ConfigError

_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9
_CONTROL = 3
_WANTED = {"general.architecture", "tokenizer.ggml.tokens", "tokenizer.ggml.token_type"}


class Header(Struct, frozen=True):
    """The values used here."""

    context: int
    """Context length that the model was trained with, in tokens."""
    control: tuple[str, ...]
    """The texts of its control tokens, e.g. `<|im_end|>`: llama.cpp obeys them anywhere in a prompt."""


def read_header(path: Path) -> Header:
    """Read the header.  Raises `ConfigError` if the file is not a valid GGUF model file, `OSError`."""
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            values = dict(_entries(_Cursor(data)))
    except (
        ValueError,
        struct.error,
        UnicodeDecodeError,
        RecursionError,
    ) as error:  # mmap: ValueError for an empty file
        raise ConfigError(f"{path} is not a GGUF file or is damaged: {error}; give a GGUF model file") from error
    context = values.get(f"{values.get('general.architecture')}.context_length")
    if not isinstance(context, int):
        raise ConfigError(f"{path} is not a language model: it states no context length")
    texts, types = values.get("tokenizer.ggml.tokens", []), values.get("tokenizer.ggml.token_type", [])
    control = (text for text, kind in zip(texts, types, strict=False) if kind == _CONTROL)
    return Header(context, tuple(text for text in control if len(text) > 1 and not text.isspace()))


def control_token_pattern(control: tuple[str, ...]) -> re.Pattern[str]:
    """Return a pattern that matches the first character of each control token, so that text can be inserted after it."""
    if not control:
        return re.compile(r"(?!)")
    return re.compile("|".join(f"{re.escape(text[0])}(?={re.escape(text[1:])})" for text in sorted(set(control))))


class _Cursor:
    def __init__(self, data: mmap.mmap) -> None:
        self._data = data
        self._at = 0

    def take(self, size: int) -> bytes:
        piece = self._data[self._at : self._at + size]
        if len(piece) < size:
            raise ValueError("unexpected end of file")
        self._at += size
        return piece

    def number(self, code: str) -> Any:
        return struct.unpack("<" + code, self.take(struct.calcsize("<" + code)))[0]

    def text(self) -> str:
        return self.take(self.number("Q")).decode("utf-8", errors="replace")

    def value(self, kind: int) -> Any:
        if kind == _STRING:
            return self.text()
        if kind != _ARRAY:
            return self.number(_code(kind))
        inner, count = self.number("I"), self.number("Q")
        if inner in (_STRING, _ARRAY):
            return [self.value(inner) for _ in range(count)]
        code = _code(inner)
        size = struct.calcsize("<" + code)
        return [each for (each,) in struct.iter_unpack("<" + code, self.take(size * count))]


def _code(kind: int) -> str:
    if kind not in _NUMBERS:
        raise ValueError(f"unknown value type {kind}")
    return _NUMBERS[kind]


def _entries(cursor: _Cursor) -> Iterator[tuple[str, Any]]:
    if cursor.take(4) != b"GGUF":
        raise ValueError("it does not start with GGUF")
    version = cursor.number("I")
    if version not in (2, 3):
        raise ValueError(f"unknown version {version}; known: 2, 3")
    cursor.number("Q")  # tensors
    for _ in range(cursor.number("Q")):
        key = cursor.text()
        value = cursor.value(cursor.number("I"))
        if key in _WANTED or key.endswith(".context_length"):
            yield key, value
