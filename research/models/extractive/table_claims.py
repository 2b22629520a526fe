"""Read a statement as a question to a table, with a blank for what it says of a cell, and compare that with the cell."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from research.citations.checking import TableFinding, differs
from research.citations.language import says
from research.citations.parts import halves
from research.models.extractive.evidence import Step
from research.models.extractive.table_columns import Filter, filters
from research.models.extractive.table_plan import Plan, planned
from research.models.extractive.table_reading import QUERY, PColumn, PTable, figure, tables
from research.models.extractive.tabular import WORLD, carried_out
from research.models.extractive.verdict import TableAnswer
from research.models.extractive.write_table import sentence
from research.quantities import CURRENCIES, Quantity, hedged, quantities
from research.text import STOP_WORDS, has_cjk, language_of
from research.types import Source

_LONGEST = 300
_NOUN = re.compile(rf"\s(?!(?:{'|'.join(map(re.escape, STOP_WORDS))})\b)[a-z]")
"""Matches behind a figure what it is a number of: 24 *hours*."""
_WHOLE = re.compile(r"\bof (?:(?:the|our|all|its|their|these|those) )+$")
"""Matches before a figure that it is all of them, not how many."""
_DIGITS = re.compile(r"[\d.,]*\d|\w+")
_ASKED = {
    False: {"many": "how many", "much": "how much", "share": "what percentage", "which": "which {column}"},
    True: {"many": "多少", "much": "多少", "share": "百分之多少", "which": "哪个{column}"},
}
"""What stands in a blank, by whether the statement is in Chinese."""


class _Blank(Struct, frozen=True):
    """A statement with a blank, and what it says there: a figure, or a value of a column."""

    question: str
    said: Quantity | Filter
    plan: Plan


def queries(claim: str, described: str, results: Mapping[str, Source | None]) -> list[str]:
    """Return the SQL that fills the blanks of a claim, or of its halves, and that was not run yet."""
    parts = [claim, *(part for first, seconds in halves(claim) for part in (first, *seconds))]
    blanks, steps = [blank for part in parts for blank in _blanks(part, described)], _steps(results)
    found = [carried_out(steps, each.question, each.plan, True) for each in blanks]
    return list(dict.fromkeys(str(step.arguments["sql"]) for each in found if each for step in each.actions))


def tabled(claim: str, described: str, results: Mapping[str, Source | None]) -> TableFinding | None:
    """Return what the results of its queries say of a claim, or of both its halves; None if one of them stays open."""
    steps = _steps(results)
    if found := _filled(claim, described, steps):
        return found
    for first, seconds in halves(claim):
        one = _filled(first, described, steps)
        two = next(filter(None, (_filled(each, described, steps) for each in seconds)), None)
        if one and two:
            return min(one, two, key=lambda each: each.holds)
    return None


def _filled(claim: str, described: str, steps: Sequence[Step]) -> TableFinding | None:
    """Return what the results of queries say of a claim; None if they fill no blank of it, or several rows may be meant."""
    filled = []
    for blank in _blanks(claim, described):
        verdict = carried_out(steps, blank.question, blank.plan, False)
        for answer in verdict.table if verdict else ():
            if (holds := _holds(blank, answer)) is not None:
                text, bold = sentence(answer, language_of(claim), blank.question)
                told = bold[0 if isinstance(blank.said, Filter) else -1]
                filled.append(TableFinding(holds, text, told, answer.rows.n))
    return min(filled, key=lambda each: each.holds, default=None)


def _steps(results: Mapping[str, Source | None]) -> list[Step]:
    """Return the results of queries as the steps of a run, by the SQL."""
    return [
        Step(
            QUERY,
            {"sql": sql},
            f"[{source.n}] {source.title}\n<{source.url}>\n"
            + "\n".join(f"> {line}" for line in source.quote.splitlines())
            if source
            else "",
            (),
            ok=source is not None,
        )
        for sql, source in results.items()
    ]


@lru_cache(maxsize=512)  # each round of queries asks again
def _blanks(claim: str, described: str) -> tuple[_Blank, ...]:
    """Return the blanks of a claim of which a table accounts for every word around them."""
    own = tuple(table for table in tables(described) if table.file != WORLD)
    if len(claim) > _LONGEST or says("not", claim):
        return ()
    asked: list[tuple[str, Quantity | Filter]] = [*_figures(claim), *_names(claim, own)]
    blanks = []
    for question, said in asked:
        plan = planned(question, own)
        if isinstance(plan, Plan) and not plan.unread and _asks(plan, said):
            blanks.append(_Blank(question, said, plan))
    return tuple(blanks)


def _figures(claim: str) -> Iterator[tuple[str, Quantity]]:
    """Yield a claim with a blank for its figure, if it has one: nine, of `Nine of the 26 grants`."""
    found = [each for each in quantities(claim) if each.kind == "number" and not _WHOLE.search(claim[: each.start])]
    if len(found) == 1:
        figure = found[0]
        _, start, end = hedged(claim, figure.start, figure.end) if figure.hedge else ("", figure.start, figure.end)
        if figure.unit and figure.unit not in ("%", *CURRENCIES) and (digits := _DIGITS.match(figure.written)):
            end = figure.start + digits.end()
        counts = figure.weak or _NOUN.match(claim, end)
        asked = "share" if figure.unit == "%" else "many" if counts else "much"
        yield f"{claim[:start]}{_ASKED[has_cjk(claim)][asked]}{claim[end:]}", figure


def _names(claim: str, own: Sequence[PTable]) -> Iterator[tuple[str, Filter]]:
    """Yield a claim with a blank for each value of a column that it names."""
    which = _ASKED[has_cjk(claim)]["which"]
    for table in own:
        for each in filters(claim, table) or ():
            if each.value:
                yield f"{claim[: each.start]}{which.format(column=each.column.said)}{claim[each.end :]}", each


def _asks(plan: Plan, said: Quantity | Filter) -> bool:
    """Return whether the result of a plan has one cell of the kind that a claim says."""
    if isinstance(said, Filter):
        column = plan.measure if plan.operation == "lookup" else plan.group if plan.operation == "rank" else None
        return column == said.column and plan.many in (0, 1)
    if plan.operation in ("rank", "list", "growth", "difference"):
        return False
    share = plan.operation == "share" or (plan.measure is not None and plan.measure.unit.startswith("%"))
    return share == (said.unit == "%")


def _holds(blank: _Blank, answer: TableAnswer) -> bool | None:
    """Return whether a claim says what a result has in its blank; None if several rows may be meant."""
    plan, rows = blank.plan, answer.rows.rows
    if isinstance(blank.said, Filter):
        if plan.operation == "lookup":
            return rows[0][-1] == blank.said.value if len(rows) == 1 else None
        first = plan.rank - 1
        alike = [row for row in rows if first < len(rows) and row[-1] == rows[first][-1]]
        return alike[0][0] == blank.said.value if len(alike) == 1 < len(rows) else None
    value, one = figure(rows[0][-1]), _worth(plan.measure, blank.said)
    if len(rows) != 1 or value is None or one is None:
        return None
    own = replace(blank.said, weak=False)
    seen = replace(own, written=f"{value * one:.12g}", value=value * one, half=0.0, hedge="")
    if own.bounds(seen) if own.limit else own.states(seen):
        return True
    return False if differs(own, seen) else None


def _worth(measure: PColumn | None, figure: Quantity) -> float | None:
    """Return what one of a column is worth in the base unit of a figure; None if it is of another: `Spent` is of no months."""
    if measure is None:
        return 1.0
    units = [each for text in (measure.unit, *measure.name.split()) for each in quantities(f"1 {text}")[:1]]
    if figure.unit in ("", "%", *CURRENCIES):
        return units[0].value if units[0].unit in CURRENCIES else 1.0
    return next((each.value for each in units if each.unit == figure.unit), None)
