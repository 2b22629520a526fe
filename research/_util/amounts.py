"""Amounts in base units: read from a source's text, calculated exactly, rounded only when written."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import ROUND_HALF_EVEN, Context, Decimal
from functools import lru_cache

from msgspec import Struct

SCALES = {
    "thousand": 3,
    "million": 6,
    "billion": 9,
    "trillion": 12,
    "万亿": 12,
    "千亿": 11,
    "百亿": 10,
    "十亿": 9,
    "亿": 8,
    "千万": 7,
    "百万": 6,
    "万": 4,
}
"""Powers of ten of the words after a number, longer words first."""
_CURRENCIES = "$€£¥"
_AMOUNT = re.compile(
    rf"(?P<sign>[-−]?)(?:(?P<currency>[{_CURRENCIES}])(?P<after>-?)|(?<![A-Za-z\d.,]))"
    rf"(?P<digits>\d+(?:,\d{{3}})*(?:\.\d+)?|\.\d+)"
    rf"(?:[ ]?(?P<scale>{'|'.join(SCALES)})(?![a-z]))?(?P<unit>(?:[^;()\d,]|\(s\)|(?<=/)\d[\d,]*|(?<=[A-Za-z])\d)*)"
)
_LENGTH = {"km": ("m", 3), "m": ("m", 0), "metres": ("m", 0), "meters": ("m", 0), "cm": ("m", -2), "mm": ("m", -3)}
_UNITS = {
    **_LENGTH,
    "percent": ("%", 0),
    "per cent": ("%", 0),
    "year": ("years", 0),
    "metric tons": ("metric tons", 0),
    "metric tonnes": ("metric tons", 0),
    "tons": ("metric tons", 0),
    "kt": ("metric tons", 3),
    "W": ("W", 0),
    "kW": ("W", 3),
    "MW": ("W", 6),
    "GW": ("W", 9),
    "Wh": ("Wh", 0),
    "kWh": ("Wh", 3),
    "MWh": ("Wh", 6),
    "GWh": ("Wh", 9),
    "公里": ("m", 3),
    "平方公里": ("sq km", 0),
    "dollars": ("$", 0),
    "us dollars": ("$", 0),
    "美元": ("$", 0),
    "米": ("m", 0),
    "年": ("years", 0),
    "岁": ("years", 0),
    "吨": ("metric tons", 0),
    "千瓦": ("W", 3),
    "吉瓦": ("W", 9),
    "兆瓦": ("W", 6),
    "千瓦时": ("Wh", 3),
    "兆瓦时": ("Wh", 6),
    "吉瓦时": ("Wh", 9),
}
"""A unit's base unit, and the power of ten between the two."""
_EXACT = Context(prec=60)


class Amount(Struct, frozen=True):
    """A number in base units, and how its source writes it."""

    value: Decimal
    """The number in the base unit: metres for `5.3 km`, dollars for `$3.7 trillion`."""
    base: str
    """The base unit; only amounts of the same one are added or subtracted."""
    unit: str
    """The unit as written, without a scale: `km`; `$` for dollars."""
    power: int = 0
    """The power of ten from the unit to the base unit."""
    scaled: bool = False
    """Whether the source writes a scale word such as `million`."""

    @property
    def percent(self) -> bool:
        """Whether it is a percentage, so that differences are in percentage points."""
        return self.base.startswith("%")


@lru_cache(maxsize=65_536)
def amount(text: str, *, last: bool = False) -> Amount | None:
    """Return the first amount of a text, or its last; None if it has no number."""
    found = list(_AMOUNT.finditer(text)) if last else [_AMOUNT.search(text)]
    match = found[-1] if found else None
    if match is None:
        return None
    # In "1995-2005" the hyphen is not a sign.
    signed = match["sign"] and not text[: match.start()].rstrip().endswith(tuple("0123456789"))
    unit = " ".join(match["unit"].split()).rstrip(" .-–:")
    value = Decimal(match["digits"].replace(",", "")).scaleb(SCALES.get(match["scale"] or "", 0))
    if signed or match["after"]:
        value = -value
    if match["currency"]:
        return Amount(value, match["currency"], match["currency"], 0, bool(match["scale"]))
    first, _, rest = unit.partition(" ")
    base, power = _UNITS.get(unit) or _UNITS.get(first, (first, 0))
    whole = base if unit in _UNITS or not rest else f"{base} {rest}"
    return Amount(_EXACT.scaleb(value, power), whole, unit, power, bool(match["scale"]))


def unlike(amounts: Sequence[Amount]) -> tuple[str, str] | None:
    """Return two units that cannot be converted to each other; None if all amounts can be added and subtracted."""
    first = amounts[0]
    return next(((first.unit, each.unit) for each in amounts if each.base != first.base), None)


def written(value: Decimal, like: Sequence[Amount], language: str = "en", *, points: bool = False) -> str:
    """Write a value that was calculated from these amounts, with a scale and digits that fit.

    In full if all of them are, else with three decimals of the largest scale below it.
    """
    largest = max(like, key=lambda each: (each.power, abs(each.value)))
    value = _EXACT.scaleb(value, -largest.power)
    sign, size = ("-" if value < 0 else ""), abs(value)
    unit = largest.unit
    if points and largest.percent:
        unit = "个百分点" if language == "zh" else "percentage points"
        return f"{sign}{plain(size)} {unit}"
    scaled = any(each.scaled for each in like) or size >= Decimal(10) ** 15
    number, scale = in_scale(size, language) if scaled else (plain(size), "")
    if unit in _CURRENCIES and unit:
        return f"{sign}{unit}{number}{scale}"
    joint = "" if unit.startswith("%") and not unit[1:2].isalpha() else " "
    return f"{sign}{number}{scale}{joint}{unit}".rstrip()


def in_scale(size: Decimal, language: str) -> tuple[str, str]:
    """Return the digits and the scale word, with a space where the language has one: `("2.773", " million")`."""
    words = (("万亿", 12), ("亿", 8), ("万", 4)) if language == "zh" else _WORDS
    for word, power in words:
        number = rounded(_EXACT.scaleb(size, -power), 3)
        # 999,999,999.9 is 1 billion, not 1,000 million.
        if size >= Decimal(10) ** power or number == 1:
            return plain(number), f" {word}"
    return plain(rounded(size, 3)), ""


_WORDS = (("trillion", 12), ("billion", 9), ("million", 6))


def rounded(value: Decimal, decimals: int) -> Decimal:
    """Return the value with at most this many decimals; a small value keeps three significant digits."""
    if value and abs(value) < Decimal(1):
        decimals = max(decimals, 2 - value.adjusted())
    return value.quantize(Decimal(1).scaleb(-decimals), rounding=ROUND_HALF_EVEN, context=_EXACT)


def plain(value: Decimal) -> str:
    """Return the digits with thousands separators and without trailing zeros."""
    text = f"{value:,f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def code(value: Decimal) -> str:
    """Return the value as Python code."""
    return plain(value).replace(",", "")
