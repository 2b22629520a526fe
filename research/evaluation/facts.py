"""The figures of the World Factbook that questions are made of, and what draws from them without favour."""

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

from research.evaluation.datasets import SPLITS, Question
from research.search import factbook

SEED: Final = 8
"""Of both sets: they change only with the Factbook, or with the rules by which they are made."""

T = TypeVar("T")

Maker = Callable[[str, random.Random], Iterator[Question]]
"""Makes questions of one kind for a split, without end; their ids are left empty."""

_VALUE = re.compile(r"(?P<number>\$?-?\d[\d,]*(?:\.\d+)?(?: (?:million|billion|trillion))?)(?P<unit>%.*| \D.*)?")
_SCALES: Final = MappingProxyType({"million": 10**6, "billion": 10**9, "trillion": 10**12})


class Fact(Struct, frozen=True):
    """One line of the Factbook: `Area, total: 377,915 sq km`."""

    text: str
    """The value as printed, without remarks: `377,915 sq km`, `$5.715 trillion`, `Tokyo`."""
    number: str
    """Its figure as printed, with scale, `$` or `%`; empty when there is none: `377,915`, `$5.715 trillion`, `2.7%`."""
    value: Decimal | None
    """The figure, scale applied."""
    url: str
    """The document it stands in."""


class Country(Struct, frozen=True):
    """An entity of the Factbook with people, area and a capital."""

    name: str
    code: str
    """ISO 3166 alpha-2, by its internet domain."""
    facts: dict[str, Fact]
    """By label, e.g. `Area, total`."""
    neighbours: tuple[str, ...]
    """Names as the Factbook writes them."""


def drawn(name: str, each: Mapping[str, int], makers: Mapping[str, Maker]) -> Iterator[Question]:
    """So many questions of each kind in each split, no two the same, the kinds mixed; their ids begin with the split."""
    for split in SPLITS:
        chosen: dict[str, Question] = {}
        for kind, wanted in each.items():
            made = makers[kind](split, random.Random(f"{SEED}/{name}/{split}/{kind}"))
            number = 0
            while number < wanted:
                question = next(made)
                if question.question not in chosen:
                    number += 1
                    key, gold = f"{split}-{kind}-{number:03}", tuple(dict.fromkeys(question.gold))
                    chosen[question.question] = replace(question, id=key, kind=kind, gold=gold)
        yield from random.Random(f"{SEED}/{name}/{split}").sample(list(chosen.values()), len(chosen))


def part(items: Sequence[T], split: str) -> list[T]:
    """Every other one: what the splits ask about differs."""
    return list(items)[SPLITS.index(split) :: len(SPLITS)]


def alike(names: Sequence[str]) -> bool:
    """Whether one name stands in another: nobody could tell which was meant."""
    return any(one in other for one in names for other in names if one != other)


@cache
def countries() -> tuple[Country, ...]:
    """Those that can be asked about, by name.  Their number is that of the sovereign ones, nearly."""
    sections: dict[str, dict[str, tuple[str, str]]] = {}
    for document in factbook.documents():
        name, _, _ = document.title.partition(" · ")
        lines = sections.setdefault(name, {})
        for line in document.text.splitlines():
            label, _, value = line.partition(": ")
            lines.setdefault(label, (value, document.url))  # the first of several is the main one
    found = (_country(name, lines) for name, lines in sorted(sections.items()))
    return tuple(country for country in found if country is not None)


def _country(name: str, lines: dict[str, tuple[str, str]]) -> Country | None:
    domain = re.fullmatch(r"\.([a-z]{2})", lines.get("Internet country code", ("", ""))[0])
    needed = {"Population, total", "Area, total", "Capital, name", "Real GDP (purchasing power parity) 2024"}
    facts = {label: fact for label, (value, url) in lines.items() if (fact := _fact(value, url)) is not None}
    if domain is None or not needed <= facts.keys():
        return None
    borders = next((v for label, (v, _) in lines.items() if label.startswith("Land boundaries, border countr")), "")
    near = [re.sub(r"\s+[\d.,]+ km.*$", "", each).strip() for each in borders.split(";")]
    code = domain[1].upper().replace("UK", "GB")
    return Country(name, code, facts, tuple(filter(None, near)))


def _fact(value: str, url: str) -> Fact | None:
    """A value that says one thing; None for one with alternatives, or with a story."""
    text = re.sub(r"\s*\([^()]*\)$", "", value).strip()
    if not text or len(text) > 60 or ";" in text or "(" in text:
        return None
    match = _VALUE.fullmatch(text)
    if match is None:
        return Fact(text, "", None, url)
    number, unit = match["number"], "%" if (match["unit"] or "").startswith("%") else ""
    digits, _, scale = number.removeprefix("$").partition(" ")
    amount = Decimal(digits.replace(",", "")) * _SCALES.get(scale, 1)
    return Fact(text, number + unit, amount, url)
