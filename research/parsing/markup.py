"""Splits running text into tags, backticks and comments, and finds where code, quotations and blocks end.

Tags have no meaning here; `tagged_calls` gives them one.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property

from msgspec import Struct

_TOKEN = re.compile(
    r"<\s{0,3}(?P<slash>/?)\s{0,3}(?P<name>think(?:ing)?|tool_call|action|tool_response|report|answer|code)"
    r"(?:\s[^<>\n]{0,200})?(?P<empty>/?)>|(?P<ticks>`+|~{3,})|(?P<comment><!--)",
    re.I,
)
_KINDS = {"thinking": "think", "action": "call", "tool_call": "call", "tool_response": "response"}
_BLANK_LINE = re.compile(r"\n[ \t]*\n")
_QUOTES = {'"': '"', "'": "'", "“": "”", "„": "“", "「": "」", "『": "』", "«": "»", "‘": "’"}


class Token(Struct):
    start: int
    end: int
    kind: str
    """`think call response report answer code`, `ticks`, `comment`."""
    closing: bool = False


class Markup:
    """A text with its tokens.  Positions (`at`) count characters, indices count tokens; look-ups are bisections."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = list(_tokens(text))
        self._starts = [token.start for token in self.tokens]
        self._tags = [token.start for token in self.tokens if token.kind not in ("ticks", "comment", "code")]
        self._indices: dict[tuple[str, bool], list[int]] = defaultdict(list)
        for i, token in enumerate(self.tokens):
            self._indices[token.kind, token.closing].append(i)

    @cached_property
    def _partners(self) -> dict[int, int]:
        """For each run of backticks, the index of the next one of the same length."""
        latest: dict[str, int] = {}
        partners = {}
        for i in range(len(self.tokens) - 1, -1, -1):
            if self.tokens[i].kind == "ticks":
                mark = self.text[self.tokens[i].start : self.tokens[i].end]
                if mark in latest:
                    partners[i] = latest[mark]
                latest[mark] = i
        return partners

    @cached_property
    def _lines(self) -> list[int]:
        return [match.end() for match in re.finditer(r"^|\n", self.text)]

    @cached_property
    def _blanks(self) -> list[int]:
        return [match.start() for match in _BLANK_LINE.finditer(self.text)]

    # -- tokens -----------------------------------------------------------------------------------------------------

    def index(self, at: int) -> int:
        """Return the index of the first token that begins at this position or after it."""
        return bisect_left(self._starts, at)

    def find(self, kind: str, closing: bool, i: int) -> int | None:
        """Return the index of the first token of that kind, from `i` on."""
        indices = self._indices[kind, closing]
        k = bisect_left(indices, i)
        return indices[k] if k < len(indices) else None

    def next_tag(self, at: int) -> int:
        """Return the position of the next tag other than `code`, or the end of the text."""
        k = bisect_left(self._tags, at)
        return self._tags[k] if k < len(self._tags) else len(self.text)

    def tag_at(self, at: int) -> Token | None:
        """Return the tag that begins at this position."""
        i = self.index(at)
        if i < len(self.tokens) and self._starts[i] == at and self.tokens[i].kind not in ("ticks", "comment"):
            return self.tokens[i]
        return None

    def skip(self, at: int) -> int:
        """Return the next position that is not white space."""
        while at < len(self.text) and self.text[at].isspace():
            at += 1
        return at

    # -- where things end -------------------------------------------------------------------------------------------

    def close(self, i: int) -> int | None:
        """Return the index of the tag that closes the one at `i`: the first outside code, or else the first."""
        kind = self.tokens[i].kind
        first = self.find(kind, True, i + 1)
        if first is None:
            return None
        j, limit = i + 1, self.find(kind, False, i + 1)
        while j < len(self.tokens) and (limit is None or j <= max(limit, first)):
            token = self.tokens[j]
            if token.kind == kind and token.closing:
                return j
            j = self.index(self.code_end(j)) if token.kind in ("ticks", "comment") else j + 1
        return first

    def code_end(self, i: int) -> int:
        """Return where inline code, a fence or a comment ends; unpaired backticks are text."""
        token, text = self.tokens[i], self.text
        if token.kind == "comment":
            end = text.find("-->", token.end)
            return len(text) if end < 0 else end + 3
        mark = text[token.start : token.end]
        if len(mark) >= 3 and self._begins_line(token.start):
            for other in self.tokens[i + 1 :]:
                if other.kind == "ticks" and text.startswith(mark, other.start) and self._begins_line(other.start):
                    return other.end
            return len(text)
        partner = self._partners.get(i)
        if partner is None or mark[0] == "~":
            # A tag directly after a single backtick is quoted too.
            glued = text.startswith("<", token.end) and mark[0] == "`"
            return self.line_end(token.end) if glued else token.end
        start = self.tokens[partner].start
        blank = bisect_left(self._blanks, token.end)
        if blank < len(self._blanks) and self._blanks[blank] < start:
            return token.end  # inline code ends with its paragraph
        return self.tokens[partner].end

    def line_end(self, at: int) -> int:
        k = bisect_left(self._lines, at + 1)
        return self._lines[k] if k < len(self._lines) else len(self.text)

    def _line_start(self, at: int) -> int:
        return self._lines[bisect_left(self._lines, at + 1) - 1]

    def _begins_line(self, at: int) -> bool:
        start = self._line_start(at)
        return at - start <= 40 and not self.text[start:at].strip()

    # -- quotations -------------------------------------------------------------------------------------------------

    def in_quotation(self, at: int) -> bool:
        """Return whether the position is on a line quoted with `>`."""
        start = self._line_start(at)
        return self.text[start : start + 4].lstrip(" ").startswith(">")

    def quoted(self, start: int, end: int) -> bool:
        """Return whether an opening quotation mark directly precedes a block, or a pair of marks encloses it."""
        before, mark = self.text[max(0, start - 2) : max(0, start - 1)], self.text[max(0, start - 1) : start]
        if mark not in _QUOTES:
            return False
        opens = mark not in "\"'" or not before or before in " \t\n([{:：，,。"
        return opens or self.text.startswith(_QUOTES[mark], end)


def _tokens(text: str) -> Iterator[Token]:
    for match in _TOKEN.finditer(text):
        if name := match["name"]:
            if not match["empty"]:
                name = name.lower()
                yield Token(match.start(), match.end(), _KINDS.get(name, name), bool(match["slash"]))
        else:
            yield Token(match.start(), match.end(), "ticks" if match["ticks"] else "comment")


def enclosed(text: str, opening: str, closing: str, flags: int = 0) -> Iterator[tuple[int, int, int, int]]:
    """Yield each part from an opening to the first closing after it, as (start, start of the inside, its end, end).

    Both are regular expressions.  Takes linear time, unlike `opening.*?closing`, which reads to the end of the text from
    every opening that is not closed.

    >>> [("<a>1<a>2</a>3")[inside:end] for _, inside, end, _ in enclosed("<a>1<a>2</a>3", "<a>", "</a>")]
    ['1<a>2']
    """
    opens, closes, at = re.compile(opening, flags), re.compile(closing, flags), 0
    while (first := opens.search(text, at)) and (last := closes.search(text, first.end())):
        yield first.start(), first.end(), last.start(), last.end()
        at = last.end()
