"""Columns of prose in a pdf whose text is written row by row, across the columns: each is read top to bottom."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from statistics import mean, median
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from research.text import width
from research.web.pdf_tables import around_of

if TYPE_CHECKING:
    from pypdf import PageObject

_GUTTER = 0.5
"""Narrowest gap between columns, in heights of the letters; a space is a quarter wide."""
_LINES = 5
"""Fewest lines side by side that show columns."""
_CHARACTERS = 12
"""Fewest characters of a line of prose, on average; an ideograph is two wide."""
_FULL, _WRAPPED, _PERHAPS = 0.88, 0.65, 0.4
"""Least share of a column that a full line fills; least shares of full lines in surely and possibly prose."""
_ALIGNED = 0.5
"""Least share of a column's beginnings beside another column's that makes them rows of a table."""
_SAME = 3.0
"""Largest distance of texts at the same place, in points."""
_EXACT = 1.0
"""The same for two lines of one column."""
_APART = 1.6
"""Least distance to the previous line for a new beginning, in usual distances."""


_SHOWS = frozenset((b"Tj", b"TJ", b"'", b'"'))
"""The operators that show text."""


class _Piece(Struct, frozen=True):
    left: float
    right: float
    text: str


class _Line(Struct, frozen=True):
    y: float
    height: float
    pieces: list[_Piece]


_Span = tuple[float, float]
_Rows = list[list[list[_Piece]]]
"""Lines of a region, each with its pieces by column."""


class Starts:
    """Where the texts of a page begin, which shows whether there may be columns.

    Saves a second reading of pages without columns, which are most.
    """

    def __init__(self) -> None:
        self._y = 0.0
        self._across = Counter[int]()
        """Number of texts that continue a line, by where they begin."""
        self._wide = 0
        """Number of texts with a gap as wide as between columns."""

    def add(self, operator: bytes, operands: Sequence[Any], cm: Sequence[float], tm: Sequence[float]) -> None:
        """Add an operator of the page's content and its place: a visitor of `pypdf`."""
        if operator not in _SHOWS:
            return
        x, y = tm[4] * cm[0] + tm[5] * cm[2] + cm[4], tm[4] * cm[1] + tm[5] * cm[3] + cm[5]
        if abs(y - self._y) < _SAME:
            self._across[round(x / _SAME)] += 1
        self._y = y
        steps = operands[0] if operator == b"TJ" and operands and isinstance(operands[0], list) else []
        self._wide += any(isinstance(each, (int, float)) and each < -1000 * _GUTTER for each in steps)

    @property
    def may_be_columns(self) -> bool:
        """Whether enough lines continue at the same place, or have a gap."""
        return max([self._wide, *self._across.values()]) >= _LINES


def with_columns(page: PageObject, text: str) -> tuple[str, bool]:
    """Return a page's text with its columns one after the other, and whether some may still be mixed.

    Raises what pypdf raises.
    """
    unsure = False
    for region, rows in _regions(_lines(page)):
        shares = [_wrapped(rows, column) for column in range(len(rows[0]))]
        prose = [column for column, share in enumerate(shares) if share >= _PERHAPS]
        if len(prose) < 2:
            continue
        cuts, certain = _cuts(region, rows, prose)
        if len(cuts) < 2 and min(shares[column] for column in prose) < _WRAPPED:
            unsure = True
            continue
        unsure |= not certain
        for first, end in pairwise((0, *sorted(cuts), len(rows))):
            written = "".join(piece.text for line in region[first:end] for piece in line.pieces)
            columns = zip(*rows[first:end], strict=True)
            ordered = "\n".join(_joined(cell) for column in columns for cell in column if cell)
            found = _replaced(text, written, ordered)
            text, unsure = (text, True) if found is None else (found, unsure)
    return text, unsure


def _lines(page: PageObject) -> list[_Line]:
    """Return the lines in written order: columns written one by one share none."""
    from pypdf._text_extraction._layout_mode._fixed_width_page import recurse_to_target_op
    from pypdf._text_extraction._layout_mode._text_state_manager import TextStateManager
    from pypdf.generic import ContentStream

    contents = page["/Contents"].get_object() if "/Contents" in page else None
    operations = ContentStream(contents, page.pdf, "bytes").operations  # as bytes: the font says which letters they are
    _, shown = recurse_to_target_op(
        iter([*operations, ([], b"Q")]), TextStateManager(), b"Q", page._layout_mode_fonts()
    )
    lines: list[_Line] = []
    for each in shown:
        if each.rotated or not each.text.strip():
            continue
        piece = _Piece(each.tx, max(each.tx, each.displaced_tx), each.text)
        if lines and abs(lines[-1].y - each.ty) < each.font_height / 2:
            lines[-1].pieces.append(piece)
        else:
            lines.append(_Line(each.ty, each.font_height, [piece]))
    return lines


