"""Check a statement against the result of a query: its figures are in the result, and are recomputed from the rows used."""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from msgspec import Struct

from research._util.amounts import SCALES
from research.citations.reading import stems
from research.citations.reasons import because, one_line
from research.text import has_cjk
from research.types import Citation, Reason, Source, Verdict

_FORMULA_TERMS = 6
_NUMBER = re.compile(
    rf"(?<![A-Za-z\d.,_])(?P<sign>[-−]?)[$€£¥]?(?P<after>-?)(?P<digits>\d+(?:,\d{{3}})*(?:\.\d+)?)(?:\s?(?P<scale>{'|'.join(SCALES)})(?![a-z]))?"
)
_EMPHASIS = re.compile(r"[*_]{1,3}(?=\S)(?<![^\W_][*_])|(?<=\S)[*_]{1,3}(?![^\W_])")
"""Marks of bold and italics; not the underscores within `rainy_days`."""
_CODE = re.compile(r"`[^`]*`")
_HIGH = re.compile(
    r"\b(?:highest|most|largest|biggest|greatest|maximum|top|longest|fastest|latest)\b|最(?:高|多|大|长|快|晚)", re.I
)
_LOW = re.compile(
    r"\b(?:lowest|fewest|least|smallest|minimum|shortest|slowest|earliest)\b|最(?:低|少|小|短|慢|早)", re.I
)
_NAME = re.compile(r"\b[A-Z][\w'’-]+")
_COMMON = frozenset(
    "The Next By Calculated Read In Of For And Together Year Median Average Total Highest Lowest Number Q1 Q2 Q3 Q4 "
    "January February March April May June July August September October November December".split()
)


class Table(Struct, frozen=True, dict=True):
    """The result of a query and the rows that it used, as a source quotes them."""

    sql: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    used_columns: tuple[str, ...]
    used: tuple[tuple[str, ...], ...]
    """Cells of the rows used, without the row's number."""
    where: str
    whole: bool
    """Whether all rows used are quoted."""
    title: str = ""

    @cached_property
    def labels(self) -> frozenset[str]:
        """The cells of the result that are no figures."""
        return frozenset(cell for row in self.rows for cell in row if cell and value_of(cell) is None)

    @cached_property
    def used_labels(self) -> frozenset[str]:
        """The cells of the rows used that are no figures."""
        return frozenset(cell for row in self.used for cell in row if cell and value_of(cell) is None)


class _Figure(Struct, frozen=True):
    value: float
    tolerance: float
    start: int
    written: str

    def states(self, value: float) -> bool:
        """Return whether this figure is the value, to its written precision and whatever its sign."""
        return abs(abs(self.value) - abs(value)) <= self.tolerance + 1e-9 * abs(value)


def tables_of(source: Source) -> list[Table]:
    """Return the query result that a source quotes; empty for any other source."""
    lines = source.quote.splitlines()
    if (
        not source.url.startswith("library://")
        or "#" not in source.url
        or not lines
        or not lines[0].startswith("Result of ")
    ):
        return []
    place = next((i for i, line in enumerate(lines) if line.startswith("Rows used: ")), len(lines))
    result = [_cells(line) for line in lines[1:place] if line.startswith("|")]
    used = [_cells(line) for line in lines[place + 1 :] if line.startswith("|")]
    if len(result) < 2:
        return []
    where = re.sub(r" \([^()]*\)$", "", lines[place].removeprefix("Rows used: ")) if place < len(lines) else ""
    whole = bool(used) and not lines[-1].endswith("more rows were used") and "any of these" not in lines[place]
    return [
        Table(
            lines[0].removeprefix("Result of "),
            result[0],
            tuple(result[2:]),
            used[0][1:] if used else (),
            tuple(row[1:] for row in used[2:]),
            where,
            whole,
            next((line.removeprefix("Title: ") for line in lines[place:] if line.startswith("Title: ")), ""),
        )
    ]


def _cells(line: str) -> tuple[str, ...]:
    return tuple(cell.strip() for cell in line.strip().removeprefix("|").removesuffix("|").split("|"))


def value_of(cell: str) -> float | None:
    """Return the value of a cell; None if it is no figure."""
    try:
        found = float(cell.replace(",", ""))
    except ValueError:
        return None
    return found if math.isfinite(found) else None


