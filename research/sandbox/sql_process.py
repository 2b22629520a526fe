"""The process behind `research.sandbox.sql`: `python -m research.sandbox.sql_process`."""

from __future__ import annotations

import math
import re
import sqlite3
import statistics
import time
from collections.abc import Callable
from typing import Any

import msgspec

from research.sandbox.sql import (
    MEMORY_BYTES,
    RESULT_BYTES,
    ROW,
    ROWS,
    USED_ROWS,
    SqlJob,
    SqlResult,
    SqlTable,
    Used,
    Value,
)
from research.sandbox.warm import serve

_STEPS = 20_000
"""SQLite VM instructions between checks of the clock."""
_FORBIDDEN_FUNCTIONS = frozenset({"load_extension", "fts3_tokenizer", "readfile", "writefile", "edit", "sqlite_log"})
_LIMITS = {
    sqlite3.SQLITE_LIMIT_LENGTH: RESULT_BYTES,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 200,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 50,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 1_000,
    sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
}
_FROM = re.compile(
    r"\sFROM\s+(?P<table>\w+|\((?:[^()]++|\([^()]*+\))*+\))(?P<alias>\s+(?:AS\s+)?(?!(?:WHERE|GROUP|ORDER|LIMIT|HAVING)\b)\w+)?(?=\s|;|$)",
    re.IGNORECASE,
)
_REST = re.compile(r"\s(?:GROUP|ORDER|HAVING|LIMIT)\b|;", re.IGNORECASE)
_NESTED = re.compile(r"\b(?:SELECT|UNION|INTERSECT|EXCEPT|JOIN|WITH|OVER|FROM)\b", re.IGNORECASE)


class _Median:
    """SQL's missing aggregate; the other classes here add those of spreadsheets."""

    def __init__(self) -> None:
        self._values: list[float] = []

    def step(self, value: object) -> None:
        if isinstance(value, int | float):
            self._values.append(value)

    def finalize(self) -> float | None:
        return self.result(self._values) if self._values else None

    def result(self, values: list[float]) -> float | None:
        return statistics.median(values)


class _Deviation(_Median):
    def result(self, values: list[float]) -> float | None:
        return statistics.stdev(values) if len(values) > 1 else None


class _Correlation:
    def __init__(self) -> None:
        self._pairs: list[tuple[float, float]] = []

    def step(self, one: object, two: object) -> None:
        if isinstance(one, int | float) and isinstance(two, int | float):
            self._pairs.append((one, two))

    def finalize(self) -> float | None:
        try:
            return statistics.correlation(*zip(*self._pairs, strict=True)) if len(self._pairs) > 1 else None
        except statistics.StatisticsError:  # one of them is constant
            return None


_AGGREGATES: tuple[tuple[str, int, type], ...] = (
    ("median", 1, _Median),
    ("stdev", 1, _Deviation),
    ("corr", 2, _Correlation),
)
_FUNCTIONS: dict[str, tuple[int, Callable[..., float]]] = {
    "sqrt": (1, math.sqrt),
    "ln": (1, math.log),
    "exp": (1, math.exp),
    "power": (2, math.pow),
    "pow": (2, math.pow),
    "floor": (1, math.floor),
    "ceil": (1, math.ceil),
}


def _function(calculate: Callable[..., float]) -> Callable[..., float | None]:
    def safe(*values: Any) -> float | None:
        try:
            return calculate(*values)
        except (TypeError, ValueError, OverflowError):
            return None

    return safe


class _Reading:
    """Authorizes reading and nothing else, and notes which columns are read."""

    def __init__(self, tables: frozenset[str]) -> None:
        self._tables = tables
        self.columns: dict[str, dict[str, None]] = {}
        self.denied = ""

    def __call__(self, action: int, one: str | None, two: str | None, _database: str | None, _by: str | None) -> int:
        if action == sqlite3.SQLITE_READ and one is not None:
            if one in self._tables:
                self.columns.setdefault(one, {})
                if two and two != ROW:
                    self.columns[one][two] = None
                return sqlite3.SQLITE_OK
            # A subquery or a table of this statement has a name of its own here.
            return sqlite3.SQLITE_OK if not one.startswith(("sqlite_", "pragma_")) else self._deny(f"table {one!r}")
        if action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_RECURSIVE):
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_FUNCTION and (two or "").lower() not in _FORBIDDEN_FUNCTIONS:
            return sqlite3.SQLITE_OK
        return self._deny(_ACTIONS.get(action, f"{two or one}"))

    def _deny(self, what: str) -> int:
        self.denied = self.denied or what
        return sqlite3.SQLITE_DENY


_ACTIONS = {
    sqlite3.SQLITE_INSERT: "INSERT",
    sqlite3.SQLITE_UPDATE: "UPDATE",
    sqlite3.SQLITE_DELETE: "DELETE",
    sqlite3.SQLITE_ATTACH: "ATTACH",
    sqlite3.SQLITE_DETACH: "DETACH",
    sqlite3.SQLITE_PRAGMA: "PRAGMA",
    sqlite3.SQLITE_TRANSACTION: "a transaction",
    sqlite3.SQLITE_SAVEPOINT: "a savepoint",
    sqlite3.SQLITE_CREATE_TABLE: "CREATE TABLE",
    sqlite3.SQLITE_CREATE_VTABLE: "CREATE VIRTUAL TABLE",
    sqlite3.SQLITE_CREATE_VIEW: "CREATE VIEW",
    sqlite3.SQLITE_CREATE_TEMP_TABLE: "CREATE TABLE",
    sqlite3.SQLITE_DROP_TABLE: "DROP TABLE",
}