def _regions(lines: Sequence[_Line]) -> Iterator[tuple[list[_Line], _Rows]]:
    """Yield consecutive lines with the same gaps, whole and by column, if enough of them are side by side."""
    region: list[_Line] = []
    columns: list[_Span] = []
    for line in [*lines, _Line(0, 0, [])]:
        own = [(piece.left, piece.right) for piece in line.pieces]
        both = _apart([*columns, *own], max(each.height for each in (*region[-1:], line)))
        if region and own and (len(both) > 1 or _fits(line, columns)):
            region.append(line)
            columns = both if len(both) > 1 else columns
            continue
        rows = [_by_column(each, columns) for each in region]
        if sum(sum(map(bool, row)) > 1 for row in rows) >= _LINES:
            yield region, rows
        columns = _apart(own, line.height)
        region, columns = ([line], columns) if len(columns) > 1 else ([], [])


def _apart(spans: Iterable[_Span], height: float) -> list[_Span]:
    """Merge these stretches; gaps narrower than one between columns count as covered."""
    found: list[_Span] = []
    for left, right in sorted(spans):
        if found and left - found[-1][1] < _GUTTER * height:
            found[-1] = found[-1][0], max(found[-1][1], right)
        else:
            found.append((left, right))
    return found


def _fits(line: _Line, columns: Sequence[_Span]) -> bool:
    """Return whether a line begins at each column, however close the previous one ends."""
    edges = [left for left, _ in columns[1:]]
    return all(any(abs(piece.left - edge) < _EXACT for piece in line.pieces) for edge in edges) and not any(
        piece.left < edge - _EXACT and piece.right > edge + _EXACT for piece in line.pieces for edge in edges
    )


def _by_column(line: _Line, columns: Sequence[_Span]) -> list[list[_Piece]]:
    row: list[list[_Piece]] = [[] for _ in columns]
    for piece in line.pieces:
        row[max(0, sum(piece.left >= left - _EXACT for left, _ in columns) - 1)].append(piece)
    return row


def _wrapped(rows: _Rows, column: int) -> float:
    """Return the share of a column's lines that had no room for the next line's first word; 0 if not prose."""
    texts = [_joined(row[column]) for row in rows if row[column]]
    if len(texts) < _LINES or mean(map(width, texts)) < _CHARACTERS:
        return 0
    return 1 - len(_starts(rows, column)) / len(texts)


def _starts(rows: _Rows, column: int) -> set[int]:
    """Return the lines where a column begins something: its first word would have fitted on the line before."""
    cells = [row[column] for row in rows]
    left = min(piece.left for cell in cells for piece in cell)
    across = max(piece.right for cell in cells for piece in cell) - left
    found = set()
    for at, (before, cell) in enumerate(pairwise([[], *cells])):
        if not cell:
            continue
        text = _joined(cell)
        share = width(text.split()[0] if " " in text else text[:1]) / max(1, width(text))
        first = share * (_end(cell) - min(piece.left for piece in cell))
        if not before or _end(before) - left + first < _FULL * across:
            found.add(at)
    return found


def _cuts(region: Sequence[_Line], rows: _Rows, prose: Sequence[int]) -> tuple[set[int], bool]:
    """Return the lines where all columns of prose begin something, and whether that is certain.

    They do after a gap through all columns, and in table rows, which other columns may reveal.
    """
    steps = [abs(one.y - other.y) for one, other in pairwise(region)]
    apart = {at for at, step in enumerate(steps, 1) if step > _APART * median(steps)}
    starts = [_starts(rows, column) - apart - {0} for column in prose]
    beside = set.intersection(*starts)
    labels = {
        at
        for column in range(len(rows[0]))
        for at, (above, row) in enumerate(pairwise(rows), 1)
        if column not in prose and row[column] and not above[column]
    } - apart
    if labels:
        return apart | labels, len(labels & beside) >= _ALIGNED * len(labels)
    is_table = len(beside) > 1 and len(beside) >= _ALIGNED * min(map(len, starts))
    return (apart | beside, False) if is_table else (apart, True)


def _end(cell: Sequence[_Piece]) -> float:
    return max(piece.right for piece in cell)


def _joined(pieces: Sequence[_Piece]) -> str:
    """Return a line's text in a column, with a space where the text or the page has one."""
    text, before = "", None
    for piece in sorted(pieces, key=lambda piece: piece.left):
        wide = (piece.right - piece.left) / max(1, len(piece.text))
        apart = before is not None and piece.left - before.right > wide / 3
        text += (" " if apart and text[-1:] != " " else "") + piece.text
        before = piece
    return " ".join(text.split())


def _replaced(text: str, written: str, ordered: str) -> str | None:
    """Return the text in this written order, ignoring white space; None if it is worded differently."""
    around = around_of(text, "".join(written.split()))
    return f"{around[0].rstrip(' ')}{ordered}{around[1]}" if around else None
