"""Read rich text (rtf): the words without their formatting."""

from __future__ import annotations

import re

_TOKEN = re.compile(rb"\\([a-z]{1,32})(-?\d{1,10})? ?|\\'([0-9a-f]{2})|\\([^a-z])|([{}])|([^\\{}]+)", re.I)
_SKIPPED = frozenset(
    b"fonttbl colortbl stylesheet info pict object header footer headerl headerr footerl footerr themedata "
    b"colorschememapping listtable listoverridetable rsidtbl generator datastore latentstyles xmlnstbl".split()
)
_BREAKS = {b"par": "\n\n", b"line": "\n", b"row": "\n", b"sect": "\n\n", b"page": "\n\n", b"tab": "\t", b"cell": " | "}
_MARKS = {
    b"emdash": "—",
    b"endash": "–",
    b"lquote": "‘",
    b"rquote": "’",
    b"ldblquote": "“",
    b"rdblquote": "”",
    b"bullet": "•",
}


def text_of(data: bytes) -> str | None:
    """Return the text of an rtf file; None if it is none."""
    if not data.lstrip().startswith(b"{\\rtf"):
        return None
    said: list[str] = []
    raw = bytearray()
    codec, hidden, skipping, after = "cp1252", [False], 1, 0

    def flush() -> None:
        if raw:
            said.append(raw.decode(codec, "replace"))
            raw.clear()

    for word, number, code, symbol, brace, plain in (match.groups() for match in _TOKEN.finditer(data)):
        if brace == b"{":
            hidden.append(hidden[-1])
        elif brace == b"}":
            flush()
            hidden = hidden[:-1] or [False]
        elif symbol == b"*" or (word and word in _SKIPPED):
            hidden[-1] = True
        elif word == b"ansicpg":
            codec = _codec(int(number or 1252))
        elif word == b"uc":
            skipping = min(int(number or 1), 8)
        elif hidden[-1]:
            continue
        elif word == b"u" and number:
            flush()
            said.append(chr(int(number) % 65_536))
            after = skipping
        elif word in _BREAKS or word in _MARKS:
            flush()
            said.append(_BREAKS.get(word) or _MARKS[word])
        elif code:
            after, keep = max(0, after - 1), after == 0
            raw.extend(bytes([int(code, 16)]) if keep else b"")
        elif symbol:
            raw.extend(symbol if symbol in b"\\{}" else b" " if symbol == b"~" else b"")
        elif plain:
            kept = plain.replace(b"\r", b"").replace(b"\n", b"")
            raw.extend(kept[after:])
            after = 0
    flush()
    text = "".join(said).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return re.sub(r"[^\S\n]{2,}", " ", text)


def _codec(page: int) -> str:
    """Return the codec of a Windows code page; Windows-1252 for one that browsers do not know."""
    known = {874, 932, 936, 949, 950, *range(1250, 1259)}
    return {936: "gb18030", 932: "cp932"}.get(page, f"cp{page}") if page in known else "cp1252"
