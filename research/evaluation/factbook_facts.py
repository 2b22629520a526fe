"""The World Factbook as facts to ask about, and seeded sampling of questions from them."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import cache
from types import MappingProxyType
from typing import Final, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from research.evaluation.questions import SPLITS, Question
from research.search.library import factbook

SEED: Final = 8
"""Seed of both datasets: they change only with the Factbook or with the rules that make them."""

T = TypeVar("T")

Maker = Callable[[str, random.Random], Iterator[Question]]
"""Yields questions of one kind for a split, forever, with empty ids."""

_VALUE = re.compile(r"(?P<number>\$?-?\d[\d,]*(?:\.\d+)?(?: (?:million|billion|trillion))?)(?P<unit>%.*| \D.*)?")
_SCALES: Final = MappingProxyType({"million": 10**6, "billion": 10**9, "trillion": 10**12})


class Fact(Struct, frozen=True):
    """One line of the Factbook: `Area, total: 377,915 sq km`."""

    text: str
    """The value as printed, without remarks: `377,915 sq km`, `$5.715 trillion`, `Tokyo`."""
    number: str
    """The figure as printed, with scale, `$` or `%`: `377,915`, `$5.715 trillion`, `2.7%`; empty without a figure."""
    value: Decimal | None
    """The figure with its scale applied."""
    url: str
    """The document that states it."""


class Country(Struct, frozen=True):
    """An entity of the Factbook that has a population, an area and a capital."""

    name: str
    code: str
    """ISO 3166 alpha-2 code, derived from the internet domain."""
    facts: dict[str, Fact]
    """By label, e.g. `Area, total`."""
    neighbours: tuple[str, ...]
    """Names as the Factbook writes them."""


def sample_questions(name: str, each: Mapping[str, int], makers: Sequence[Maker]) -> Iterator[Question]:
    """Yield `each` many distinct questions per kind and split, in mixed order, with ids that begin with the split.

    `makers` are in the order of the kinds.
    """
    for split in SPLITS:
        chosen: dict[str, Question] = {}
        for (kind, wanted), maker in zip(each.items(), makers, strict=True):
            made = maker(split, random.Random(f"{SEED}/{name}/{split}/{kind}"))
            number = 0
            while number < wanted:
                question = next(made)
                if question.question not in chosen:
                    number += 1
                    key, gold = f"{split}-{kind}-{number:03}", tuple(dict.fromkeys(question.gold))
                    chosen[question.question] = replace(question, id=key, kind=kind, gold=gold)
        yield from random.Random(f"{SEED}/{name}/{split}").sample(list(chosen.values()), len(chosen))


def every_other(items: Sequence[T], split: str) -> list[T]:
    """Return every other item, so that the splits ask about different ones."""
    return list(items)[SPLITS.index(split) :: len(SPLITS)]


def ambiguous(names: Sequence[str]) -> bool:
    """Return whether one name contains another, which makes an answer ambiguous."""
    return any(one in other for one in names for other in names if one != other)


@cache
def countries() -> tuple[Country, ...]:
    """Return the countries that questions can ask about, in order of name: nearly all sovereign ones."""
    sections: dict[str, dict[str, tuple[str, str]]] = {}
    for document in factbook.documents():
        name, _, _ = document.title.partition(" · ")
        lines = sections.setdefault(name, {})
        for line in document.text.splitlines():
            label, _, value = line.partition(": ")
            lines.setdefault(label, (value, document.url))  # the first of several values is the main one
    found = (_country(name, lines) for name, lines in sorted(sections.items()))
    return tuple(country for country in found if country is not None)


def _country(name: str, lines: dict[str, tuple[str, str]]) -> Country | None:
    domain = re.fullmatch(r"\.([a-z]{2})", lines.get("Internet country code", ("", ""))[0])
    needed = {"Population, total", "Area, total", "Capital, name", "Real GDP (purchasing power parity) 2024"}
    facts = {label: fact for label, (value, url) in lines.items() if (fact := _fact(value, url)) is not None}
    if domain is None or not needed <= facts.keys():
        return None
    borders = next((v for label, (v, _) in lines.items() if label.startswith("Land boundaries, border countr")), "")
    near = [re.sub(r"\s{1,9}[\d.,]{1,40} km.{0,300}$", "", each).strip() for each in borders.split(";")]
    code = domain[1].upper().replace("UK", "GB")
    return Country(name, code, facts, tuple(filter(None, near)))


def _fact(value: str, url: str) -> Fact | None:
    """Parse a single value; None for a value with alternatives or an explanation."""
    text = re.sub(r"\s{0,9}\([^()]{0,300}\)$", "", value).strip()
    if not text or len(text) > 60 or ";" in text or "(" in text:
        return None
    match = _VALUE.fullmatch(text)
    if match is None:
        return Fact(text, "", None, url)
    number, unit = match["number"], "%" if (match["unit"] or "").startswith("%") else ""
    digits, _, scale = number.removeprefix("$").partition(" ")
    amount = Decimal(digits.replace(",", "")) * _SCALES.get(scale, 1)
    return Fact(text, number + unit, amount, url)