def answer(job: SqlJob) -> SqlResult:
    """Run a job's statement; return its rows, or a sentence saying why not."""
    database = _loaded(job)
    reading = _Reading(frozenset(table.name for table in job.tables))
    database.set_authorizer(reading)
    end = time.monotonic() + job.seconds
    database.set_progress_handler(lambda: time.monotonic() > end, _STEPS)
    try:
        cursor = database.execute(job.sql)
        if cursor.description is None:
            return SqlResult(error="only SELECT statements are run: the tables cannot be changed")
        rows, cut = _fetched(cursor)
        columns = tuple(each[0] for each in cursor.description)
        return SqlResult(columns, rows, cut, _used(database, job, reading))
    except (sqlite3.Error, sqlite3.Warning, MemoryError, OverflowError, UnicodeError, ValueError) as error:
        return SqlResult(error=_sentence(error, job, reading))


def _loaded(job: SqlJob) -> sqlite3.Connection:
    database = sqlite3.connect(":memory:", isolation_level=None, cached_statements=0)
    database.execute("PRAGMA temp_store = MEMORY")
    database.execute("PRAGMA trusted_schema = OFF")
    database.execute(f"PRAGMA hard_heap_limit = {MEMORY_BYTES}")
    for table in job.tables:
        names = ", ".join(_quoted(each) for each in (ROW, *table.columns))
        database.execute(f"CREATE TABLE {_quoted(table.name)} ({names})")
        marks = ", ".join("?" * (len(table.columns) + 1))
        database.executemany(
            f"INSERT INTO {_quoted(table.name)} VALUES ({marks})",
            ((number, *row) for number, row in zip(table.numbers, table.rows, strict=True)),
        )
    for name, size, aggregate in _AGGREGATES:
        database.create_aggregate(name, size, aggregate)
    for name, (size, calculate) in _FUNCTIONS.items():
        database.create_function(name, size, _function(calculate), deterministic=True)
    database.execute("PRAGMA query_only = ON")
    for limit, value in _LIMITS.items():
        database.setlimit(limit, value)
    return database


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _fetched(cursor: sqlite3.Cursor) -> tuple[tuple[tuple[Value, ...], ...], bool]:
    rows: list[tuple[Value, ...]] = []
    room = RESULT_BYTES
    for row in cursor:
        values = tuple(map(_value, row))
        room -= sum(len(value) if isinstance(value, str) else 8 for value in values)
        if len(rows) == ROWS or room < 0:
            return tuple(rows), True
        rows.append(values)
    return tuple(rows), False


def _value(value: object) -> Value:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, str | int | float) or value is None:
        return value
    return f"({len(bytes(value))} bytes)" if isinstance(value, bytes) else str(value)


def _used(database: sqlite3.Connection, job: SqlJob, reading: _Reading) -> tuple[Used, ...]:
    """Return the cells used for the result: exact rows for a statement over one table.

    Likewise for one subquery that keeps its row numbers.
    """
    found = dict(reading.columns)
    read = _FROM.search(job.sql)
    if read and len(found) == 1 and not _NESTED.search(f"{job.sql[6 : read.start()]} {job.sql[read.end() :]}"):
        name, after = next(iter(found)), job.sql[read.end() :]
        rest = _REST.search(after)
        where = after[: rest.start()] if rest else after
        try:
            rows = database.execute(
                f"SELECT DISTINCT {ROW} FROM {read['table']}{read['alias'] or ''} {where} LIMIT {USED_ROWS}"
            ).fetchall()
        except sqlite3.Error:
            rows = []
        if rows:
            return (Used(name, tuple(found[name]), tuple(row[0] for row in rows), "rows"),)
    return tuple(Used(name, tuple(columns), ()) for name, columns in found.items())


def _sentence(error: Exception, job: SqlJob, reading: _Reading) -> str:
    text = str(error)
    if reading.denied:
        return f"only SELECT statements over the listed tables are run; refused: {reading.denied}"
    if text == "interrupted":
        return f"the query took more than {job.seconds:g} s and was stopped; read fewer rows or join fewer tables"
    if isinstance(error, MemoryError) or "out of memory" in text:
        return f"the query needs more than {MEMORY_BYTES >> 20} MB of memory and was stopped"
    if "one statement at a time" in text:
        return "only one statement is run at a time"
    if match := re.match(r"no such (table|column): (.+)", text):
        known = [table.name for table in job.tables]
        if match[1] == "column":
            known = [f"{table.name}.{column}" for table in job.tables for column in table.columns][:60]
        return f"there is no {match[1]} {match[2]!r}; there are: {', '.join(known) or 'none'}"
    return f"SQLite refuses the query: {text}"


def _prepare() -> None:
    """Load what the first query needs."""
    answer(SqlJob("SELECT median(a) FROM t", (SqlTable("t", ("a",), ((1,),), (1,)),), 5.0))


def _work(data: bytes) -> bytes:
    return msgspec.json.encode(answer(msgspec.msgpack.decode(data, type=SqlJob)))


if __name__ == "__main__":
    serve(_prepare, _work)
