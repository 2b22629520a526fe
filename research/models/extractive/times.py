"""Find the times in a question: years, quarters and months, in English and Chinese."""

from __future__ import annotations

import re
from functools import cache

from msgspec import Struct
from msgspec.structs import replace

from research.models.extractive.places import LANGUAGES

MONTHS = "January February March April May June July August September October November December".split()
_MONTHS = [name.lower() for name in MONTHS]
_MONTH = re.compile(
    r"(?:\b(?P<day>[12]?\d|3[01])(?:st|nd|rd|th)?\s+(?:of\s+)?)?"
    rf"\b(?P<name>{'|'.join(f'{m[:3]}(?:{m[3:]})?' for m in _MONTHS)}|sept)\b\.?(?!\s+not)"
    r"(?:\s+(?P<behind>[12]?\d|3[01])(?:st|nd|rd|th)?(?![\d%]),?)?(?:\s+(?P<year>(?:19|20)\d\d))?"
)
_ZH_MONTH = re.compile(
    r"(?:(?P<year>(?:19|20)\d\d)\s{0,2}年\s{0,2})?(?P<month>1[0-2]|[1-9]|(?<![一二三四五六七八九十])(?:十[一二]?|[一二三四五六七八九])(?=月))\s{0,2}"
    r"(?:月份?(?:(?P<day>[12]?\d|3[01])[日号])?|(?=[到至~–-]\s?\d{1,2}\s?月))"
)
_ISO = re.compile(r"(?<![\d-])(?P<year>(?:19|20)\d\d)-(?P<month>0[1-9]|1[0-2])-(?P<day>[0-2]\d|3[01])(?![\d-])")
_QUARTER = re.compile(
    r"\bQ(?P<q>[1-4])\b(?:\s*(?P<year>(?:19|20)\d\d))?|(?:(?P<zyear>(?:19|20)\d\d)\s*年)?第?(?P<z>[一二三四])季度|\b(?P<o>first|second|third|fourth)\s+(?:quarter\b|(?=(?:to|and)\s(?:the\s)?\w+\squarter\b))",
    re.I,
)
_HALF = re.compile(
    r"\b(?:H(?P<h>[12])|(?P<o>first|second) half(?: of)?(?= (?:the year|(?:19|20)\d\d)))\b"
    r"(?:\s+(?:the year|(?P<year>(?:19|20)\d\d)))?|"
    r"(?:(?P<zyear>(?:19|20)\d\d)\s*年?)?(?P<z>[上下])半年(?:[（(]\d{1,2}月?[-–~到至]\d{1,2}月[）)])?",
    re.I,
)
YEAR = re.compile(r"(?<![\d.,])(?:19|20)\d\d(?![\d,]*\d)")
DAY = re.compile(r"-\d\d-\d\d")
"""Matches the month and day of a period, or of a date."""
_TO = re.compile(r"\s*(?:(?:up\s+)?(?:to|till?|until|through)(?:\s+the)?|[到至–—~-])\s*", re.I)
_OR = re.compile(r"\s*(?:and|[和与到至])(?:\s+the)?\s*", re.I)
_BETWEEN = re.compile(r"\bbetween(?:\s+the)?\s*$|在$|介于$", re.I)
"""Match what is between the ends of a span, and before it: `between May and July`."""
_OF = re.compile(r"\s*+(?:of|in|,)?\s*")
_NEAR = 40
"""Characters around a time that may say how it is meant."""
_AFTER = re.compile(r"\b(?:after|later than)\s*$", re.I)
_SINCE = re.compile(r"\b(?:since|from)\s*$|自$", re.I)
_BEFORE = re.compile(r"\b(?:before|earlier than|prior to)\s*$", re.I)
_UNTIL = re.compile(r"\b(?:until|through|up to|by)\s*$|截至$", re.I)


class Period(Struct, frozen=True):
    """A time that a question names: `2024`, `2024-03`, `-03` for March of any year, `2024-Q1`, `2024-03-15`."""

    text: str
    how: str = "="
    start: int = 0
    end: int = 0


@cache
def _months() -> dict[str, int]:
    """Return the numbers of months by their names in the languages of headings, in lower case (CLDR)."""
    from babel import Locale

    forms = (Locale(each).months["format"][width] for each in LANGUAGES for width in ("wide", "abbreviated"))
    return {name.lower().rstrip("."): number for names in forms for number, name in names.items()}


def month_of(text: str) -> int:
    """Return the number of the month that a cell names; 0 if it names none."""
    return _months().get(text.strip().lower().rstrip("."), 0)


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
    for match in _HALF.finditer(text):
        first = match["h"] == "1" or (match["o"] or "").lower() == "first" or match["z"] == "上"
        add(f"{match['year'] or match['zyear'] or ''}-H{1 if first else 2}", match)
    for match in _MONTH.finditer(lower):
        before, after = _around(lower, match)
        if (
            match["name"] == "may"
            and not (match["day"] or match["year"])
            and not re.search(r"\b(?:in|of|for|during|from|since|to|until|through|between|before|after|by)\s+$", before)
        ):
            continue
        if match["name"] == "mar" or (match["name"] == "march" and re.match(r"\s*on\b", after)):
            continue
        number = next(i for i, name in enumerate(_MONTHS, 1) if name.startswith(match["name"][:3]))
        add(f"{match['year'] or ''}-{number:02d}{_day(match['day'] or match['behind'])}", match)
    for match in (each for each in _ZH_MONTH.finditer(text) if each.start() not in taken):
        month = month_of(f"{match['month']}月") or int(match["month"])
        add(f"{match['year'] or ''}-{month:02d}{_day(match['day'])}", match)
    for match in _ISO.finditer(text):
        add(match.group(), match)
    for match in YEAR.finditer(text):
        if match.start() not in taken:
            add(match.group(), match)
    return _joined(text, sorted(found, key=lambda each: each.start))


def _day(written: str | None) -> str:
    return f"-{int(written):02d}" if written else ""


def _joined(text: str, found: list[Period]) -> list[Period]:
    """Return times with a month and its year as one, and the two ends of a span as its first and last time."""
    joined: list[Period] = []
    for each in found:
        last = joined[-1] if joined else None
        if last and last.text[0] == "-" != each.text[0] and _OF.fullmatch(text, last.end, each.start):
            joined[-1] = replace(last, text=f"{each.text[:4]}{last.text}", end=each.end)
        else:
            joined.append(each)
    if len(joined) == 2 and joined[0].how in ("=", ">=") and joined[1].how == "=":
        first, last = joined
        between = _BETWEEN.search(text[: first.start]) and _OR.fullmatch(text, first.end, last.start)
        if between or _TO.fullmatch(text, first.end, last.start):
            return [replace(first, how=">="), replace(last, how="<=")]
    return joined
