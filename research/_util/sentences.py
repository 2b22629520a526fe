"""Split text into sentences, and join the lines of one that was broken to fit a page."""

from __future__ import annotations

import re
from collections.abc import Sequence

from research.text import has_cjk, language_of, width

_ABBREVIATIONS = frozenset(
    "mr mrs ms dr prof st vs no nos fig figs vol pp p ed eds al est approx dept gov sen rep gen col lt sgt jr sr inc ltd "
    "co corp bros e.g i.e cf ca c etc u.s u.k u.n a.m p.m ph.d jan feb mar apr jun jul aug sep sept oct nov dec mt ft".split()
)
_STOP = re.compile(
    r"(?<![.!?…])[.!?…]++[\"'”’)\]*_]*+(?=\s|\[|$|[\u3400-\u9fff])|[。！？；][”’」』）)*_]*|[.!?](?=[\"”]?\s{0,9}\[\d)"
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
_FULL = 0.85
"""Least share of the widest line's width that a full line of Chinese has: marks do not begin one, and paragraphs are indented."""


def sentences(text: str) -> list[str]:
    """Return the sentences of each line, without list bullets and empty ones."""
    return [piece for line in text.splitlines() for piece in sentences_of(line.strip().removeprefix("- "))]


def sentences_of(line: str) -> list[str]:
    """Return the sentences of a line.  Full stops after abbreviations or initials, or before small letters, end none."""
    found, start = [], 0
    at = 0
    while match := _STOP.search(line, at):
        end = match.end()
        at = end
        before = line[start : match.start()]
        after = line[end : end + _NEXT]
        following = after.lstrip(" \"'“‘([*_")
        if following[:1].islower():
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
    or a word that did not fit; list items and labels are never joined on.  Chinese has no space where it is broken, and
    each of its letters is a word.
    """
    widest, found, last = max(map(width, lines), default=0), list[str](), ""
    for line in lines:
        chinese = language_of(last) == "zh"
        if chinese:
            goes_on = width(last) >= _FULL * widest and re.match(r"[\w（《“「『]", line) and not _LISTED.search(line)
        else:
            full = width(last) + width(line.partition(" ")[0]) >= widest
            goes_on = (
                line[:1].islower() or (line[:1].isdigit() or full) and not _LISTED.search(line) and line[:1].isalnum()
            )
        if goes_on and width(last) >= _BROKEN and not _WHOLE.search(last):
            space = "" if chinese and (not last[-1].isascii() or not line[0].isascii()) else " "
            found[-1] += f"{space}{line}"
        else:
            found.append(line)
        last = line
    return found
