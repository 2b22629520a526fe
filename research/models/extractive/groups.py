"""The places whose countries are asked about together: the regions of the World Factbook, the world, and groups."""

from __future__ import annotations

import re

from research.search.library.country_groups import groups

WORLD = "the world"
EDGED = r"(?<![a-z])(?:{})(?![a-z])"
REGIONS = (
    ("Central America and the Caribbean", r"central america(?:n)? and (?:the )?caribbean|中美洲和加勒比"),
    ("South Asia", r"south[- ]asian?|南亚"),
    ("East and Southeast Asia", r"east (?:and|or|&) south-?east asian?|东亚和东南亚"),
    ("Middle East", r"(?:the )?middle[- ]east(?:ern)?|中东"),
    ("South America", r"(?:latin|central|north) and south america|south[- ]american?|南美洲?"),
    ("North America", r"north[- ]american?|北美洲?"),
    ("Australia and Oceania", r"(?:australia and )?oceanian?|大洋洲"),
    ("Africa", r"african?s?|非洲"),
    ("Europe", r"europe(?:ans?)?|欧洲"),
    ("Asia", r"asian?s?|亚洲"),
    (WORLD, r"(?:in |of |on |around |across )*(?:the )?(?:whole |entire )?(?:world(?:wide)?|earth|globe|planet)|"
     r"global(?:ly)?|全世界|世界上?|全球"),
)  # fmt: skip


def is_group(name: str) -> bool:
    """Return whether a name is that of a group of countries."""
    return any(each.pattern.fullmatch(name.lower()) for each in groups())


def place_in(text: str) -> str:
    """Return the words of a text for the first group or region that it names, the world included; "" for none.

    >>> place_in("the GDP of each Nordic country")
    'Nordic'
    """
    lower = text.lower()
    patterns = (*(each.pattern for each in groups()), *(re.compile(EDGED.format(says)) for _, says in REGIONS))
    found = next(filter(None, (pattern.search(lower) for pattern in patterns)), None)
    return text[found.start() : found.end()] if found else ""
