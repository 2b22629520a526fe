"""Recompute a figure of a claim from labelled figures: the claim names the operation, and the result has its digits."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from math import fsum, inf

from msgspec.structs import replace

from research.citations.labelled import BRACKETS, ITEM, Cell, Told, accounted, mentioned
from research.citations.language import pattern, says, spoken, words
from research.citations.ranked_rows import kind_said
from research.quantities import Quantity, hedged
from research.quantities.units import unit_at
from research.text import has_cjk
from research.types import Reason

OPERATIONS = ("sum", "difference", "ratio", "share", "mean", "rise", "fall", "high", "low", "compared")
_PER = re.compile(r"\bper\s|[/每](?!\d)|人均")
MOST = 6
"""Figures that are combined."""
_BY = re.compile(r"[多高大长少低短]$")
"""How Chinese says by how much something is more: `多两倍` is three times as much."""
_YEARS_APART, _CHANGE = 3, 0.1
"""Years that two figures may be apart to be compared, and the share by which they then differ at least for each."""


def derive(claim: Told, figure: Quantity, inputs: Sequence[Cell]) -> Reason | None:
    """Return the formula by which a figure follows from labelled ones, in the order of the claim; None if none does."""
    product = ("product", "rest") if says("product", claim.text) else ()
    text, per = per_unit(claim.text) if len({cell.label for cell in inputs}) == 2 else (claim.text, None)
    extra = spoken(*OPERATIONS, *product, *(("per",) if per else ()))
    if any(cell.rank for cell in inputs) and compare(claim, inputs) == "":
        return None
    if not 1 <= len(inputs) <= MOST or not accounted(replace(claim, text=text), inputs, extra):
        return None
    results = _quotient(inputs, *per) if per else _results(claim.text, inputs, figure.unit)
    for value, unit, formula in results:
        made = Quantity("number", "", value, 0.0, unit, 0, 0)
        points = unit == "%" and "−" in formula and "÷" not in formula
        close = abs(value - figure.value) <= figure.half + 1e-9 * abs(value) and figure.states(made)
        if unit == figure.unit and close and points == bool(re.search("point|百分点", figure.written)):
            return Reason(f"{formula} = {figure.written}")
    return None


def per_unit(text: str) -> tuple[str, tuple[str, float] | None]:
    """Return a claim with spaces for the unit of which its figure is so much for each, and this unit with its factor."""
    per = _PER.search(text)
    if per is None:
        return text, None
    unit, factor, end = unit_at(text, per.end())
    return f"{text[: per.end()]}{' ' * (end - per.end())}{text[end:]}", (unit, factor)


def inputs_of(claim: Told, cells: Sequence[Cell]) -> list[Cell]:
    """Return the figures that a claim is calculated from: one measure of several names, or of one name in two years."""
    said, kinds = words(claim.text), (None, kind_said(claim.text))
    scope = [cell for cell in cells if cell.label and cell.kind in kinds and cell.label <= said]
    names = mentioned(claim.text, scope)
    scope = [cell for cell in scope if not names or {*cell.names} & {*names}]
    most = max((len(cell.label) for cell in scope), default=0)
    scope = [cell for cell in scope if len(cell.label) == most]
    latest = {name: max((cell.year for cell in scope if name in cell.names), default=0) for name in names}
    years = dict.fromkeys(claim.years or latest.values())
    pairs = [(name, year) for name in names for year in years]
    if not claim.years and any(cell.rank for cell in scope):  # a ranking has the latest figure of each
        pairs = [*latest.items()]
    found = [[cell for cell in scope if name in cell.names and cell.year == year] for name, year in pairs]
    one_measure = len({cell.label for cell in scope}) == 1
    # a line may be read twice
    figures = [{(cell.quantity.value, cell.quantity.unit) for cell in each} for each in found]
    return [each[0] for each in found] if one_measure and all(len(each) == 1 for each in figures) else []


def compare(claim: Told, cells: Sequence[Cell]) -> str | None:
    """Return how figures compare in the way that a claim says, empty if they do not; None if it does not compare."""
    if any(cell.rank for cell in cells):
        return _placed(claim, cells)
    high = says("high", claim.text)
    if high == says("low", claim.text) or len(cells) < 2:
        return None
    head = pattern("compared").match(claim.text.lstrip())
    if head and cells[0].names and cells[1].names and not _ordered(claim, cells):
        return None  # `Compared with France, Spain is smaller`
    first, *others = cells
    pairs = [(first.quantity.value, each.quantity.value) for each in others]
    right = all(_comparable(claim, first, each) for each in others) and all(a > b if high else a < b for a, b in pairs)
    return (" > " if high else " < ").join(written_of(cell, cells) for cell in cells[:2]) if right else ""


def stands(claim: Told, cells: Sequence[Cell]) -> bool | None:
    """Return whether the first of figures stands to each other one as a claim says; None if it does not say, or it is close.

    A claim says that it is higher, lower, about as high, or so many times as high.
    """
    first, *others = cells
    low, high, near = _bounds(claim) or (0.0, 0.0, 0.0)
    positive = all(cell.quantity.value > 0 for cell in cells)
    if not (high and positive and all(_comparable(claim, first, each) for each in others)):
        return None
    ratios = [first.quantity.value / each.quantity.value for each in others]
    if all(low < each < high for each in ratios):
        return True
    return False if any(not low - near <= each <= high + near for each in ratios) else None


def _bounds(claim: Told) -> tuple[float, float, float] | None:
    """Return the least and greatest ratio of two figures that a claim states, and how far beyond them it is not yet wrong."""
    number, hedge, start = times(claim)
    high = says("high", claim.text) or says("surpasses", claim.text)
    low, alike = says("low", claim.text), says("alike", claim.text)
    if not number:
        said = (alike, (0.9, 1.1, 0.15)), (high, (1.0, inf, 0.0)), (low, (0.0, 1.0, 0.0))
        return next(bounds for way, bounds in said if way) if high + low + alike == 1 else None
    if low or alike or number <= 1 or hedge not in ("", "about", "nearly", "over") or _BY.search(claim.text, 0, start):
        return None
    return (number, inf, 0.1 * number) if hedge == "over" else (0.9 * number, 1.1 * number, 0.15 * number)


def times(claim: Told) -> tuple[float, str, int]:
    """Return how many times as high as another a claim says that a figure is, with its hedge and place; 0 if it does not say."""
    for each in claim.figures:
        if found := pattern("times").match(claim.text, each.end + claim.text[each.end :].startswith(" ")):
            return each.value, each.hedge or hedged(claim.text, each.start, found.end())[0], each.start
    found = pattern("twice").search(claim.text)
    return (2.0, hedged(claim.text, *found.span())[0], found.start()) if found else (0.0, "", -1)


def _comparable(claim: Told, one: Cell, other: Cell) -> bool:
    """Return whether two figures are of one year, of those that a claim names, or so different that a few years do not matter."""
    years, (low, high) = {one.year, other.year}, sorted(abs(each.quantity.value) for each in (one, other))
    apart = abs(one.year - other.year)
    near = not claim.years and 0 not in years and apart <= _YEARS_APART and high - low > _CHANGE * apart * high
    return one.quantity.unit == other.quantity.unit and (len(years) == 1 or years <= set(claim.years) or near)


def written_of(cell: Cell, cells: Sequence[Cell]) -> str:
    """Return whose figure a cell has, and of which year if others are of another."""
    dated = f" ({cell.year})" if len({each.year for each in cells}) > 1 else ""
    return f"{' '.join(cell.names[:1])} {cell.quantity.written}{dated}".strip()


def neighbours(claim: Told, cells: Sequence[Cell]) -> tuple[bool, list[Cell]] | None:
    """Return whether the countries that a claim names before its verb have all others as neighbours, and the lists that say so.

    It may deny that of two, or say that one has no others.  None if that can't be told: of more than two, if the verb or
    `with` does not stand between them.
    """
    found = [cell for cell in cells if says("borders", cell.written) and cell.names]
    listed = [replace(cell, names=(cell.item,)) for cell in found if cell.item]
    own, *others = mentioned(claim.text, [*found, *listed]) or [""]
    counts = [each.written for each in claim.figures]
    text = claim.text.casefold()
    alone, denies = says("sole", text[text.find(own.casefold()) :]), says("not", text)
    extra = *(("sole",) if alone else ()), *(("not", "loose") if denies else ())
    allowed = spoken("link", "border", "ranked", "between", *extra)
    other = words(claim.text) - words(" ".join([own, *others, *counts])) - allowed
    if not (others or counts) or len(counts) > 1 or other or not says("border", claim.text):
        return None
    if denies and (alone or counts or len(others) > 1):
        return None
    names = [own, *others]
    gaps = [text[text.find(a) + len(a) : text.find(b)] for a, b in pairwise(map(str.casefold, names))]
    verbs = [at for at, gap in enumerate(gaps, 1) if says("border", gap)]
    if len(gaps) > 1 and len(verbs) != 1:
        return None
    at = verbs[0] if verbs else 1
    if at > 1 and (counts or alone):
        return None
    told = [_adjacent((one, each), found, cells) for one in names[:at] for each in names[at:]]
    told += [_counted(each, own, others, found, cells) for each in claim.figures]
    told += [_no_others(own, others, found, cells)] if alone and not counts else []
    for each in told:
        if each and not each[0]:
            return denies, each[1]
    return (not denies, [cell for each in told if each for cell in each[1]]) if all(told) else None


def _no_others(
    own: str, others: Sequence[str], found: Sequence[Cell], cells: Sequence[Cell]
) -> tuple[bool, list[Cell]] | None:
    """Return whether a country has no neighbours but these, and its list, which may call one of them otherwise.

    A short border may be that of a territory.
    """
    items = {cell.item: cell for cell in found if cell.names[0] == own and cell.item}
    if not _listed_whole(own, items, found, cells) or not items.keys() >= set(others):
        return None
    rest = fsum(cell.quantity.value for item, cell in items.items() if item not in others)
    share = rest / fsum(cell.quantity.value for cell in items.values())
    return (not rest, [*items.values()][:1]) if not rest or share > _CHANGE else None


def _counted(
    figure: Quantity, own: str, others: Sequence[str], found: Sequence[Cell], cells: Sequence[Cell]
) -> tuple[bool, list[Cell]] | None:
    """Return whether a country has so many neighbours, which are all that are named if any is, and its list of them.

    Fewer than in the list are not denied: it may have territories, which are no countries.
    """
    items = {cell.item: cell for cell in found if cell.names[0] == own and cell.item}
    if (
        not _listed_whole(own, items, found, cells)
        or figure.hedge
        or figure.unit
        or len(others) not in (0, figure.value)
    ):
        return None
    return (figure.value == len(items), [*items.values()][:1]) if figure.value >= len(items) else None


def _adjacent(names: tuple[str, str], found: Sequence[Cell], cells: Sequence[Cell]) -> tuple[bool, list[Cell]] | None:
    """Return whether two countries are neighbours, and the lists that say so; None if none can tell.

    It is denied only if neither is in the list of the other, and each list is whole.
    """
    lists = {own: [cell for cell in found if cell.names[0] == own and cell.item] for own in names}
    for own, name in (names, names[::-1]):
        if held := [cell for cell in lists[own] if cell.item == name]:
            return True, held[:1]
    if any(name in cell.line for own, name in (names, names[::-1]) for cell in lists[own]):
        return None
    return (False, [lists[own][0] for own in names]) if all(_whole(own, found, cells) for own in names) else None


def _listed_whole(own: str, items: Mapping[str, Cell], found: Sequence[Cell], cells: Sequence[Cell]) -> bool:
    """Return whether these are all items of a country's list of borders."""
    # `Spain (Ceuta) 8 km and Spain (Melilla) 10.5 km` is one piece, which is no item.
    pieces = {len(ITEM.split(BRACKETS.sub(" ", cell.line.removeprefix(cell.written)))) for cell in items.values()}
    return pieces == {len(items)} and _whole(own, found, cells)


