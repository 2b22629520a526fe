"""Units as people and columns write them: `minutes` and `min`, `metres` and `m`."""

from __future__ import annotations

_WRITTEN = (
    "% percent pct",
    "s sec secs second seconds 秒",
    "min mins minute minutes 分钟",
    "h hr hrs hour hours 小时",
    "d day days 天",
    "week weeks 周",
    "month months 个月",
    "year years 年 岁",
    "g gram grams 克",
    "kg kilo kilos kilogram kilograms kilogramme kilogrammes 公斤 千克",
    "t ton tons tonne tonnes 吨",
    "mm millimetre millimetres millimeter millimeters 毫米",
    "cm centimetre centimetres centimeter centimeters 厘米",
    "m metre metres meter meters 米",
    "km kilometre kilometres kilometer kilometers 公里 千米",
    "mile miles",
    "eur euro euros €",
    "usd dollar dollars $ us$",
    "gbp pound pounds £",
    "cny yuan rmb 元 块 ¥",
    "万元",
    "l litre litres liter liters 升",
    "kw",
    "mw",
    "gw",
    "kwh",
    "mwh",
    "gwh",
    "°c degrees celsius",
)
UNITS = {word: words.split()[0] for words in _WRITTEN for word in words.split()}
"""The short form of each way to write a unit."""

_MONEY = frozenset(("eur", "usd", "gbp", "cny", "万元"))


def is_money(unit: str) -> bool:
    """Return whether a unit is a currency."""
    return unit_of(unit) in _MONEY


def unit_of(text: str) -> str:
    """Return the short form of a unit; another text in small letters."""
    plain = text.strip().lower()
    return UNITS.get(plain, plain)
