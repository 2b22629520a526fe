"""Read comma-separated and other delimited text: finds the delimiter and the decimal mark."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from itertools import islice

from msgspec import Struct

from research.web import grid
from research.web.table import MAX_CELLS, MAX_COLUMNS, Table
from research.web.table_text import beyond, long_cells

DELIMITERS = (",", ";", "\t", "|")
_SAMPLE = 200
"""Lines examined to find the delimiter."""
_LONGEST = 10**6
"""Longest cell that the csv module reads, in characters."""


def delimiter(text: str) -> str:
    """Return the delimiter that gives most lines the same number of cells, at least two."""
    first, _, rest = text.partition("\n")
    if match := re.fullmatch(r"sep=(.)\s*", first.strip("\ufeff")):
        return match[1]
    lines = list(islice(filter(str.strip, text.splitlines()), _SAMPLE))
    best, score = ",", 0.0
    for each in DELIMITERS:
        widths = [len(row) for row in _rows("\n".join(lines), each) if row]
        if not widths:
            continue
        usual = max(set(widths), key=lambda width: (widths.count(width), width))
        share = widths.count(usual) / len(widths)
        if usual > 1 and share + min(usual, 20) / 1000 > score:
            best, score = each, share + min(usual, 20) / 1000
    return best


class Read(Struct, frozen=True):
    """The table of a text, if any, and text that does not fit into it."""

    table: Table | None
    long: tuple[str, ...]
    """Cells that the table cuts."""
    notes: tuple[str, ...]


def read(text: str, suffix: str = ".csv") -> Read:
    """Return the table of a delimited text; none if it has no two columns.  Raises `csv.Error`."""
    cut = "\t" if suffix == ".tsv" and "\t" in text else delimiter(text)
    if text.startswith(("sep=", "\ufeffsep=")):
        text = "\n" + text.partition("\n")[2]
    lines = _rows(text, cut)
    rows = list(islice(lines, MAX_CELLS // 2))
    found = grid.table([row[:MAX_COLUMNS] for row in rows], mark="," if cut == ";" else None)
    notes = (
        *beyond("", "columns", MAX_COLUMNS, max(map(len, rows), default=0)),
        *beyond("", "rows", len(rows), len(rows) + sum(1 for _ in lines)),
    )
    return Read(found, tuple(long_cells(rows)) if found else (), notes)


def _rows(text: str, cut: str) -> Iterator[list[str]]:
    csv.field_size_limit(_LONGEST)
    return csv.reader(io.StringIO(text, newline=""), delimiter=cut, skipinitialspace=True)
