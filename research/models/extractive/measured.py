"""What the figure of an answer is measured in: a percentage, money, a length, or a number of people or things."""

from __future__ import annotations

import re
from typing import Literal

from research.models.extractive.patterns import THE_MOST
from research.quantities import Quantity, quantities

Measure = Literal["share", "points", "count", "total", "usd", "area", "length", "mass", "volume", "power", "energy"]

_UNITS: dict[Measure, str] = {
    "usd": r"(?:us )?dollars?|(?:money|cash|dollar) (?:terms|amounts?|value)|usd|us ?\$|美元",
    "area": r"(?:square|sq\.?) (?:kilomet(?:re|er)s?|km|met(?:re|er)s|miles?)|km2|km²|hectares?|acres?|平方(?:公里|千米|米)|公顷",
    "length": r"kilomet(?:re|er)s?|km|met(?:re|er)s|miles|feet|公里|千米|米",
    "mass": r"(?:metric )?tonn?es?|(?:metric )?tons?|(?:kilo|mega)tonn?e?s?|kt|kilograms?|kilos?|吨|公斤",
    "volume": r"barrels?|cubic (?:kilo)?met(?:re|er)s?|lit(?:re|er)s?|gallons?|桶|立方米|升",
    "power": r"(?:kilo|mega|giga)watts?|kw|mw|gw|千瓦|兆瓦|吉瓦",
    "energy": r"(?:kilo|mega|giga|tera)watt[- ]hours?|[kmgt]wh|千瓦时|度电",
}
_IN: dict[Measure, re.Pattern[str]] = {
    measure: re.compile(
        r"\b(?:in|into|how many|number of|as an?)(?: (?:actual|current|international|metric|plain|real|round|us))? "
        rf"(?:{words})(?![\w²³-])|^\W*(?:{words}) of\b|[,(] ?(?:{words}) ?(?:,? please)?\)?\W*$|多少(?:[万亿]|十亿)?(?:{words})",
        re.I,
    )
    for measure, words in _UNITS.items()
}
_PORTION = "percentage|per ?cent|pct|share(?! an? )|portion|proportion|fraction|slice|chunk"
_OF_A_WHOLE = re.compile(
    r"\bas an? (?:%|share|slice|part|proportion|percentage|fraction)(?: of\b|$)|\bthe (?:proportion|percentage)\b|"
    r"(?<!\bnot )(?<!\bthan )(?<!\bin )\b(?:percentage|proportion)s?\b|\b(?:proportion(?:al|ate)ly|in proportion)\b|"
    r"\brelative to (?:its|their|the) (?:size|area|population|whole|total)\b",
    re.I,
)
"""Matches a question for a share that also has words of its whole, as in `exports as a % of GDP`."""
_SHARE = re.compile(
    r"\b(?:(?:what|which)(?:['’]s| is| are)?(?: the)?|how (?:big|large|great|small|high) an?) "
    rf"(?:[\w'-]+ ){{0,2}}?(?:{_PORTION})\b|"
    r"\bhow (?:big|large|great) a part of\b|\b(?:per ?cent(?:age)?|proportion|fraction) of\b|"
    r"\bin (?:%|per ?cent(?:age)?\b)|[,(] ?(?:%|per ?cent)(?: please|, please)?\)?\W*$|"
    r"\bhow many (?:\w+ )?in (?:a|every) hundred\b|百分之|占.{0,12}(?:多少|比例)|几成",
    re.I,
)
_POINTS = re.compile(r"\bpercentage points?\b|\bpp(?:ts?)?\b|百分点", re.I)
"""Matches the measure of a difference of percentages, which no single percentage is."""
_CHANGED = re.compile(
    r"\b(?:rise|rose|fall|fell|grow|grew|growth|change[ds]?|more|less|higher|lower|larger|smaller)\b", re.I
)
"""Matches a question that a percentage may answer although it compares two amounts."""
_COUNT = re.compile(
    r"\bnumber of\b|\bpopulation of\b|\bhead ?count\b|\bin (?:heads|persons|people|numbers)\b|"
    r"\bhow many (?!(?:times|per ?cent(?:age)?|points?|years?|months?|weeks?|days?|hours?|minutes?|seconds?|degrees|more|less|"
    r"fewer|in (?:a|every) hundred)\b)[a-z]|多少(?:个?人|名|家|座|艘|架|张|辆|位|个)",
    re.I,
)
_MANY = re.compile(
    rf"\b(?:more|{THE_MOST}|fewer|fewest) (?:(?!(?:on|of|than|in|per|for|as|to|from|by|the)\b)[a-z-]+ )?"
    r"(?:[a-z-]+s|people|women|men|children)\b|(?<!比例)(?<!比重)[更最]多",
    re.I,
)
"""Matches a question where there are more of some things."""
_OLD = re.compile(r"\bhow old\b|几岁|多大年纪", re.I)
_TOTAL = re.compile(r"\btotal\b|\baltogether\b|\bin all\b|总共|一共|总数", re.I)
_ASIDE = re.compile(r"[(（](?![^()（）]{0,12}[)）]\W{0,9}$)[^()（）]{0,300}[)）]")
_RELATIVE = re.compile(
    r"(?<!than )\bper\b|/|\bout of (?:\d+|each|every|one|ten|a hundred|a thousand)\b|"
    r"\b(?:a|an|one|each|every|any) (?:hundred|thousand|million|inhabitant|resident|citizen|person|head|wom[ae]n|man|mother)\b|"
    r"\bcapita\b|\bdensity\b|\bon average\b|每[千万百人名]|人均|密度|平均|率",
    re.I,
)
"""Matches a question that a figure per thousand people and the like answers."""
_PER = re.compile(
    r"\d[\d,.]{0,40}(?: (?:thousand|million|billion|trillion))?(?: ?[a-z()%-]{1,40}(?: [a-z()%-]{1,40}){0,5}?)?? ?(?:/|\bper\b) ?"
    r"(?:[\d,]{1,40}|million|thousand|hundred)\b(?: [a-z]{1,40}){0,2}|每[\d千万百十]{1,40}[\u4e00-\u9fff]{0,8}\d[\d,.]{0,40}",
    re.I,
)
"""Matches a figure per so many: `12.04 deaths/1,000 population`."""
_SHARE_SAID = re.compile(
    r"%|％|\bper ?cent|\bpercentage|\b(?:half|third|quarter|fifth|tenth)s?\b|百分|成|\bout of\b|之[一二三四五六]", re.I
)
_DIMENSIONS = frozenset(["area", "length", "usd", "energy", "mass", "volume", "power"])
"""Units of figures that are no number of people or things."""


