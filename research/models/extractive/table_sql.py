"""Write the SQL of a plan."""

from __future__ import annotations

from collections.abc import Sequence

from research.models.extractive.table_columns import Filter
from research.models.extractive.table_plan import Plan
from research.models.extractive.table_reading import PColumn
from research.models.extractive.times import Period, month_of
from research.sandbox.sql import ROW

SHOWN = 12
"""Rows of a ranking or a list that are fetched."""
LISTED = 40
"""Most members of a list."""
_JOINED = {"RATIO": "per", "LESS": "minus"}
_QUARTERS = {
    "Q1": ("01", "03"),
    "Q2": ("04", "06"),
    "Q3": ("07", "09"),
    "Q4": ("10", "12"),
    "H1": ("01", "06"),
    "H2": ("07", "12"),
}
_HALVES = {"H1": ("Q1", "Q2"), "H2": ("Q3", "Q4")}


def statement(plan: Plan) -> str:
    """Return the SELECT statement that answers; empty if the plan has no period to compare."""
    table = plan.table.name
    if plan.operation == "growth":
        return _growth(plan)
    conditions = [*_values(plan.filters), *_times(plan), *_limits(plan)]
    if plan.operation == "count":
        what = f"COUNT(DISTINCT {plan.group.sql})" if plan.group else "COUNT(*)"
        return f"SELECT {what} AS n FROM {table}{_where(conditions)}"
    if plan.operation == "share":
        one = plan.measure.sql if plan.measure else "1"  # rows are counted
        chosen, others = parted(plan)
        inside = " AND ".join(_values(chosen))
        rest = _where([*_values(others), *_times(plan), *_limits(plan)])
        part, whole = f"SUM(CASE WHEN {inside} THEN {one} END)", f"SUM({one})"
        return f"SELECT {part} AS part, {whole} AS whole, 100.0 * {part} / {whole} AS percent FROM {table}{rest}"
    if plan.operation == "list":
        assert plan.group
        where = _where([*conditions, f"{plan.group.sql} IS NOT NULL"])
        order = f"ORDER BY {plan.group.sql} LIMIT {LISTED + 1}"
        for column, over in plan.limits:
            if over.other:
                sums = [f"SUM({each.sql})" for each in (column, over.other)]
                select = f"{plan.group.sql}, {sums[0]} AS {column.sql}, {sums[1]} AS {over.other.sql}"
                if plan.absolute:
                    select += f", {sums[0]} - {sums[1]} AS difference"
                rest = f"GROUP BY {plan.group.sql} HAVING {sums[0]} {over.sign} {sums[1]}"
                return f"SELECT {select} FROM {table}{where} {rest} {order}"
        listed = ", ".join(each.sql for each in (plan.group, *plan.beside))
        return f"SELECT DISTINCT {listed} FROM {table}{where} {order}"
    if plan.operation == "difference":
        return _difference(plan)
    used = plan.pair or ([plan.measure] if plan.measure else [])
    conditions += [f"{each.sql} IS NOT NULL" for each in used]
    value = _value(plan, f"{table}{_where(conditions)}")
    if plan.operation == "rank":
        assert plan.group
        way = "DESC" if plan.most else "ASC"
        order = _ordered(plan.group) if plan.many < 0 else f"{value_name(plan)} {way}, {plan.group.sql}"
        where = _where([*conditions, f"{plan.group.sql} IS NOT NULL"])
        limit = 100 if plan.many < 0 else max(SHOWN, plan.many + 2)
        group = plan.group.sql
        row = f"{ROW}, " if plan.table.leads(plan.group) and plan.aggregate in ("MAX", "MIN") else ""
        rest = f"GROUP BY {row}{group} ORDER BY {order} LIMIT {limit}"
        return f"SELECT {group}, {value} AS {value_name(plan)} FROM {table}{where} {rest}"
    assert plan.measure
    if plan.operation == "lookup":
        told = [each.column for each in plan.filters if plan.table.unique(each.column) or each.column.type == "number"]
        texts = [each for each in plan.table.columns if each.type != "number" and each is not plan.measure]
        keys = [column.sql for column in told or texts[:4]]
        return f"SELECT {', '.join([*keys, plan.measure.sql])} FROM {table}{_where(conditions)} LIMIT {SHOWN}"
    if plan.each:
        assert plan.time
        value = f"1.0 * SUM({plan.measure.sql}) / COUNT(DISTINCT {_each(plan.time, plan.each)})"
    return f"SELECT {value} AS {value_name(plan)} FROM {table}{_where(conditions)}"


