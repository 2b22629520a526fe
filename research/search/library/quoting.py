"""Quote a query's result and the cells used, as sources that a report can cite.

A quote has the result as one table, then the rows used as another, whose first column is the number of the row in its file.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from urllib.parse import quote

from research.sandbox.sql import SqlResult, Used, Value
from research.search.library.catalogue import FACTBOOK_URL, TableEntry
from research.search.library.comparisons import address
from research.text import clip, table_lines, table_row
from research.types import Passage
from research.web.locators import told
from research.web.table import Table, located
from research.web.table_text import number, written

ROWS_USED = "Rows used: "
RESULT = "Result of "
TITLE = "Title: "
_RESULT_ROWS, _USED_ROWS = 40, 150
_CHARACTERS = 7_000
_CELL = 80


def result_text(result: SqlResult) -> str:
    """Return how many rows a result has; the sources have its rows, or this text if no table was read."""
    if not result.rows:
        return "The query returns no row."
    head = f"{len(result.rows):,} row{'' if len(result.rows) == 1 else 's'}{' and more, which were cut' if result.cut else ''}."
    return head if result.used else "\n".join([head, *_result(result)])


def passages(
    sql: str, result: SqlResult, entries: Sequence[TableEntry], rows: Callable[[TableEntry], Table]
) -> tuple[Passage, ...]:
    """Return one passage for each table used for the result."""
    found: list[Passage] = []
    for used in result.used:
        entry = next((each for each in entries if each.name == used.table), None)
        if entry is not None:
            found.append(_passage(sql, result, used, entry, rows(entry), first=not found))
    return tuple(found)


def _passage(sql: str, result: SqlResult, used: Used, entry: TableEntry, table: Table, *, first: bool) -> Passage:
    positions = [at for at, name in enumerate(entry.columns) if name in used.columns] or list(range(len(entry.columns)))
    by_number = {n: at for at, n in enumerate(table.numbers)}
    kept = [by_number[n] for n in used.numbers if n in by_number]
    across = [table.columns[at].at for at in positions]
    numbers = [table.numbers[at] for at in kept] or [table.numbers[0], table.numbers[-1]] if table.numbers else []
    where = located(entry.file, table.place, numbers, across)
    cells = where.rpartition(" › ")[2]
    lines = [f"{RESULT}{' '.join(sql.split())}"[:600], *_result(result)] if first else []
    exact = used.kind == "rows"
    lines.append(
        f"{ROWS_USED}{where}"
        + (f" ({len(kept):,} row{'s' if len(kept) != 1 else ''})" if exact else " (any of these rows)")
    )
    lines += [f"{TITLE}{table.title}"] if table.title else []
    lines += _used(table, positions, kept) if exact else []
    if not entry.id:  # the Factbook's rows have no cells; its lists by measure have them
        fields = {str(table.rows[at][3]) for at in kept[:1000]} if exact else set()
        url = address(next(iter(fields))) if len(fields) == 1 else FACTBOOK_URL
        return Passage(f"{url}#{hash_of(sql)}", f"World Factbook · {'; '.join(fields) or 'figures'}", "\n".join(lines))
    notes = told(entry.notes.splitlines())
    title = _called(entry.file, table, kept[0], positions, result) if exact and len(kept) == 1 else ""
    url = f"{entry.url}#{_fragment(table.place, cells, sql)}"
    return Passage(url, title or where, "\n".join(lines), notes=notes)


def _called(file: str, table: Table, at: int, positions: Sequence[int], result: SqlResult) -> str:
    """Return a readable name of a row's used cells: `sales.xlsx › Q3 › North › Revenue`; empty if nothing names the row.

    The column is named if only it has a value of the result.
    """
    row, names, alike = table.rows[at], dict[int, str](), list(table.rows)
    for i, column in enumerate(table.columns):
        if column.type != "number" and row[i] is not None and (len(alike) > 1 or not names):
            names[i], alike = written(row[i], column), [each for each in alike if each[i] == row[i]]
    if len(alike) > 1 or not names:
        return ""
    given = {value for values in result.rows for value in values}
    columns = [table.columns[i].name for i in positions if i not in names and row[i] in given]
    row_name = clip(", ".join(names.values()), _CELL)
    return " › ".join(filter(None, [file, table.place, row_name, *(columns if len(columns) == 1 else [])]))


def hash_of(sql: str) -> str:
    """Return a short hash that tells statements apart."""
    return hashlib.sha256(" ".join(sql.split()).encode()).hexdigest()[:8]


def _fragment(place: str, cells: str, sql: str) -> str:
    return f"{quote(place, safe='') + '!' if place else ''}{cells}-{hash_of(sql)}"


def _result(result: SqlResult) -> Iterator[str]:
    yield from table_lines([[*map(_cell, row)] for row in (result.columns, *result.rows[:_RESULT_ROWS])])
    left = len(result.rows) - _RESULT_ROWS
    if left > 0 or result.cut:
        yield f"{max(left, 0):,} more rows are not shown"


def _used(table: Table, positions: Sequence[int], kept: Sequence[int]) -> Iterator[str]:
    columns = [table.columns[at] for at in positions]
    heads = [f"{each.name} ({each.unit})" if each.unit else each.name for each in columns]
    yield from table_lines([["row", *map(_cell, heads)]])
    room = _CHARACTERS
    for shown, at in enumerate(kept):
        cells = (written(table.rows[at][i], column) for i, column in zip(positions, columns, strict=True))
        line = table_row([str(table.numbers[at]), *map(_cell, cells)])
        room -= len(line)
        if shown == _USED_ROWS or room < 0:
            yield f"{len(kept) - shown:,} more rows were used"
            return
        yield line


def _cell(value: Value) -> str:
    if value is None:
        return ""
    text = (
        value
        if isinstance(value, str)
        else number(value)
        if abs(value) >= 10_000 or isinstance(value, float)
        else str(value)
    )
    return clip(" ".join(text.split()), _CELL)
