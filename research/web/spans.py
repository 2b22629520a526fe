"""Repeat the merged cells of html tables, so that each row is complete."""

from __future__ import annotations

from copy import deepcopy
from itertools import groupby
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lxml.html import HtmlElement

_MOST = 100_000
"""Most cells added to a page: a page of one kilobyte can request millions."""
_WIDEST = 100
_LONGEST = 300
"""Longest repeated text, in characters; longer cells are the layout of a page."""


def repeat(tree: HtmlElement) -> bool:
    """Put a copy of each cell that spans rows or columns into all of them.  Return whether there was one."""
    room = _MOST
    spanned = tree.xpath("//table[.//*[@rowspan or @colspan]]")
    for table in spanned:
        rows = table.xpath("./tr | ./thead/tr | ./tbody/tr | ./tfoot/tr")
        for _, group in groupby(rows, key=lambda row: row.getparent()):  # no cell spans the head and the body
            room = _repeat(list(group), room)
    return bool(spanned)


def _repeat(rows: list[HtmlElement], room: int) -> int:
    """Fill the rows of a group; return how many more cells may be added to the page."""
    above: dict[int, tuple[HtmlElement, int]] = {}
    for at, row in enumerate(rows):
        cells = [each for each in row if each.tag in ("td", "th")]
        filled: list[HtmlElement] = []
        own = iter(cells)
        cell = next(own, None)
        while cell is not None or any(column >= len(filled) for column in above):
            column = len(filled)
            if column in above:
                source, left = above.pop(column)
                filled.append(deepcopy(source))
                if left > 1:
                    above[column] = source, left - 1
            elif cell is None:  # the row ends before a column filled from above
                filled.append(row.makeelement("td"))
            else:
                across, down = _span(cell, "colspan"), _span(cell, "rowspan") or len(rows) - at
                if len(cells) == 1 and not above or len(cell.text_content()) > _LONGEST:
                    across = 1  # a caption inside the table, or the layout of a page
                    down = 1 if len(cell.text_content()) > _LONGEST else down
                cell.tail = None
                for number in range(min(across or 1, _WIDEST)):
                    filled.append(deepcopy(cell) if number else cell)
                    if min(down, len(rows) - at) > 1:
                        above[len(filled) - 1] = cell, min(down, len(rows) - at) - 1
                cell = next(own, None)
            if len(filled) - len(cells) > room:
                return 0
        room -= len(filled) - len(cells)
        for each in cells:
            row.remove(each)
        row.extend(filled)
    for each in (cell for row in rows for cell in row):
        each.attrib.pop("rowspan", None)
        each.attrib.pop("colspan", None)
    return room


def _span(cell: HtmlElement, name: str) -> int:
    """Return how many rows or columns a cell takes; 0 rows means all that follow."""
    value = (cell.get(name) or "1").strip()
    return int(value) if value.isdecimal() and len(value) < 6 else 1
