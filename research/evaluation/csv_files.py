"""Questions in a table: one row each, with the names of the fields in the first row.

The delimiter is the comma, semicolon or tab that splits the first row into the most known fields.  Several
answers or documents in one cell are separated by `|`.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from research.errors import ConfigError
from research.evaluation.published import FORMATS, accepted, published

ASKS: Final = ("question", "prompt", "query", "query_text")
_LISTS: Final = ("answer", "answers", "gold", "gold_ids", "over")
_NUMBERS: Final = ("value", "tolerance")
_OTHERS: Final = ("id", "_id", "kind", "type", "answerable", "unit", "reference", "canary")
KNOWN: Final = (*ASKS, *_LISTS, *_NUMBERS, *_OTHERS, *(name for each in FORMATS for name in each.columns))
_TRUTH: Final[Mapping[str, bool]] = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def read_table(path: Path) -> list[dict[str, str]]:
    """Return the rows of a `.csv` or `.tsv` file by the names in its first row, without blanks.  Raises `ConfigError`."""
    try:
        text = path.read_text("utf-8-sig")
        delimiter = max(",;\t", key=text.partition("\n")[0].count)
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise ConfigError(f"{path} is not CSV in UTF-8: {error}") from error
    names = [name.strip().lower() for name in rows[0]] if rows else []
    return [
        {name: cell.strip() for name, cell in zip(names, row, strict=False) if cell.strip()} for row in rows[1:] if row
    ]


def read_csv(path: Path, text: str) -> list[Mapping[str, Any]]:
    """Return the rows as records of `question_files`.  Raises `ConfigError` that names the row and the column."""
    lines = text.splitlines()
    if not lines:
        return []
    delimiter = max(",;\t", key=lambda each: len(set(_names(lines[0], each)) & set(KNOWN)))
    names = _names(lines[0], delimiter)
    known = published(names)
    if known is None and not set(names) & set(ASKS):
        raise ConfigError(f"dataset {path}: the first row names the columns {', '.join(names)}; {accepted()}")
    convert = (lambda where, name, cell: cell) if known else _value
    found: list[Mapping[str, Any]] = []
    number = 0
    try:
        for number, row in enumerate(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True), 1):
            if number > 1 and (record := _record(f"dataset {path}, row {number}", names, row, convert)):
                found.append(record)
    except csv.Error as error:
        raise ConfigError(f"dataset {path}, row {number + 1} is not CSV: {error}") from error
    return found


def _names(line: str, delimiter: str) -> list[str]:
    return [name.strip().lower() for name in next(csv.reader([line], delimiter=delimiter), [])]


def _record(where: str, names: list[str], row: list[str], convert: Callable[[str, str, str], Any]) -> Mapping[str, Any]:
    """Return the cells that are not empty, by the name of their column."""
    if len(row) > len(names) and any(each.strip() for each in row[len(names) :]):
        raise ConfigError(
            f"{where} has {len(row)} cells for {len(names)} columns; quote a cell that holds the delimiter"
        )
    cells = ((name, cell.strip()) for name, cell in zip(names, row, strict=False))
    return {name: convert(where, name, cell) for name, cell in cells if cell}


def _value(where: str, name: str, cell: str) -> Any:
    if name in _LISTS:
        return [each.strip() for each in cell.split("|")]
    if name in _NUMBERS:
        try:
            return float(cell)
        except ValueError:
            raise ConfigError(f"{where}: {name} {cell!r} is not a number; write it as 1234.5") from None
    if name == "answerable":
        if cell.lower() not in _TRUTH:
            raise ConfigError(f"{where}: answerable {cell!r}: expected true or false")
        return _TRUTH[cell.lower()]
    return cell
