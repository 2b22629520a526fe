"""Read the formats that have parts: spreadsheets, parquet, presentations, books, messages, rich text,
notebooks and JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from msgspec import Struct

from research.web import (
    books,
    charsets,
    grid,
    locators,
    mail,
    notebooks,
    open_documents,
    reference_managers,
    rich_text,
    slides,
    spreadsheets,
)
from research.web.locators import Part, Place
from research.web.table import Table
from research.web.table_text import as_text, long_cells

SUFFIXES = (
    *spreadsheets.SUFFIXES,
    *open_documents.SUFFIXES,
    *reference_managers.SUFFIXES,
    ".parquet",
    ".pptx",
    ".epub",
    ".eml",
    ".rtf",
    ".json",
    ".jsonl",
    ".ipynb",
)

Refuse = Callable[[str], Exception]


class Content(Struct, frozen=True):
    """The parts read of a file."""

    title: str
    text: str
    places: tuple[Place, ...] = ()
    tables: tuple[Table, ...] = ()
    csl: dict[str, Any] = {}
    notes: tuple[str, ...] = ()


def read(
    data: bytes, suffix: str, refuse: Refuse, page_text: Callable[[bytes, str], str], attached: mail.Attached
) -> Content:
    """Read a file of one of `SUFFIXES`.

    `refuse` makes the error for a reason shown to the user; `page_text` and `attached` read the parts of a message.
    """
    title, tables, csl, notes = "", list[Table](), dict[str, Any](), tuple[str, ...]()
    match suffix:
        case ".parquet":
            parts, tables, notes = spreadsheets.parquet(data, refuse)
        case ".pptx":
            title, parts, tables, notes = slides.slides(data, refuse)
        case ".odt" | ".odp":
            title, parts, tables, notes = open_documents.document(data, suffix, refuse)
        case ".epub":
            book = books.book(data, refuse)
            title, parts, csl, notes = book.title, book.chapters, book.csl, book.notes
        case ".eml":
            title, parts, tables, csl, notes = mail.message(data, page_text, attached, refuse)
        case ".rtf":
            found = rich_text.text_of(data)
            if found is None:
                raise refuse("is not rich text; save it again")
            parts, notes = [Part("", found[0])], found[1]
        case ".ris" | ".bib":
            parts = reference_managers.works(data, suffix, refuse)
        case ".ipynb":
            title, parts, notes = notebooks.notebook(data, refuse)
        case ".json" | ".jsonl":
            parts, tables = _records(data, suffix, refuse)
        case _:
            parts, tables, notes = spreadsheets.workbook(data, suffix, refuse)
    text, at = locators.joined(parts)
    named = any(each.name or each.columns for each in at)
    return Content(title, text, at if named else (), tuple(tables), csl, notes)


def _records(data: bytes, suffix: str, refuse: Refuse) -> tuple[list[Part], list[Table]]:
    """Return a list of flat objects as a table, anything else as written."""
    text = charsets.decoded(data)
    if text is None:
        raise refuse("is not text; save it as text in UTF-8")
    try:
        lines = [line for line in text.splitlines() if line.strip()] if suffix == ".jsonl" else []
        found = [json.loads(line) for line in lines] if suffix == ".jsonl" else json.loads(text)
    except (ValueError, RecursionError) as error:
        raise refuse(f"is not valid JSON ({str(error)[:160]}); correct it, or save it as .txt") from error
    rows = found if isinstance(found, list) else []
    names = list(dict.fromkeys(key for row in rows[:1_000] if isinstance(row, dict) for key in row))
    flat = all(isinstance(row, dict) and not any(isinstance(v, dict | list) for v in row.values()) for row in rows)
    if not (rows and names and flat):
        return [Part("", text)], []
    table = grid.table([names, *([_cell(row.get(name)) for name in names] for row in rows)], row=0)  # records from 1
    if table is None:
        return [Part("", text)], []
    long = "\n".join(long_cells([[_cell(row.get(name)) for name in names] for row in rows]))
    return [Part("", as_text(table)), Part("", long)], [table]


def _cell(value: Any) -> str | int | float | None:
    return ("true" if value else "false") if isinstance(value, bool) else value
