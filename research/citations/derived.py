"""Recompute a figure of a claim from labelled figures: the claim names the operation, and the result has its digits."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from math import fsum

from research.citations.labelled import Cell, Told, accounted, mentioned
from research.citations.language import listed, says, words
from research.citations.measures import Quantity
from research.types import Reason

OPERATIONS = ("sum", "difference", "ratio", "share", "mean", "rise", "fall", "high", "low", "compared")
MOST = 6
"""Figures that are combined."""


def derive(claim: Told, figure: Quantity, inputs: Sequence[Cell]) -> Reason | None:
    """Return the formula by which a figure follows from labelled ones, in the order of the claim; None if none does."""
    if not 2 <= len(inputs) <= MOST or not accounted(claim, inputs, spoken()):
        return None
    for value, unit, formula in _results(claim.text, inputs, figure.unit):
        made = Quantity("number", "", value, 0.0, unit, 0, 0)
        points = unit == "%" and "−" in formula and "÷" not in formula
        close = abs(value - figure.value) <= max(figure.half, 1e-9 * abs(value)) and figure.states(made)
        if unit == figure.unit and close and (not points or re.search("point|百分点", figure.written)):
            return Reason(f"{formula} = {figure.written}")
    return None


def spoken() -> frozenset[str]:
    """Return the words that name operations and comparisons."""
    return frozenset(part for kind in OPERATIONS for word in listed(kind) for part in words(word))


def inputs_of(claim: Told, cells: Sequence[Cell]) -> list[Cell]:
    """Return the figures that a claim is calculated from: one measure of several names, or of one name in two years."""
    said = words(claim.text)
    scope = [cell for cell in cells if cell.label and cell.label <= said]
    most = max((len(cell.label) for cell in scope), default=0)
    scope = [cell for cell in scope if len(cell.label) == most]
    names = mentioned(claim.text, scope)
    years = claim.years or tuple(
        {max((cell.year for cell in scope if name in cell.names), default=0) for name in names}
    )
    pairs = [(name, year) for name in names for year in dict.fromkeys(years)]
    found = [[cell for cell in scope if name in cell.names and cell.year == year] for name, year in pairs]
    one_measure = len({cell.label for cell in scope}) == 1
    return [each[0] for each in found] if one_measure and all(len(each) == 1 for each in found) else []


def compare(claim: Told, cells: Sequence[Cell]) -> str | None:
    """Return how figures compare in the way that a claim says, empty if they do not; None if it says anything else."""
    high = says("high", claim.text)
    if high == says("low", claim.text) or len(cells) < 2 or not accounted(claim, cells, spoken()):
        return None
    first, *others = (cell.quantity for cell in cells)
    comparable = len({(cell.quantity.unit, cell.year) for cell in cells}) == 1
    right = comparable and all(first.value > each.value if high else first.value < each.value for each in others)
    return f"{first.written} {'>' if high else '<'} {others[0].written}" if right else ""


def _results(text: str, cells: Sequence[Cell], unit: str) -> Iterator[tuple[float, str, str]]:
    """Yield value, unit and formula of each operation that a claim names."""
    pairs = [(cell.quantity.value, cell.quantity.written) for cell in cells]
    values, written = [value for value, _ in pairs], " + ".join(each for _, each in pairs)
    own, dated = cells[0].quantity.unit, len({cell.year for cell in cells}) > 1
    if len({cell.quantity.unit for cell in cells}) > 1:
        return
    if says("sum", text) and not dated:
        yield fsum(values), own, written
    if says("mean", text) and not dated:
        yield fsum(values) / len(values), own, f"({written}) ÷ {len(values)}"
    if len(cells) == 2 and not dated:
        yield from _pair(text, pairs, own, unit)
    if len(cells) == 2 and dated and cells[0].names == cells[1].names:
        (_, (a, one)), (_, (b, two)) = sorted(zip([cell.year for cell in cells], pairs, strict=True))
        if a != b and says("rise" if b > a else "fall", text) and not says("fall" if b > a else "rise", text):
            yield abs(b - a), own, f"{two} − {one}" if b > a else f"{one} − {two}"
            if a > 0:
                yield 100 * abs(b - a) / a, "%", f"({two} − {one}) ÷ {one}" if b > a else f"({one} − {two}) ÷ {one}"


def _pair(text: str, pairs: Sequence[tuple[float, str]], own: str, unit: str) -> Iterator[tuple[float, str, str]]:
    """Yield the operations with two figures of one year, of which the claim names the first one first."""
    (a, one), (b, two) = pairs
    against = says("compared", text) and says("low" if a > b else "high", text)
    if says("difference", text) and not against:
        yield abs(a - b), own, f"{one} − {two}" if a > b else f"{two} − {one}"
    if says("ratio", text) and b and not unit:
        yield a / b, "", f"{one} ÷ {two}"
    if says("share", text) and b and unit == "%":
        yield 100 * a / b, "%", f"{one} ÷ {two}"
