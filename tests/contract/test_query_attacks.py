"""SQL that a model writes: what writes, attaches, reads files, loops for ever or returns too much is refused or bounded."""

from __future__ import annotations

from pathlib import Path

import pytest

from research.errors import ToolError
from research.sandbox.sql import ROWS, SqlTable, run_sql

TABLE = SqlTable(
    "sales", ("region", "euros"), tuple((("north", "south")[i % 2], float(i)) for i in range(50)), tuple(range(2, 52))
)


def result(sql: str) -> list[tuple[str | int | float | None, ...]]:
    return list(run_sql(sql, [TABLE]).rows)


@pytest.mark.parametrize(
    ("sql", "what"),
    [
        ("DELETE FROM sales", "DELETE"),
        ("DROP TABLE sales", "DELETE"),
        ("INSERT INTO sales VALUES (1, 2, 3)", "INSERT"),
        ("UPDATE sales SET euros = 0", "UPDATE"),
        ("REPLACE INTO sales VALUES (1, 2, 3)", "INSERT"),
        ("CREATE TABLE other (a)", "INSERT"),
        ("CREATE TEMP VIEW v AS SELECT 1", "INSERT"),
        ("ALTER TABLE sales ADD COLUMN a", "sales"),
        ("ATTACH '/etc/passwd' AS other", "ATTACH"),
        ("ATTACH ':memory:' AS other", "ATTACH"),
        ("VACUUM INTO '/tmp/copy'", "ATTACH"),
        ("PRAGMA table_info(sales)", "PRAGMA"),
        ("PRAGMA query_only = 0", "PRAGMA"),
        ("BEGIN", "a transaction"),
        ("SAVEPOINT a", "a savepoint"),
        ("SELECT * FROM sqlite_master", "sqlite_master"),
        ("SELECT load_extension('/tmp/evil')", "load_extension"),
        ("SELECT fts3_tokenizer('simple')", "fts3_tokenizer"),
        ("WITH x AS (SELECT 1) DELETE FROM sales", "DELETE"),
        ("SELECT * FROM pragma_table_info('sales')", ""),
        ("CREATE VIRTUAL TABLE f USING fts5(a)", ""),
    ],
)
def test_only_reading_is_authorized(sql: str, what: str) -> None:
    with pytest.raises(ToolError, match=f"only SELECT statements over the listed tables are run; refused: .*{what}"):
        run_sql(sql, [TABLE])


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("SELECT readfile('/etc/passwd')", "no such function"),
        ("SELECT writefile('/tmp/a', 'b')", "no such function"),
        ("SELECT 1; SELECT 2", "only one statement"),
        ("", "only SELECT statements"),
        ("SELECT profit FROM sales", "no column 'profit'; there are: sales.region, sales.euros"),
        ("SELECT * FROM other", "no table 'other'; there are: sales"),
        ("SELEKT", "SQLite refuses the query"),
        ("SELECT zeroblob(1000000000)", "too big"),
        ("SELECT replace(hex(zeroblob(900000)), '00', 'aaaaaaaaaaaaaaaaaaaa')", "too big"),
        ("SELECT " + "(" * 500 + "1" + ")" * 500, "SQLite refuses"),
        ("SELECT 1 " + "-- comment " * 3_000, "characters, the limit is 20,000"),
        ("\0SELECT 1", "SQLite refuses|only SELECT"),
    ],
)
def test_what_fails_is_told_in_a_sentence(sql: str, said: str) -> None:
    with pytest.raises(ToolError, match=said):
        run_sql(sql, [TABLE])


@pytest.mark.parametrize(
    "sql",
    [
        "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c",
        "SELECT count(*) FROM sales a, sales b, sales c, sales d, sales e, sales f",
        "SELECT group_concat(a.region || b.region || c.region || d.region) FROM sales a, sales b, sales c, sales d",
    ],
)
def test_an_endless_query_is_stopped(sql: str) -> None:
    with pytest.raises(ToolError, match="took more than 0.3 s|too big"):
        run_sql(sql, [TABLE], seconds=0.3)


def test_a_billion_rows_are_cut() -> None:
    found = run_sql("SELECT a.euros FROM sales a, sales b, sales c, sales d, sales e, sales f", [TABLE])
    assert len(found.rows) == ROWS
    assert found.cut
    wide = run_sql("SELECT hex(zeroblob(500000)) FROM sales", [TABLE])
    assert wide.cut
    assert len(wide.rows) < 4


@pytest.mark.slow
def test_memory_is_bounded() -> None:
    sql = """WITH RECURSIVE c(x, y) AS (SELECT 1, hex(randomblob(900000)) UNION ALL SELECT x + 1, hex(randomblob(900000)) FROM c
    LIMIT 2000) SELECT count(DISTINCT y) FROM c"""
    with pytest.raises(ToolError, match="memory|took more than"):
        run_sql(sql, [TABLE], seconds=5)


def test_a_query_leaves_nothing_for_the_next() -> None:
    with pytest.raises(ToolError):
        run_sql("CREATE TABLE kept AS SELECT 1", [TABLE])
    with pytest.raises(ToolError, match="no table 'kept'"):
        run_sql("SELECT * FROM kept", [TABLE])


def test_no_file_is_opened(tmp_path: Path) -> None:
    for sql in (f"ATTACH '{tmp_path}/a.db' AS a", f"VACUUM INTO '{tmp_path}/b.db'"):
        with pytest.raises(ToolError, match="refused"):
            run_sql(sql, [TABLE])
    assert list(tmp_path.iterdir()) == []


def test_what_spreadsheets_have_is_there() -> None:
    assert result("SELECT median(euros), round(stdev(euros), 3), round(corr(euros, euros), 3) FROM sales") == [
        (24.5, 14.577, 1.0)
    ]
    assert result("SELECT sqrt(-1), ln(0), power(2, 10), median(region) FROM sales LIMIT 1") == [
        (None, None, 1024.0, None)
    ]


def test_the_rows_used_are_named() -> None:
    found = run_sql("SELECT region, sum(euros) FROM sales WHERE euros > 45 GROUP BY region", [TABLE])
    (used,) = found.used
    assert (used.table, used.columns, used.numbers, used.kind) == (
        "sales",
        ("region", "euros"),
        (48, 49, 50, 51),
        "rows",
    )
    (joined,) = run_sql("SELECT count(*) FROM sales a JOIN sales b ON a.euros = b.euros", [TABLE]).used
    assert joined.kind == "all"
    assert run_sql("SELECT _row FROM sales WHERE euros = 3", [TABLE]).rows == ((5,),)
