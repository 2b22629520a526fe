"""`Table`: a table that a file contains, with typed columns and the place of each cell in its file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

Cell = str | int | float | None
"""A date is a text that sorts: `2024-03-05`, `2024-03`, `2024-Q1`, `2024-03-05 14:30`.  None: the cell is blank."""

ColumnType = Literal["text", "number", "date", "year"]

MAX_TABLES = 200
"""Most tables kept from one file."""

MAX_COLUMNS = 500
"""Most columns kept from one table."""

MAX_CELLS = 1_000_000
"""Most cells kept from all tables of a file."""

MAX_CELL = 1_000
"""Longest text kept from one cell, in characters."""

NOTES = 25
"""Most remarks about one table."""

_NUMBERED = re.compile(
    r"(?:^|[\s_.-])(?:no|nr|num|number|id|code|key|bib|pos|position|index|#)\.?$|(?-i:(?<=[a-z])(?:Id|ID|No)$)|#$|"
    r"(?:编号|序号|学号|工号|单号|号码|编码|排名|名次)$",
    re.I,
)


class Column(Struct, frozen=True, omit_defaults=True):
    """A column of a table."""

    name: str
    """Name in the header, without unit; `column C` if there is none."""
    type: ColumnType = "text"
    unit: str = ""
    """Unit in the header or beside the figures: `EUR`, `%`, `kg`, `万元`; for dates, their form if guessed."""
    at: int = 1
    """Its number in the file, from 1: column C of a spreadsheet is 3."""
    maybe_years: bool = False
    """Whether each of its figures may be a year; such figures are written without separators of thousands."""


class Table(Struct, frozen=True, omit_defaults=True):
    """A table; the rows hold data only, without header, totals and blank rows."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    numbers: tuple[int, ...]
    """The number of each row in the file, from 1, as a spreadsheet counts."""
    place: str = ""
    """Its place in the file, as in a locator: `Q3`, `slide 4 › table 1`; empty if the file is the table."""
    title: str = ""
    """The table's caption, or the line above."""
    notes: tuple[str, ...] = ()
    """Notes on the figures: lines below the table, totals and cells left out."""
    left_out: int = 0
    """Rows that did not fit into the limits."""


def numbers_rows(name: str) -> bool:
    """Return whether a column of this name tells rows apart, so that its figures mean nothing: `order no`, `id`, `编号`."""
    return _NUMBERED.search(name) is not None


def limited(tables: Sequence[Table]) -> tuple[Table, ...]:
    """Return the tables of a file within the limits: its parser ran on untrusted data."""
    kept, room = [], MAX_CELLS
    for table in tables[:MAX_TABLES]:
        width = min(len(table.columns), MAX_COLUMNS)
        rows = min(len(table.rows), len(table.numbers), room // max(1, width))
        if not width or not rows:
            continue
        room -= rows * width
        columns = tuple(
            Column(_text(each.name, 200), each.type, _text(each.unit, 40), each.at, each.maybe_years)
            for each in table.columns[:width]
        )
        kept.append(
            Table(
                columns,
                tuple(tuple(map(_cell, [*row[:width], *[None] * (width - len(row))])) for row in table.rows[:rows]),
                table.numbers[:rows],
                _text(table.place, 200),
                _text(table.title, 200),
                tuple(_text(note, 300) for note in table.notes[:NOTES]),
                table.left_out + len(table.rows) - rows,
            )
        )
    return tuple(kept)


def _cell(value: Cell) -> Cell:
    return _text(value, MAX_CELL) if isinstance(value, str) else value


def _text(text: str, limit: int) -> str:
    """Return the text on one line, within the limit and without lone surrogates."""
    return " ".join(text[:limit].split()).encode("utf-8", "replace").decode("utf-8") if text else text


def located(file: str, place: str, numbers: Sequence[int], across: Sequence[int]) -> str:
    """Return a locator such as `sales.csv › A2:C9`, the smallest range of cells with these rows and columns.

    >>> located("sales.xlsx", "Q3", [4], [2])
    'sales.xlsx › Q3 › B4'
    """
    parts = [file, *([place] if place else [])]
    if numbers and across:
        first, last = f"{letters(min(across))}{min(numbers)}", f"{letters(max(across))}{max(numbers)}"
        parts.append(first if first == last else f"{first}:{last}")
    return " › ".join(parts)


def letters(number: int) -> str:
    """Return a spreadsheet's name of a column, counted from 1.

    >>> letters(3), letters(28)
    ('C', 'AB')
    """
    name = ""
    while number:
        number, rest = divmod(number - 1, 26)
        name = chr(ord("A") + rest) + name
    return name
