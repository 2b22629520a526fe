"""Redact keys: services echo the keys that they refuse, and HTTP clients log the urls that they request."""

from __future__ import annotations

import base64
import logging
import re
from collections.abc import Iterable
from functools import cache
from html.entities import html5


@cache
def key_pattern(key: str) -> re.Pattern[str]:
    """Return a pattern that matches a key as servers echo it: plain, in hex, or inside base64 at any alignment.

    Each character may be percent-encoded, escaped or an HTML entity, and line breaks may occur anywhere.
    """
    return re.compile("|".join(_between(key).join(each) for each in _spellings(key)) or r"(?!)", re.IGNORECASE)


def is_secret(key: str) -> bool:
    """Return whether a key is too long or mixed to be a word: local servers accept `ollama` or `none` as a key."""
    return len(key) >= 20 or (len(key) >= 8 and any(map(str.isdigit, key)) and any(map(str.isalpha, key)))


_KEY_LIKE = re.compile(
    r"(?<![A-Za-z0-9])(?:(?:sk|pk|rk|tvly|gsk|hf|xai|ghp|nvapi|jina|pplx|r8|api|key)[-_](?=[\w-]*\d)[\w-]{12,}"
    r"|AIza[\w-]{30,}|BSA[\w-]{20,}|(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[A-Za-z0-9]{32,})"
)
"""Text in the form of a key: the prefixes of well-known services, or many letters and digits without a separator."""


def mask_keys(text: str, keys: Iterable[str] = ()) -> str:
    """Redact these keys, and anything that looks like a key, such as one pasted as a name."""
    for key in keys:
        if is_secret(key):
            text = key_pattern(key).sub("***", text)
    return _KEY_LIKE.sub("***", text)


class StreamRedactor:
    """Redacts a key in text that arrives in pieces; holds back an end that may begin the key."""

    def __init__(self, key: str) -> None:
        self._pattern = key_pattern(key)
        self._spellings = [[re.compile(each, re.IGNORECASE) for each in spelling] for spelling in _spellings(key)]
        self._between = re.compile(_between(key))
        self._kept = ""

    def add(self, piece: str) -> str:
        """Take the next piece; return what can be shown."""
        text = self._kept + piece
        end = next((at for at in range(len(text)) if self._may_begin(text, at)), len(text))
        for match in self._pattern.finditer(text):
            if match.start() < end < match.end():
                end = match.start()
        self._kept = text[end:]
        return self._pattern.sub("***", text[:end])

    def end(self) -> str:
        """Return the text held back."""
        rest, self._kept = self._pattern.sub("***", self._kept), ""
        return rest

    def _may_begin(self, text: str, start: int) -> bool:
        """Return whether the text from `start` on may be the beginning of an incomplete spelling."""
        return any(self._is_start(text, start, spelling) for spelling in self._spellings)

    def _is_start(self, text: str, at: int, spelling: list[re.Pattern[str]]) -> bool:
        for number, character in enumerate(spelling):
            if number and (gap := self._between.match(text, at)):
                at = gap.end()
            if at == len(text):
                return number > 0
            found = character.match(text, at)
            if found is None:
                return text[at] in "%\\&" and len(text) - at < _LONGEST_ESCAPE  # an escape may be cut in two
            at = found.end()
        return False


_LONGEST_ESCAPE = 14


def _between(key: str) -> str:
    """Return the pattern for line breaks between two characters, also as JSON writes them."""
    return r"\s{0,40}" if "\\" in key else r"(?:\s|\\{1,4}[nr]){0,40}"


@cache
def _spellings(key: str) -> list[list[str]]:
    """Return each spelling of a key, as patterns of its characters."""
    data = key.encode("utf-8", "surrogatepass")
    forms = {data.hex()} if len(key) >= 4 else set()
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        for shift in range(3):
            # Keep only the digits that do not depend on the bytes around the key.
            size = shift + len(data)
            digits = encode(b"\0" * shift + data).decode()
            forms.add(digits[(shift * 8 + 5) // 6 : size * 8 // 6])
    # Shorter forms are dummy keys of local servers such as "x", and would match everywhere.
    long = sorted((form for form in forms if len(form) >= 4), key=len, reverse=True)
    spellings = [[each if each.isalnum() else _character(each) for each in form] for form in long]
    return [*spellings, *([[_character(each) for each in key]] if len(key) >= 4 else [])]


@cache
def _character(character: str) -> str:
    """Return a pattern for one character as JSON, a url or HTML may encode it."""
    data, units = character.encode("utf-8", "surrogatepass"), character.encode("utf-16-be", "surrogatepass")
    forms = [re.escape(character), "".join(f"%(?:25){{0,3}}{byte:02x}" for byte in data)]
    if not character.isalnum() or not character.isascii():
        forms += [
            rf"\\{{1,4}}{re.escape(character)}",
            "".join(rf"\\{{1,4}}u{units[at : at + 2].hex()}" for at in range(0, len(units), 2)),
            rf"&\#0{{0,5}}{ord(character)};",
            rf"&\#x0{{0,5}}{ord(character):x};",
            *(f"&{name}" for name, value in html5.items() if value == character and name.endswith(";")),
            *(["\\+"] if character == " " else []),
        ]
    return f"(?:{'|'.join(forms)})"


@cache
def redact_in_logs(key: str) -> None:
    """Redact a key in the log lines of the HTTP clients, which contain urls and, at `debug`, response headers."""
    secret = key_pattern(key)

    def mask(record: logging.LogRecord) -> bool:
        record.msg, record.args = secret.sub("***", record.getMessage()), ()
        return True

    for name in ("httpx2", "httpcore2.http11", "httpcore2.http2"):
        logging.getLogger(name).addFilter(mask)
