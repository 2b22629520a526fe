"""Read what the tool `query` says: the tables that it describes, and the rows of a result."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from research.citations.labelled import split
from research.models.extractive.evidence import Fact, Step
from research.models.extractive.times import MONTHS, YEAR, month_of
from research.sandbox.sql import ROW
from research.search.library.catalogue import identifier
from research.text import has_cjk, tokens

QUERY = "query"
_TABLE = re.compile(r"^table (?P<name>\w+) \((?P<file>.+?)(?:, (?P<rows>[\d,]+) rows?)?\)(?:: (?P<title>.*))?$", re.M)
_COLUMN = re.compile(
    r'^- (?P<sql>\w+) "(?P<name>.*?)": (?P<type>text|number|date|year)(?:, (?!values: |[\d,]+ values such as: |\d+ blank)'
    r"(?P<unit>[^,|]*?)(?=, |$))?(?P<rest>.*)$"
)
_MONTHS = 3
"""Least columns named by months that make each a row."""
_MONTH = re.compile(r"^(?:month|monat|mois|mes|mese)\b|^月份? ", re.I)
"""Matches the name of a column of the numbers of months."""
_VALUES = re.compile(r", (?:(?P<all>values)|(?P<many>[\d,]+) values such as): (?P<values>.*?)(?:, \d+ blank)?$")
_RANGE = re.compile(r"(?:^|, )(?P<low>[-\d][-\d.,:Q ]*?) to (?P<high>[-\d][-\d.,:Q ]*?)(?:, \d+ blank)?$")
_BLANK = re.compile(r", ([\d,]+) blank$")
_HEAD = re.compile(
    r"^\[(?P<n>\d+)\] (?P<title>.+)\n<(?P<url>\S+)>\n> Result of (?P<sql>.*)\n(?P<rows>(?:> \|.*(?:\n|$))*)", re.M
)
_USED = re.compile(r"^> Rows used: (?P<where>.+?)(?: \((?P<count>[\d,]+) rows?\))?$", re.M)


class PColumn(Struct, frozen=True, dict=True):
    """A column as the tool describes it."""

    sql: str
    name: str
    type: str
    unit: str = ""
    values: tuple[str, ...] = ()
    """Values of a column of text: all of them, or those that the question names and some others."""
    different: int = 0
    """How many different values it has."""
    low: str = ""
    high: str = ""
    blank: int = 0
    """How many of its cells are empty."""
    also: tuple[str, ...] = ()
    """The question's words for its name, which is in another language."""

    @property
    def said(self) -> str:
        """Its name as people write it: `rainy days` for `rainy_days`."""
        return self.name if " " in self.name else self.name.replace("_", " ")

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The words of its name."""
        spaced = re.sub(r"(?<=[a-z])(?=[A-Z])|_", " ", self.name)
        return (*(word for word in tokens(spaced) if not word.isdigit()), *self.also)


class PTable(Struct, frozen=True):
    """A table as the tool describes it."""

    name: str
    file: str
    title: str
    rows: int
    columns: tuple[PColumn, ...]
    by_month: bool = False
    """Whether it was a table with a column for each month, and has a row for each now."""

    def unique(self, column: PColumn) -> bool:
        """Return whether each row has another value in a column of text, which so names it."""
        return column.different >= self.rows > 0

    def leads(self, column: PColumn | None) -> bool:
        """Return whether a column of text is the first and names most rows, some by the same name."""
        return column is self.columns[0] and column.type == "text" and self.rows > column.different >= self.rows / 2

    def of_each_time(self) -> PColumn | None:
        """Return the column of months or years of which each row has another, without a gap."""
        column = self.columns[0]
        if column.type == "month" and column.different >= self.rows > 0:
            return column
        ends = [re.fullmatch(r"(\d{4})(?:-(\d\d))?", end) for end in (column.low, column.high)]
        if column.type not in ("date", "year") or not (ends[0] and ends[1]):
            return None
        low, high = (int(end[1]) * 12 + int(end[2] or 1) for end in ends if end)
        return column if high - low == (self.rows - 1) * (1 if ends[0][2] else 12) else None

    @property
    def times(self) -> list[PColumn]:
        """The columns of dates and years, or of months if there are none."""
        return self.of_type("date", "year") or self.of_type("month")

    def of_type(self, *types: str) -> list[PColumn]:
        """Return the columns of these types."""
        return [column for column in self.columns if column.type in types]


class Rows(Struct, frozen=True):
    """The result of a statement, with the source to cite."""

    n: int
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    where: str
    """The cells that it was made from, as a locator."""
    count: int
    facts: tuple[Fact, ...]


def tables(text: str) -> list[PTable]:
    """Return the tables that the tool describes."""
    found = []
    matches = list(_TABLE.finditer(text))
    for match, end in zip(matches, [*(each.start() for each in matches[1:]), len(text)], strict=False):
        body = text[match.end() : end]
        columns = tuple(filter(None, map(_column, body.splitlines())))
        rows = int((match["rows"] or "0").replace(",", ""))
        found += _long(PTable(match["name"], match["file"], match["title"] or "", rows, columns))
    return found


def _long(table: PTable) -> list[PTable]:
    """Return a table, and before it, as one row for each month, those of its columns that are months."""
    months = {each: month for each in table.of_type("number") if (month := month_of(each.name))}
    if len(months) < _MONTHS:
        return [table]
    rest = [each for each in table.columns if each not in months]
    keys = [each for each in rest if each.type != "number"]
    sheet = YEAR.sub("", table.file.partition(" › ")[2]).strip(" -_,:()年")
    title = sheet if sheet and not sheet[-1].isdigit() else table.title or table.file.partition(".")[0]
    low, *_, high = sorted(months.values())
    zh = has_cjk(keys[0].name) if keys else False
    names = tuple(f"{month}月" if zh else MONTHS[month - 1] for month in months.values())
    by = PColumn("month", "月份" if zh else "month", "month", "", names, len(names), f"-{low:02}", f"-{high:02}")
    ends = [value for each in months for end in (each.low, each.high) if (value := figure(end)) is not None]
    unit, blank = next(iter(months)).unit, sum(each.blank for each in months)
    measure = PColumn(
        f"{identifier(title)}_",
        title,
        "number",
        unit,
        low=f"{min(ends, default=0):g}",
        high=f"{max(ends, default=0):g}",
        blank=blank,
    )
    shared = ", ".join([ROW, *(each.sql for each in keys)])
    parts = [
        f"SELECT {shared}, '{name}' AS month, {each.sql} AS {measure.sql} FROM {table.name}"
        for name, each in zip(names, months, strict=True)
    ]
    source, columns = f"({' UNION ALL '.join(parts)})", (*keys, by, measure)
    return [replace(table, name=source, rows=table.rows * len(months), columns=columns, by_month=True), table]


def _column(line: str) -> PColumn | None:
    match = _COLUMN.match(line)
    if match is None:
        return None
    unit, rest = match["unit"] or "", match["rest"]
    if _RANGE.fullmatch(unit):
        unit, rest = "", f", {unit}{rest}"
    values, spread = _VALUES.search(rest), _RANGE.search(rest)
    listed = tuple(each.strip() for each in values["values"].split(" | ")) if values else ()
    different = int(values["many"].replace(",", "")) if values and values["many"] else len(listed)
    low, high = (spread[end].replace(",", "").strip() if spread else "" for end in ("low", "high"))
    months = sorted(map(month_of, listed)) if different == len(listed) else []
    if months and months[0]:
        return PColumn(
            match["sql"], match["name"], "month", "", listed, different, f"-{months[0]:02}", f"-{months[-1]:02}"
        )
    if _MONTH.search(f"{match['name']} {unit}") and low.isdigit() and high.isdigit() and 0 < int(low) <= int(high) < 13:
        return PColumn(match["sql"], match["name"], "month", "", (), different, f"-{int(low):02}", f"-{int(high):02}")
    blank = _BLANK.search(rest)
    return PColumn(
        match["sql"],
        match["name"],
        match["type"],
        unit,
        listed,
        different,
        low,
        high,
        int(blank[1].replace(",", "")) if blank else 0,
    )


def asked_of(steps: Sequence[Step], about: str) -> Step | None:
    """Return the step in which the tool described the tables for a question."""
    return next((step for step in steps if step.name == QUERY and step.arguments.get("about") == about), None)


def result_of(steps: Sequence[Step], sql: str) -> Rows | None:
    """Return the result of a statement that was run; None if it was not, or failed, or returned nothing."""
    step = next((step for step in steps if step.name == QUERY and step.arguments.get("sql") == sql), None)
    match = _HEAD.search(step.text) if step and step.ok else None
    if step is None or match is None:
        return None
    lines = [split(line.removeprefix("> ")) for line in match["rows"].splitlines()]
    used = _USED.search(step.text)
    if len(lines) < 3 or used is None:
        return None
    where = used["where"].removesuffix(" (any of these rows)")
    n = int(match["n"])
    return Rows(
        n,
        lines[0],
        tuple(lines[2:]),
        where,
        int((used["count"] or "0").replace(",", "")),
        tuple(fact for fact in step.facts if fact.n == n),
    )


def ran(steps: Sequence[Step], sql: str) -> bool:
    """Return whether a statement was run, successfully or not."""
    return any(step.name == QUERY and step.arguments.get("sql") == sql for step in steps)


def figure(text: str) -> float | None:
    """Return the value of a cell; None if it is no figure."""
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return None


def shown(rows: Sequence[Sequence[str]], columns: Sequence[str]) -> list[str]:
    """Return the lines of a markdown table."""
    return [f"| {' | '.join(columns)} |", "|" + " --- |" * len(columns), *(f"| {' | '.join(row)} |" for row in rows)]