def by_number(sources: Iterable[Source]) -> dict[int, list[Table]]:
    """Return the query results that sources quote, by their numbers."""
    found: dict[int, list[Table]] = {}
    for source in sources:
        found.setdefault(source.n, []).extend(tables_of(source))
    return found


def citations(claim: str, tables: Mapping[int, Sequence[Table]], by: str) -> list[Citation]:
    """Return a citation for each number of a statement that cites query results; empty if they cannot tell."""
    told = check(claim, [table for found in tables.values() for table in found])
    if told is None:
        return []
    reason = one_line(told.reasons)
    return [Citation(n, claim, told.status, told.quote, reason, by, reasons=told.reasons) for n in tables]


class Checked(Struct, frozen=True):
    """What the tables say of a statement."""

    status: Verdict
    reasons: tuple[Reason, ...]
    quote: str


def check(claim: str, tables: Sequence[Table]) -> Checked | None:
    """Return the verdict on a statement that cites query results; None if they cannot tell."""
    text = _EMPHASIS.sub("", _CODE.sub(" ", claim))
    found = [each for table in tables if (each := _against(text, table))]
    return found[0] if found else None


def _against(text: str, table: Table) -> Checked | None:
    named = [label for label in sorted(table.labels, key=len, reverse=True) if _has(text, label)]
    if _strange(text, table) or not _about(text, table, named):
        return None
    figures = list(_figures(text, table))
    ordered = _ordered(text, table, named)
    if ordered is not None and not ordered:
        better = because("the table has another row first: {row}", row=" | ".join(table.rows[0]))
        return Checked("contradicted", (better,), _quoted(table, named))
    if not figures:
        return Checked("supported", (), _quoted(table, named)) if ordered or _counted(text, table) else None
    formulas, direct = [], 0
    for figure in figures:
        row = _row_of(figure, text, table)
        if row is None:
            return None
        if formula := _recomputed(figure, row, table):
            formulas.append(formula)
        elif any(figure.states(value) for value in _direct(row, table)):
            direct += 1
        else:
            formulas.append(f"{figure.written}: {table.sql}")
    if not formulas:
        return Checked("supported", (), _quoted(table, named))
    return Checked("calculated", tuple(Reason(each) for each in dict.fromkeys(formulas)), _quoted(table, named))


def _has(text: str, label: str) -> bool:
    """Return whether a statement names a row; dates may be written out."""
    if has_cjk(label) or not label.isascii():
        return label in text
    if re.search(rf"(?<![A-Za-z\d_]){re.escape(label)}(?![A-Za-z\d_])", text, re.IGNORECASE):
        return True
    return any(form in text for form in _forms(label))


_MONTHS = "January February March April May June July August September October November December".split()


def _forms(label: str) -> tuple[str, ...]:
    """Return how a date may be written: `March 2024` and 2024年3月 for `2024-03`."""
    match = re.fullmatch(r"(\d{4})-(?:(\d\d)|(Q\d))(?:-(\d\d))?", label)
    if match is None:
        return ()
    year, month, quarter, day = match.groups()
    if quarter:
        return f"{quarter} {year}", f"{year}年第{quarter[1]}季度"
    name = _MONTHS[int(month) - 1] if 1 <= int(month) <= 12 else month
    if day:
        return f"{int(day)} {name} {year}", f"{year}年{int(month)}月{int(day)}日"
    return f"{name} {year}", f"{year}年{int(month)}月"


def _strange(text: str, table: Table) -> bool:
    """Return whether a statement names something that is neither in the statement of SQL nor in the rows."""
    known = " ".join(
        [table.sql, table.where, table.title, *table.columns, *table.used_columns, *table.labels, *table.used_labels]
    ).casefold()
    return any(
        match.group().casefold() not in known and match.group() not in _COMMON
        for match in _NAME.finditer(text)
        if match.start()
    )


def _about(text: str, table: Table, named: Sequence[str]) -> bool:
    """Return whether a statement is about the columns that were read, as far as the language lets one tell."""
    file = re.sub(r"\.\w+( |$)", " ", table.where.partition(" › ")[0])
    heads = stems(" ".join([*table.columns, *table.used_columns, file, table.title]).replace("_", " "))
    if heads & stems(text.replace("_", " ")) or not heads:
        return True
    if any(head and head in text for head in (*table.columns, *table.used_columns) if has_cjk(head)):
        return True
    other = has_cjk(text) != has_cjk(" ".join(table.used_columns))
    return (other and bool(named)) or _counted(text, table) or "COUNT(" in table.sql.upper()


