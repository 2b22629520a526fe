"""Questions for a part of a whole: which measure is the whole, and which one is asked as its part."""

from __future__ import annotations

import re
from collections.abc import Sequence

from research.extractive.patterns import SHARE

Place = tuple[int, int]
"""Where something stands in the question, from and to."""
Found = tuple[str, Place]
"""A concept's label, and where the question names it."""

MEASURED = {
    "Population, total", "Real GDP (purchasing power parity)", "GDP (official exchange rate)", "Labor force", "Area, total",
    "Area, land",
}  # fmt: skip
"""Amounts of which other measures are parts: unemployment is one of the labor force."""
TOTALS = MEASURED | {"Exports", "Imports", "Electricity, consumption", "Budget, revenues", "Budget, expenditures"}
"""Amounts: a part of one is another measure."""
_CLAUSE = re.compile(r"[,;?。，？]| and ")
_BETWEEN = 4
"""Words at most between "share of" and the whole: a name, an article."""


def whole_of(lower: str, found: Sequence[Found]) -> Found | None:
    """The total of which a part is asked: it follows "share of"."""
    for match in SHARE.finditer(lower):
        after = min((each for each in found if each[1][0] >= match.end()), key=lambda each: each[1], default=None)
        if after and after[0] in TOTALS and len(lower[match.end() : after[1][0]].split()) <= _BETWEEN:
            return after
    return None


def without_whole(lower: str, found: Sequence[Found], labels: Sequence[str], whole: Found, *, words: bool) -> list[str]:
    """The labels that are asked: what is a part of the whole, or the whole itself where nothing is known to be one.

    `words`: the clause has words besides its concepts, which tell the part.
    """
    label, (_, end) = whole
    clause = _CLAUSE.search(lower, end)
    inside = {other for other, (start, _) in found if end <= start < (clause.start() if clause else len(lower))}
    if label in MEASURED and len(labels) > 1:
        return [other for other in labels if other != label]
    if inside:  # a measure of something else: the exports that are sold online are none of the people who are online
        return [other for other in labels if other not in inside]
    return [other for other in labels if other != label] if words else list(labels)


def part_of(lower: str, found: Sequence[Found], labels: Sequence[str]) -> str | None:
    """The concept that is asked as a part of something; empty where words without a concept are, None where none is."""
    match = SHARE.search(lower)
    if match is None:
        return None
    places = sorted((place, label) for label, place in found if label in labels)
    after = [label for (_, end), label in places if end > match.start()]
    return next(iter([*after, *(label for _, label in places[::-1])]), "")
