"""Run a model's SQL over tables in memory: in a sealed process, reading only, bounded in time, rows, bytes and memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec
from msgspec import Struct

from research._util import decoding
from research._util.said import say
from research.errors import ToolError
from research.sandbox.warm import WarmProcesses

Value = str | int | float | None

SECONDS = 10.0
"""How long one query may run."""

ROWS = 1_000
"""Most rows of a result."""

RESULT_BYTES = 2 * 2**20
"""Most bytes of a result."""

MEMORY_BYTES = 512 * 2**20
"""Most memory that SQLite takes beside the tables' own rows."""

STATEMENT = 20_000
"""Longest statement, in characters."""

USED_ROWS = 100_000
"""Most used rows reported."""

ROW = "_row"
"""The column with each row's number in its file."""

_processes = WarmProcesses("research.sandbox.sql_process")
_START_S = 20.0


class SqlTable(Struct, frozen=True):
    """A table as SQL sees it; the values of `rows` are in the order of `columns`."""

    name: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]
    numbers: tuple[int, ...]


class SqlJob(Struct, frozen=True):
    """A statement with the tables that it may read."""

    sql: str
    tables: tuple[SqlTable, ...]
    seconds: float = SECONDS


class Used(Struct, frozen=True):
    """The cells of a table used for a result."""

    table: str
    columns: tuple[str, ...]
    numbers: tuple[int, ...]
    """Numbers of the rows in their file; empty if they are not known."""
    kind: Literal["rows", "all"] = "all"
    """Whether exactly these rows were used; else any may have been."""


class SqlResult(Struct, frozen=True):
    """What a statement returned."""

    columns: tuple[str, ...] = ()
    rows: tuple[tuple[Value, ...], ...] = ()
    cut: bool = False
    """Whether there are more rows."""
    used: tuple[Used, ...] = ()
    error: str = ""


def run_sql(sql: str, tables: Sequence[SqlTable], seconds: float = SECONDS) -> SqlResult:
    """Return the result of one SELECT statement over these tables.

    Raises `ToolError` with a sentence for the model when it is refused, fails or exceeds a limit.
    """
    if len(sql) > STATEMENT:
        raise ToolError(
            say("the SQL has {count:,} characters, the limit is {limit:,}", count=len(sql), limit=STATEMENT)
        )
    job = msgspec.msgpack.encode(SqlJob(sql, tuple(tables), seconds))
    try:
        answer = _processes.run(job, timeout_s=seconds + _START_S, output_bytes=8 * RESULT_BYTES)
        result = decoding.decode(answer, SqlResult)
    except TimeoutError as error:
        raise ToolError(
            say("the query took more than {seconds:g} s; read fewer rows or join fewer tables", seconds=seconds)
        ) from error
    except ChildProcessError as error:
        raise ToolError(
            say("the query ended its process ({error}): it may need too much memory", error=error)
        ) from error
    except (ValueError, RecursionError) as error:
        raise ToolError(say("the query made its process answer nonsense")) from error
    if result.error:
        raise ToolError(result.error)
    return result
