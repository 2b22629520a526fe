"""Make a table of the cells of a file: find its header, its data, its totals, and the type and unit of each column."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from research.text import clip
from research.web import figures
from research.web.figures import BLANK, Figure, Mark
from research.web.table import (
    MAX_CELL,
    MAX_CELLS,
    MAX_COLUMNS,
    NOTES,
    Cell,
    Column,
    ColumnType,
    Table,
    letters,
    located,
)

_HEAD_ROWS = 30
"""Rows at the top searched for the header."""
_UNIT = re.compile(r"^(?P<name>.*\S)\s*[(\[（【](?P<unit>[^()\[\]（）【】]{1,30})[)\]）】]$")
_TRAILING = re.compile(
    r"(?:, ?|\sin\s|[\s_-])(?P<unit>%|[$€£¥]|(?P<code>(?i:USD|EUR|GBP|CNY|RMB|JPY|CHF))(?: ?(?:k|m|bn|million|billion))?|"
    r"kg|km|°C|mm|kWh|MWh|pct|percent|(?<=_)(?:m|cm|ha|kW|MW|GWh))$"
)
_UNIT_NOTE = re.compile(
    r"[(（]?(?:all )?(?:figures|amounts|values|units?|单位)?\s{0,2}[:：]?\s{0,2}(?:are )?(?:in )?"
    r"(?P<unit>(?:thousands?|millions?|billions?)(?: of)? [^\W\d_]{2,12}|[A-Z]{3} (?:thousand|million|billion)s?|"
    r"(?<=[:：])\s{0,2}[^\W\d_]{1,8}|(?<=[:：] )[^\W\d_]{1,8})[)）]?",
    re.IGNORECASE,
)
"""A line above a table that names the unit of its figures: `(thousand euros)`, `单位：万元`."""
_YEARS = re.compile(r"\byears?\b|\b(?:fy|yr|jahr|ann[eé]e|año)\b|年(?:份|度)?$", re.IGNORECASE)
_YEAR = re.compile(r"(?:FY ?)?((?:18|19|20)\d\d)(?: ?年)?")
_ENDS_IN_YEAR = re.compile(rf"(?<= ){_YEAR.pattern}$")
_DATES = re.compile(r"date|day\b|日期|时间|日$", re.IGNORECASE)
_TOTAL = re.compile(
    r"(?:grand |sub-?)?totals?\b.{0,40}|sum(?: total)?|overall(?: total)?|all(?: [^\W\d_]+)?|averages?|mean|"
    r"(?:合|总|小|共)计.{0,8}|总和|总数|平均值?|均值|全部|gesamt|summe|ensemble",
    re.IGNORECASE,
)
_SUMS = 0.005
"""Relative tolerance of a total against its column's sum: figures are rounded."""
_FIGURES = 0.9
"""Least share of figures in a long column of figures; its other cells are remarks."""
_MANY = 20
_TITLE = 200


class _Grid(Struct, frozen=True):
    """The cells of a file that are not blank at its edges."""

    rows: tuple[tuple[Cell, ...], ...]
    numbers: tuple[int, ...]
    across: tuple[int, ...]


class _Typed(Struct, frozen=True):
    """The values of a column, and the positions of cells without one."""

    type: ColumnType
    values: list[Cell]
    unit: str = ""
    strange: tuple[int, ...] = ()


