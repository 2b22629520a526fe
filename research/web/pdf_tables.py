"""The rows and columns of a pdf's tables: text in a pdf is only placed, and an empty cell is just a gap."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from msgspec import Struct

from research.text import table_lines
from research.web import grid
from research.web.table import Table

if TYPE_CHECKING:
    from pypdf import PageObject

_CELL = re.compile(r"\S+(?: \S+)*")
_FIGURE = re.compile(r"[-+(]?[$€£¥]?\d[\d.,'’ %)]*")
_NARROW, _USUAL = 40, 25
"""Longest cell, and longest mean of cells, in characters; longer ones are columns of prose."""
_SHORT, _ROWS = 30, 3
"""A page with a table has some lines that are short or have several figures."""
_HEADS = 3
"""Most rows at the top whose cells may span columns."""


class _Cell(Struct, frozen=True):
    start: int
    end: int
    text: str


Rows = list[list[str]]


def with_tables(page: PageObject, text: str) -> tuple[str, bool]:
    """Return a page's text with its tables as rows of Markdown, and whether any has unknown columns.

    Raises what pypdf raises.
    """
    likely = [line for line in text.split("\n") if len(line) < _SHORT or len(_FIGURE.findall(line)) > 1]
    if len(likely) < _ROWS:
        return text, False
    unknown = False
    for rows in tables(
        page.extract_text(extraction_mode="layout", layout_mode_space_vertically=False, layout_mode_strip_rotated=False)
    ):
        placed = _placed(text, rows)
        unknown |= placed is None and any(not cell for row in rows for cell in row)
        text = text if placed is None else placed
    return text, unknown


def tables(layout: str) -> Iterator[Rows]:
    """Yield the tables in a text whose gaps are as wide as on the page."""
    for block in _blocks([_cells(line) for line in layout.split("\n")]):
        for head in range(min(_HEADS, len(block) - 1)):
            if rows := _rows(block[head:]):
                yield rows
                break


def typed(text: str, place: str) -> Iterator[Table]:
    """Yield the tables of a page's text that have figures and a head over each column."""
    above = ""
    for rows, block in groupby(text.splitlines(), key=lambda line: line.startswith("| ")):
        lines = [line for line in block if line.strip()]
        cells = [[cell.strip() or None for cell in line.strip().strip("|").split("|")] for line in lines]
        found = grid.table([cells[0], *cells[2:]], place, title=above) if rows else None
        if found and all(cells[0][1:]) and any(column.type == "number" for column in found.columns):
            yield found
        above = lines[-1] if lines and not rows else above


def _cells(line: str) -> list[_Cell]:
    return [_Cell(each.start(), each.end(), each[0]) for each in _CELL.finditer(line)]


def _blocks(lines: Sequence[list[_Cell]]) -> Iterator[list[list[_Cell]]]:
    """Yield consecutive lines with narrow cells, several at the top and the bottom."""
    block: list[list[_Cell]] = []
    for line in [*lines, []]:
        if line and all(len(cell.text) <= _NARROW for cell in line) and (len(line) > 1 or block):
            block.append(line)
            continue
        while block and len(block[-1]) < 2:
            block.pop()
        if len(block) > 1:
            yield block
        block = []


def _rows(block: Sequence[list[_Cell]]) -> Rows:
    """Return the cells of each row by column; no rows if a cell spans columns, or the block is prose."""
    spans: list[tuple[int, int]] = []
    for cell in sorted((cell for line in block for cell in line), key=lambda cell: cell.start):
        if spans and cell.start < spans[-1][1]:
            spans[-1] = spans[-1][0], max(spans[-1][1], cell.end)
        else:
            spans.append((cell.start, cell.end))
    rows = [[""] * len(spans) for _ in block]
    for row, line in zip(rows, block, strict=True):
        for cell in line:
            at = next(at for at, (start, end) in enumerate(spans) if start <= cell.start < end)
            if row[at]:
                return []
            row[at] = cell.text
    texts = [cell for row in rows for cell in row if cell]
    figures = sum(bool(_FIGURE.fullmatch(cell)) for cell in texts)
    is_prose = sum(map(len, texts)) > _USUAL * len(texts) or (len(spans) == 2 and 4 * figures < len(texts))
    return [] if len(rows) < 2 or len(spans) < 2 or is_prose else rows


def around_of(text: str, said: str) -> tuple[str, str] | None:
    """Return the text before and after these words, ignoring white space; None if it lacks them."""
    at = [position for position, character in enumerate(text) if not character.isspace()]
    found = "".join(text[position] for position in at).find(said)
    return None if found < 0 else (text[: at[found]], text[at[found + len(said) - 1] + 1 :])


def _placed(text: str, rows: Rows) -> str | None:
    """Return the text with the rows replacing the lines of equal content; None if there are none."""
    said = "".join("".join(cell.split()) for row in rows for cell in row)
    around = around_of(text, said)
    if around is None:
        return None
    before, after = around[0].rstrip(" "), around[1].lstrip(" ")
    if (before and before[-1] != "\n") or (after and after[0] != "\n"):
        return None
    return "\n".join([before.rstrip("\n"), "", *table_lines(rows), after]).lstrip("\n")
