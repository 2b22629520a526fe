"""Questions for a part of a whole: which measure is the whole, and which one is the part asked for."""

from __future__ import annotations

import re
from collections.abc import Sequence

from research.models.extractive.patterns import SHARE

Place = tuple[int, int]
"""Start and end in the text of the question."""
Found = tuple[str, Place]
"""The label of a concept and its place in the question."""

MEASURED = {
    "Population, total",
    "Real GDP (purchasing power parity)",
    "GDP (official exchange rate)",
    "Labor force",
    "Area, total",
    "Area, land",
}
"""Amounts that other measures are parts of: unemployment is a part of the labor force."""
TOTALS = MEASURED | {"Exports", "Imports", "Electricity, consumption", "Budget, revenues", "Budget, expenditures"}
"""Amounts whose parts are other measures."""
_CLAUSE = re.compile(r"[,;?。，？]| and ")
_BETWEEN = 4
"""Most words between "share of" and the whole, such as a name and an article."""


def whole_of(lower: str, found: Sequence[Found]) -> Found | None:
    """Return the total after "share of"; None if there is none."""
    for match in SHARE.finditer(lower):
        after = min((each for each in found if each[1][0] >= match.end()), key=lambda each: each[1], default=None)
        if after and after[0] in TOTALS and len(lower[match.end() : after[1][0]].split()) <= _BETWEEN:
            return after
    return None


def without_whole(lower: str, found: Sequence[Found], labels: Sequence[str], whole: Found, *, words: bool) -> list[str]:
    """Return the labels of the parts asked for, or of the whole itself if no part is known.

    `words` says whether the clause has other words, which may name the part.
    """
    label, (_, end) = whole
    clause = _CLAUSE.search(lower, end)
    inside = {other for other, (start, _) in found if end <= start < (clause.start() if clause else len(lower))}
    if label in MEASURED and len(labels) > 1:
        return [other for other in labels if other != label]
    if inside:  # a concept inside the clause narrows the whole and is not asked for itself
        return [other for other in labels if other not in inside]
    return [other for other in labels if other != label] if words else list(labels)


def part_of(lower: str, found: Sequence[Found], labels: Sequence[str]) -> str | None:
    """Return the label of the part asked for; empty if only words name it, None if no part is asked for."""
    match = SHARE.search(lower)
    if match is None:
        return None
    places = sorted((place, label) for label, place in found if label in labels)
    after = [label for (_, end), label in places if end > match.start()]
    return next(iter([*after, *(label for _, label in places[::-1])]), "")
