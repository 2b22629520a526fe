"""Find the times in a question: years, quarters and months, in English and Chinese."""

from __future__ import annotations

import re

from msgspec import Struct

_MONTHS = "january february march april may june july august september october november december".split()
_MONTH = re.compile(
    rf"\b(?P<name>{'|'.join(f'{m[:3]}(?:{m[3:]})?' for m in _MONTHS)}|sept)\b\.?(?!\s+not)(?:\s+(?P<year>(?:19|20)\d\d))?"
)
_ZH_MONTH = re.compile(r"(?:(?P<year>(?:19|20)\d\d)\s{0,2}年\s{0,2})?(?P<month>1[0-2]|[1-9])\s{0,2}月份?")
_QUARTER = re.compile(
    r"\bQ(?P<q>[1-4])\b(?:\s*(?P<year>(?:19|20)\d\d))?|(?:(?P<zyear>(?:19|20)\d\d)\s*年)?第?(?P<z>[一二三四])季度|\b(?P<o>first|second|third|fourth)\s+quarter\b",
    re.I,
)
YEAR = re.compile(r"(?<![\d.,])(?:19|20)\d\d(?![\d,]*\d)")
_BETWEEN = re.compile(r"\b(?:between|from)\b|从|自|至|到|以来|\bto\b|\bsince\b|[–-]", re.I)
_NEAR = 40
"""Characters around a time that may say how it is meant."""
_AFTER = re.compile(r"\b(?:after|later than)\s*$", re.I)
_SINCE = re.compile(r"\b(?:since|from)\s*$|自$", re.I)
_BEFORE = re.compile(r"\b(?:before|earlier than|prior to)\s*$", re.I)
_UNTIL = re.compile(r"\b(?:until|through|up to|by)\s*$|截至$", re.I)


class Period(Struct, frozen=True):
    """A time that a question names: `2024`, `2024-03`, `-03` for March of any year, `2024-Q1`."""

    text: str
    how: str = "="
    start: int = 0
    end: int = 0


def _around(text: str, match: re.Match[str]) -> tuple[str, str]:
    """Return the words before and behind a match, as many as tell how it is meant."""
    return text[max(0, match.start() - _NEAR) : match.start()], text[match.end() : match.end() + _NEAR]


def periods(text: str) -> list[Period]:
    """Return the times in a question, in order."""
    found: list[Period] = []
    taken: set[int] = set()

    def add(period: str, match: re.Match[str]) -> None:
        before, after = _around(text, match)
        how = "="
        for pattern, sign in ((_AFTER, ">"), (_BEFORE, "<"), (_UNTIL, "<="), (_SINCE, ">=")):
            if pattern.search(before):
                how = sign
        for behind, sign in ((r"以后|之后", ">"), (r"以前|之前", "<"), (r"以来", ">=")):
            if re.match(rf"\s*年?(?:{behind})", after):
                how = sign
        found.append(Period(period, how, *match.span()))
        taken.update(range(*match.span()))

    lower = text.lower()
    for match in _QUARTER.finditer(text):
        quarter = match["q"] or str("一二三四".find(match["z"] or "x") + 1 or "")
        if match["o"]:
            quarter = str("first second third fourth".split().index(match["o"].lower()) + 1)
        add(f"{match['year'] or match['zyear'] or ''}-Q{quarter}", match)
    for match in _MONTH.finditer(lower):
        before, after = _around(lower, match)
        if match["name"] == "may" and not match["year"] and not re.search(r"\b(?:in|of|for|during)\s+$", before):
            continue
        if match["name"] == "mar" or (match["name"] == "march" and re.match(r"\s*on\b", after)):
            continue
        number = next(i for i, name in enumerate(_MONTHS, 1) if name.startswith(match["name"][:3]))
        add(f"{match['year'] or ''}-{number:02d}", match)
    for match in _ZH_MONTH.finditer(text):
        add(f"{match['year'] or ''}-{int(match['month']):02d}", match)
    for match in YEAR.finditer(text):
        if match.start() not in taken:
            add(match.group(), match)
    return sorted(found, key=lambda each: each.start)


def spans(text: str) -> bool:
    """Return whether a question names a span of time by its ends."""
    return _BETWEEN.search(text) is not None
