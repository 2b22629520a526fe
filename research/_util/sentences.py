"""Split text into sentences, and join the lines of one that was broken to fit a page."""

from __future__ import annotations

import re
from collections.abc import Sequence

from research.text import STOP_WORDS, has_cjk, language_of, width

_ABBREVIATIONS = frozenset(
    "mr mrs ms dr prof st vs no nos fig figs vol pp p ed eds al est approx dept gov sen rep gen col lt sgt jr sr inc ltd "
    "co corp bros e.g i.e cf ca c etc u.s u.k u.n a.m p.m ph.d jan feb mar apr jun jul aug sep sept oct nov dec mt ft".split()
)
_STOP = re.compile(
    r"(?<![.!?…])[.!?…]++[\"'”’)\]*_]*+(?=\s|\[|$|[\u3400-\u9fff])|[。！？；](?:\"(?=[”’」』]))?[”’」』）)*_]*|[.!?](?=[\"”]?\s{0,9}\[\d)"
)
_OPENED = re.compile(r"(?:^|[“\"「『])\s{0,9}$")
"""Matches the start of a line or of a quote."""
_TAIL = re.compile(r"\s*+(?:\[\d{1,9}(?:\s{0,9}[,，、]\s{0,9}\d{1,9}){0,200}\]\s*+)+(?:[.。]\s*)?")
_LAST, _NEXT = 30, 1_000
"""Characters examined before and after a full stop.  Untrusted text may be one very long line."""
_WHOLE = re.compile(r"^[|#>-]|[.!?。！？；;:：|…]$")
_LISTED = re.compile(r"^\d+[.)]\s|: |^[（(]?(?:\d+|[一二三四五六七八九十]+)[)）、．]|^第\w{1,4}[章节条款]|^\w{1,8}：")
"""Matches the start of an item of a list, and what follows a label."""
_BROKEN = 30
"""Least width of a line that may have been broken to fit a page."""
_FULL, _FILLED = 0.9, 0.85
"""Least shares of the widest line that one fills with the word behind it: letters are of different widths; and that a line of
Chinese fills: marks do not begin one, and paragraphs are indented."""
_NUMBERED = re.compile(r"^\(?\d{1,2}(?:\.\d{1,2}){0,3}[.)]?\s+(?=\D)")
"""Matches the number of a heading or of an item."""
_HEADING = 10
"""Most words of a heading, or Chinese characters by two."""


def sentences(text: str, *, clauses: bool = True) -> list[str]:
    """Return the sentences of each line, without list bullets and empty ones; `clauses` is as for `sentences_of`."""
    lines = (line.strip().removeprefix("- ") for line in text.splitlines())
    return [piece for line in lines for piece in sentences_of(line, clauses=clauses)]


def sentences_of(line: str, *, clauses: bool = True) -> list[str]:
    """Return the sentences of a line.  Full stops after abbreviations or initials, or before small letters, end none.

    With `clauses`, a Chinese semicolon outside of a quotation ends one too; the cases of a rule stand between such.
    """
    found, start = [], 0
    at = 0
    while match := _STOP.search(line, at):
        end = match.end()
        at = end
        before = line[start : match.start()]
        after = line[end : end + _NEXT]
        following = after.lstrip(" \"'“‘([*_")
        apart = clauses and before.count("“") == before.count("”")
        if following[:1].islower() or (match.group()[0] == "；" and not apart):
            continue
        if match.group()[0] == ".":
            last = re.findall(r"[\w.]{0,30}$", before[-_LAST:])[0].lower()
            abbreviated = last in _ABBREVIATIONS and not _TAIL.match(after)
            initial = re.fullmatch(r"[a-z]|(?:[a-z]\.)+[a-z]", last) and following[:1].isalnum()
            numbered = last.isdigit() and len(last) <= 2 and _OPENED.search(before[: -len(last)])  # of a list
            if abbreviated or (initial and not has_cjk(following[:1])) or numbered:
                continue
        if tail := _TAIL.match(line, end):
            if line[tail.end() : tail.end() + 1] in tuple(",;，；"):
                continue  # `(2024 est.) [1], compared with`
            end = at = tail.end()
        found.append(line[start:end].strip())
        start = end
    found.append(line[start:].strip())
    return [piece for piece in found if re.search(r"\w", piece)]


def unwrapped(lines: Sequence[str]) -> list[str]:
    """Return the lines with those joined that were broken to fit a page.

    A broken line is long, does not end like a sentence or a label, and the next begins with a small letter, a figure,
    or a word that did not fit, or it ends in a word such as `for`; list items and labels are never joined on.  Chinese has
    no space where it is broken, and each of its letters is a word.
    """
    widest, found, last = max(map(width, lines), default=0), list[str](), ""
    for line in lines:
        chinese = language_of(last) == "zh"
        listed = _LISTED.search(line) or not line[:1].isalnum()
        if chinese:
            begins = re.match(r"[^\W_]|[（《“「『]", line) and not _LISTED.search(line)
            goes_on = width(last) >= _FILLED * widest and begins
        else:
            full = width(last) + width(line.partition(" ")[0]) >= _FULL * widest
            hangs = last[last.rfind(" ") + 1 :] in STOP_WORDS and not line.startswith(("|", "-", "#"))
            goes_on = line[:1].islower() or hangs or ((line[:1].isdigit() or full) and not listed)
        if goes_on and width(last) >= _BROKEN and not _WHOLE.search(last):
            space = "" if chinese and (not last[-1].isascii() or not line[0].isascii()) else " "
            found[-1] += f"{space}{line}"
        else:
            found.append(line)
        last = line
    return found


def with_headings(lines: Sequence[str]) -> list[str]:
    """Return the lines, with a `#` before those that stand above prose like a heading and are not marked as one.

    A heading is short, and has a number before it or no stop behind it; longer prose without a number follows.

    >>> with_headings(["2. Annual leave", "Everybody has 27 days of leave a year."])[0]
    '# 2. Annual leave'
    """
    found, below = list[str](), ""
    for line in reversed(lines):
        found.append(f"# {line}" if _heads(line, below) else line)
        below = line or below
    return found[::-1]


def _heads(line: str, below: str) -> bool:
    text = _NUMBERED.sub("", line)
    numbered = text != line
    words = len(text) / 2 if has_cjk(text) else len(text.split())
    named = text[:1].isupper() or has_cjk(text[:1])
    if not named or words > _HEADING or re.search(r"\d|[:：|,，;；]", text) or (_STOP.search(text) and not numbered):
        return False
    prose = _STOP.search(below) and below[:1].isalnum() and not _NUMBERED.match(below)
    return bool(prose) and len(below) > len(line)
