"""Decode text as web pages declare it, by the labels of the WHATWG's Encoding Standard and no other.

Python knows further codecs, and some are dangerous: `punycode` takes minutes for a kilobyte.  May import nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

import webencodings
from msgspec import Struct
from webencodings.labels import LABELS

_LINES, _SAMPLE = 2_000, 100_000
"""Most lines and bytes that an encoding is guessed from."""
_MOST_DAMAGED = 10
"""Least ratio of letters beyond ASCII to damaged ones in the right encoding."""
_LETTER = re.compile(r"[^\W\d_\x00-\x7f]")
_PLAIN = re.compile(rb"[\t\n\r -~]")
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")


def preload() -> None:
    """Import every codec, for a process that cannot open files later."""
    for label in LABELS:
        b"".decode(_codec(label) or "utf-16")
    for codec in ("utf-16-le", "utf-16-be"):
        b"".decode(codec)
    _guessed(b"\xfc")


class Decoded(Struct, frozen=True):
    """A text and how it was decoded."""

    text: str
    guessed: str = ""
    """The encoding, if it was guessed: neither declared nor evident from the bytes."""
    damaged: int = 0
    """Characters that the declared encoding lacks."""


def decoded(data: bytes, declared: str = "", header: str = "") -> str | None:
    """Return the text as `decode` does."""
    found = decode(data, declared, header)
    return None if found is None else found.text


def decode(data: bytes, declared: str = "", header: str = "") -> Decoded | None:
    """Return the text, or None if it is not text.

    Tries in this order: a UTF-16 byte order mark, the charset of the HTTP `header`, UTF-8, the charset `declared` in the
    document, UTF-8 with a few damaged characters, and a guess by its letters.
    """
    for codec, errors, guessed in _attempts(data, declared, header):
        try:
            text = data.decode(codec, errors)
        except UnicodeError:
            continue
        damaged = text.count("\ufffd")
        if damaged and not guessed and len(_LETTER.findall(text)) < _MOST_DAMAGED * damaged:
            continue  # browsers show it, but the declaration is wrong
        if "\0" not in text and len(_CONTROL.findall(text)) * 100 <= len(text):
            return Decoded(text.removeprefix("\ufeff"), guessed, 0 if guessed else damaged)
    return None


def _attempts(data: bytes, declared: str, header: str) -> Iterator[tuple[str, str, str]]:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        yield "utf-16", "strict", ""
        return
    if b"\x1b$" in data:  # the only web encoding that hides other letters in ASCII
        yield "iso2022_jp", "strict", ""
    # Decode a declared charset as browsers do, because many pages contain a few wrong bytes.
    for label, errors in ((header, "replace"), ("utf-8", "strict"), (declared, "replace")):
        if codec := _codec(label):
            yield codec, errors, ""
    if b"\0" in data:
        for codec, high, low in (("utf-16-le", data[1::2], data[::2]), ("utf-16-be", data[::2], data[1::2])):
            if 0 not in low and 2 * high.count(0) > len(high) and 2 * len(_PLAIN.findall(low)) > len(low):
                yield codec, "strict", "UTF-16"
        return
    text = data.decode("utf-8", "replace")
    damaged = text.count("\ufffd")
    if len(_LETTER.findall(text)) >= _MOST_DAMAGED * damaged:
        yield "utf-8", "replace", f"UTF-8, of which {damaged} characters are damaged"
    guess = _guessed(data)
    yield _codec(guess), "replace", guess


def _guessed(data: bytes) -> str:
    """Return the name of the encoding that a text's letters suggest."""
    from chardetng_py import EncodingDetector

    sample = b"\n".join(islice((line for line in data.splitlines() if not line.isascii()), _LINES))[:_SAMPLE]
    detector = EncodingDetector()
    detector.feed(sample, last=True)
    guess = str(detector.guess(tld=None, allow_utf8=False))
    guess = guess if _codec(guess) else guess.replace("cp", "windows-")  # cp874
    # Central Europe has letters where the West has signs such as £ and ±: signs alone say nothing about the language.
    latin = guess.lower() in ("windows-1250", "iso-8859-2", "windows-1257", "iso-8859-4")
    return "windows-1252" if latin and not _LETTER.search(sample.decode("cp1252", "ignore")) else guess


def _codec(label: str) -> str:
    """Return the name of Python's codec for a label; empty for an unknown one.  Accepts `latin-1` for `latin1`, too."""
    for spelling in (label, label.replace("-", "").replace("_", "")):
        found = webencodings.lookup(spelling)
        if found is not None and found.name not in ("replacement", "x-user-defined"):
            return "gb18030" if found.name == "gbk" else str(found.codec_info.name)
    return ""
