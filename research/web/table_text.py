"""Write a table as text: for search, for `visit`, and for the quotes of a citation."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from research.text import table_lines, table_row
from research.web.table import MAX_CELL, Cell, Column, Table, letters

SHOWN_ROWS, SHOWN_CHARACTERS = 2_000, 200_000
"""Most rows and characters of a table in the text of its file; the tool `query` reads all rows."""

ROW = re.compile(r"\| [\d,]{1,9} \| ")
"""Matches the start of a row, which is its number."""
HEAD = re.compile(r"\A(?:Table of [\d,]+ rows with the columns |\| row \||\|(?: --- \|)+$)")
"""Matches the lines above the rows, which only name the columns."""


def as_text(table: Table) -> str:
    """Return a table as Markdown under a line describing it; the first column is the row number."""
    return "\n".join(_lines(table))


def long_cells(rows: Iterable[Sequence[Cell]], row: int = 1, column: int = 1) -> Iterator[str]:
    """Yield the texts that a table cuts, each after its cell's name; `row` and `column` are the first cell's.

    >>> [line[:9] for line in long_cells([["a", "b" * 2_000]])]
    ['B1: bbbbb']
    """
    for down, cells in enumerate(rows, row):
        for across, cell in enumerate(cells, column):
            if isinstance(cell, str) and len(cell) > MAX_CELL:
                yield f"{letters(across)}{down}: {' '.join(cell.split())}"


def beyond(name: str, what: str, read: int, whole: int) -> Iterator[str]:
    """Yield a note if rows, columns or sheets are beyond the limits."""
    if whole > read:
        yield f"{name}only the first {read:,} of {whole:,} {what} were read"


def _lines(table: Table) -> Iterator[str]:
    if table.title:
        yield table.title
    total = len(table.rows) + table.left_out
    yield f"Table of {total:,} rows with the columns {', '.join(map(described, table.columns))}"
    yield from table.notes
    yield ""
    yield from table_lines([["row", *map(_head, table.columns)]])
    room = SHOWN_CHARACTERS
    for shown, (number, row) in enumerate(zip(table.numbers, table.rows, strict=True)):
        line = table_row([str(number), *map(written, row, table.columns)])
        room -= len(line)
        if shown == SHOWN_ROWS or room < 0:
            yield f"\n{total - shown:,} more rows are not shown here"
            return
        yield line
    if table.left_out:
        yield f"\n{table.left_out:,} more rows did not fit into the limits"


def described(column: Column) -> str:
    """Return a column's name, type and unit: `sales (number, EUR)`."""
    return f"{column.name} ({', '.join(filter(None, (column.type, column.unit)))})"


def _head(column: Column) -> str:
    return f"{column.name} ({column.unit})" if column.unit else column.name


def written(value: Cell, column: Column) -> str:
    """Return a cell as a person reads it: `1,250.5` for a figure, nothing for a blank."""
    if value is None:
        return ""
    if column.type != "number" or column.maybe_years or isinstance(value, str):
        return str(value)
    return number(value)


def number(value: int | float) -> str:
    """Return a figure with thousands separators and only its own fraction digits.

    >>> number(1250.5), number(3.0), number(1e-7)
    ('1,250.5', '3', '0.0000001')
    """
    if isinstance(value, int) or value.is_integer() and abs(value) < 1e16:
        return f"{int(value):,}"
    if abs(value) >= 1e16 or abs(value) < 1e-12:
        return repr(value)
    from decimal import Decimal

    return f"{Decimal(repr(value)):,f}"
