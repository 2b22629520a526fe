"""Read which countries a claim compares, and the labelled figures by which it does."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import cache

from research.citations.derived import times
from research.citations.labelled import Cell, Told
from research.citations.language import pattern, says, spoken
from research.models.extractive.claimed import foreign, places
from research.models.extractive.meaning import masked, probabilities
from research.models.extractive.places import mentions
from research.quantities import Quantity, quantities

_KNOWN, _AHEAD = 0.2, 2.0
"""Least probability of the measure, and least factor by which it exceeds that of any other of which figures are given."""
_SAID = ("link", "high", "low", "share", "compared", "exceeds", "surpasses", "times", "twice", "alike")
"""Words that a comparison may have beside those of its measure."""


def compared(claim: str, said: Told, cells: Sequence[Cell]) -> list[tuple[Cell, Quantity | None]]:
    """Return the latest figures by which a claim compares one country with others, in this order, and what it says they are.

    They are of one year if possible.  Empty if it is unclear which countries, measure or figures it compares.
    """
    of = _sides(said)
    figures = _given(said, of)
    if not of or figures is None or len(said.years) > 1 or said.ranks or says("not", claim) or says("sum", said.text):
        return []
    rest = masked(_without_figures(claim))
    own = [
        cell for cell in cells if cell.names[:1] and cell.names[0] in of and not (cell.how or cell.rank or cell.item)
    ]
    shares = probabilities(rest)
    owners: dict[str, set[str]] = defaultdict(set)
    for cell in own:
        owners[cell.written].add(cell.names[0])
    given = {label: shares.get(label, 0.0) for label in owners if len(owners[label]) == len(of)}
    label, *others = sorted(given, key=given.__getitem__, reverse=True) or [""]
    least = max(_KNOWN, _AHEAD * max((given[each] for each in others), default=0.0))
    if given.get(label, 0.0) < least or not foreign(rest, label) <= spoken(*_SAID):
        return []
    own = [cell for cell in own if cell.written == label]
    years = [{cell.year for cell in own if cell.names[0] == place} for place in of]
    common = years[0].intersection(*years[1:]) & (set(said.years) or years[0])
    found = [
        [cell for cell in own if cell.names[0] == place and cell.year == max(common or dated, default=0)]
        for place, dated in zip(of, years, strict=True)
    ]
    rates = says("amount", said.text) and not says("share", said.text) and any(cell.per > 1 for cell in own)
    if rates or (said.years and not common) or any(len(each) != 1 for each in found):
        return []
    return [(each[0], figure) for each, figure in zip(found, figures, strict=True)]


def _sides(said: Told) -> list[str]:
    """Return the countries that a claim compares, the one that it is about first; none if it is unclear.

    It stands alone before `than`, or is named again after all have been: `Of Chile and Peru, Peru has the longest coast`.
    """
    head, *tail = _than().split(said.text)
    one, others = places(head), places(" ".join(tail))
    if tail:
        return [*one, *others] if len(tail) == len(one) == 1 and others and one[0] not in others else []
    named = Counter(name for each in mentions(head) for name in each.names[:1])
    again = [name for name in named if named[name] == 2]
    if (says("high", head) or says("low", head)) and len(again) == named.total() - len(named) == 1 < len(named):
        return [*again, *(name for name in one if name not in again)]
    if says("compared", head):  # `Compared with Chile, Peru has as many people`
        return []
    return one if len(one) == named.total() == 2 else []


def _given(said: Told, of: Sequence[str]) -> list[Quantity | None] | None:
    """Return the figure that a claim gives of each country, if it gives one of all or of one side; None if it is unclear."""
    _, _, factor = times(said)
    figures = [each for each in said.figures if each.start != factor]
    if len(figures) == len(of):
        return [*figures]
    if not figures:
        return [None for _ in of]
    than = _than().search(said.text)
    if len(figures) > 1 or len(of) != 2 or than is None:
        return None
    return [figures[0], None] if figures[0].start < than.start() else [None, figures[0]]


@cache
def _than() -> re.Pattern[str]:
    """Return a pattern of what stands between what is compared."""
    return re.compile("|".join(pattern(kind).pattern for kind in ("exceeds", "surpasses")), re.I)


def _without_figures(claim: str) -> str:
    """Return a claim without its numbers, which say nothing of the measure."""
    for each in reversed(quantities(claim)):
        if each.kind == "number":
            claim = f"{claim[: each.start]} {claim[each.end :]}"
    return claim
