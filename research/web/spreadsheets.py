"""Read spreadsheets (xlsx, xls, ods) and parquet files as typed tables, with the place of each cell."""

from __future__ import annotations

import datetime
import io
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from research.web import grid, open_documents, sheets
from research.web.figures import figure
from research.web.locators import Part, columns_of
from research.web.packages import BROKEN, OLE, Package, transitional
from research.web.sheets import Around, Beside
from research.web.table import MAX_CELLS, MAX_COLUMNS, MAX_TABLES, Cell, Column, ColumnType, Table
from research.web.table_text import as_text, beyond, long_cells

SUFFIXES = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
_LINES = 5_000
"""Most lines kept of a sheet without a table."""

Refuse = Callable[[str], Exception]
Read = tuple[list[Part], list[Table], tuple[str, ...]]


def workbook(data: bytes, suffix: str, refuse: Refuse) -> Read:
    """Return the nonempty sheets, each as text and, if possible, as a table; and what was left out."""
    from python_calamine import CalamineError, PasswordError

    around = Beside()
    try:
        if suffix != ".xls" and not data.startswith(OLE):
            data = transitional(data, refuse)  # rejects bombs, which calamine would unpack
            package = Package(data, refuse)
            around = sheets.beside(package) if suffix != ".ods" else open_documents.beside(package)
        elif suffix != ".xls":
            raise refuse("is encrypted; save it without a password")
        parts, tables = _sheets(data, around)
    except PasswordError as error:
        raise refuse("is encrypted; save it without a password") from error
    except (CalamineError, *BROKEN) as error:
        if "password" in str(error).lower():
            raise refuse("is encrypted; save it without a password") from error
        raise refuse(f"is a damaged {suffix[1:]} ({str(error)[:160]}); save it again") from error
    return parts, tables, around.notes()


def _sheets(data: bytes, around: Beside) -> tuple[list[Part], list[Table]]:
    from python_calamine import CalamineWorkbook

    book = CalamineWorkbook.from_filelike(io.BytesIO(data))
    parts, tables, room = list[Part](), list[Table](), MAX_CELLS
    names = [*book.sheet_names, *(name for name in around.lines if name not in book.sheet_names)]
    around.cut += beyond("", "sheets", MAX_TABLES, len(names))
    for name in names[:MAX_TABLES]:
        sheet = book.get_sheet_by_name(name) if name in book.sheet_names else None
        if sheet is not None and sheet.height and sheet.width and sheet.start is not None:
            width = min(sheet.width, MAX_COLUMNS)
            around.cut += beyond(f"sheet {name}: ", "columns", width, sheet.width)
            most = min(sheet.height, max(0, room // width))
            rows = [[_cell(each) for each in row[:width]] for row in sheet.to_python(nrows=most)] if most else []
            room -= len(rows) * width
            top, left = sheet.start[0] + 1, sheet.start[1] + 1
            for (down, across), shown in around.shown.get(name, {}).items():
                if top <= down < top + len(rows) and left <= across < left + width:
                    rows[down - top][across - left] = _shown(rows[down - top][across - left], shown)
            found = grid.table(rows, name, row=top, column=left)
            if found is None:
                around.cut += beyond(f"sheet {name}: ", "rows", min(len(rows), _LINES), sheet.height)
                parts.append(Part(name, "\n".join(_lines(rows))))
            else:
                tables.append(found)
                parts.append(Part(name, _with_rest(as_text(found), sheet.height - len(rows)), columns_of(found)))
                parts.append(Part(name, "\n".join(long_cells(rows, top, left))))
        parts.append(Part(name, "\n".join(around.lines.get(name, []))))
    return parts, tables


def _with_rest(text: str, left: int) -> str:
    return (
        f"{text}\n\n{left:,} more rows of the sheet are beyond the limit of {MAX_CELLS:,} cells" if left > 0 else text
    )


def _cell(value: Any) -> Cell:
    """Return a cell's value for tables: dates as texts that sort, whole floats as whole numbers."""
    if value is None or value == "":
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < 1e15 else value
    if isinstance(value, datetime.datetime):
        whole = value.time() == datetime.time()
        return value.date().isoformat() if whole else value.isoformat(" ", "minutes")
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    return value if isinstance(value, str | int) else str(value)


def _shown(value: Cell, around: Around) -> Cell:
    """Return a number as its cell shows it, 12.5% for 0.125 or 3 EUR, if that can be parsed again."""
    if not isinstance(value, int | float):
        return value
    number = f"{value * 100:.10g}" if around.share else f"{value:.15g}"
    number += "0" * (len(number.partition(".")[2]) == 3)  # 1.234 alone could mean 1,234
    text = f"{around.before} {number} {around.after}".strip().replace(" %", "%")
    found = figure(text)
    return text if found and found.unit else value


def _lines(rows: Sequence[Sequence[Cell]]) -> Iterator[str]:
    for row in rows[:_LINES]:
        if filled := [str(each) for each in row if each is not None]:
            yield " ".join(filled)


def parquet(data: bytes, refuse: Refuse) -> Read:
    """Return the columns and rows of a parquet file, as many as fit the limit of cells."""
    import pyarrow as pa
    from pyarrow import parquet as pq

    try:
        file = pq.ParquetFile(io.BytesIO(data), pre_buffer=False)
        names = file.schema_arrow.names[:MAX_COLUMNS]
        if not names:
            raise refuse("has no columns")
        most = MAX_CELLS // len(names)
        rows: list[tuple[Cell, ...]] = []
        for batch in file.iter_batches(min(most, 10_000), columns=names, use_threads=False):
            columns = [[_cell(each) for each in column.to_pylist()] for column in batch.columns]
            rows += zip(*columns, strict=True)
            if len(rows) >= most:
                break
        total = file.metadata.num_rows
    except (pa.ArrowException, *BROKEN) as error:
        raise refuse(f"is a damaged parquet file ({str(error)[:160]}); save it again") from error
    rows = rows[:most]
    heads = tuple(Column(name, _type(file.schema_arrow.field(name).type), at=at) for at, name in enumerate(names, 1))
    found = Table(heads, tuple(rows), tuple(range(1, len(rows) + 1)), left_out=total - len(rows))
    parts = [Part("", as_text(found), columns_of(found)), Part("", "\n".join(long_cells(rows)))]
    return parts, [found] if rows else [], tuple(beyond("", "columns", len(names), len(file.schema_arrow.names)))


def _type(arrow: Any) -> ColumnType:
    import pyarrow as pa

    if pa.types.is_integer(arrow) or pa.types.is_floating(arrow) or pa.types.is_decimal(arrow):
        return "number"
    return "date" if pa.types.is_date(arrow) or pa.types.is_timestamp(arrow) else "text"