def _whole(own: str, found: Sequence[Cell], cells: Sequence[Cell]) -> bool:
    """Return whether the lengths of a country's list of borders add up to its total."""
    length = fsum(cell.quantity.value for cell in dict.fromkeys(c for c in found if c.names[0] == own and c.item))
    totals = [c for c in cells if own in c.names and c.written.startswith("Land bound") and says("whole", c.written)]
    return bool(length and totals) and all(abs(length - each.quantity.value) < 0.01 * length for each in totals)


def _ordered(claim: Told, cells: Sequence[Cell]) -> bool:
    """Return whether a word such as `than` stands between the names of two figures."""
    one, other = (cell.names[0].casefold() for cell in cells[:2])
    between, found, _ = claim.text.casefold().partition(one)[2].partition(other)
    return bool(found) and (says("exceeds", between) if has_cjk(claim.text) else says("compared", between))


def denied(claim: Told, cells: Sequence[Cell]) -> bool:
    """Return whether the figures before and after a word such as `than` differ and can be compared."""
    if len(cells) != 2:
        return False
    a, b = (cell.quantity.value for cell in cells)
    return a != b and min(a, b) >= 0 and _comparable(claim, *cells) and _ordered(claim, cells)


def _placed(claim: Told, cells: Sequence[Cell]) -> str | None:
    """Return as `compare` does whether figures have the ranks that a claim states: a number, or the first in order."""
    text = re.sub("|".join({re.escape(cell.written) for cell in cells}), " ", claim.text, flags=re.I)
    high, low = says("high", text), says("low", text)
    if not (high or low or claim.ranks):
        return None
    ranks = [cell.rank for cell in cells if cell.rank and cell.rank.high and cell.topic <= words(text)]
    own = [rank.low if low else rank.high for rank in ranks]
    first = all(rank and rank in (at + 1, own[at - 1] if at else 1) for at, rank in enumerate(own))
    whole = bool(own) and own.count(own[-1]) == ranks[-1].shared
    from_end = low or says("bottom", text)
    stated = claim.ranks == tuple(rank.low if from_end else rank.high for rank in ranks)
    right = len(ranks) == len(cells) and not (high and low) and (stated if claim.ranks else first and whole)
    return ", ".join(cell.line.strip() for cell in cells) if right else ""


