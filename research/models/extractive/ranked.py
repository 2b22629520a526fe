"""Answer a question over all countries of a place: find its comparison, read what is needed of it, and calculate."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from msgspec.structs import replace

from research._util.amounts import Amount, amount, code, plain, rounded, written
from research.models.extractive.arithmetic import amount_of
from research.models.extractive.evidence import Evidence, Fact
from research.models.extractive.finding import Finder
from research.models.extractive.fitting import as_query
from research.models.extractive.groups import WORLD
from research.models.extractive.places import usual
from research.models.extractive.question import Target
from research.models.extractive.rankings import ALL, TITLE, Bound, Ranking, Row, Table, address, measure, table
from research.models.extractive.verdict import Ranked, Verdict

PAGES = 4
"""Most pages of one comparison to read."""
NEXT = 3
"""Countries after the first that are named."""
_STATED = {"sum": "Sum of ", "share": "Sum of ", "mean": "Mean of ", "median": "Median of "}


def over_all(finder: Finder, ranking: Ranking) -> Verdict | None:
    """Return the answer over all countries, or the next step; None if comparisons do not help with the question."""
    found = _compared(finder, ranking)
    q = finder.question
    if finder.actions:
        return Verdict(q, actions=tuple(finder.actions))
    if found:
        return Verdict(q, ranked=found[0], computed=found[1])
    if ranking.sure and any(fact.title.startswith(TITLE) for fact in finder.evidence.facts):
        about = ranking.label or " ".join(ranking.words)
        return Verdict(q, missing=(*finder.missing, f"{about} ({ranking.place})"))
    return None


def _compared(finder: Finder, ranking: Ranking) -> tuple[Ranked, bool] | None:
    """Return the answer, and whether it was calculated; None if a step was added to `finder`, or if there is none."""
    evidence = finder.evidence
    about = ranking.label or " ".join(ranking.words)
    if finder.search(as_query(f"country comparison {about}"), f"Look for a comparison of all countries by {about}."):
        return None
    label = measure(ranking, evidence)
    if label is None:
        return None
    places = _places(ranking, evidence, label)
    tables = [table(evidence.facts, label, place) for place in places]
    for place, read in zip(places, tables, strict=True):
        _read(finder, evidence, ranking, label, place, read)
    found = [each for each in tables if each]
    if finder.actions or not found or not all(_complete(ranking, each) for each in found):
        return None
    if len(found) < len(tables) and (ranking.within or len(tables) == 1):
        return None
    found = [replace(each, rows=tuple(row for row in each.rows if ranking.counts(row.name))) for each in found]
    if ranking.within:
        both = {row.name for row in found[0].rows} & {row.name for row in found[-1].rows}
        found = [replace(found[0], rows=tuple(row for row in found[0].rows if row.name in both))]
    answer = _answered(finder, ranking, label, found) if any(each.rows for each in found) else None
    given = {row.name for each in found for row in each.rows}
    without = sorted(name for name in ranking.members - given if ranking.counts(name))
    return (replace(answer[0], without=tuple(without)), answer[1]) if answer else None


def _places(ranking: Ranking, evidence: Evidence, label: str) -> tuple[str, ...]:
    """Return the places whose lists are read; to count over the world its own is enough if the limit is in what it shows."""
    if ranking.place != WORLD or ranking.kind != "count" or ranking.limit is None or ranking.limit.amount is None:
        return ranking.places
    world = table(evidence.facts, label, WORLD)
    unread = address(label, WORLD) not in evidence.visited
    return (WORLD,) if unread or (world and _decided(ranking.limit, world)) else ranking.places


def _decided(limit: Bound, world: Table) -> bool:
    """Return whether a list that shows both ends shows all that are past a limit: one that is not stands behind them."""
    rows = [row for row in world.rows if row.rank]
    top = [row for at, row in enumerate(rows) if row.rank <= at + 1]
    end = top if limit.above else [row for row in rows if row not in top]
    fitting = limit.amount is not None and limit.upto is None and bool(rows) and fits(limit.amount, rows[0].amount)
    return fitting and not all(limit.passed_by(row.amount) for row in end)


def _answered(finder: Finder, ranking: Ranking, label: str, found: Sequence[Table]) -> tuple[Ranked, bool] | None:
    """Return the answer from the lists of all regions, and whether it was calculated."""
    if ranking.kind == "top":
        top = _top(ranking, label, found)
        return (top, False) if top else None
    if ranking.kind == "count":
        return _count(finder, ranking, label, found)
    if ranking.kind == "members":
        states = _states(found)
        return Ranked(ranking, label, tuple(states), len(states), covered=_covered(found)), False
    return _total(finder, ranking, label, found)


def _read(finder: Finder, evidence: Evidence, ranking: Ranking, label: str, place: str, read: Table | None) -> None:
    """Add the visit to the next page of a comparison, if more of it is needed."""
    if read and _complete(ranking, read):
        return
    for page in range(1, PAGES + 1):
        url = address(label, place, page)
        if url not in evidence.visited:
            which = "the highest" if ranking.most else "the lowest"
            goal = f"{label} of the countries in {place}: {which if ranking.kind == 'top' else 'all figures'}"
            finder.act("visit", {"url": url, "goal": goal}, f"Read the comparison of {label} in {place}.")
            return
        if read is None:
            return  # this place has no comparison by this measure


def _complete(ranking: Ranking, read: Table) -> bool:
    """Return whether the rows that decide were read: those at one end, or all of them."""
    if ranking.place == WORLD and ranking.kind == "count" and read.have > len(read.rows):
        return ranking.limit is not None and _decided(ranking.limit, read)
    if ranking.place == WORLD and ranking.kind in _STATED:  # its list states it, and shows both ends only
        return any(head.label.startswith(_STATED[ranking.kind]) for head in read.heads)
    ranks = [row.rank for row in read.rows if row.rank]
    if ranking.kind == "top" and not ranking.within:
        end = 1 in ranks if ranking.most else any(row.fact.label.endswith("lowest)") for row in read.rows)
        return end and len(ranks) >= min(max(ranking.first, ranking.rank) + len(ranking.excluded), read.have)
    return len(ranks) >= read.have


def _top(ranking: Ranking, label: str, found: Sequence[Table]) -> Ranked | None:
    """Return the first countries in order, with all that are equal to the last of them."""
    sign = -1 if ranking.most else 1
    rows = sorted((row for each in found for row in each.rows), key=lambda row: (sign * row.amount.value, row.name))
    states = [row for row in rows if row.rank]
    asked = max(ranking.first, ranking.rank)
    if asked > max(len(states), ranking.first):
        return None
    last = states[min(asked, len(states)) - 1].amount.value
    before = [row for row in states if sign * row.amount.value < sign * last] if ranking.rank > 1 else []
    chosen = [row for row in states[len(before) :] if sign * row.amount.value <= sign * last]
    beyond = [row for row in rows if not row.rank and sign * row.amount.value < sign * last]
    end = len(before) + len(chosen)
    small = (ranking.members or ranking.within) and len(states) <= ALL  # all members of it are shown
    after = states[end : end + (ALL if small else NEXT)] if ranking.first == 1 else []
    tied = len(chosen)
    if len(found) == 1 and not ranking.most and asked == 1 and not small:
        tied = found[0].have - chosen[0].rank + 1  # the list of the world does not show all of them
        after = [row for row in after if row.rank == chosen[0].rank - 1] if tied == 1 else []
    return Ranked(
        ranking,
        label,
        tuple(chosen),
        tied,
        before=tuple(before),
        after=tuple(after),
        territories=tuple(beyond[:NEXT]),
        covered=_covered(found),
    )


def _count(finder: Finder, ranking: Ranking, label: str, found: Sequence[Table]) -> tuple[Ranked, bool] | None:
    """Return the countries past the limit; None if it has another unit than the figures, or a step must be taken first."""
    limit, heads = ranking.limit, tuple[Fact, ...]()
    if limit and limit.name:
        other = finder.find_named(limit.name, Target(label, exact=True), numeric=True)
        amount = amount_of(other.fact) if other else None
        limit, heads = replace(limit, amount=amount), (other.fact,) if other else ()
    if limit is None or limit.amount is None or not fits(limit.amount, found[0].rows[0].amount):
        return None
    kept = [row for row in _states(found) if limit.passed_by(row.amount)]
    if not limit.amount.unit:  # `above 45` is above 45 years
        like = found[0].rows[0].amount
        limit = replace(limit, amount=replace(limit.amount, unit=like.unit, base=like.base))
    ranking = replace(ranking, limit=limit)
    return Ranked(ranking, label, tuple(kept), len(kept), covered=_covered(found), heads=heads), False


def fits(limit: Amount, of: Amount) -> bool:
    """Return whether a threshold can be compared with figures: `20 %` with `20 % of GDP`, `50 million` with people."""
    return limit.base == of.base or (limit.percent and of.percent) or (not limit.unit and not of.power)


def _total(finder: Finder, ranking: Ranking, label: str, found: Sequence[Table]) -> tuple[Ranked, bool] | None:
    """Return the sum, mean or median as the comparison states it, or calculated without the countries not asked about."""
    if ranking.kind == "share":
        return _share(finder, ranking, label, found)
    start, rows = _STATED[ranking.kind], _states(found)
    stated = tuple(head for each in found for head in each.heads if head.label.startswith(start))
    some = bool(ranking.excluded or ranking.within)
    if not stated or (some and ranking.kind == "median"):
        return None
    answer = Ranked(ranking, label, tuple(rows) if ranking.members or some else (), covered=_covered(found))
    if not some:
        return replace(answer, heads=stated[:1], value=stated[0].value), False
    values = [row.amount.value for row in rows]
    by = f" / {len(values)}" if ranking.kind == "mean" else ""
    listed = ", ".join(map(code, values))
    computed = finder.compute(f"print(round(sum([{listed}]){by}, 4))", "Calculate over all countries.")
    total = sum(values, Decimal(0))
    result = round(total / len(values), 2) if by else total
    return replace(answer, value=written(result, [row.amount for row in rows])), computed


def _share(finder: Finder, ranking: Ranking, label: str, found: Sequence[Table]) -> tuple[Ranked, bool] | None:
    """Return the part that a country has of the sum; None if it is none of them, or if there is no such sum."""
    assert ranking.limit
    name = ranking.limit.name
    own = next((row for each in found for row in each.rows if (usual(row.name) or row.name) == name), None)
    if own is None and ranking.place == WORLD:  # its list shows the first and the last only
        line = finder.find_named(name, Target(label, exact=True), numeric=True)
        figure = amount_of(line.fact) if line else None
        own = Row(name, 0, figure, line.fact) if line and figure else None
    whole = _total(finder, replace(ranking, kind="sum"), label, found)
    total = amount(whole[0].value) if whole else None
    if not (own and whole and total and 0 < own.amount.value <= total.value):
        return None
    part = own.amount
    computed = finder.compute(
        f"print(round(100 * {code(part.value)} / {code(total.value)}, 4))", "Calculate the share."
    )
    value = f"{plain(rounded(100 * part.value / total.value, 2))}%"
    return replace(whole[0], ranking=ranking, rows=(own,), value=value), computed


def _states(found: Sequence[Table]) -> list[Row]:
    return sorted((row for each in found for row in each.rows if row.rank), key=lambda row: -row.amount.value)


def _covered(found: Sequence[Table]) -> tuple[Fact, ...]:
    return tuple(next(head for head in each.heads if "countries have a figure" in head.line) for each in found)