def table(
    cells: Sequence[Sequence[Cell]],
    place: str = "",
    *,
    row: int = 1,
    column: int = 1,
    title: str = "",
    mark: Mark | None = None,
) -> Table | None:
    """Return the table that these cells contain; None if there are no two rows of two filled cells.

    `place` is as in `Table.place`; `row` and `column` are the numbers of the first cell in the file, from 1.  `mark` is
    the decimal mark if the figures do not show it. Dates are given as texts; other cells may have any type.
    """
    found = _trimmed(cells, row, column)
    if found is None:
        return None
    width = len(found.across)
    start = _first_full_row(found.rows)
    above = [_line(each) for each in found.rows[:start]]
    depth = _header_rows(found.rows[start:])
    if start + depth >= len(found.rows):
        return None
    names = _names(found.rows[start : start + depth], found.across)
    end = _last_row(found.rows, start + depth)
    below = [_line(each) for each in found.rows[end:]]
    last, end = end, _totals(found.rows, start + depth, end)
    totals = [_left_out(names, found.rows[at], found.numbers[at]) for at in range(end, last)]
    rows, numbers = found.rows[start + depth : end], found.numbers[start + depth : end]
    room = max(1, MAX_CELLS // width)
    typed = _typed(names, rows[:room], mark)
    unit_of_all = next(filter(None, map(_UNIT_NOTE.fullmatch, above)), None) or _TRAILING.search(title)
    noted = unit_of_all["unit"].strip() if unit_of_all else ""
    columns = tuple(
        Column(clip(name, 200), each.type, clip(measured, 40), at, not measured and _may_be_years(each))
        for (name, unit), each, at in zip(names, typed, found.across, strict=True)
        for measured in [each.unit or unit or (noted if each.type == "number" else "")]
    )
    strange = [
        f"{columns[i].name}: {str(rows[at][i])[:40]!r} ({located('', place, [numbers[at]], [columns[i].at])[3:]}) is not a "
        f"{'figure' if each.type == 'number' else each.type}"
        for i, each in enumerate(typed)
        for at in each.strange[:3]
    ]
    heading = title or next(iter(above), "")
    said = [*above[0 if title or len(heading) > _TITLE else 1 :], *below, *totals]
    if len(said) > NOTES:
        said = [*said[: NOTES - 1], f"{len(said) - NOTES + 1:,} more remarks on the table were not read"]
    whole = Table(
        columns,
        tuple(zip(*(each.values for each in typed), strict=True)),
        numbers[:room],
        place,
        clip(heading, _TITLE),
        tuple(clip(each, 300) for each in [*said, *strange])[:NOTES],
        max(0, len(rows) - room),
    )
    return _without_subtotals(whole)


def _trimmed(cells: Sequence[Sequence[Cell]], row: int, column: int) -> _Grid | None:
    """Drop blank rows and columns; None if too little is left."""
    kept = [(number, [_cell(each) for each in line[:MAX_COLUMNS]]) for number, line in enumerate(cells, row)]
    kept = [(number, line) for number, line in kept if any(each is not None for each in line)]
    width = max((len(line) for _, line in kept), default=0)
    lines = [[*line, *[None] * (width - len(line))] for _, line in kept]
    used = [i for i in range(width) if any(line[i] is not None for line in lines)]
    if len(used) < 2 or len(lines) < 2:
        return None
    rows = tuple(tuple(line[i] for i in used) for line in lines)
    return _Grid(rows, tuple(number for number, _ in kept), tuple(column + i for i in used))


def _cell(value: Cell) -> Cell:
    if isinstance(value, str):
        return " ".join(value.replace("\0", "").split())[:MAX_CELL] or None
    if isinstance(value, float) and (value != value or abs(value) == float("inf")):
        return None
    return value


def _line(row: Sequence[Cell]) -> str:
    return " ".join(str(each) for each in row if each is not None)


def _filled(row: Sequence[Cell]) -> int:
    return sum(each is not None for each in row)


def _first_full_row(rows: Sequence[Sequence[Cell]]) -> int:
    """Return where the header or data begins: titles above have fewer cells than the rows below."""
    counts = sorted(_filled(row) for row in rows)
    usual = counts[len(counts) // 2]
    for at, row in enumerate(rows[:_HEAD_ROWS]):
        if _filled(row) >= max(2, usual / 2):
            return at - 1 if at and _filled(rows[at - 1]) > 1 and _groups(rows[at - 1], row) else at
    return 0


def _groups(above: Sequence[Cell], row: Sequence[Cell]) -> bool:
    """Return whether a row with fewer cells names groups of the next row's columns."""
    return _grouping(above) and not any(_is_figure(each) and not _YEAR.fullmatch(str(each)) for each in row)


def _is_figure(value: Cell) -> bool:
    if isinstance(value, str):
        return figures.figure(value) is not None or value.lower() in BLANK
    return value is not None


def _header_rows(rows: Sequence[Sequence[Cell]]) -> int:
    """Return how many rows are the header: none, one, or two where the first groups columns of the second."""
    body = rows[1 : 1 + _MANY]
    of_figures = [i for i in range(len(rows[0])) if _mostly(body, i)]
    if any(_is_figure(rows[0][i]) and not _is_year_head(rows, i) for i in of_figures if rows[0][i] is not None):
        return 0
    if not of_figures and not all(isinstance(each, str) for each in rows[0] if each is not None):
        return 0
    if len(rows) > 2 and _grouping(rows[0]):
        below = [i for i in range(len(rows[0])) if _mostly(rows[2 : 2 + _MANY], i)]
        if below and not any(_is_figure(rows[1][i]) and not _is_year_head(rows[1:], i) for i in below):
            return 2
    return 1


def _mostly(rows: Sequence[Sequence[Cell]], column: int) -> bool:
    """Return whether a column holds figures."""
    values = [row[column] for row in rows if row[column] is not None]
    return bool(values) and sum(map(_is_figure, values)) >= 0.7 * len(values)


def _is_year_head(rows: Sequence[Sequence[Cell]], column: int) -> bool:
    """Return whether the first cell is a year that heads figures other than years."""
    head = rows[0][column]
    if head is None or not _YEAR.fullmatch(str(head)):
        return head is not None and _is_named_year(str(head), rows[0], [row[column] for row in rows[1 : 1 + _MANY]])
    below = [str(row[column]) for row in rows[1 : 1 + _MANY] if row[column] is not None]
    heads = [str(each) for each in rows[0] if each is not None and _YEAR.fullmatch(str(each))]
    return not all(map(_YEAR.fullmatch, below)) or (len(heads) > 2 and len(set(heads)) == len(heads))


def _is_named_year(head: str, heads: Sequence[Cell], below: Sequence[Cell]) -> bool:
    """Return whether a head is a year or one of several numbers, with words that are not a unit of the figures below.

    `2023 sales`, `FTE 2023`, `2023年订单`; 1月, 2月, 3月.
    """
    match = _YEAR.match(head) or _ENDS_IN_YEAR.search(head)
    words = (head[match.end() :] or head[: match.start()]).strip() if match else ""
    if match is None and (found := figures.figure(head)) and not found.power and len(found.digits) < 3:
        words = found.unit if sum(str(each).endswith(found.unit) for each in heads) > 1 else ""
    return bool(words) and not words[0].isdigit() and not any(words in str(each) for each in below)


def _grouping(row: Sequence[Cell]) -> bool:
    """Return whether a row names groups of columns: neighbours are blank or equal, as merged cells are saved."""
    pairs = list(zip(row[1:], row[2:], strict=False))
    return any(one is not None and (other is None or other == one) for one, other in pairs)


def _names(rows: Sequence[Sequence[Cell]], across: Sequence[int]) -> list[tuple[str, str]]:
    """Return the name and the unit of each column; repeated names get a number."""
    found = []
    group: Cell = None
    for i, at in enumerate(across):
        parts = [row[i] for row in rows]
        if len(rows) == 2:
            group = parts[0] if parts[0] is not None else group
            parts = [group if parts[1] is not None and i else parts[0], parts[1]]
        whole = " ".join(dict.fromkeys(str(part) for part in parts if part is not None))
        found.append(_split(whole) if whole else (f"column {letters(at)}", ""))
    seen: Counter[str] = Counter()
    unique = []
    for name, unit in found:
        seen[name.casefold()] += 1
        unique.append((name if seen[name.casefold()] == 1 else f"{name} {seen[name.casefold()]}", unit))
    return unique


def _split(head: str) -> tuple[str, str]:
    """Return the name and the unit in a header: `Sales (EUR)`, `Weight [kg]`, `Share, %`."""
    if match := _UNIT.match(head):
        name, unit = match["name"], match["unit"]
    elif match := _TRAILING.search(head, 1):
        code = match["code"] or ""
        name, unit = head[: match.start()], code.upper() + match["unit"].removeprefix(code)  # `revenue_eur`
    name = name.rstrip(" ,:：") if match else ""
    return (name, unit.strip()) if name.strip(" _-") else (head, "")


def _last_row(rows: Sequence[Sequence[Cell]], start: int) -> int:
    """Return where the data ends; lines below it have one cell, such as a remark on the source."""
    usual = sorted(_filled(row) for row in rows[start:])[len(rows[start:]) // 2]
    end = len(rows)
    while end > start + 1 and _filled(rows[end - 1]) == 1 and usual > 2 and rows[end - 1][0] is not None:
        if _TOTAL.fullmatch(str(rows[end - 1][0])):
            break
        end -= 1
    return end


def _typed(names: Sequence[tuple[str, str]], rows: Sequence[Sequence[Cell]], mark: Mark | None) -> list[_Typed]:
    columns = [[row[i] for row in rows] for i in range(len(names))]
    taken = [[figures.figure(each) if isinstance(each, str) else None for each in column] for column in columns]
    own = [figures.decimal_mark([each.digits for each in column if each]) for column in taken]
    common = Counter(each for each in own if each).most_common(1)
    usual = common[0][0] if common else mark or "."
    return [
        _column(name, column, parts, mark or usual)
        for (name, _), column, parts, mark in zip(names, columns, taken, own, strict=True)
    ]


def _column(name: str, cells: list[Cell], parts: list[Figure | None], mark: Mark) -> _Typed:
    filled = [i for i, each in enumerate(cells) if each is not None]
    stated = [i for i in filled if not (isinstance(cells[i], str) and str(cells[i]).lower() in BLANK)]
    texts = [str(cells[i]) for i in stated]
    if not stated:
        return _Typed("text", cells)
    if _YEARS.search(name) and all(map(_YEAR.fullmatch, texts)):
        years = {i: int(match[1]) for i in stated if (match := _YEAR.fullmatch(str(cells[i])))}
        return _Typed("year", [years.get(i) for i in range(len(cells))])
    numeric = [isinstance(cells[i], int | float) for i in stated]
    if not any(numeric) and (found := figures.dates(texts, compact=bool(_DATES.search(name)))):
        days = dict(zip(stated, found, strict=True))
        return _Typed("date", [days.get(i) for i in range(len(cells))])
    if figures.is_code(texts):
        return _Typed("text", [None if each is None else str(each) for each in cells])
    values: dict[int, int | float] = {}
    units: Counter[str] = Counter()
    for i in stated:
        cell, part = cells[i], parts[i]
        got = cell if isinstance(cell, int | float) else figures.value(part, mark) if part else None
        if got is not None:
            values[i] = got
            units[part.unit if part else ""] += 1
    strange = tuple(i for i in stated if i not in values)
    unit = max(units, key=lambda each: units[each]) if units else ""
    alike = len([each for each in units if each]) <= 1
    enough = len(values) == len(stated) or (len(stated) >= _MANY and len(values) >= _FIGURES * len(stated))
    if not (enough and alike and values):
        return _Typed("text", [None if each is None else str(each) for each in cells])
    if _is_series_of_years(list(values.values()), texts):
        return _Typed("year", [values.get(i) for i in range(len(cells))], strange=strange)
    return _Typed(
        "number", [values.get(i) for i in range(len(cells))], unit or next(iter(filter(None, units)), ""), strange
    )


def _is_series_of_years(values: Sequence[int | float], texts: Sequence[str]) -> bool:
    """Return whether plain whole numbers are years: close to each other, each more than once or without a gap."""
    if not all(map(_YEAR.fullmatch, texts)):
        return False
    different = sorted(set(values))
    return different[0] >= 1900 and different[-1] <= 2100 and different[-1] - different[0] < 2 * len(different) + 1


def _may_be_years(column: _Typed) -> bool:
    return column.type == "number" and all(map(_YEAR.fullmatch, map(str, filter(None, column.values))))


def _totals(rows: Sequence[Sequence[Cell]], start: int, end: int) -> int:
    """Return where the totals at the end of the data begin; they are left out before dates and figures are read."""
    first = end
    while first > start + 2 and (label := _label(rows[first - 1])) and _TOTAL.fullmatch(label):
        first -= 1
    return first


def _label(row: Sequence[Cell]) -> str:
    return next((each for each in row[:3] if isinstance(each, str)), "")


def _left_out(names: Sequence[tuple[str, str]], row: Sequence[Cell], number: int) -> str:
    shown = ", ".join(f"{name}: {value}" for (name, _), value in zip(names, row, strict=True) if value is not None)
    return f"row {number} is a total and is left out ({shown})"


def _without_subtotals(found: Table) -> Table:
    """Leave out rows that add up rows above: an aggregate would count them twice."""
    kept, notes = [], []
    names = [(column.name, column.unit) for column in found.columns]
    for at, row in enumerate(found.rows):
        if _TOTAL.fullmatch(_label(row)) and _adds_up(found, at):
            notes.append(clip(_left_out(names, row, found.numbers[at]), 300))
        else:
            kept.append(at)
    if not notes or not kept:
        return found
    return replace(
        found,
        rows=tuple(found.rows[at] for at in kept),
        numbers=tuple(found.numbers[at] for at in kept),
        notes=(*found.notes, *notes)[:NOTES],
    )


def _adds_up(found: Table, at: int) -> bool:
    """Return whether a figure of this row is the sum of figures directly above it."""
    for i, column in enumerate(found.columns):
        value = found.rows[at][i]
        if column.type != "number" or not isinstance(value, int | float) or not value:
            continue
        total = 0.0
        for above, row in enumerate(reversed(found.rows[max(0, at - 1_000) : at])):
            each = row[i]
            total += each if isinstance(each, int | float) else 0
            if above and abs(total - value) <= _SUMS * abs(value):
                return True
    return False
