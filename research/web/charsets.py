"""Decode text as web pages declare it, by the labels of the WHATWG's Encoding Standard and no other.

Python knows further codecs, and some are dangerous: `punycode` takes minutes for a kilobyte.  May import nothing else."""

from __future__ import annotations

from collections.abc import Iterator

import webencodings
from webencodings.labels import LABELS


def preload() -> None:
    """Import every codec, for a process that cannot open files later."""
    for label in LABELS:
        b"".decode(_codec(label) or "utf-16")


def decoded(data: bytes, declared: str = "", header: str = "") -> str | None:
    """Return the text, or None if it is not text in a known encoding.

    Tries in this order: a UTF-16 byte order mark, the charset of the HTTP `header`, UTF-8, the charset `declared` in the
    document, GB 18030.
    """
    for codec, errors in _attempts(data, declared, header):
        try:
            text = data.decode(codec, errors)
        except UnicodeError:
            continue
        if "\0" not in text:
            return text.removeprefix("\ufeff")
    return None


def _attempts(data: bytes, declared: str, header: str) -> Iterator[tuple[str, str]]:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        yield "utf-16", "strict"
        return
    # A declared charset is decoded as browsers do it, because many pages contain a few wrong bytes.
    for label, errors in ((header, "replace"), ("utf-8", "strict"), (declared, "replace")):
        if codec := _codec(label):
            yield codec, errors
    yield "gb18030", "strict"


def _codec(label: str) -> str:
    """Return the name of Python's codec for a label; empty for an unknown one.  Accepts `latin-1` for `latin1`, too."""
    for spelling in (label, label.replace("-", "").replace("_", "")):
        found = webencodings.lookup(spelling)
        if found is not None and found.name not in ("replacement", "x-user-defined"):
            return "gb18030" if found.name == "gbk" else str(found.codec_info.name)
    return ""