def passing(claim: Told, cells: Sequence[Cell]) -> list[Cell]:
    """Return the figures of a whole ranking that pass the limit of a claim, if it counts and names them all; else none."""
    limit = next((each for each in claim.figures if each.limit), None)
    if limit is None or len(claim.figures) > 2 or not any(cell.rank for cell in cells):
        return []
    named, counted = inputs_of(claim, cells), [each for each in claim.figures if not each.limit]
    if not named or not accounted(claim, named, spoken("compared")):
        return []
    whole = [cell for cell in cells if cell.rank and cell.rank.high and cell.written == named[0].written]
    past = [cell for cell in whole if limit.unit == cell.quantity.unit and limit.bounds(cell.quantity)]
    right = past and _all_there(past, whole) and all(cell.topic <= words(claim.text) for cell in past)
    others = {cell.names[0] for cell in named if cell.quantity.value != limit.value}  # `above 47 million (Spain)`
    same = {cell.names[0] for cell in past} == others
    return past if right and same and all(each.value == len(past) for each in counted) else []


def members(claim: Told, cells: Sequence[Cell]) -> tuple[bool, list[Cell]] | None:
    """Return whether a place has as many countries as a claim says, which are all that it names if any, and the list of them.

    None if the claim says more, or if no list has all countries of the place.
    """
    said = words(claim.text)
    listed = [cell for cell in cells if cell.rank and cell.rank.high and cell.topic and cell.topic <= said]
    names, counts = mentioned(claim.text, listed), [each.written for each in claim.figures]
    other = said - words(" ".join([*names, *counts])) - spoken("link", "ranked", "member")
    whole = {cell.names[0] for cell in listed}
    sources = {cell.n for cell in listed}
    every = any(f": {len(whole)} of {len(whole)} " in cell.line for cell in cells if {cell.n} == sources)
    if len(counts) != 1 or not every or any(other - cell.topic for cell in listed) or set(names) not in (set(), whole):
        return None
    figure = claim.figures[0]
    return None if figure.hedge or figure.unit else (figure.value == len(whole), listed)


