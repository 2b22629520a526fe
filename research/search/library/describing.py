"""Describe the tables of the catalogue that fit a question: columns, types, units, ranges and values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from research.search.embedders import Embedder
from research.search.library.catalogue import TableEntry
from research.text import clip, content_tokens, has_cjk
from research.web.table import Cell, Column, Table
from research.web.table_text import number

VALUES = 24
"""Most values listed for a column: those that the question names and some others."""
_SAMPLES, _NAMED = 6, 12
_VALUE = 60
_COLUMNS = 60


def fitting(
    entries: Sequence[TableEntry], about: str, held: Mapping[str, float], embedder: Embedder | None = None
) -> list[TableEntry]:
    """Return the tables, best fit for a question first: by the words of their heads, by the share of it that their
    documents `held`, and by meaning."""
    if not about or len(entries) < 2:
        return list(entries)
    asked = set(content_tokens(about))
    heads = [
        " ".join([each.file, each.table.title, each.table.place, *(column.name for column in each.table.columns)])
        for each in entries
    ]
    scores = [len(asked & set(content_tokens(head.replace("_", " ")))) / 3 for head in heads]
    scores = [score + held.get(entry.url, 0.0) for score, entry in zip(scores, entries, strict=True)]
    if embedder is not None:
        vectors = embedder.encode([about, *heads])
        scores = [score + float(vectors[0] @ vector) for score, vector in zip(scores, vectors[1:], strict=True)]
    order = sorted(range(len(entries)), key=lambda i: -scores[i])
    return [entries[i] for i in order]


def described(entry: TableEntry, table: Table, about: str = "") -> str:
    """Return what a model needs to query a table; the offline model reads this format, too."""
    return "\n".join(_lines(entry, table, about))


def _lines(entry: TableEntry, table: Table, about: str) -> Iterator[str]:
    place = f" › {table.place}" if table.place else ""
    title = f": {table.title}" if table.title else ""
    size = f", {entry.count:,} row{'s' if entry.count != 1 else ''}" if entry.id else ""
    yield f"table {entry.name} ({entry.file}{place}{size}){title}"
    for at, (name, column) in enumerate(zip(entry.columns[:_COLUMNS], table.columns, strict=False)):
        kind = ", ".join(filter(None, (column.type, column.unit)))
        yield f'- {name} "{column.name}": {kind}{_values([row[at] for row in table.rows], column, about)}'
    if entry.columns[_COLUMNS:]:
        yield f"- and {len(entry.columns) - _COLUMNS} more columns: {clip(', '.join(entry.columns[_COLUMNS:]), 500)}"
    for note in table.notes[:4]:
        yield f"note: {clip(note, 200)}"


def _values(cells: Sequence[Cell], column: Column, about: str) -> str:
    values = [each for each in cells if each is not None]
    if not values:
        return ""
    blank = len(cells) - len(values)
    blanks = f", {blank} blank" if blank else ""
    if column.type != "text":
        sized = [each for each in values if isinstance(each, int | float)]
        if column.type == "date":
            texts = sorted(map(str, values))
            return f", {texts[0]} to {texts[-1]}{blanks}"
        if sized:
            low, high = min(sized), max(sized)
            ends = [str(each) if column.type == "year" else number(each) for each in (low, high)]
            return f", {' to '.join(ends)}{blanks}"
        return blanks
    different = list(Counter(map(str, values)))
    if len(different) <= VALUES:
        return f", values: {' | '.join(clip(each, _VALUE) for each in different)}{blanks}"
    named = _named(different, about)
    shown = list(dict.fromkeys([*named[:_NAMED], *different[:_SAMPLES]]))
    return f", {len(different):,} values such as: {' | '.join(clip(each, _VALUE) for each in shown)}{blanks}"


def _named(values: Sequence[str], about: str) -> list[str]:
    """Return the values that a question names, the longest first."""
    lower, asked = about.casefold(), set(content_tokens(about))
    found = []
    for value in values:
        words = set(content_tokens(value))
        whole = value.casefold() in lower if has_cjk(value) or len(value) > 2 else False
        if whole or (words and words <= asked):
            found.append(value)
    return sorted(found, key=lambda each: -len(each))
