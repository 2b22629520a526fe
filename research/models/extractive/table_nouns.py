"""Tell what the nouns of a question count: rows, different values of a column, or what a column of quantities adds up."""

from __future__ import annotations

import re

from msgspec.structs import replace

from research.models.extractive.table_columns import same
from research.models.extractive.table_reading import PColumn, PTable
from research.models.extractive.table_synonyms import synonymous
from research.models.extractive.table_units import is_money
from research.text import has_cjk
from research.web.table import numbers_rows

_NOT_ADDED = re.compile(
    r"%|°|\brate|ratio|average|\bmean\b|median|\bmax|\bmin\b|\bminimum|percent|share|temperature|\btemp\b|price|score|grade|"
    r"\bage\b|height|length|width|depth|altitude|elevation|latitude|longitude|index|per\b|/|speed|humidity|density|rating|"
    r"rank|率|均|占比|价|分数|成绩|得分|年龄|身高|海拔|温|湿度|指数|排名|评分|满意度|语文|数学|英语|物理|化学",
    re.I,
)
"""Names and units of columns whose figures are not added up."""
_QUANTITY = frozenset("quantity qty unit piece copy count volume 数量 件数 销量 台数 份数 本数".split())

PRICE_OF_ONE = re.compile(r"unit price|price (?:per|each|of one)|单价|每.价", re.I)
"""Names of columns whose figures are of one piece."""


def added(column: PColumn) -> bool:
    """Return whether the figures of a column may be added up."""
    return _NOT_ADDED.search(f"{column.name} {column.unit}".replace("_", " ")) is None


def is_number_of_row(column: PColumn, table: PTable) -> bool:
    """Return whether the figures of a column only tell rows apart: `order no`, `id`, or 1, 2, 3 …"""
    if column.type != "number" or column.unit:
        return False
    if numbers_rows(column.name):
        return True
    try:
        low, high = int(column.low), int(column.high)
    except ValueError:
        return False
    first = table.columns[0] is column and table.rows > 3
    return first and (high - low + 1 == table.rows or bool(table.of_type("text")))  # a measure seldom comes first


def figures(table: PTable) -> list[PColumn]:
    """Return the columns of figures that can be ranked or added up."""
    return [column for column in table.of_type("number") if not is_number_of_row(column, table)]


def names_of_rows(table: PTable) -> list[str]:
    """Return the words that name one row: `runner` where each row has another, `order` for `order no`."""
    of_numbers = [column for column in table.of_type("number") if is_number_of_row(column, table)]
    of_texts = [column for column in table.of_type("text") if table.unique(column)]
    time = table.of_each_time()
    words = [word for column in (*of_numbers, *of_texts, *([time] if time else [])) for word in column.words]
    return [word for word in dict.fromkeys(words) if not numbers_rows(word)]


def names_a_row(word: str, table: PTable) -> bool:
    """Return whether a word names one row of a table."""
    return any(same(word, each) for each in names_of_rows(table))


def quantity(table: PTable) -> PColumn | None:
    """Return the one column that says how many pieces a row is about."""
    found = [column for column in figures(table) if _is_quantity(column) and added(column)]
    return found[0] if len(found) == 1 else None


def with_amount(table: PTable) -> PTable:
    """Return a table with the amount of each row, if it has a quantity and a price for one, and no amount of its own."""
    pieces, prices = quantity(table), [each for each in figures(table) if PRICE_OF_ONE.search(each.said)]
    money = [each for each in figures(table) if is_money(each.unit) or synonymous(each.said.lower(), "sales")]
    money = [each for each in money if each not in prices]
    named = any(each.sql == "amount" for each in table.columns)
    if pieces is None or len(prices) != 1 or money or named or table.by_month:
        return table
    name = "金额" if has_cjk(pieces.name) else "amount"
    amount = PColumn("amount", name, "number", prices[0].unit)
    source = f"(SELECT *, {pieces.sql} * {prices[0].sql} AS amount FROM {table.name})"
    return replace(table, name=source, columns=(*table.columns, amount))


def _is_quantity(column: PColumn) -> bool:
    return any(word in _QUANTITY for word in column.words) or any(
        column.name.endswith(word) for word in _QUANTITY if not word.isascii()
    )
