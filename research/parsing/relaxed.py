"""JSON as models write it.

Beyond JSON, accepts unambiguous text: trailing commas, single and typographic quotes, keys without quotes,
comments, `True False None`, raw newlines in strings, full-width `｛｝［］：，`.  Rejects anything else: JSON that
is cut off, missing commas, unescaped quotes, unknown escapes, duplicate keys, NaN.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

DEPTH = 100
"""Most levels of nested arrays and objects."""
DIGITS = 1_000
"""Most digits of a number."""

_SPACE = re.compile(r"[\s\ufeff\u200b]*")
# A comment also ends where the call does: `// done</tool_call>`.
_LINE = re.compile(r"[^\n<]*+(?:<(?!/\s*(?:tool_call|action)\b)[^\n<]*+)*+", re.I)
_WORD = re.compile(r"[^\W\d]\w*")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?(?![\w.+-])")
_CLOSING = ("}", "]", "｝", "］")
_WORDS = {"true": True, "false": False, "null": None, "True": True, "False": False, "None": None}
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.S)
_PLAIN = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "\\": "\\", '"': '"'}
_SINGLE = _PLAIN | {"'": "'"}
# In a double-quoted string `\'` may be a needless escape, or a backslash of quoted code, so it is rejected.
_DOUBLE = _PLAIN | {"/": "/"}
_TYPOGRAPHIC = "“”„‟＂"
# With an ASCII quote inside, it is unclear which quote ends the string.
_REST = rf'[^{_TYPOGRAPHIC}"\\]'

STRINGS = {
    '"': re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.S),
    "'": re.compile(r"'[^'\\]*+(?:\\.[^'\\]*+)*+'", re.S),
    **dict.fromkeys("‘’", re.compile(r"[‘’][^‘’'\\]*+(?:\\.[^‘’'\\]*+)*+[‘’]", re.S)),
    **dict.fromkeys(_TYPOGRAPHIC, re.compile(rf"[{_TYPOGRAPHIC}]{_REST}*+(?:\\.{_REST}*+)*+[{_TYPOGRAPHIC}]", re.S)),
}
"""Patterns of a whole string, by the quotation mark that opens it."""


class Malformed(ValueError):
    """The text is not a value.  `at` is a position outside any string, where parsing can continue."""

    def __init__(self, code: str, message: str, at: int, *, cut: bool = False) -> None:
        super().__init__(message)
        self.code = code
        self.at = at
        self.cut = cut
        """The text ended before the value did."""


def decode(text: str, start: int = 0) -> tuple[Any, int]:
    """Return the value at `start`, after any white space, and where it ends.  Raises `Malformed`."""
    reader = _Reader(text)
    value, end = reader.value(reader.space(start), 0)
    if reader.problem is not None:
        code, message = reader.problem
        raise Malformed(code, message, end)
    return value, end


def decode_all(text: str, *, spare: bool = False) -> Any:
    """Return the one value that a text contains, with or without a code fence around it.

    Identical objects in a row count as one, because some gateways repeat them.  `spare`: one closing bracket too many is
    ignored if it cannot mean anything.  Raises `Malformed`.
    """
    text = unfenced(text)
    value, end = decode(text)
    space = _Reader(text).space
    if spare and (after := spare_bracket(text, end, value)) is not None and space(after) == len(text):
        return value
    while (end := space(end)) < len(text):
        repeated, end = decode(text, end)
        if not isinstance(value, dict) or json.dumps(repeated) != json.dumps(value):
            raise Malformed("bad_json", "more than one value where one was expected", end)
    return value


def space(text: str, at: int) -> int:
    """Return where white space and comments from `at` on end.  Raises `Malformed` for an unclosed comment."""
    return _Reader(text).space(at)


def spare_bracket(text: str, at: int, value: Any) -> int | None:
    """Return where one closing bracket after this value ends, if it is superfluous; None if it may mean something.

    If more follows an object inside, that object may have been closed too early: then the bracket belongs to another
    value, and nothing is read.
    """
    at = space(text, at)
    return at + 1 if text[at : at + 1] in _CLOSING and _closed_at_the_end(value) else None


def _closed_at_the_end(value: Any) -> bool:
    members = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    return not any(_has_object(each) for each in members[:-1]) and (not members or _closed_at_the_end(members[-1]))


def _has_object(value: Any) -> bool:
    return isinstance(value, dict) or (isinstance(value, list) and any(map(_has_object, value)))


def unfenced(text: str) -> str:
    """Return the inside of a code fence around the whole text; any other text unchanged."""
    inner = text.strip()
    mark = inner[:3]
    if mark in ("```", "~~~") and len(inner) > 6 and inner.endswith(mark):
        head, newline, rest = inner[3:-3].partition("\n")
        if not newline:
            return re.sub(r"^\w*\s*(?=[{\[\"])", "", head)
        if re.fullmatch(r"[\w+-]*\s*", head) and f"\n{mark}" not in rest[:-1]:
            return rest.strip("\n")
    return text


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.problem: tuple[str, str] | None = None
        """(code, message) of an error in a value whose end is still known."""

    def space(self, at: int) -> int:
        text = self.text
        while True:
            match = _SPACE.match(text, at)
            at = match.end() if match else at
            if text.startswith("/*", at):
                end = text.find("*/", at + 2)
                if end < 0:
                    raise Malformed("bad_json", "a comment never ends", at, cut=True)
                at = end + 2
            elif text.startswith(("//", "#"), at):
                match = _LINE.match(text, at)
                at = match.end() if match else at
            else:
                return at

    def value(self, at: int, depth: int) -> tuple[Any, int]:
        char = self.text[at : at + 1]
        if depth > DEPTH:
            raise Malformed("bad_json", f"more than {DEPTH} levels", at)
        if char and char in "{｛":
            return self._object(at + 1, depth)
        if char and char in "[［":
            return self._array(at + 1, depth)
        if char in STRINGS:
            return self._string(at)
        if match := _NUMBER.match(self.text, at):
            return self._number(match), match.end()
        if match := _WORD.match(self.text, at):
            if match.group() in _WORDS:
                return _WORDS[match.group()], match.end()
            if match.group() in ("NaN", "Infinity"):
                raise Malformed("bad_args", f"{match.group()} is not a number that can be sent", match.end())
        raise self._unexpected("a value", at)

    def _object(self, at: int, depth: int) -> tuple[dict[str, Any], int]:
        found: dict[str, Any] = {}
        at = self.space(at)
        while self.text[at : at + 1] not in ("}", "｝"):
            if self.text[at : at + 1] in STRINGS:
                key, at = self._string(at)
            elif match := _WORD.match(self.text, at):
                key, at = match.group(), match.end()
            else:
                raise self._unexpected("a key or }", at)
            at = self.space(at)
            if self.text[at : at + 1] not in (":", "："):
                raise self._unexpected("a colon", at)
            value, at = self.value(self.space(at + 1), depth + 1)
            if key in found:
                self.problem = self.problem or ("duplicate_key", f"the key {key[:100]!r} is given twice")
            found[key] = value
            at = self._separator(at, "}｝")
        return found, at + 1

    def _array(self, at: int, depth: int) -> tuple[list[Any], int]:
        found: list[Any] = []
        at = self.space(at)
        while self.text[at : at + 1] not in ("]", "］"):
            value, at = self.value(at, depth + 1)
            found.append(value)
            at = self._separator(at, "]］")
        return found, at + 1

    def _separator(self, at: int, closing: str) -> int:
        """Return the position after one comma, or of the closing bracket."""
        at = self.space(at)
        char = self.text[at : at + 1]
        if char in (",", "，"):
            return self.space(at + 1)
        if char and char in closing:
            return at
        raise self._unexpected(f"a comma or {closing[0]}", at)

    def _string(self, at: int) -> tuple[str, int]:
        quote = self.text[at]
        match = STRINGS[quote].match(self.text, at)
        if match is None:
            raise Malformed("bad_json", "a string never ends", at, cut=quote in "\"'")
        body, known = match.group()[1:-1], _SINGLE if quote in "'‘’" else _DOUBLE

        def plain(escape: re.Match[str]) -> str:
            letter = escape.group(1)
            if len(letter) == 5:
                return chr(int(letter[1:], 16))
            if letter not in known:
                raise Malformed("bad_json", f"unknown escape \\{letter}: write \\\\ for a backslash", match.end())
            return known[letter]

        if "\\" in body:
            body = _ESCAPE.sub(plain, body)
            # Two escapes may be halves of one character; an unpaired half stays, and the arguments are rejected later.
            body = body.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
        return body, match.end()

    def _number(self, match: re.Match[str]) -> int | float:
        if len(match.group()) > DIGITS:
            raise Malformed("bad_args", f"a number of more than {DIGITS} digits", match.end())
        if not (match[1] or match[2]):
            return int(match.group())
        value = float(match.group())
        if math.isinf(value):
            raise Malformed("bad_args", f"{match.group()[:40]} is too large a number", match.end())
        return value

    def _unexpected(self, wanted: str, at: int) -> Malformed:
        if at >= len(self.text):
            return Malformed("bad_json", f"it ends where {wanted} was expected", at, cut=True)
        return Malformed("bad_json", f"{wanted} was expected at {self.text[at : at + 20]!r}", at)