def measured_in(question: str) -> Measure | None:
    """Return what the words of a question want its figure to be measured in; None if they do not say.

    A `total` is anything but a figure per so many.

    >>> measured_in("How many people there live in towns, in per cent?")
    'share'
    """
    question = without_asides(question)
    if _POINTS.search(question):
        return "points"
    if _SHARE.search(question):
        return "share"
    unit = next((measure for measure, words in _IN.items() if words.search(question)), None)
    if unit or _RELATIVE.search(question):
        return unit or ("share" if _OF_A_WHOLE.search(question) else None)
    if _COUNT.search(question):
        return "count"
    return "share" if _OF_A_WHOLE.search(question) else "total" if _TOTAL.search(question) else None


def relative(question: str) -> bool:
    """Return whether a question asks for a figure per so many people or things."""
    return _RELATIVE.search(question) is not None


def counts_things(question: str) -> bool:
    """Return whether a question asks how many things there are, or where there are more of them."""
    measure = measured_in(question)
    return measure == "count" or (measure is None and not relative(question) and _MANY.search(question) is not None)


def only_relative(value: str) -> bool:
    """Return whether the figures of a value are percentages, or per so many people or things."""
    return bool(_figures(value)) and all(each.unit == "%" for each in _figures(_PER.sub(" ", value)))


def without_asides(question: str) -> str:
    """Return a question without what it says in brackets, unless that is its unit: `(in %)`."""
    return _ASIDE.sub(" ", question)


def lacks(question: str, statement: str, quote: str) -> str:
    """Return what the figures of a statement lack to be measured as the question asks; empty if they lack nothing."""
    measure = measured_in(question)
    figures = _figures(statement)
    if measure == "points":
        return "" if _POINTS.search(statement) else "a difference in percentage points"
    if measure == "share":
        return "" if _SHARE_SAID.search(f"{statement}\n{quote}") else "a share"
    if _OLD.search(question) and figures and not any(each.unit == "years" for each in figures):
        return "an age"
    if measure is None or not figures:
        return ""
    if measure not in ("count", "total"):
        known = any(figure.unit == measure for figure in figures) or _CHANGED.search(question)
        return "" if known else "a figure in the unit that is asked for"
    rest = _figures(_PER.sub(" ", statement))
    if measure == "total":
        return "" if rest else "the total"
    return "" if any(figure.unit not in {"%", *_DIMENSIONS} for figure in rest) else "a number of them"


def _figures(text: str) -> list[Quantity]:
    return [figure for figure in quantities(text) if figure.kind in ("number", "ordinal")]
