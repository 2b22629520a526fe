"""Decide what a question asks of a table: which column, which rows, and what to calculate."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from research.models.extractive import table_words as said
from research.models.extractive.kinds import Kind, kind_of
from research.models.extractive.similarity import cosine
from research.models.extractive.table_columns import (
    GENERIC,
    NEAR,
    Filter,
    best,
    likeness,
    rivals,
    same,
    says_whether,
    words_of,
)
from research.models.extractive.table_cover import CLEAR, DENIED, WHETHER, per_time, uncovered, uneven
from research.models.extractive.table_degrees import measured
from research.models.extractive.table_languages import translated
from research.models.extractive.table_meant import COUNTED, GROUPED, counterparts
from research.models.extractive.table_measure import Measured
from research.models.extractive.table_nouns import PRICE_OF_ONE, added, figures, names_a_row
from research.models.extractive.table_reading import PColumn, PTable
from research.models.extractive.table_synonyms import named_alike, people
from research.models.extractive.table_units import UNITS, unit_of
from research.models.extractive.table_words import Limit
from research.models.extractive.times import Period, month_of, periods
from research.text import has_cjk

Operation = Literal[
    "rank", "count", "sum", "mean", "median", "max", "min", "lookup", "list", "growth", "share", "difference"
]


_CELLS: dict[Kind, tuple[tuple[str, ...], str]] = {
    "date": (("date", "year"), ""),
    "year": (("date", "year"), ""),
    "person": (("text",), "person name"),
    "place": (("text",), "place location city"),
    "name": (("text",), ""),
}
"""Types of the columns that answer a kind of question, and what the name of one means that no word of it names."""
_WHOSE = re.compile(r"\bwhose\b|谁的", re.I)


class Plan(Struct, frozen=True):
    """What to calculate from a table."""

    table: PTable
    operation: Operation
    measure: PColumn | None
    """None counts rows."""
    group: PColumn | None
    filters: tuple[Filter, ...]
    periods: tuple[Period, ...] = ()
    time: PColumn | None = None
    limits: tuple[tuple[PColumn, Limit], ...] = ()
    most: bool = True
    many: int = 0
    """How many members of a ranking are asked for; 0 for one, -1 for all."""
    rank: int = 1
    aggregate: str = ""
    """SUM, AVG, MAX, MIN, COUNT, MEDIAN, RATIO, LESS, or SHARE for the percentage that each member has of the sum."""
    wide: tuple[tuple[str, PColumn], ...] = ()
    """Columns that are one measure in different years."""
    score: float = 0.0
    each: str = ""
    """The period whose sums are averaged: `month` in `the average per month`."""
    absolute: bool = False
    """Whether a change is asked for in units, not percent."""
    beside: tuple[PColumn, ...] = ()
    """Columns that are listed beside the group: `the managers and their offices`."""
    pair: tuple[PColumn, PColumn] | None = None
    """The columns whose sums are divided, `rent per seat`, or of which one is taken from the other: what is left of a budget.

    The measure has the name and unit of the result.
    """
    unread: tuple[str, ...] = ()
    """Words of the question that the table does not account for, so that the plan is only near to what is asked."""


class Doubt(Struct, frozen=True):
    """Columns or tables that a question may mean, which it does not tell apart."""

    options: tuple[str, ...]
    """As people name them: `Goals for (league.csv)`."""


@lru_cache(maxsize=32)  # each step of a run asks again
def planned(question: str, tables: tuple[PTable, ...]) -> Plan | Doubt | None:
    """Return what to calculate, from the table that fits the question best; None if none clearly does.

    Heads in other languages are read only if no table answers as it is written.  If none covers the whole question, it is
    the plan that leaves a word `unread`.
    """
    found = _best_plan(question, tables)
    if isinstance(found, Doubt) or (found and not found.unread):
        return found
    other = _best_plan(question, tuple(translated(question, table) for table in tables))
    return other if isinstance(other, Plan) and not other.unread else found


def _best_plan(question: str, tables: tuple[PTable, ...]) -> Plan | Doubt | None:
    named = [table for table in tables if table.file.partition(" › ")[0].casefold() in question.casefold()]
    found = {table: plan for table in named or tables if table.rows and (plan := _Planner(question, table).read())}
    of_months = {table.file: found.get(table) for table in named or tables if table.by_month}
    said_so = {file for file, plan in of_months.items() if plan and not getattr(plan, "unread", ())}
    read = [
        plan
        for table, plan in found.items()
        if table.by_month or not (table.file in said_so or (table.file in of_months and isinstance(plan, Doubt)))
    ]
    spoken = _said(question, [column for table in named or tables for column in figures(table)])
    read = [
        each
        for each in read
        if isinstance(each, Doubt) or spoken <= _said(question, each.table.columns) | _chosen(question, each)
    ]
    plans = sorted(
        (each for each in read if isinstance(each, Plan)),
        key=lambda plan: (bool(plan.unread), of_people(question, plan), -plan.score),
    )
    if not plans or plans[0].unread:
        return next((each for each in read if isinstance(each, Doubt)), plans[0] if len(plans) == 1 else None)
    alike = [each for each in plans if not each.unread and of_people(question, each) == of_people(question, plans[0])]
    equal = [each for each in alike if plans[0].score - each.score < 0.15]
    if len(equal) > 1:
        return Doubt(tuple(each.table.file for each in equal))
    return plans[0]


def of_people(question: str, plan: Plan) -> bool:
    """Return whether a table has a person in each row, and the question names neither people nor what it says of them."""
    named = [each for each in plan.table.of_type("text") if plan.table.unique(each) and _of_persons(each)]
    if not named or plan.filters or said.WHO.search(question):
        return False
    asked, measure = words_of(question), plan.measure.words if plan.measure else ()
    return not any(people(word) or any(same(word, own) or named_alike(word, own) for own in measure) for word in asked)


def _of_persons(column: PColumn) -> bool:
    """Return whether the cells of a column are names of people, which most tables call `Name` or by a word for people."""
    called = all(word in ("name", "姓名", "full", "first", "last") or people(word) for word in column.words)
    named = [
        each for each in column.values if re.fullmatch(r"[A-Z][\w'’-]+(?: [A-Z][\w'’.-]*)+|[\u4e00-\u9fff]{2,4}", each)
    ]
    return called and 2 * len(named) > len(column.values)


def _said(question: str, columns: Sequence[PColumn]) -> set[str]:
    """Return the words of a question that name columns: a salary is no revenue where another table has one."""
    owned = {own for each in columns if not month_of(each.name) for own in each.words if own not in GENERIC}
    asked = [word for word in words_of(question) if word not in GENERIC]
    return {word for word in asked if any(same(word, own) for own in owned)}


def _chosen(question: str, plan: Plan) -> set[str]:
    """Return the words of a question that name the values of a plan: its cats are no column `Cat`."""
    return {word for each in plan.filters for word in words_of(question[each.start : each.end])}


class _Planner(Measured):
    """Reads one question against one table."""

    def read(self) -> Plan | Doubt | None:
        """Return the plan if the table covers the whole question, or the columns that it may mean."""
        plan = (
            (whether := _whether(self))
            or self._cell()
            or self._listed()
            or _ratio(self)
            or _remainder(self)
            or self.plan()
        )
        if plan is None:
            return self._doubt()
        columns = [
            *(plan.pair or [plan.measure]),
            plan.group or self.group()[0],
            plan.time,
            *(column for column, _ in plan.limits),
        ]
        columns += [*plan.beside, *(limit.other for _, limit in plan.limits), *(each.column for each in plan.filters)]
        if _other_kind(self, plan) or _qualified(plan, self.text):
            return None
        compares = (
            plan.operation == "difference"
            or plan.aggregate == "LESS"
            or (plan.operation == "growth" and len(plan.periods) == 2)
        )
        left = uncovered(self, [each for each in columns if each], compares=compares, whether=whether is not None)
        if left and not _near(self, plan, left):
            return None
        if (not plan.each and uneven(self, plan.measure, plan.aggregate)) or (
            plan.limits and _passed_by_some(self, plan)
        ):
            return None
        return replace(plan, unread=tuple(left))

    def _listed(self) -> Plan | None:
        """Return the plan that lists the members of a column of text, if that is all that is asked: `which stations are in …`."""
        asks = (said.GROWTH, said.MEAN, said.MEDIAN, said.SUM, said.SHARE, said.DIFFERENCE, COUNTED)
        if self.found is None or self.strangers() or self.ranked() or any(each.search(self.text) for each in asks):
            return None
        column = self.asked_for()
        limits = self._limited(None)
        chosen = [each for each in self.found if each.column is not column]
        if column is None or limits is None or len(chosen) < len(self.found):
            return None
        beside = self._beside_it(column, [*chosen, *limits, *self.against])
        if not (beside or chosen or limits or self.against):
            return None
        time = self.time()
        if self.periods and time is None and not (self.against or _dated(self)):
            return None
        if not self.table.unique(column) and not all(added(each) for each, _ in self.against):
            return None
        return Plan(
            table=self.table,
            operation="list",
            measure=None,
            group=column,
            filters=tuple(chosen),
            periods=tuple(self.periods),
            time=time,
            limits=(*limits, *self.against),
            wide=tuple(self.wide.items()),
            score=1 + 0.8 * len(chosen) + 0.3 * bool(limits or self.against or beside),
            absolute=said.ABSOLUTE.search(self.text) is not None,
            beside=tuple(beside),
        )

    def _beside_it(self, column: PColumn, bound: Sequence[Filter | tuple[PColumn, Limit]]) -> list[PColumn]:
        """Return the other columns that a question names which asks for a list, without those that choose its rows."""
        if not said.LISTS.search(self.text) or GROUPED.search(self.text) or self.against:
            return []
        taken = [column, *(each.column if isinstance(each, Filter) else each[0] for each in bound)]
        asked = words_of(self.text)
        return [
            each
            for each in self.table.columns
            if each not in taken and (each.name in self.text or all(any(same(w, o) for w in asked) for o in each.words))
        ]

    def _cell(self) -> Plan | None:
        """Return the plan that reads a date, a person or a place of the one row that a question names: `when does … end`."""
        chosen, kind = self.found or [], kind_of(self.text)
        if self.strangers() or len(chosen) != 1 or not self.one_row() or self.limits or self.periods:
            return None
        types, meant = _CELLS.get(kind or "name", ((), ""))
        meant = "owner" if _WHOSE.search(self.text) else meant
        others = [each for each in self.table.columns if each is not chosen[0].column]
        found = best([word for word in self.rest(None) if word not in chosen[0].column.words], others)
        alike = [each for each in others if each.type in types and meant and cosine(meant, each.name) >= NEAR]
        column = found.column if found else alike[0] if len(alike) == 1 else None
        if column is None or column.type not in types:
            return None
        return Plan(self.table, "lookup", column, None, tuple(chosen), score=1.8)

    def _doubt(self) -> Doubt | None:
        if self.found is None or self.strangers() or _beyond_years(self):
            return None
        group, support = self.group()
        words = [word for word in self.rest(group) if not said.calculates(word)]
        likely = rivals(words, self.figures) if words or not said.GROWTH.search(self.text) else self.figures
        if support < 0 or len(likely) < 2 or uncovered(self, [*likely, *([group] if group else []), *self.table.times]):
            return None
        return Doubt(tuple(f"{each.said} ({self.table.file})" for each in likely))

    def plan(self) -> Plan | None:
        """Return the plan; None if the question is not clearly about this table."""
        if self.found is None or self.strangers():
            return None
        group, support = self._grouped()
        if group is None and support < 0:
            return None
        words = self.rest(group)
        measure, how = self.measure(words, group)
        if measure in self.wide.values() and _beyond_years(self):
            return None
        operation, aggregate = self._operation(measure, group)
        if operation is None or (measure is None and operation not in ("count", "rank", "share")):
            return None
        if measure is None and (
            not self.counts(words, group) or (operation == "rank" and group and self.table.unique(group))
        ):
            return None
        time = self.time()
        own = [each.text for each in periods(measure.name)] if measure and operation != "growth" else []
        if own and any(each.text not in own or each.how != "=" for each in self.periods):
            return None
        when = [] if own else self.periods  # the year of a column chooses no rows
        if when and time is None and measure not in self.wide.values() and not _dated(self):
            return None
        limits = self._limited(measure)
        if limits is None or (operation == "growth" and time is None and len(self.wide) < 2):
            return None
        if operation == "lookup" and not (self.found or self.periods or limits):
            return None
        if measure is None and self.noun() and (self.different() or self.names_rows(self.noun()[0])):
            how = 0.6
        score = how + max(support, 0) + _named_beside(self, limits)
        if score < NEAR:
            return None
        many = said.count_of(self.text)
        if operation == "rank" and group and GROUPED.search(self.text) and not self.ranked():
            many = -1
        return Plan(
            self.table,
            operation,
            measure,
            group if operation in ("rank", "growth") else self.different() if operation == "count" else None,
            tuple(self.found),
            tuple(when),
            time,
            tuple(limits),
            self._most(measure),
            many,
            said.rank_of(self.text),
            aggregate,
            tuple(self.wide.items()),
            score,
            _each(self, measure, operation, time),
            said.ABSOLUTE.search(self.text) is not None or said.DIFFERENCE.search(self.text) is not None,
        )  # fmt: skip

    def _grouped(self) -> tuple[PColumn | None, float]:
        """Return the column whose members are asked for, as `group` does; None if one figure is asked of all of them."""
        group, support = self.group()
        mean = said.MEAN.search(self.text)
        if group is None or (self.one_row() and not self.options(group)) or _ALTOGETHER.search(self.text):
            return None, support
        # The mean `per clinic` is that of all rows if each is a clinic.
        if self.table.unique(group) and GROUPED.search(self.text) and (mean or said.MEDIAN.search(self.text)):
            return None, support
        if group.type != "text" and mean and per_time(self.text) and not self.ranked():
            return None, support  # the mean per month is that of the months' sums
        return (None if said.DIFFERENCE.search(self.text) else group), support

    def _operation(self, measure: PColumn | None, group: PColumn | None) -> tuple[Operation | None, str]:
        text = self.text
        plain = measure is not None and added(measure)
        grows = said.GROWTH.search(text) is not None and not (measure and said.GROWTH.search(measure.name))
        grows = grows and not (len(self.periods) == 1 and "-" in self.periods[0].text)  # rain falls in one month
        if grows and measure is not None and (self.wide or self.table.times):
            return "growth", "SUM" if plain else "AVG"
        mean = said.MEAN.search(text) is not None and not (measure and said.MEAN.search(measure.said) and not group)
        median = said.MEDIAN.search(text) is not None and not (measure and said.MEDIAN.search(measure.said))
        how = "COUNT" if measure is None else "MEDIAN" if median else "AVG" if mean else ""
        ranked = self.ranked()
        if group is not None and (ranked or GROUPED.search(text)):
            shares = said.SHARE.search(text) and plain and not self.limits  # `more than 20%` asks for no share
            if shares and measure and not measure.unit.startswith("%"):
                return (None, "") if self.of(group) else ("rank", "SHARE")
            dated = measure is not None and measure.type in ("date", "year")
            least = "MIN" if not self._most(measure) else "MAX"
            return "rank", how or (least if dated or not plain or _of_one_row(self, group) else "SUM")
        if measure is None and said.SHARE.search(text):
            of_rows = self.found and not group and any(map(self.names_rows, self.noun()[:1]))
            return ("share", "COUNT") if of_rows else (None, "")
        if measure is None:
            return ("count", "COUNT") if COUNTED.search(text) else (None, "")
        pair = {each.column.sql for each in self.found or ()} if len(self.found or ()) == 2 else set()
        if said.DIFFERENCE.search(text) and len(self.periods) == 2 and (self.time() or self.wide) and not pair:
            return "growth", "SUM" if plain else "AVG"
        if said.DIFFERENCE.search(text):
            return ("difference", "SUM" if plain else "AVG") if len(pair) == 1 and not group else (None, "")
        if said.SHARE.search(text) and not measure.unit.startswith("%") and self.found and plain:
            return "share", "SUM"
        if median:
            return "median", "MEDIAN"
        if mean:
            return "mean", "AVG"
        if said.SUM.search(text) and (
            plain or (_TOTALLED.search(measure.name) and not PRICE_OF_ONE.search(measure.said))
        ):
            return "sum", "SUM"
        if said.SUM.search(text) and not said.SUM.search(measure.name) and not ranked:
            return None, ""  # temperatures and grades have no total
        if ranked:
            return ("max", "MAX") if self._most(measure) else ("min", "MIN")
        return ("sum" if COUNTED.search(text) and plain and not self.one_row() else "lookup"), "SUM" if plain else ""

    def _most(self, measure: PColumn | None) -> bool:
        text = self.text
        if self.highest is not None:
            return self.highest
        if measure is not None and measure.type in ("date", "year"):
            return said.TIME_FIRST.search(text) is None
        if said.WORST.search(text):
            return measure is not None and said.BAD.search(measure.name) is not None
        if said.GROWTH.search(text) and said.DOWN.search(text):
            return said.LEAST.search(text) is not None
        most, least = said.MOST.search(text), said.LEAST.search(text)
        if most and least:
            return most.start() < least.start()
        return least is None

    def _limited(self, measure: PColumn | None) -> list[tuple[PColumn, Limit]] | None:
        """Return each limit with its column; None if one has no clear column."""
        found = []
        for limit in self.limits:
            column, sign = _limit_of(self, limit, measure)
            if column is None or not _same_unit(limit, column):
                return None
            found.append((column, replace(limit, sign=sign)))
        return [*found, *self.bound]


def _limit_of(meant: Measured, limit: Limit, measure: PColumn | None) -> tuple[PColumn | None, str]:
    """Return the column that a limit is for, and the sign to compare with."""
    if limit.degree:
        means = measured(limit.degree, meant.figures)
        return (means[0][0], ">" if means[0][1] else "<") if len(means) == 1 else (None, "")
    fitting = _fitting(meant, limit)
    match = best(_words_near(meant, limit), fitting or meant.figures)
    only = meant.figures[0] if len(meant.figures) == 1 else None
    column = match.column if match else fitting[0] if len(fitting) == 1 else measure or only
    return column, limit.sign


def _each(meant: Measured, measure: PColumn | None, operation: Operation, time: PColumn | None) -> str:
    """Return the period whose sums are averaged, if the table has several rows for each."""
    period = per_time(meant.text)
    if operation != "mean" or measure is None or time is None or not added(measure):
        return ""
    fits = period == "year" or (
        period == "month"
        and (time.type == "month" or (time.type == "date" and len(time.low) >= 7 and "Q" not in time.low))
    )
    return period if fits else ""


def _near(meant: Measured, plan: Plan, left: Sequence[str]) -> bool:
    """Return whether all but one word of a question, the name of the measure included, is about a table."""
    if len(left) > 1 or not left[0].isalpha() or left[0] == meant.text or DENIED.search(left[0]):
        return False
    if len(plan.periods) > 1 or not (plan.filters or plan.limits or plan.periods or plan.group):
        return False  # what is open may compare the two, or choose rows
    words = [word for word in words_of(meant.text) if word not in (*GENERIC, "钱")]  # a unit names none
    words = [word for word in words if word not in (left if word.isascii() else left[0])]
    if plan.measure is None:
        return any(map(meant.names_rows, words))
    return plan.measure.name in meant.text or any(likeness(word, plan.measure) >= CLEAR for word in words)


def _whether(meant: Measured) -> Plan | None:
    """Return the plan that reads yes or no of the one row that a question names: `does … have a café`."""
    chosen = meant.found or []
    flags = [each for each in chosen if says_whether(each.column)]
    rows = [each for each in chosen if meant.table.unique(each.column)]
    asks = WHETHER.search(meant.text) and not DENIED.search(meant.text)
    if (
        not asks
        or meant.strangers()
        or meant.limits
        or meant.periods
        or (len(flags), len(rows), len(chosen)) != (1, 1, 2)
    ):
        return None
    return Plan(meant.table, "lookup", flags[0].column, None, tuple(rows), score=1.8)


_PER = re.compile(
    rf"\b(?:per|for each|for every) (?P<one>[^\W\d_]+)|[每均][{said.CLASSIFIERS}]?(?P<zh>[^\W\d_]+)", re.I
)
"""What asks for one figure divided by another."""


def _ratio(meant: Measured) -> Plan | None:
    """Return the plan that divides the sums of two columns which a question names: `the highest rent per seat`."""
    match = _PER.search(meant.text)
    if match is None or meant.found is None or meant.strangers() or meant.limits or meant.wide:
        return None
    if GROUPED.search(f"{meant.text[: match.start()]} {meant.text[match.end() :]}"):
        return None  # of each group
    one, zh = match["one"] or match["zh"], match["zh"] is not None
    by = [
        each
        for each in meant.figures
        if ((zh and one.startswith(each.name)) or any(same(one.lower(), own) for own in each.words))
        and not _PER.search(each.name)  # the fee per term is one figure
    ]
    if len(by) != 1:
        return None
    before = meant.text.replace(by[0].name, " ") if zh else meant.text[: match.start()]
    words = [word for word in words_of(before) if word not in GENERIC and not said.calculates(word)]
    top = best(words, [each for each in meant.figures if each is not by[0]])
    group, support = meant.group()
    asks = meant.ranked() or NAMES.search(meant.text) is not None
    time = meant.time()
    if top is None or support < 0 or asks != (group is not None) or (meant.periods and time is None):
        return None
    single = meant.table.unique(group) if group else meant.one_row()
    if not single and not (added(top.column) and added(by[0])):
        return None
    name = f"每{by[0].name}{top.column.said}" if zh else f"{top.column.said} per {one}"
    return Plan(
        table=meant.table,
        operation="rank" if group else "mean",
        measure=PColumn("ratio", name, "number", top.column.unit),
        group=group,
        filters=tuple(meant.found),
        periods=tuple(meant.periods),
        time=time,
        most=said.LEAST.search(meant.text) is None,
        many=said.count_of(meant.text),
        rank=said.rank_of(meant.text),
        aggregate="RATIO",
        score=top.score + 0.5,
        pair=(top.column, by[0]),
    )


def _remainder(meant: Measured) -> Plan | None:
    """Return the plan that takes one column from another: what is left of a budget, by how much more was spent."""
    if meant.found is None or meant.strangers() or meant.limits:
        return None
    pair = _taken(meant)
    group, support = meant.group()
    grouped = group is not None and GROUPED.search(meant.text) is not None
    asks = meant.ranked() or NAMES.search(meant.text) is not None or grouped
    if pair is None or support < 0 or asks != (group is not None) or not all(map(added, pair)):
        return None
    name = f"{pair[0].said}减{pair[1].said}" if has_cjk(meant.text) else f"{pair[0].said} minus {pair[1].said}"
    return Plan(
        table=meant.table,
        operation="rank" if group else "mean",
        measure=PColumn("left", name, "number", pair[0].unit),
        group=group,
        filters=tuple(meant.found),
        most=said.LEAST.search(meant.text) is None,
        many=-1 if grouped else said.count_of(meant.text),
        rank=said.rank_of(meant.text),
        aggregate="LESS",
        score=1.5,
        pair=pair,
    )


def _taken(meant: Measured) -> tuple[PColumn, PColumn] | None:
    """Return the column that a question takes another one from, and that one; None if it does not, or names neither."""
    if meant.against and said.ABSOLUTE.search(meant.text):
        column, limit = meant.against[0]
        pair = (column, limit.other or column)
        return pair if limit.sign == ">" else pair[::-1]
    left = said.LEFT.search(meant.text)
    if left is None or any(said.LEFT.search(each.name) for each in meant.figures):
        return None
    years = {each.text for each in meant.periods} or set(list(meant.wide)[-1:])
    wide = {column for year, column in meant.wide.items() if year not in years}
    columns = [each for each in meant.figures if each not in wide]
    named = [
        each
        for each in columns
        if any(same(word, own) for word in words_of(meant.text) for own in each.words if own not in GENERIC)
    ]
    others = counterparts(named[0], columns) if len(named) == 1 else []
    return (named[0], others[0]) if len(others) == 1 else None


NAMES = re.compile(r"^\W*(?:\w+ ){0,2}?(?:which|who|whose)\b(?! (?:percent|share|proportion))|哪[^\d]|谁", re.I)
_FIGURE = re.compile(
    r"\bhow (?:many|much)\b|^\W*what (?:is|was|are|were) the (?:total|sum|average|mean|number)\b|多少|几[名个家位次条种]",
    re.I,
)
"""What asks for names, and what asks for a figure."""
_PARTS = re.compile(
    r"\b((new\b|net\b|lost|sold|won|[^\W\d_]{3,12}(?=ed\b)|cancel|unpaid|planned|expected|target|previous|return|refund|reject|"
    r"(?:min|max)(?:imum)?(?=[ .])|failed|remaining))",
    re.I,
)
"""Words in the name of a column that make it a part of what the rest names."""


def _other_kind(meant: Measured, plan: Plan) -> bool:
    """Return whether the question asks for names and the plan gives figures, or the other way round."""
    if meant.open and (
        plan.operation in ("mean", "median", "sum", "count")
        or (plan.operation in ("max", "min") and meant.degree and not _of_degree(meant, plan.measure))
    ):
        return True  # not of the busiest month
    if plan.many > 1 and plan.operation in ("max", "min"):
        return True  # one figure is not `the three most expensive`
    if kind_of(meant.text) == "date" and plan.group is None and plan.measure and plan.measure.type == "number":
        return True  # an amount is no day
    named = plan.operation in ("rank", "list") or (plan.operation == "growth" and plan.group is not None)
    dated = plan.operation == "lookup" and plan.measure is not None and plan.measure.type != "number"
    if NAMES.search(meant.text) and not said.SHARE.search(meant.text):
        return not (named or dated)
    return bool(_FIGURE.search(meant.text)) and named and plan.many >= 0


def _of_degree(meant: Measured, measure: PColumn | None) -> bool:
    """Return whether a figure is what the superlative of a question compares."""
    return any(column is measure for column, _ in measured(meant.degree, [*meant.figures, *meant.table.times]))


_UNIT = re.compile(
    rf"(?:how many |多少万?)({'|'.join(sorted(filter(str.isalpha, UNITS), key=len, reverse=True))})(?![a-z])"
)


def _qualified(plan: Plan, text: str) -> bool:
    """Return whether the measure is a part that the question does not name: new subscribers are not all subscribers."""
    if plan.measure is None or plan.measure.type != "number":
        return False
    asked = _UNIT.search(text.lower())
    own = unit_of(plan.measure.unit.removeprefix("万"))
    if asked and own in UNITS.values() and own != UNITS[asked[1]]:
        return True  # `how many days` asks for no euros
    name = plan.measure.said
    return len(plan.measure.words) > 1 and any(
        not re.search(rf"\b{each[0]}", text, re.I) for each in _PARTS.findall(name)
    )


def _passed_by_some(meant: Measured, plan: Plan) -> bool:
    """Return whether a limit is for single rows, while members with several rows are asked for."""
    if plan.group is None or plan.operation not in ("count", "list") or meant.table.unique(plan.group):
        return False
    years = meant.table.of_type("year")
    spread = int(years[0].high) - int(years[0].low) + 1 if years and years[0].low else 1
    once = spread > 1 and plan.group.different * spread == meant.table.rows and len(meant.periods) == 1
    return not once and any(added(column) for column, limit in plan.limits if limit.other is None)


_ALTOGETHER = re.compile(r"[各每].{0,300}(?:一共|总共|加起来)")
"""What makes members that are named one by one a whole."""
_TOTALLED = re.compile(r"price|fee|cost|rent|length|distance|width|capacity|价|费|长度", re.I)
"""Figures that have a total if one is asked for."""


def _words_near(meant: Measured, limit: Limit) -> list[str]:
    """Return the words before a limit that may name its column."""
    text = list(meant.text[: limit.start])
    for each in meant.found or ():
        for i in range(each.start, min(each.end, len(text))):
            text[i] = " "
    words = [word for word in words_of("".join(text)) if word not in GENERIC]
    return words[-3:] if not has_cjk(meant.text) else words


def _fitting(meant: Measured, limit: Limit) -> list[PColumn]:
    """Return the columns in the unit of a limit, or named by the word behind it: `pallets`, of the year that is asked for."""
    said = words_of(limit.unit)
    named = [each for each in meant.figures if any(same(word, own) for word in said for own in each.words)]
    dated = [each for each in named if any(when.text in each.name for when in meant.periods)]
    unit = unit_of(limit.unit)
    return (
        dated
        or named
        or [each for each in meant.figures if unit and unit in (unit_of(each.unit), *map(unit_of, each.words))]
    )


def _same_unit(limit: Limit, column: PColumn) -> bool:
    """Return whether a limit can be compared with the figures of a column."""
    scaled = re.search(r"thousand|million|billion|\b[kKmM]\b|[万亿]", column.unit)
    if scaled and limit.value >= 1_000:
        return False
    asked = unit_of(limit.unit)
    if not asked or not column.unit or asked == unit_of(column.unit):
        return True
    return asked not in UNITS.values() or any(unit_of(word) == asked for word in column.words)


def _of_one_row(meant: Measured, group: PColumn) -> bool:
    """Return whether a superlative is of what each row is: the smallest contract of a manager."""
    return bool(meant.degree) and any(names_a_row(word, meant.table) for word in meant.rest(group))


def _beyond_years(meant: Measured) -> bool:
    """Return whether a year is asked for that the table has no column for."""
    return any(len(each.text) == 4 and each.text not in meant.wide for each in meant.periods)


def _named_beside(meant: Measured, limits: Sequence[object]) -> float:
    """Return what values, limits, title and file add to the score of a plan."""
    named = [word for word in meant.head if any(same(word, each) for each in words_of(meant.text))]
    return 0.8 * len(meant.found or ()) + 0.3 * min(len(named), 2) + 0.3 * bool(limits)


def _dated(meant: Measured) -> bool:
    """Return whether title or file name the times that the question asks for: March, of `sales_march_2024.csv`."""
    written = f"{meant.table.title} {meant.table.file}"
    named = [*(each.text for each in periods(re.sub(r"_+", " ", written))), *_ISO_MONTH.findall(written)]
    return all(
        each.how == "=" and any(each.text == own or (each.text[0] == "-" and own.endswith(each.text)) for own in named)
        for each in meant.periods
    )


_ISO_MONTH = re.compile(r"(?<!\d)(?:19|20)\d\d-(?:0[1-9]|1[0-2])(?![\d-])")
"""A month in the name of a file; in a sentence, it may be a span of years."""