def _all_there(past: Sequence[Cell], whole: Sequence[Cell]) -> bool:
    """Return whether the lines of one ranking show all that are past a limit: all lines are there, or the next after these."""
    ranks, own = [each.rank for each in whole if each.rank], [each.rank for each in past if each.rank]
    high, low = {each.high for each in ranks}, {each.low for each in ranks}
    if len({cell.n for cell in whole}) > 1 or 1 not in high | low:
        return False
    first = all(rank.high <= len(own) for rank in own) and len(own) + 1 in high
    last = all(rank.low <= len(own) for rank in own) and len(own) + 1 in low
    return first or last or len(ranks) in high | low


def _results(text: str, cells: Sequence[Cell], unit: str) -> Iterator[tuple[float, str, str]]:
    """Yield value, unit and formula of each operation that a claim names."""
    pairs = [(cell.quantity.value, cell.quantity.written) for cell in cells]
    values, written = [value for value, _ in pairs], " + ".join(each for _, each in pairs)
    if says("product", text):
        yield from _products(cells)
    own, dated = cells[0].quantity.unit, len({cell.year for cell in cells} - {0}) > 1
    if len({cell.quantity.unit for cell in cells}) > 1:
        return
    if says("sum", text) and not (says("difference", text) or dated) and len(cells) > 1:
        yield fsum(values), own, written
    if says("mean", text) and not dated and len(cells) > 1:
        yield fsum(values) / len(values), own, f"({written}) ÷ {len(values)}"
    if len(cells) == 2 and not dated:
        yield from _pair(text, pairs, own, unit)
    if len(cells) == 2 and dated and cells[0].names == cells[1].names:
        (_, (a, one)), (_, (b, two)) = sorted(zip([cell.year for cell in cells], pairs, strict=True))
        if a != b and says("rise" if b > a else "fall", text) and not says("fall" if b > a else "rise", text):
            yield abs(b - a), own, f"{two} − {one}" if b > a else f"{one} − {two}"
            if a > 0:
                yield 100 * abs(b - a) / a, "%", f"({two} − {one}) ÷ {one}" if b > a else f"({one} − {two}) ÷ {one}"


