"""Units of measurement and scale words in English and Chinese."""

from __future__ import annotations

import re

SCALES = {
    "hundred": 1e2,
    "thousand": 1e3,
    "k": 1e3,
    "million": 1e6,
    "mn": 1e6,
    "mio": 1e6,
    "m": 1e6,
    "billion": 1e9,
    "bn": 1e9,
    "b": 1e9,
    "trillion": 1e12,
    "tn": 1e12,
    "百": 1e2,
    "千": 1e3,
    "万": 1e4,
    "十万": 1e5,
    "百万": 1e6,
    "千万": 1e7,
    "亿": 1e8,
    "十亿": 1e9,
    "百亿": 1e10,
    "千亿": 1e11,
    "万亿": 1e12,
    "兆": 1e12,
}

CURRENCIES = ("usd", "eur", "gbp", "cny", "jpy")
"""Units of money."""
_UNITS = {
    "%": (
        ("%|％|per ?cent|percent|pct|percentage points?|percent points?|per ?cent points?|个百分点|百分点", 1.0),
        ("‰|per ?mille?|permille|千分点", 0.1), ("basis points?|bps?|个基点|基点", 0.01),
    ),
    "usd": ((r"\$|us\$|usd|dollars?|us dollars?|美元|美金", 1.0), ("cents?|美分", 0.01)),
    "eur": (("€|eur|euros?|欧元", 1.0),),
    "gbp": (("£|gbp|pounds? sterling|英镑", 1.0), ("pence", 0.01)),
    "cny": (("cny|rmb|yuan|元|人民币|块钱", 1.0),),
    "jpy": (("¥|￥|jpy|yen|日元", 1.0),),
    "length": (
        ("km|kilomet(?:re|er)s?|公里|千米", 1e3), ("m|met(?:re|er)s?|米", 1.0), ("cm|centimet(?:re|er)s?|厘米", 1e-2),
        ("mm|millimet(?:re|er)s?|毫米", 1e-3), ("mi|miles?|英里", 1609.344), ("ft|feet|foot|英尺", 0.3048),
        ("nm|nautical miles?|海里", 1852.0), ("inch(?:es)?|英寸", 0.0254), ("yd|yards?|码", 0.9144), ("里", 500.0),
    ),
    "area": (
        (r"sq\.? ?km|square kilomet(?:re|er)s?|km2|km²|平方公里|平方千米", 1e6),
        (r"sq\.? ?m|square met(?:re|er)s?|m2|m²|平方米", 1.0), ("hectares?|ha|公顷", 1e4),
        (r"square miles?|sq\.? ?mi(?:les?)?|平方英里", 2.589988e6), ("acres?|英亩", 4046.856), ("亩", 666.6667),
    ),
    "mass": (
        ("kg|kilograms?|kilos?|公斤|千克", 1.0), ("g|grams?|克", 1e-3), ("kt|kilotonnes?", 1e6),
        ("t|tonnes?|metric tons?|metric tonnes?|tons?|吨", 1e3), ("lbs?|pounds?|磅", 0.45359237),
        ("mg|milligrams?|毫克", 1e-6), ("oz|ounces?|盎司", 0.0283495), ("斤", 0.5),
    ),
    "volume": (
        (r"cubic met(?:re|er)s?|cu\.? ?m|m3|m³|立方米", 1e3), ("lit(?:re|er)s?|l|升", 1.0),
        ("ml|millilit(?:re|er)s?|毫升", 1e-3), ("gallons?|加仑", 3.785411784),
        ("bbl|barrels?|桶", 158.987), ("cubic kilomet(?:re|er)s?|km3|km³|立方公里", 1e12),
    ),
    "energy": (
        ("kwh|kilowatt[- ]hours?|千瓦时|度电", 1.0), ("mwh|megawatt[- ]hours?|兆瓦时", 1e3),
        ("gwh|gigawatt[- ]hours?|吉瓦时", 1e6), ("twh|terawatt[- ]hours?|太瓦时", 1e9),
        ("wh|watt[- ]hours?|瓦时", 1e-3), ("btu", 2.93e-4),
    ),
    "power": (
        ("kw|kilowatts?|千瓦", 1.0), ("mw|megawatts?|兆瓦", 1e3), ("gw|gigawatts?|吉瓦", 1e6), ("w|watts?|瓦", 1e-3),
    ),
    "speed": (
        ("km/h|kph|kmh|kilomet(?:re|er)s? (?:an|per) hour|公里每小时|公里/小时|千米每小时", 1.0),
        ("mph|miles? (?:an|per) hour|英里每小时", 1.609344),
        ("m/s|met(?:re|er)s? (?:a|per) second|米每秒|米/秒", 3.6)),
    "years": (
        ("years?|year-olds?|yrs?|年|岁|周年", 1.0), ("months?|个月", 1 / 12), ("decades?", 10.0), ("centuries|世纪", 100.0)
    ),
    "hours": (
        ("hours?|hrs?|小时|个小时", 1.0), ("minutes?|mins?|分钟", 1 / 60), ("seconds?|secs?|秒", 1 / 3600),
        ("days?|天", 24.0), ("weeks?|周|个星期|星期", 168.0)
    ),
    "celsius": (("°c|° c|º ?c|degrees? (?:celsius|centigrade|c)|摄氏度|℃", 1.0),),
    "fahrenheit": (("°f|° f|degrees? fahrenheit|华氏度|℉", 1.0),),
}  # fmt: skip
"""Patterns of unit words by dimension, in lower case, with their factor to the base unit."""

SYMBOLS = {"$": "usd", "€": "eur", "£": "gbp", "¥": "jpy", "￥": "jpy"}
_KNOWN = [
    (re.compile(rf"(?:{words})(?![a-z²³])"), dimension, factor)
    for dimension, group in _UNITS.items()
    for words, factor in group
]
_ANY = re.compile("|".join(f"(?:{words})" for group in _UNITS.values() for words, _ in group))
_POUNDS = re.compile(r"pounds?\b(?! of\b)")


def unit_at(text: str, end: int) -> tuple[str, float, int]:
    """Return the unit that follows a position: its dimension, its factor, and its end."""
    place = end + text.startswith((" ", "-"), end)
    tail = text[place : place + 24].lower()
    best = ("", 1.0, end)
    if _ANY.match(tail) is None:
        return best
    for pattern, dimension, factor in _KNOWN:
        match = pattern.match(tail)
        if (
            match
            and place + match.end() > best[2]
            and not (place > end and match.group() in ("m", "b", "l", "t", "g", "w") and text[place].isupper())
        ):
            best = (dimension, factor, place + match.end())
    # `3 million pounds a year` is money, `3 million pounds of beef` is not
    before = text[max(0, end - 24) : end].rstrip()
    if best[0] == "mass" and _POUNDS.match(tail) and re.search(r"(?:illion|[mb]n|\dm)$", before, re.I):
        return "gbp", 1.0, best[2]
    return best
