"""Figures and dates as people write them in cells: separators, signs, units, scales, percentages, months.

The notation is decided for a column as a whole: `1,234` alone may be either.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec import Struct

BLANK = frozenset(
    "- – — -- --- . .. ... … ? n/a n.a. n.a na #n/a #na null none nil nan nr missing unknown tbd tba x 无 暂无 缺失 缺 "
    "未知 不详 － —— 〃 / \\".split()
) | {"", "not available", "not applicable", "no data", "#value!", "#ref!", "#div/0!", "#name?"}
"""Marks of a missing figure, in lower case.  In a column of text only empty cells count."""

Mark = Literal[".", ","]
"""The decimal mark."""

_SCALES = {
    "k": 3,
    "tsd": 3,
    "thousand": 3,
    "mn": 6,
    "mio": 6,
    "mln": 6,
    "m": 6,
    "million": 6,
    "bn": 9,
    "mrd": 9,
    "billion": 9,
    "tn": 12,
    "trillion": 12,
    "千": 3,
    "万": 4,
    "百万": 6,
    "千万": 7,
    "亿": 8,
    "万亿": 12,
}
_SPACES = "\u00a0\u202f\u2009\u2007 "
_DIGITS = rf"\d+(?:[{_SPACES}'’.,_]\d+)*|[.,]\d+"
_FIGURE = re.compile(
    rf"(?P<open>\()?\s?(?P<sign>[-+−–])?\s?(?P<before>[$€£¥￥₹₽₩₺฿%]|[A-Z]{{1,3}}[$€£¥]|[A-Z]{{3}}(?=\s)|(?:Fr|kr|Rs)\.?)?"
    rf"\s?(?P<inner>[-−–])?(?P<digits>{_DIGITS})(?P<power>[eE][+-]?\d{{1,3}})?\s?"
    rf"(?P<scale>(?i:{'|'.join(sorted(filter(str.isascii, _SCALES), key=len, reverse=True))})\b\.?|万亿|百万|千万|[万亿千])?\s?"
    r"(?P<after>[^\W\d_][^\d()*†‡\[\];|]{0,24}|[$€£¥￥₹₽₩₺฿%‰°²³µ][^\d()*†‡\[\];|]{0,12})?"
    r"(?P<close>\))?(?P<trailing>-)?\s?(?P<remark>[*†‡]+|\[\w{1,3}\])?"
)
_POINT = re.compile(r"\.\d{1,2}$|\.\d{4,}$|,\d{3}\.\d|^\d{1,3}(?:,\d{3}){2,}$|^0\.\d{3}$|^\.\d")
_COMMA = re.compile(r",\d{1,2}$|,\d{4,}$|\.\d{3},\d|^\d{1,3}(?:\.\d{3}){2,}$|^0,\d{3}$|^,\d")
_WHOLE = re.compile(r"\d+")
_LEADING_ZERO = re.compile(r"0\d+")
_LONG = 15
"""Digits beyond which a number is inexact, and so an identifier."""


class Figure(Struct, frozen=True):
    """A parsed figure of a cell."""

    digits: str
    """Digits with their separators, without sign and unit."""
    negative: bool
    power: int
    unit: str


def figure(text: str) -> Figure | None:
    """Parse a cell; None if it is not a single figure."""
    match = _FIGURE.fullmatch(text.strip()) if len(text) <= 80 else None
    if match is None or (match["open"] is None) != (match["close"] is None):
        return None
    before, after, scale = match["before"] or "", (match["after"] or "").strip(" ."), match["scale"] or ""
    power = _SCALES.get(scale.rstrip(".").lower(), 0)
    if scale == "m" and not before and not after:  # metres
        after, power = "m", 0
    if before and after:
        return None
    negative = (
        any(match[part] in ("-", "−", "–") for part in ("sign", "inner", "trailing")) or match["open"] is not None
    )
    return Figure(match["digits"], negative, power + int((match["power"] or "e0")[1:]), before or after)


def decimal_mark(digits: Sequence[str]) -> Mark | None:
    """Return the decimal mark of these figures; None if they show none or both."""
    point = sum(_POINT.search(each) is not None for each in digits)
    comma = sum(_COMMA.search(each) is not None for each in digits)
    return "." if point > 3 * comma else "," if comma > 3 * point else None


def value(found: Figure, mark: Mark) -> int | float | None:
    """Return the value of a figure; None if its separators do not fit the decimal mark."""
    whole, dot, part = found.digits.rpartition(mark) if mark in found.digits else (found.digits, "", "")
    separator = "," if mark == "." else "."
    groups = re.split(rf"[{_SPACES}'’_{re.escape(separator)}]", whole)
    if mark in whole or not part.isdigit() and dot or not all(map(str.isdigit, filter(None, groups))):
        return None
    if len(groups) > 1 and (not 1 <= len(groups[0]) <= 3 or any(not 2 <= len(group) <= 3 for group in groups[1:])):
        return None
    digits = f"{''.join(groups) or '0'}.{part or '0'}"
    number = float(f"{digits}e{found.power}")
    if found.negative:
        number = -number
    return int(number) if number.is_integer() and abs(number) < 2**53 and (found.power or not part) else number


def is_code(texts: Sequence[str]) -> bool:
    """Return whether whole numbers are codes, not amounts: with leading zeros or too many digits."""
    whole = [text for text in texts if _WHOLE.fullmatch(text)]
    return any(_LEADING_ZERO.fullmatch(text) or len(text) > _LONG for text in whole)


# Dates

_MONTHS = {
    name: number
    for number, names in enumerate(
        "january jan januar janvier enero|february feb februar février febrero|march mar märz mars marzo|"
        "april apr avril abril|may mai mayo|june jun juni juin junio|july jul juli juillet julio|"
        "august aug août agosto|september sep sept septembre septiembre|october oct oktober okt octobre octubre|"
        "november nov novembre noviembre|december dec dezember dez décembre diciembre".split("|"),
        1,
    )
    for name in names.split()
}
_TIME = r"(?:[T ]\s*(?P<time>\d{1,2}:\d{2})(?::\d{2}(?:\.\d+)?)?\s*(?:Z|[+-]\d{2}:?\d{2})?)?"
_ISO = re.compile(rf"(?P<y>\d{{4}})(?P<s>[-/.])(?P<m>\d{{1,2}})(?:(?P=s)(?P<d>\d{{1,2}}))?{_TIME}")
_HAN = re.compile(r"(?P<y>\d{4})\s*年\s*(?:(?P<m>\d{1,2})\s*月(?:\s*(?P<d>\d{1,2})\s*[日号])?)?")
_MIXED = re.compile(rf"(?P<a>\d{{1,2}})(?P<s>[-/.])(?P<b>\d{{1,2}})(?P=s)(?P<y>\d{{4}}|\d{{2}}){_TIME}")
_NAMED = re.compile(r"(?:(?P<d>\d{1,2})(?:st|nd|rd|th|\.)?[-\s]+)?(?P<n>[^\W\d_]{3,10})\.?[-\s,/]+(?P<y>\d{4}|\d{2})")
_NAMED_US = re.compile(r"(?P<n>[^\W\d_]{3,10})\.?\s+(?P<d>\d{1,2})(?:st|nd|rd|th)?,?\s+(?P<y>\d{4})")
_QUARTER = re.compile(
    r"(?P<y>\d{4})[-\s/]*(?:Q|年第?)\s*(?P<q>[1-4一二三四])(?:季度?)?|Q(?P<r>[1-4])[-\s/]*(?P<z>\d{4})", re.IGNORECASE
)
_COMPACT = re.compile(r"(?P<y>(?:19|20)\d{2})(?P<m>0[1-9]|1[0-2])(?P<d>0[1-9]|[12]\d|3[01])")


def dates(texts: Sequence[str], *, compact: bool = False) -> list[str] | None:
    """Return dates as texts that sort; None unless all of these texts are dates of one form.

    Day and month as in `03/04/2024` are told apart by the whole column; otherwise these are not dates.  `compact` says
    that `20240305` may be one.
    """
    for form in (_iso, _named, _quarters, *([_compact] if compact else [])):
        found = [form(text.strip()) for text in texts]
        if all(found):
            return [each for each in found if each]
    return _mixed([text.strip() for text in texts])


def _date(year: str, month: int, day: str | None, time: str | None = None) -> str | None:
    full = year if len(year) == 4 else f"{'20' if int(year) < 70 else '19'}{year}"
    if not 1 <= month <= 12 or (day and not 1 <= int(day) <= 31):
        return None
    return f"{full}-{month:02d}" + (f"-{int(day):02d}" if day else "") + (f" {time:0>5}" if time else "")


def _iso(text: str) -> str | None:
    if match := _ISO.fullmatch(text):
        return _date(match["y"], int(match["m"]), match["d"], match["time"])
    match = _HAN.fullmatch(text)
    return _date(match["y"], int(match["m"]), match["d"]) if match and match["m"] else match["y"] if match else None


def _named(text: str) -> str | None:
    match = _NAMED.fullmatch(text) or _NAMED_US.fullmatch(text)
    month = _MONTHS.get(match["n"].lower()) if match else None
    return _date(match["y"], month, match["d"]) if match and month else None


def _quarters(text: str) -> str | None:
    match = _QUARTER.fullmatch(text)
    if match is None:
        return None
    quarter = match["q"] or match["r"]
    return f"{match['y'] or match['z']}-Q{'一二三四'.find(quarter) + 1 or quarter}"


def _compact(text: str) -> str | None:
    match = _COMPACT.fullmatch(text)
    return _date(match["y"], int(match["m"]), match["d"]) if match else None


def _mixed(texts: Sequence[str]) -> list[str] | None:
    matches = [match for match in map(_MIXED.fullmatch, texts) if match]
    if len(matches) < len(texts) or not matches:
        return None
    forms = []
    for day, month in (("a", "b"), ("b", "a")):
        found = [_date(match["y"], int(match[month]), match[day], match["time"]) for match in matches]
        if all(found):
            forms.append([each for each in found if each])
    if len(forms) == 2:
        forms = [forms[0]] if matches[0]["s"] == "." else list(_likelier(*forms))
    return forms[0] if len(forms) == 1 else None


def _likelier(one: list[str], other: list[str]) -> Iterator[list[str]]:
    """Yield the reading that is sorted or has one day in each month; both or neither if undecided."""
    for reading, rival in ((one, other), (other, one)):
        if reading == sorted(reading) and rival != sorted(rival) or _regular(reading) and not _regular(rival):
            yield reading


def _regular(days: Sequence[str]) -> bool:
    return len(days) > 2 and len({day[8:10] for day in days}) == 1 and len({day[:7] for day in days}) > 2