def _counted(text: str, table: Table) -> bool:
    """Return whether a statement only says how many rows were used."""
    return bool(re.search(r"\brows\b|行", text)) and any(
        figure.states(float(len(table.used))) for figure in _numbers(text)
    )


def _numbers(text: str, units: str = "") -> Iterator[_Figure]:
    """Yield the figures of a text; a scale that the columns have as their unit, as in `thousand euros`, is not applied."""
    for match in _NUMBER.finditer(text):
        digits = match["digits"].replace(",", "")
        scale = 1.0 if (match["scale"] or "?") in units else 10.0 ** SCALES.get(match["scale"] or "", 0)
        if not match["scale"] and _unscaled(text[match.end() : match.end() + 20], units):
            scale = math.nan  # `100 euros` is not 100 thousand euros
        decimals = len(digits.partition(".")[2])
        sign = -1 if match["sign"] or match["after"] else 1
        tolerance = 0.5 * 10.0**-decimals * scale * (1 if decimals or match["scale"] else 1e-9)
        yield _Figure(sign * float(digits) * scale, tolerance, match.start("digits"), match.group().strip())


_SCALED = re.compile(rf"(?:{'|'.join(SCALES)})s?(?: of)?\s?(?P<unit>[^\W\d_]{{1,20}})")


def _unscaled(after: str, units: str) -> bool:
    """Return whether a figure is followed by the unit of a column without its scale."""
    return any(after.lstrip().startswith(match["unit"]) for match in _SCALED.finditer(units))


def _figures(text: str, table: Table) -> Iterator[_Figure]:
    """Yield the figures of a statement that the tables have to bear out: not those of names, filters and ranks."""
    plain = text
    for label in sorted({*table.labels, *table.used_labels, *table.used_columns}, key=len, reverse=True):
        for form in (label, *_forms(label)):
            if re.search(r"\d", form):
                plain = plain.replace(form, " " * len(form))
    given = [value for word in re.findall(r"\d+(?:\.\d+)?", table.sql) if (value := value_of(word)) is not None]
    cells = [value for row in table.rows for cell in row if (value := value_of(cell)) is not None]
    for figure in _numbers(plain, " ".join(table.used_columns)):
        stated = any(figure.states(cell) for cell in cells)
        filtered = any(figure.value == value for value in given) and not stated
        rank = figure.value.is_integer() and 1 < figure.value <= len(table.rows) and not stated
        rows = figure.value == len(table.used) and re.match(r"[\d,]+\s*(?:rows|行)", plain[figure.start :])
        if not (filtered or rank or rows):
            yield figure


def _row_of(figure: _Figure, text: str, table: Table) -> tuple[str, ...] | None:
    """Return the row of the result that a figure is stated of; None if it is in no row that the statement names."""
    fitting = [row for row in table.rows if any(_states(figure, cell) for cell in row)]
    if len(table.rows) == 1:
        return fitting[0] if fitting else None
    nearest = _nearest(figure, text, table)
    return next((row for row in fitting if nearest is None or nearest in row), None)


def _states(figure: _Figure, cell: str) -> bool:
    value = value_of(cell)
    return value is not None and figure.states(value)


def _nearest(figure: _Figure, text: str, table: Table) -> str | None:
    """Return the row's name that is next to a figure, before it if there is one."""
    places = []
    for label in table.labels:
        for form in (label, *_forms(label)):
            places += [(match.start(), label) for match in re.finditer(re.escape(form), text, re.IGNORECASE)]
    before = [place for place in places if place[0] < figure.start]
    after = [place for place in places if place[0] >= figure.start]
    return max(before)[1] if before else min(after)[1] if after else None


def _direct(row: Sequence[str], table: Table) -> list[float]:
    """Return the figures of the cells used in the rows with a row's names."""
    labels = [cell for cell in row if cell in table.used_labels]
    rows = [used for used in table.used if all(label in used for label in labels)]
    return [value for used in rows for cell in used if (value := value_of(cell)) is not None]