def _quotient(cells: Sequence[Cell], unit: str, factor: float) -> Iterator[tuple[float, str, str]]:
    """Yield how much there is of the first of two figures per unit of the second."""
    if len(cells) == 2 and cells[1].quantity.unit == unit and cells[1].quantity.value:
        one, two = (cell.quantity for cell in cells)
        yield one.value / two.value * factor, one.unit, f"{one.written} ÷ {two.written}"


def _products(cells: Sequence[Cell]) -> Iterator[tuple[float, str, str]]:
    """Yield what a percentage or a rate is of an amount, and what remains."""
    amounts = [cell for cell in cells if cell.per == 1]
    for rate in (cell for cell in cells if cell.per > 1):
        per, value, written = rate.per, rate.quantity.value / rate.per, rate.quantity.written
        if per == 100:
            yield 100 - rate.quantity.value, "%", f"100% − {written}"
        for amount in amounts if len(amounts) == 1 else ():
            whole, shown = amount.quantity, f"{written} ÷ {per:,}" if per != 100 else written
            yield value * whole.value, whole.unit, f"{shown} × {whole.written}"
            if per == 100:
                yield (1 - value) * whole.value, whole.unit, f"(100% − {written}) × {whole.written}"


def _pair(text: str, pairs: Sequence[tuple[float, str]], own: str, unit: str) -> Iterator[tuple[float, str, str]]:
    """Yield the operations with two figures of one year, of which the claim names the first one first."""
    (a, one), (b, two) = pairs
    against = says("compared", text) and says("low" if a > b else "high", text)
    if says("minus", text):
        yield a - b, own, f"{one} − {two}"
    elif says("difference", text) and not against:
        yield abs(a - b), own, f"{one} − {two}" if a > b else f"{two} − {one}"
    if says("ratio", text) and b and not unit:
        yield a / b, "", f"{one} ÷ {two}"
    if says("share", text) and b and unit == "%":
        yield 100 * a / b, "%", f"{one} ÷ {two}"
