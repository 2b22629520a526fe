"""Read rich text (rtf): the words that are shown, without their formatting."""

from __future__ import annotations

import re
from collections import Counter

from msgspec import Struct

from research.web import locators

_TOKEN = re.compile(rb"\\([a-z]{1,32})(-?\d{1,10})? ?|\\'([0-9a-f]{2})|\\([^a-z])|([{}])|([^\\{}]+)", re.I)
_SKIPPED = frozenset(
    b"fonttbl colortbl stylesheet info pict object themedata nonshppict revtbl filetbl ftnsep ftnsepc aftnsep aftnsepc shprslt "
    b"pntext colorschememapping listtable listoverridetable rsidtbl generator datastore latentstyles xmlnstbl fldinst".split()
)
"""Destinations whose words are not shown."""
_BLOCKS = {
    b"footnote": "Note: ",
    **dict.fromkeys(b"header headerl headerr headerf footer footerl footerr footerf shptxt dptxbxtext".split(), ""),
}
"""Destinations shown outside their paragraph, which they follow."""
_UNSEEN = frozenset((b"v", b"deleted"))
_LEFT_OUT = {b"annotation": "comment", b"pict": "picture", b"object": "embedded object"}
_ENDS = {b"par": "\n\n", b"row": "\n", b"sect": "\n\n", b"page": "\n\n"}
_BREAKS = {**_ENDS, b"line": "\n", b"tab": "\t", b"cell": " | ", b"nestcell": " | "}
_MARKS = {
    b"emdash": "—",
    b"endash": "–",
    b"lquote": "‘",
    b"rquote": "’",
    b"ldblquote": "“",
    b"rdblquote": "”",
    b"bullet": "•",
}


class _State(Struct):
    """State inherited by a group, and whether the group began its own text."""

    skipped: bool = False
    """In a destination that is not shown."""
    optional: bool = False
    """In a skippable destination, which may hold a shown one."""
    unseen: frozenset[bytes] = frozenset()
    """`v` for hidden and `deleted` for deleted words."""
    begins: bool = False

    @property
    def is_shown(self) -> bool:
        return not (self.skipped or self.optional or self.unseen)


def text_of(data: bytes) -> tuple[str, tuple[str, ...]] | None:
    """Return the text of an rtf file and what was left out; None if it is not rtf."""
    if not data.lstrip().startswith(b"{\\rtf"):
        return None
    reader = _Reader()
    for match in _TOKEN.finditer(data):
        reader.take(*match.groups())
    text = reader.text().encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return re.sub(r"[^\S\n]{2,}", " ", text), locators.left_out(reader.left_out)


class _Reader:
    def __init__(self) -> None:
        self.left_out: Counter[str] = Counter()
        self._texts: list[list[str]] = [[]]
        """The body, and the notes and boxes being read."""
        self._attached: list[str] = []
        """Notes and boxes of the current paragraph."""
        self._raw = bytearray()
        self._codec = "cp1252"
        self._groups = [_State()]
        self._skipping, self._after = 1, 0
        """Number of substitutes for a Unicode character, and how many are still to come."""

    def text(self) -> str:
        """Return what was read."""
        self._flush()
        while len(self._texts) > 1:  # a truncated file
            self._ended()
        self._say(b"par", "\n\n")
        return "".join(self._texts[0])

    def _say(self, word: bytes, text: str) -> None:
        self._flush()
        self._texts[-1].append(text)
        if word in _ENDS and len(self._texts) == 1 and self._attached:
            self._texts[0] += [f"\n\n{each}\n\n" for each in self._attached]
            self._attached = []

    def _ended(self) -> None:
        if found := "".join(self._texts.pop()).strip():
            self._attached.append(found)

    def _flush(self) -> None:
        """Decode the pending bytes: a character may take several."""
        if self._raw:
            self._texts[-1].append(self._raw.decode(self._codec, "replace"))
            self._raw.clear()

    def take(
        self,
        word: bytes | None,
        number: bytes | None,
        code: bytes | None,
        symbol: bytes | None,
        brace: bytes | None,
        plain: bytes | None,
    ) -> None:
        """Read one token."""
        state = self._groups[-1]
        if brace == b"{":
            self._groups.append(_State(state.skipped, state.optional, state.unseen))
        elif brace == b"}":
            self._flush()
            if len(self._groups) > 1:
                self._groups.pop()
            if state.begins:
                self._ended()
        elif symbol == b"*":
            state.optional = True
        elif word:
            self._word(word, number, state)
        elif not state.is_shown:
            return
        elif code:
            self._after, keep = max(0, self._after - 1), self._after == 0
            self._raw.extend(bytes([int(code, 16)]) if keep else b"")
        elif symbol:
            self._raw.extend(
                symbol if symbol in b"\\{}" else b" " if symbol == b"~" else b"-" if symbol == b"_" else b""
            )
        elif plain:
            kept = plain.replace(b"\r", b"").replace(b"\n", b"")
            self._raw.extend(kept[self._after :])
            self._after = 0

    def _word(self, word: bytes, number: bytes | None, state: _State) -> None:
        if word in _LEFT_OUT and not state.skipped:
            self.left_out[_LEFT_OUT[word]] += 1
        if word in _BLOCKS and not state.skipped and not state.begins:
            self._flush()
            state.optional, state.begins = False, True
            self._texts.append([_BLOCKS[word]])
        elif word in _SKIPPED:
            state.skipped = True
        elif word in _UNSEEN:
            self._flush()
            state.unseen = state.unseen - {word} if number == b"0" else state.unseen | {word}
        elif word == b"plain":
            state.unseen = frozenset()
        elif word == b"ansicpg":
            self._codec = _codec(int(number or 1252))
        elif word == b"uc":
            self._skipping = min(int(number or 1), 8)
        elif state.is_shown and word == b"u" and number:
            self._say(word, chr(int(number) % 65_536))
            self._after = self._skipping
        elif state.is_shown and (said := _BREAKS.get(word) or _MARKS.get(word)):
            self._say(word, said)


def _codec(page: int) -> str:
    """Return the codec of a Windows code page; Windows-1252 for one that browsers do not know."""
    known = {874, 932, 936, 949, 950, *range(1250, 1259)}
    return {936: "gb18030", 932: "cp932"}.get(page, f"cp{page}") if page in known else "cp1252"
