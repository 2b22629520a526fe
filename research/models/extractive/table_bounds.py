"""Find the rows that a question chooses by a figure without writing it: `no fog`, `in the coldest month`."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from research.models.extractive import table_words as said
from research.models.extractive.table_columns import EQUAL, best, same, words_of
from research.models.extractive.table_degrees import degree_of, measured
from research.models.extractive.table_reading import PColumn, figure
from research.models.extractive.table_words import Limit

_AMONG = re.compile(
    r"\b(?:in|on|at|for|of|from|did|does)\s+(?:the|our)\s+(?:(?P<word>\w{2,9}est)\s+(?P<what>[^\W\d_]+)|"
    r"(?P<row>[^\W\d_]+)\s+with\s+the\s+(?P<by>most|least|fewest|\w{2,9}est)\s+(?P<measure>[^?]{3,40}))",
    re.I,
)
"""What asks a figure of the row that has the most of another: `in the coldest month`, `of the shop with the most staff`."""
_NONE = re.compile(r"\b(?:there\s+)?(?:no|without|zero)\s+(?P<what>[^\W\d_]+)", re.I)


def bound(
    text: str, columns: Sequence[PColumn], taken: Sequence[tuple[int, int]], names_rows: Callable[[str], bool]
) -> tuple[list[tuple[PColumn, Limit]], bool]:
    """Return the figures of these columns that choose rows, and whether a superlative does for which there is no column.

    A superlative is of the whole table, so nothing else may choose rows; `taken` are the parts of the text that do.
    """
    bounds = []
    for none in _NONE.finditer(text):
        named = [each for each in columns if any(same(none["what"].lower(), own) for own in each.words)]
        free = not any(start < none.end() and none.start() < end for start, end in taken)
        if free and len(named) == 1 and not named[0].blank and figure(named[0].low) == 0:
            bounds.append((named[0], Limit("=", 0.0, *none.span())))
    match = _AMONG.search(text)
    if match is None or taken or bounds or not names_rows((match["what"] or match["row"]).lower()):
        return bounds, match is not None
    column, high = _superlative(match["word"] or match["by"], match["measure"] or "", columns)
    value = figure(column.high if high else column.low) if column else None
    return ([(column, Limit("=", value, *match.span()))], False) if column and value is not None else ([], True)


def _superlative(word: str, measure: str, columns: Sequence[PColumn]) -> tuple[PColumn | None, bool]:
    """Return the column by which a row is the first, and whether it has the highest figure."""
    if measure:
        found = best(words_of(measure), columns)
        return (found.column if found and found.score >= EQUAL else None), said.LEAST.search(word) is None
    means = measured(degree_of(word), columns)
    stem = re.sub(r"i?est$", "", word.lower())
    named = [each for each in columns if len(stem) > 2 and any(own.startswith(stem) for own in each.words)]
    means = means or [(each, True) for each in named]
    return means[0] if len(means) == 1 else (None, False)
