"""Chinese terms for the labels, units and names of the Factbook.  They are data: `glossary_zh.toml`."""

from __future__ import annotations

import re
import tomllib
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

_SERIES = re.compile(r",? (?:1[5-9]|20)\d\d$")
"""The year that ends the label of a series."""

_COVERED = re.compile(r".+ in ([^:]{1,99}): (\d+) of (\d+) countries have a figure(?:, (\d{4}(?: to \d{4})?))?")

_LOWER = re.compile(r"(?!Gini\b)[A-Z]['a-z]*\b")
"""Matches a capitalised first word that is neither a name nor an abbreviation."""
AVERAGE = re.compile(r"\b(?:age|rate|expectancy|ratio|literacy|use|access|per capita)\b", re.I)
"""Labels whose total is not a sum."""
_BEFORE = frozenset(("land", "water", "male", "female", "standard gauge", "narrow gauge", "broad gauge"))
_BEHIND = frozenset(("consumption", "production", "imports", "exports", "proven reserves", "revenues", "expenditures"))


@cache
def terms(table: str) -> dict[str, Any]:
    """Return one table of the glossary."""
    found: dict[str, Any] = tomllib.loads(Path(__file__).with_name("glossary_zh.toml").read_text("utf-8"))[table]
    return found


def plain_territory(name: str) -> str:
    """Return a CLDR name as texts write it: in lower case, no brackets, no `special administrative region`.

    >>> plain_territory("Myanmar (Burma)"), plain_territory("Trinidad & Tobago"), plain_territory("Hong Kong SAR China")
    ('myanmar', 'trinidad and tobago', 'hong kong')
    """
    plain = re.sub(r"\s{0,9}\(.{0,300}?\)| - .{0,300}", "", name).replace("&", "and").replace("’", "'").casefold()
    return plain.removesuffix(" sar china")


def chinese_label(label: str) -> str:
    """Return the Chinese term for a label, without the year of a series; empty if there is none.

    >>> chinese_label("Unemployment rate 2024")
    '失业率'
    """
    plain = _SERIES.sub("", label)
    found: str = terms("label").get(plain) or terms("measure").get(plain, "")
    return found


def in_sentence(label: str) -> str:
    """Return a label as English sentences write it; unchanged if the glossary lacks it.

    >>> [in_sentence(label) for label in ("Population, total", "Median age, male", "Real GDP per capita")]
    ['total population', 'male median age', 'real GDP per capita']
    >>> in_sentence("Military Expenditures")
    'military expenditures'
    """
    if not chinese_label(label):
        return label
    head, *parts = re.split(", | - ", label, maxsplit=1)
    head, rest = small(head), "".join(parts)
    if rest in ("total", "total population"):
        return head if AVERAGE.search(head) else f"total {head}"
    if rest in _BEFORE:
        return f"{rest} {head}"
    if rest in _BEHIND:
        return f"{head} {rest}"
    return f"{head} ({rest})" if rest else head


def small(head: str) -> str:
    """Return a label without title case: lowers its first word, and words that other labels write in lower case."""
    first, *more = head.split(" ")
    words = [first[:1].lower() + first[1:] if _LOWER.match(first) else first]
    for word in more:
        # A word after a capital is part of a name: World Heritage Sites.
        words.append(word.lower() if word.lower() in _written_small() and not words[-1][:1].isupper() else word)
    return " ".join(words)


@cache
def _written_small() -> frozenset[str]:
    return frozenset(word for label in terms("label") for word in re.findall(r"(?<= )[a-z]+\b", label))


@cache
def english_label(term: str) -> str:
    """Return the English label of a Chinese term, or the term itself."""
    return next((label for label, chinese in terms("label").items() if chinese == term), term)


def chinese_places(name: str) -> tuple[str, ...]:
    """Return a country's or place's Chinese names, longest first.

    >>> chinese_places("Hong Kong"), chinese_places("Kenya")
    (('中国香港特别行政区', '中国香港', '香港'), ('肯尼亚', '肯尼亚'))
    """
    found = (*_territories().get(name.casefold().removeprefix("the "), ()), terms("place").get(name, ""))
    return tuple(sorted(filter(None, found), key=len, reverse=True))


def coverage(line: str) -> str:
    """Translate the head of a comparison, which says how many countries have a figure; empty for any other line."""
    found = _COVERED.match(line)
    if found is None or found[1] not in terms("place"):
        return ""
    years = f"（{found[4].replace(' to ', '至')}年）" if found[4] else ""
    return f"{terms('place')[found[1]]}{found[3]}个国家中，{found[2]}个有数据{years}"


@cache
def _territories() -> dict[str, tuple[str, str]]:
    """Map each country's English name to its Chinese ones (CLDR)."""
    from babel import Locale

    english, chinese = (Locale(language).territories for language in ("en", "zh"))
    return {
        plain_territory(name): (chinese[code], chinese[code].removesuffix("特别行政区"))
        for code, name in english.items()
        if code.isalpha() and code in chinese
    }


@cache
def currency_names() -> tuple[tuple[str, str], ...]:
    """Return the code of each currency with its English name, and again with its Chinese one (CLDR)."""
    from babel import Locale

    return tuple(each for language in ("en", "zh") for each in Locale(language).currencies.items())


@cache
def used_beside(currency: str) -> frozenset[str]:
    """Return the codes of the currencies that a country uses beside this one: PAB and USD in Panama."""
    from babel import Locale
    from babel.numbers import get_territory_currencies

    used = (get_territory_currencies(code) for code in map(str, Locale("en").territories) if code.isalpha())
    return frozenset(each for codes in used if currency in codes for each in codes)


@cache
def english_labels() -> dict[str, str]:
    """Return the English label of each Chinese term; a term may leave out a word such as total."""
    found = {term: english_label(term) for term in terms("label").values()}
    return {term.rstrip("额量").removeprefix("总"): label for term, label in found.items()} | found


def labels_in(text: str) -> list[str]:
    """Return the English labels of the terms that a Chinese text contains.

    >>> labels_in("法国面积")
    ['Area, total']
    """
    labels = english_labels()
    terms = "|".join(map(re.escape, sorted(labels, key=len, reverse=True)))
    return [labels[term] for term in re.findall(terms, text)]


@lru_cache(maxsize=4_096)
def said(text: str) -> frozenset[str]:
    """Return the terms for labels in a Chinese text, except those inside longer ones: 出生率 in 总和出生率."""
    return frozenset(label_terms().findall(text))


@cache
def label_terms() -> re.Pattern[str]:
    """Return a pattern of the terms for labels, longest first."""
    return re.compile("|".join(map(re.escape, sorted(terms("label").values(), key=len, reverse=True))))
