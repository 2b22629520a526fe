"""Compare a statement in other words with the labelled figure that it is about, by the measures the offline model knows."""

from __future__ import annotations

import re
from collections.abc import Sequence, Set

from research.citations.checking import differs
from research.citations.labelled import Cell, Told
from research.citations.language import says, spoken, words
from research.citations.parts import INNER
from research.models.extractive.meaning import COMMON, bare, explained, masked, probabilities
from research.models.extractive.passages import keys
from research.models.extractive.places import mentions
from research.models.extractive.stems import stem
from research.quantities import Quantity, hedged, quantities
from research.text import content_tokens, has_cjk

_FIRST = re.compile(r"^(?:In|Since|By)(?: (?:the|of|and|[A-Z][\w'’-]*|\d{4}))+,|(?<=\d),(?=\d)")
"""The place or year before a clause, and the comma inside a figure."""
_CLAUSES = re.compile(rf"{INNER.pattern}|[;；，、：:]")
_PERIOD = re.compile(r"(?:\b(?:an?|per|every|each)\s|/)(day|month|year)\b|每([天日月年])")
_LONGEST = 200
LIKELY, CERTAIN = 0.5, 0.8
"""Least probability of a measure, among those that a source gives in the unit, at which it bears out or refutes a claim."""
_KNOWN = 0.4
"""Least probability of a measure, among all that the offline model knows, at which it is looked up, and refutes a claim."""


def meant(claim: str, said: Told, cells: Sequence[Cell]) -> tuple[Cell, bool] | None:
    """Return the labelled figure that a claim is about, and whether it is the claim's; None if none is, or several may be.

    Which measure a claim means is read among those that the source gives in its unit.  A word by which only
    others are known leaves it open.
    """
    figure = _figure(claim)
    if figure is None or len(said.years) > 1:
        return None
    _, start, end = hedged(claim, figure.start, figure.end) if figure.hedge else ("", figure.start, figure.end)
    rest = masked(f"{claim[:start]} {claim[end:]}")
    of = {*places(claim)}
    own = [
        cell
        for cell in cells
        if cell.names[:1]
        and cell.names[0] in of
        and cell.quantity.unit == figure.unit
        and not (cell.how or cell.rank)
        and _lists(cell, of - {cell.names[0]})
    ]
    shares = probabilities(masked(claim))
    given = {cell.written: shares.get(cell.written, 0.0) for cell in own}
    label = max(given, key=given.__getitem__, default="")
    own = [cell for cell in own if cell.written == label and (len(of) > 1 or keys(cell.item) <= keys(rest))]
    if not own or says("reserve", rest) or (len(of) == 1 and label != max(shares, key=shares.__getitem__)):
        return None
    year = said.years[0] if said.years else max(each.year for each in own)
    now = [cell for cell in own if cell.year == year]
    share = given[label] / sum(given.values())
    if share < LIKELY or len({cell.quantity.value for cell in now}) != 1 or not _went(rest, label, now[0], own):
        return None
    if _periods(rest) != _periods(now[0].line):
        return None
    if not foreign(rest, label) <= spoken("link", "rise", "fall") | words(now[0].around):
        return None
    if now[0].states(figure):
        return now[0], True
    dated = said.years or has_cjk(claim) or says("now", claim) or len({cell.year for cell in own}) == 1
    refuted = dated and all(differs(figure, cell.quantity) for cell in (now if said.years else own))
    sure = share >= CERTAIN and (len(of) > 1 or shares[label] >= _KNOWN)
    return (now[0], False) if refuted and sure else None


def places(text: str) -> list[str]:
    """Return the English names of the countries that a text names, by whatever name, in its order."""
    return list(dict.fromkeys(name for each in mentions(text) if not each.guessed for name in each.names[:1]))


def measure_of(text: str) -> str:
    """Return the label of the measure of a country that a sentence is most likely about; empty if none is likely."""
    shares = probabilities(masked(text)) if mentions(text) else {}
    label = max(shares, key=shares.__getitem__, default="")
    return label if shares.get(label, 0.0) >= _KNOWN else ""


def _lists(cell: Cell, others: Set[str]) -> bool:
    """Return whether a figure is of all these places too: its line lists them."""
    named = {name for each in mentions(cell.item) for name in each.names} if others else set()
    return others <= named


def _went(claim: str, label: str, now: Cell, known: Sequence[Cell]) -> bool:
    """Return whether a figure rose or fell from the one before, if a claim says that it did and it is no rise itself."""
    ways = {way for way in ("rise", "fall") if says(way, claim) and not says(way, label)}
    before = max((cell for cell in known if cell.year < now.year), key=lambda cell: cell.year, default=None)
    if not ways:
        return True
    return before is not None and ways == {"rise" if now.quantity.value > before.quantity.value else "fall"}


def _periods(text: str) -> set[str]:
    """Return the periods that a text gives figures for, such as `day` of barrels a day, apart from the year."""
    zh = {"天": "day", "日": "day", "月": "month", "年": "year"}
    return {en or zh[one] for en, one in _PERIOD.findall(text)} - {"year"}


def _figure(claim: str) -> Quantity | None:
    """Return the only figure of a claim of one clause; None of any other."""
    found = [each for each in quantities(claim) if each.kind in ("number", "ordinal")]
    alone = len(found) == 1 and found[0].kind == "number" and len(claim) <= _LONGEST
    figure = found[0] if alone and not _CLAUSES.search(_FIRST.sub("", claim)) else None
    return figure if figure and (figure.unit == "%" or not figure.weak) else None


def foreign(claim: str, label: str) -> frozenset[str]:
    """Return the words of a claim by which other labels are known, and this one is not."""
    said, spread = explained()
    known = said.get(label, frozenset())
    told = [word for word in content_tokens(bare(claim)) if len(word) > has_cjk(word)]
    few = [word for word in told if 0 < spread.get(stem(word), 0) < COMMON * len(said) and stem(word) not in known]
    return words(" ".join(few))
