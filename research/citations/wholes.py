"""Which whole a percentage or a rate is of: `unemployment rate` of the labor force, `18% of its workers` of the workers."""

from __future__ import annotations

import re

from research.citations.reading import stems

GDP, BIRTHS, POPULATION = "GDP (official exchange rate)", "Birth rate", "Population, total"
SEATS = "number of seats"
_WHOLES: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    (r"infant mortality rate(?:, total)?$|maternal mortality", "count", (BIRTHS, POPULATION)),
    (
        r"(?:birth|death|net migration) rate|(?:hospital bed|physician) density|urbanization, urban|internet users, percent|"
        r"age structure|electricity access, electrification - total|population below poverty|"
        r"(?:drinking water source|sanitation facility access), \w+, total",
        "count",
        (POPULATION,),
    ),
    (r"unemployment rate", "count", ("Labor force",)),
    (
        r"gdp - composition|.*\((?:as )?% (?:of )?gdp\)|military expenditures|public debt|remittances|taxes and other revenues",
        "usd",
        (GDP,),
    ),
    (r"land use", "area", ("Area, land",)),
    (r"electricity generation sources", "power", ("Electricity, installed generating capacity",)),
    (r"waste and recycling, percent", "mass", ("Waste and recycling, municipal solid waste generated annually",)),
)
"""Labels of percentages and rates, what their wholes are measured in, and the labels of these, which are multiplied."""
_CHAMBER = re.compile(r"(?P<chamber>legislative branch.*), percentage of women in chamber", re.I)
_OF = re.compile(
    r"\s{0,9}(?:of|占)\s*(?:(?:the|its|their|all|total|a)\s{1,9}){0,4}(?P<noun>(?:[\w'-]{1,40}\s?){1,3})", re.I
)


def wholes(label: str, measure: str | None = None) -> tuple[str, ...]:
    """Return the labels whose figures a percentage or rate is multiplied by; empty if none is known.

    `measure` is what the product has to be measured in; None accepts any.
    """
    chamber = _CHAMBER.match(label)
    if chamber and measure in (None, "count"):
        return (f"{chamber['chamber']}, {SEATS}",)
    return next((found for words, of, found in _WHOLES if measure in (None, of) and re.match(words, label, re.I)), ())


def part_of(after: str, whole: str) -> bool:
    """Return whether the text that follows a percentage says that it is of a whole: `% of its workers`, `200 workers`."""
    match = _OF.match(after)
    return match is not None and bool(stems(match["noun"]) & stems(whole))
