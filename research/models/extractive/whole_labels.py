"""Which whole a percentage or a rate is of: the unemployment rate is of the labor force."""

from __future__ import annotations

import re

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


def wholes(label: str, measure: str | None = None) -> tuple[str, ...]:
    """Return the labels whose figures a percentage or rate is multiplied by; empty if none is known.

    `measure` is what the product has to be measured in; None accepts any.
    """
    chamber = _CHAMBER.match(label)
    if chamber and measure in (None, "count"):
        return (f"{chamber['chamber']}, {SEATS}",)
    return next((found for words, of, found in _WHOLES if measure in (None, of) and re.match(words, label, re.I)), ())