def _recomputed(figure: _Figure, row: Sequence[str], table: Table) -> str:
    """Return the formula that gives a figure from the rows used; empty if none does, or a cell states it."""
    if not table.whole:
        return ""
    labels = [cell for cell in row if cell in table.used_labels]
    rows = [used for used in table.used if all(label in used for label in labels)]
    upper = table.sql.upper()
    if "COUNT(*)" in upper and figure.states(len(rows)):
        return f"{len(rows)} rows = {figure.written}"
    for at in range(len(table.used_columns)):
        values = [value for used in rows if (value := value_of(used[at])) is not None]
        if len(values) < 2:
            continue
        for name, written, result in _results(values, upper):
            if figure.states(result):
                return f"{name}{written} = {figure.written}"
        if "/ COUNT(DISTINCT" in upper and (formula := _mean_of_sums(figure, at, rows, values)):
            return formula
        if "COUNT(DISTINCT" in upper and figure.states(len(set(values))):
            return f"{len(set(values))} different values = {figure.written}"
    if any(figure.states(value) for value in _direct(row, table)):
        return ""  # a cell states it; that it is also a difference of two others says nothing
    return _change(figure, row)


def _mean_of_sums(figure: _Figure, at: int, rows: Sequence[Sequence[str]], values: Sequence[float]) -> str:
    """Return the formula that divides a sum by how many different values, months or years another column has."""
    total = math.fsum(values)
    for other in range(len(rows[0])):
        for length in (4, 7, 100) if other != at else ():
            count = len({used[other][:length] for used in rows})
            if count > 1 and figure.states(total / count):
                return f"{total:,.15g} ÷ {count} = {figure.written}"
    return ""


def _results(values: Sequence[float], sql: str) -> Iterable[tuple[str, str, float]]:
    terms = [f"{value:,.15g}" for value in values]
    shown = " + ".join(terms if len(terms) <= _FORMULA_TERMS else [*terms[:3], "…", *terms[-2:]])
    if "SUM(" in sql:
        yield "", shown, math.fsum(values)
    if "AVG(" in sql:
        yield "", f"({shown}) ÷ {len(values)}", statistics.fmean(values)
    if "MEDIAN(" in sql:
        yield f"median of {len(values)} figures", "", statistics.median(values)
    if "MAX(" in sql:
        yield f"highest of {len(values)} figures", "", max(values)
    if "MIN(" in sql:
        yield f"lowest of {len(values)} figures", "", min(values)


def _change(figure: _Figure, row: Sequence[str]) -> str:
    """Return how a figure follows from two others of its row: as their difference, or as a change in percent."""
    values = [(cell, value) for cell in row if (value := value_of(cell)) is not None]
    for i, (a, first) in enumerate(values):
        for b, last in values[i + 1 :]:
            if figure.states(last - first):
                return (
                    f"{b} − {a} = {figure.written}"
                    if last >= first or figure.value < 0
                    else f"{a} − {b} = {figure.written}"
                )
            if first and figure.states(100 * (last - first) / first):
                return f"({b} − {a}) ÷ {a} = {figure.written}%"
            if last and figure.states(100 * first / last):
                return f"{a} ÷ {b} = {figure.written}%"
    return ""


def _ordered(text: str, table: Table, named: Sequence[str]) -> bool | None:
    """Return whether the row named first is the highest or lowest, where a statement says so; None if it does not."""
    high, low = _HIGH.search(text) is not None, _LOW.search(text) is not None
    if high == low or len(table.rows) < 2 or not named:
        return None
    first = min(named, key=lambda label: text.lower().find(label.lower()) % 10**6)
    row = next(row for row in table.rows if first in row)
    columns = [at for at in range(len(row)) if value_of(row[at]) is not None]
    if not columns:
        return table.rows[0] == row if "ORDER BY" in table.sql.upper() else None
    values = [value for each in table.rows if (value := value_of(each[columns[-1]])) is not None]
    own = value_of(row[columns[-1]]) or 0.0
    return own == (max(values) if high else min(values)) or row[columns[-1]] == table.rows[0][columns[-1]]


def _quoted(table: Table, named: Sequence[str]) -> str:
    """Return the lines of the result that a statement is about, each with the names of its columns."""
    rows = [row for row in table.rows if any(label in row for label in named)] or list(table.rows[:3])
    lines = ["; ".join(f"{head}: {cell}" for head, cell in zip(table.columns, row, strict=False)) for row in rows[:3]]
    heads = table.used_columns or table.columns
    return "\n".join([*lines, f"{table.where} ({', '.join(heads)})"])