def _value(plan: Plan, rows: str) -> str:
    """Return the expression for the figure that is asked for; `rows` are those of which a share is taken."""
    if plan.measure is None:
        return "COUNT(*)"
    if plan.pair:
        one, other = (f"SUM({each.sql})" for each in plan.pair)
        return f"1.0 * {one} / {other}" if plan.aggregate == "RATIO" else f"{one} - {other}"
    if plan.aggregate == "SHARE":
        return f"100.0 * SUM({plan.measure.sql}) / (SELECT SUM({plan.measure.sql}) FROM {rows})"
    return f"{plan.aggregate}({plan.measure.sql})"


def value_name(plan: Plan) -> str:
    """Return the name of the figure in a result: `sum_sales`, `max_age`, `n_rows`, `rent_per_seats`, `budget_minus_spent`."""
    if plan.pair:
        return f"_{_JOINED[plan.aggregate]}_".join(each.sql for each in plan.pair)
    return f"{plan.aggregate.lower()}_{plan.measure.sql}" if plan.measure else "n_rows"


def _each(time: PColumn, period: str) -> str:
    """Return the expression for the month or year of a column of dates."""
    if time.type == "month":
        return time.sql
    length = {"month": 7, "year": 4}[period]
    return time.sql if time.type == "year" or len(time.low) <= length else f"substr({time.sql}, 1, {length})"


def _difference(plan: Plan) -> str:
    """Return the statement that compares the two values that a question names."""
    assert plan.measure
    one, other = sorted(plan.filters, key=lambda each: each.start)
    parts = [
        f"{plan.aggregate}(CASE WHEN {each.column.sql} = {text(each.value)} THEN {plan.measure.sql} END)"
        for each in (one, other)
    ]
    where = _where([*_values(plan.filters), *_times(plan), *_limits(plan)])
    select = f"{parts[0]} AS first, {parts[1]} AS second, {parts[0]} - {parts[1]} AS difference"
    return f"SELECT {select} FROM {plan.table.name}{where}"


def _where(conditions: Sequence[str]) -> str:
    return f" WHERE {' AND '.join(conditions)}" if conditions else ""


def text(value: str) -> str:
    """Return a value as a text of SQL."""
    return "'" + value.replace("'", "''") + "'"


def parted(plan: Plan) -> tuple[Sequence[Filter], Sequence[Filter]]:
    """Return the values that choose the part of a share, and those of its whole: of rows, the column named last is the part."""
    last = max(plan.filters, key=lambda each: each.start).column
    part = [each for each in plan.filters if plan.measure or each.column is last]
    return part, [each for each in plan.filters if each not in part]


def _values(filters: Sequence[Filter]) -> list[str]:
    columns: dict[str, dict[str, None]] = {}
    for each in filters:
        value = each.value if each.column.type == "number" else text(each.value)
        columns.setdefault(each.column.sql, {})[value if each.value else ""] = None
    return [_equal(column, list(values)) for column, values in columns.items()]


def _equal(column: str, values: Sequence[str]) -> str:
    if not values[0]:
        return f"{column} IS NULL"
    return f"{column} = {values[0]}" if len(values) == 1 else f"{column} IN ({', '.join(values)})"


def _limits(plan: Plan) -> list[str]:
    return [f"{column.sql} {limit.sign} {limit.value:.15g}" for column, limit in plan.limits if not limit.other]


def _times(plan: Plan) -> list[str]:
    """Return the conditions on the column of dates."""
    if plan.time is None or plan.wide:
        return []
    periods = [each for each in plan.periods if each.text]
    if not periods:
        return []
    moments = [_moment(plan.time, each) for each in periods]
    if len(periods) == 1 or any(each.how != "=" for each in periods):
        return [_condition(*moment, each.how) for moment, each in zip(moments, periods, strict=True)]
    return [f"({' OR '.join(_condition(*moment, '=') for moment in moments)})"]


def _condition(what: str, ends: tuple[str, str], how: str) -> str:
    low, high = ends
    if how == "=":
        return f"{what} = {low}" if low == high else f"{what} BETWEEN {low} AND {high}"
    return f"{what} {how} {high if how in ('>', '<=') else low}"


