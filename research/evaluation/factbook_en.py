"""The dataset `factbook`: English questions about the World Factbook, with gold answers and gold documents.

The questions are sampled with a fixed seed from the data that the library searches.  The two splits share neither wordings
nor questions: `held` shows whether rules were fitted to the wordings of `dev`.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from functools import cache
from typing import Any, Final

from msgspec import Struct

from research.evaluation.factbook_facts import Country, Fact, ambiguous, countries, every_other, sample_questions
from research.evaluation.questions import Dataset, Question

EACH: Final = {"one_hop": 36, "two_hop": 32, "comparison": 32, "arithmetic": 32, "unanswerable": 32}
"""Number of questions per kind in each split."""


class Topic(Struct, frozen=True):
    """A figure that questions ask for."""

    label: str
    """Label in the Factbook."""
    name: str
    """How people call it, after "the"."""
    more: str = ""
    """The comparative for the country with the higher figure; empty if the comparison makes no sense."""


TOPICS: Final = (
    Topic("Area, total", "total area", "larger in area"),
    Topic("Population, total", "population", "more populous"),
    Topic("Coastline", "length of the coastline"),
    Topic("Median age, total", "median age"),
    Topic("Life expectancy at birth, total population", "life expectancy at birth"),
    Topic("Birth rate", "birth rate"),
    Topic("Death rate", "death rate"),
    Topic("Infant mortality rate, total", "infant mortality rate"),
    Topic("Total fertility rate", "total fertility rate"),
    Topic("Capital, name", "capital"),
    Topic("Real GDP (purchasing power parity) 2024", "real GDP at purchasing power parity in 2024"),
    Topic("Real GDP per capita 2024", "real GDP per capita in 2024"),
    Topic("Inflation rate (consumer prices) 2024", "inflation rate in 2024"),
    Topic("Unemployment rate 2024", "unemployment rate in 2024"),
    Topic("Remittances 2023", "value of remittances in 2023"),
    Topic("Labor force", "size of the labor force"),
    Topic("Electricity, consumption", "electricity consumption"),
    Topic("Internet users, percent of population", "percentage of internet users"),
    Topic("Military Expenditures 2024", "military expenditure in 2024"),
    Topic("Airports", "number of airports"),
    Topic("Telephones - mobile cellular, total subscriptions", "number of mobile phone subscriptions"),
)
"""Each figure is in exactly one document per country, so its gold document is unambiguous."""
SERIES: Final = (
    ("Real GDP (purchasing power parity)", "real GDP at purchasing power parity"),
    ("Real GDP per capita", "real GDP per capita"),
    ("Exports", "value of exports"),
    ("Imports", "value of imports"),
)
"""Figures of several years; the year follows the label."""

WORDINGS: Final[dict[str, dict[str, tuple[str, ...]]]] = {
    "one_hop": {
        "dev": ("What is the {topic} of {country}?", "{country}: what is its {topic}?"),
        "held": ("Please tell me the {topic} of {country}.", "I would like to know the {topic} in {country}."),
    },
    "neighbour": {
        "dev": ("What is the {topic} of the only country that {country} has a land border with?",),
        "held": ("The only land border of {country} is with one country. Give the {topic} of that neighbour.",),
    },
    "capital": {
        "dev": ("What is the {topic} of the country whose capital is {clue}?",),
        "held": ("{clue} is the capital of a country. Which {topic} does that country have?",),
    },
    "domain": {
        "dev": ("What is the {topic} of the country with the internet country code {clue}?",),
        "held": ("Websites of a certain country end in {clue}. Find the {topic} of that country.",),
    },
    "pick": {
        "dev": ("Which country is {more}: {names}?",),
        "held": ("Of {names}, which one is {more}?",),
    },
    "higher": {
        "dev": ("Which country has the higher {topic}, {names}?",),
        "held": ("Compare {names}: where is the {topic} higher?",),
    },
    "growth": {
        "dev": ("By how many percent did the {topic} of {country} change from {first} to {last}?",),
        "held": ("How much, in percent, did the {topic} of {country} rise or fall between {first} and {last}?",),
    },
    "sum": {
        "dev": ("What is the combined {topic} of {names}?",),
        "held": ("Add up the {topic} of {names}: what is the total?",),
    },
    "density": {
        "dev": ("How many people per square kilometre live in {country}, by its total area?",),
        "held": ("Divide the population of {country} by its total area in square kilometres. What do you get?",),
    },
    "year": {
        "dev": ("What was the {topic} of {country} in {year}?",),
        "held": ("For the year {year}, give the {topic} of {country}.",),
    },
    "field": {
        "dev": ("What is the {odd} in {country}?",),
        "held": ("Find out the {odd} of {country}.",),
    },
}
NOWHERE: Final = tuple(
    (
        "Veldoria, Karsenia, Ostravand, Mirathia, Bolumbria, Quandor, Tessaly Republic, Norvaskia, Ilmaria, "
        "Zanthibar, Pellucia, Drakmoor, Uskaria, Feronia, Lutavia, Sorrowmark, Halcyonia, Grevenland, "
        "Ambrosian Isles, Kyzantium, Vortania, Ruthmark, Elbonara, Caspindia"
    ).split(", ")
)
ODD: Final = tuple(
    (
        "share of households that own a piano, average shoe size of adults, number of left-handed dentists, "
        "most popular given name for cats, number of chess grandmasters, average price of a cinema ticket, "
        "number of vending machines, share of adults who can juggle, number of traffic lights, "
        "average number of books in a home, number of registered beekeepers, length of the longest cycle path"
    ).split(", ")
)


def _words(way: str, split: str, chance: random.Random) -> str:
    return chance.choice(WORDINGS[way][split])


def _question(text: str, answers: Sequence[str], facts: Sequence[Fact], **rest: Any) -> Question:
    return Question(
        "", text[:1].upper() + text[1:], tuple(dict.fromkeys(answers)), tuple(fact.url for fact in facts), **rest
    )


def _answers(fact: Fact) -> tuple[str, ...]:
    """Return the accepted answers.  A figure of one or two digits needs its unit, or it could match by accident."""
    unit = re.match(r" [A-Za-z]+(?: km)?", fact.text.removeprefix(fact.number))
    short = fact.number + unit[0] if unit and len(fact.number) < 3 else fact.number
    return (short, fact.text) if fact.number else (fact.text,)


def _the(country: Country) -> str:
    """Return the name of a country as used within a sentence."""
    plural = re.search(r"(?:Islands|Netherlands|Philippines|Maldives|Comoros|Emirates|States)$", country.name)
    return (
        f"the {country.name}"
        if plural or re.match(r"(?:United|Democratic|Dominican) |.*Republic|Federated", country.name)
        else country.name
    )


def _having(label: str, split: str) -> list[Country]:
    """Return every other country for which the fact is not 0, so that the splits never ask for the same figure."""
    known = [each for each in countries() if label in each.facts and each.facts[label].value != 0]
    return every_other(known, split)


def _any_topic(country: Country, chance: random.Random) -> Topic:
    """Return a random topic that the country has a figure for."""
    return chance.choice([topic for topic in TOPICS if topic.label in country.facts])


def _one_hop(split: str, chance: random.Random) -> Iterator[Question]:
    while True:
        for topic in chance.sample(TOPICS, len(TOPICS)):
            country = chance.choice(_having(topic.label, split))
            fact = country.facts[topic.label]
            words = _words("one_hop", split, chance)
            yield _question(words.format(topic=topic.name, country=_the(country)), _answers(fact), [fact])


def _two_hop(split: str, chance: random.Random) -> Iterator[Question]:
    by_name = {country.name: country for country in countries()}
    known = [each for each in countries() if len(each.neighbours) == 1 and each.neighbours[0] in by_name]
    alone = every_other(known, split)
    while True:
        start = chance.choice(alone)
        there = by_name[start.neighbours[0]]
        topic = _any_topic(there, chance)
        border = next(fact for label, fact in start.facts.items() if label.startswith("Land boundaries, "))
        fact = there.facts[topic.label]
        asked = _words("neighbour", split, chance).format(topic=topic.name, country=_the(start))
        yield _question(asked, _answers(fact), [border, fact])
        for way, label in (("capital", "Capital, name"), ("domain", "Internet country code")):
            country = chance.choice(_having(label, split))
            clue, topic = country.facts[label], _any_topic(country, chance)
            if topic.label == label or clue.text in country.name:
                continue
            fact = country.facts[topic.label]
            asked = _words(way, split, chance).format(topic=topic.name, clue=clue.text)
            yield _question(asked, _answers(fact), [clue, fact])


def _comparison(split: str, chance: random.Random) -> Iterator[Question]:
    numeric = [topic for topic in TOPICS if topic.label not in ("Capital, name", "Airports")]
    while True:
        topic = chance.choice(numeric)
        some = chance.sample(_having(topic.label, split), chance.choice((2, 2, 3)))
        ranked = sorted(some, key=lambda each: _value(each, topic.label), reverse=True)
        best, second = (_value(each, topic.label) for each in ranked[:2])
        if best < second * Decimal("1.1") or second <= 0 or ambiguous([each.name for each in some]):
            continue
        names = _listed([_the(each) for each in some], "or" if split == "dev" else "and")
        words = _words("pick" if topic.more else "higher", split, chance)
        asked = words.format(topic=topic.name, more=topic.more, names=names)
        facts = [each.facts[topic.label] for each in some]
        yield _question(asked, [ranked[0].name], facts, over=tuple(each.name for each in ranked[1:]))


def _arithmetic(split: str, chance: random.Random) -> Iterator[Question]:
    while True:
        label, name = chance.choice(SERIES)
        first, last = chance.choice(((2022, 2023), (2023, 2024), (2022, 2024)))
        country = chance.choice(_having(f"{label} {first}", split))
        pair = [country.facts.get(f"{label} {year}") for year in (first, last)]
        before, after = pair
        if before and after and before.value and after.value and before.value != after.value:
            change = (after.value / before.value - 1) * 100
            asked = _words("growth", split, chance).format(topic=name, country=_the(country), first=first, last=last)
            near = max(Decimal("0.1"), abs(change) * Decimal("0.015"))
            yield _question(
                asked, [f"{change:.1f}%"], [before, after], value=float(change), tolerance=float(near), unit="%"
            )
        topic = chance.choice(TOPICS[:2])
        some = chance.sample(_having(topic.label, split), chance.choice((2, 3)))
        total = sum((_value(each, topic.label) for each in some), Decimal(0))
        asked = _words("sum", split, chance).format(
            topic=topic.name, names=_listed([_the(each) for each in some], "and")
        )
        facts = [each.facts[topic.label] for each in some]
        yield _question(asked, [f"{total:,.0f}"], facts, value=float(total), tolerance=float(total) * 0.005)
        country = chance.choice(_having("Area, total", split))
        people, area = country.facts["Population, total"], country.facts["Area, total"]
        density = _value(country, "Population, total") / _value(country, "Area, total")
        asked = _words("density", split, chance).format(country=_the(country))
        near = max(Decimal("0.06"), density * Decimal("0.01"))
        yield _question(asked, [f"{density:.1f}"], [people, area], value=float(density), tolerance=float(near))


def _unanswerable(split: str, chance: random.Random) -> Iterator[Question]:
    nowhere = every_other(NOWHERE, split)
    odd = every_other(ODD, split)
    while True:
        words = _words("one_hop", split, chance)
        asked = words.format(topic=chance.choice(TOPICS).name, country=chance.choice(nowhere))
        yield _question(asked, (), (), answerable=False)
        label, name = chance.choice(SERIES)
        country = chance.choice(_having(f"{label} 2022", split))
        year = chance.choice((1974, 1988, 1997, 2006, 2012, 2031, 2040))
        asked = _words("year", split, chance).format(topic=name, country=_the(country), year=year)
        yield _question(asked, (), (), answerable=False)
        asked = _words("field", split, chance).format(
            odd=chance.choice(odd), country=_the(chance.choice(_having("Area, total", split)))
        )
        yield _question(asked, (), (), answerable=False)


def _value(country: Country, label: str) -> Decimal:
    return country.facts[label].value or Decimal(0)


def _listed(names: Sequence[str], word: str) -> str:
    return f"{', '.join(names[:-1])} {word} {names[-1]}"


@cache
def dataset() -> Dataset:
    """Return both splits of the dataset."""
    makers = (_one_hop, _two_hop, _comparison, _arithmetic, _unanswerable)
    return Dataset("factbook", tuple(sample_questions("factbook", EACH, makers)))