def _ordered(column: PColumn) -> str:
    """Return the expression that puts the values of a column in order: for names of months, their numbers."""
    if column.type != "month" or not column.values:
        return column.sql
    return f"CASE {column.sql} {' '.join(f'WHEN {text(each)} THEN {month_of(each)}' for each in column.values)} END"


def _moment(column: PColumn, period: Period) -> tuple[str, tuple[str, str]]:
    """Return the expression to compare with a period, and the period's first and last value of it."""
    year, dash, part = period.text.partition("-")
    if column.type == "year":
        return column.sql, (year, year)
    if column.type == "month":
        first, last = _QUARTERS.get(part, (part, part))
        return _ordered(column), (str(int(first)), str(int(last)))
    if not dash:
        return f"substr({column.sql}, 1, 4)", (text(year), text(year))
    start = f"1, {5 + len(part)}" if year else f"6, {len(part)}"
    if "Q" in column.low and part in _HALVES:
        first, last = _HALVES[part]
        return f"substr({column.sql}, {start})", (text(f"{year}-{first}"), text(f"{year}-{last}"))
    if part in _QUARTERS and "Q" not in column.low:
        first, last = _QUARTERS[part]
        return f"substr({column.sql}, {start})", (
            text(f"{year}-{first}" if year else first),
            text(f"{year}-{last}" if year else last),
        )
    value = text(f"{year}-{part}" if year else part)
    return f"substr({column.sql}, {start})", (value, value)


def ends(plan: Plan) -> tuple[str, str] | None:
    """Return the two periods that a change is measured between; None if there are no two."""
    named = [each.text for each in plan.periods if each.text]
    if plan.wide:
        years = [year for year, _ in plan.wide]
        named = [each for each in years if each in named] if named else [years[0], years[-1]]
        if len(named) == 1:
            index = years.index(named[0])
            named = [named[0], years[-1]] if plan.periods[0].how in (">=", ">") else years[index - 1 : index + 1]
        return (named[0], named[-1]) if len(named) > 1 and named[0] != named[-1] else None
    if plan.time is None:
        return None
    low, high = plan.time.low, plan.time.high
    if len(named) >= 2:
        return min(named), max(named)
    cut = 4 if low[:4] != high[:4] else 7
    if len(named) == 1 and plan.periods[0].how in (">=", ">") and "-" not in named[0]:
        return (named[0], high[:4]) if named[0] < high[:4] else None
    if len(named) == 1 and "-" not in named[0]:
        if plan.time.type == "date" and low[:4] <= named[0] <= high[:4] and len(low) > 4:
            return max(low, f"{named[0]}-01")[:7], min(high, f"{named[0]}-12")[:7]
        before = str(int(named[0]) - 1)
        return (before, named[0]) if low[:4] <= before else None
    if len(named) == 1:
        return None
    return (low[:cut], high[:cut]) if low[:cut] != high[:cut] else None


def _growth(plan: Plan) -> str:
    found = ends(plan)
    if found is None or plan.measure is None:
        return ""
    if plan.wide:
        columns = dict(plan.wide)
        parts = [f"{plan.aggregate}({columns[year].sql})" for year in found]
    else:
        assert plan.time
        moments = [_moment(plan.time, Period(each)) for each in found]
        parts = [
            f"{plan.aggregate}(CASE WHEN {_condition(*moment, '=')} THEN {plan.measure.sql} END)" for moment in moments
        ]
    names = [f"in_{each.strip('-').replace('-', '_').lower()}" for each in found]
    first, last = parts
    change = f"{last} - {first} AS change, 100.0 * ({last} - {first}) / {first} AS percent"
    select = f"{first} AS {names[0]}, {last} AS {names[1]}, {change}"
    where = _where([*_values(plan.filters), *_limits(plan)])
    if plan.group is None:
        return f"SELECT {select} FROM {plan.table.name}{where}"
    order = f"{'change' if plan.absolute else 'percent'} {'DESC' if plan.most else 'ASC'}"
    group = plan.group.sql
    rest = f"GROUP BY {group} ORDER BY percent IS NULL, {order} LIMIT {max(SHOWN, plan.many + 2)}"
    return f"SELECT {group}, {select} FROM {plan.table.name}{where} {rest}"
