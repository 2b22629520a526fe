"""The catalogue of tables: those of the user's files, and the World Factbook's figures as one table."""

from __future__ import annotations

import re
import sqlite3
from collections import Counter
from collections.abc import Sequence
from urllib.parse import unquote

from msgspec import Struct

from research._util.amounts import amount
from research._util.said import say
from research.defaults import FACTBOOK
from research.errors import ToolError
from research.search.library import storage
from research.search.library.comparisons import REGIONS, address, starts_with_figure
from research.web.table import Cell, Column, Table

FACTBOOK_URL = "library://factbook/"
_SQL_WORDS = frozenset(
    "abort action add after all alter always analyze and as asc attach autoincrement before begin between by cascade case "
    "cast check collate column commit conflict constraint create cross current current_date current_time current_timestamp "
    "database default deferrable deferred delete desc detach distinct do drop each else end escape except exclude "
    "exclusive exists explain fail filter first following for foreign from full generated glob group groups having if "
    "ignore immediate in index indexed initially inner insert instead intersect into is isnull join key last left like "
    "limit match materialized natural no not nothing notnull null nulls of offset on or order others outer over partition "
    "plan pragma preceding primary query raise range recursive references regexp reindex release rename replace restrict "
    "returning right rollback row rows savepoint select set table temp temporary then ties to transaction trigger "
    "unbounded union unique update using vacuum values view virtual when where window with without".split()
)
_TEXT = 200
"""Characters of a value in the Factbook's table."""
_RANKED = re.compile(
    r"^([^()\n]{1,80}(?:\([^()\n]{0,40}\)[^()\n]{0,40})?) \((territory|rank \d{1,4}[^)\n]{0,20})\): ", re.M
)
_SHORT_YEAR = re.compile(r"(?<!\d)((?:19|20)\d\d)(?!\d)")


class TableEntry(Struct, frozen=True):
    """A table of the catalogue."""

    id: int
    """0 for the Factbook's."""
    name: str
    """Its name in SQL."""
    columns: tuple[str, ...]
    """The names of its columns in SQL, in their order."""
    file: str
    """The name of its file as in a locator: `sales.xlsx`."""
    url: str
    """The address of its document."""
    table: Table
    """The table itself, without its rows."""
    count: int
    """Number of rows; 0 for the Factbook's, which are counted when read."""
    notes: str = ""
    """Omissions from its document, a line each."""


def entries(connection: sqlite3.Connection, collections: Sequence[str] | None) -> list[TableEntry]:
    """Return the tables of these collections, the user's own first."""
    scope = storage.collection_ids(connection, collections)
    rows = connection.execute(
        f"""SELECT tables.id, url, head, count, notes FROM tables JOIN documents ON documents.id = document
        WHERE collection IN ({", ".join(map(str, scope)) or "NULL"}) ORDER BY url, tables.id"""
    ).fetchall()
    found, taken = [], Counter[str]()
    for key, url, head, count, notes in rows:
        table = storage.unpacked(head)
        file = unquote(url.rpartition("/")[2])
        stem = file.rpartition(".")[0] or file
        name = _unique(identifier(" ".join(filter(None, (stem, table.place)))), taken)
        found.append(TableEntry(key, name, sql_names(table.columns), file, url, table, count, notes))
    factbook = storage.version_of(connection, FACTBOOK)
    if factbook and (collections is None or FACTBOOK in collections):
        head = Table(_FACTBOOK_COLUMNS, (), (), title="The CIA World Factbook: one row per country and figure")
        name = _unique("factbook", taken)
        found.append(TableEntry(0, name, sql_names(head.columns), "World Factbook", FACTBOOK_URL, head, 0))
    return found


def table(connection: sqlite3.Connection, entry: TableEntry) -> Table:
    """Return a table with its rows.  Raises `ToolError` if it is gone since the catalogue was read."""
    if not entry.id:
        return _factbook(connection, storage.version_of(connection, FACTBOOK) or "")
    row = connection.execute("SELECT head, rows FROM tables WHERE id = ?", [entry.id]).fetchone()
    if row is None:
        raise ToolError(say("the table {name!r} has changed or gone; list the tables again", name=entry.name))
    return storage.unpacked(*row)


def identifier(name: str) -> str:
    """Return a name that SQL accepts without quotes, in small letters: `sales_2024`, `销售额`, `y_2024`.

    >>> identifier("Sales (EUR) 2024"), identifier("2024"), identifier("group")
    ('sales_eur_2024', 'y_2024', 'group_')
    """
    plain = re.sub(r"\W+", "_", name.casefold()).strip("_")[:60].strip("_") or "column"
    if plain[0].isdigit():
        plain = f"y_{plain}"
    return f"{plain}_" if plain in _SQL_WORDS else plain


def sql_names(columns: Sequence[Column]) -> tuple[str, ...]:
    """Return the names of columns in SQL, each once."""
    taken = Counter[str]({"_row": 1})
    return tuple(_unique(identifier(column.name), taken) for column in columns)


def _unique(name: str, taken: Counter[str]) -> str:
    taken[name] += 1
    if taken[name] == 1:
        return name
    return _unique(f"{name}_{taken[name]}", taken)


_FACTBOOK_COLUMNS = (
    Column("country"),
    Column("region"),
    Column("territory", at=3),
    Column("field", at=4),
    Column("value", "number", at=5),
    Column("unit", at=6),
    Column("year", "year", at=7),
    Column("text", at=8),
)
_NOT_COUNTRIES = ("World", "European Union")


def _factbook(connection: sqlite3.Connection, version: str) -> Table:
    if version not in _kept:  # reading takes seconds
        _kept.clear()
        _kept[version] = _read_factbook(connection)
    return _kept[version]


_kept: dict[str, Table] = {}
"""The Factbook's table by version; keeps only the last one used."""


def _read_factbook(connection: sqlite3.Connection) -> Table:
    """Return the figures of all countries: one row per country and field, with the latest year of each series."""
    regions = _regions(connection)
    documents = connection.execute(
        """SELECT title, text FROM documents WHERE collection = (SELECT id FROM collections WHERE name = ?)
        AND url NOT LIKE 'library://factbook/comparison/%' ORDER BY url""",
        [FACTBOOK],
    )
    found: dict[tuple[str, str], tuple[Cell, ...]] = {}
    for title, text in documents:
        country = title.partition(" · ")[0]
        if country in _NOT_COUNTRIES:
            continue
        region, territory = regions.get(country, (None, "no"))
        for line in text.splitlines():
            label, colon, value = line.partition(": ")
            stated = amount(value[:_TEXT]) if colon and len(label) <= 120 else None
            if stated is None or not starts_with_figure(value):
                continue
            series = re.fullmatch(r"(.+?),? ((?:19|20)\d\d)", label)
            field, year = (series[1], int(series[2])) if series else (label, _year(value))
            before = found.get((country, field))
            if before is None or (series and (before[6] or 0) < (year or 0)):  # type: ignore[operator]
                size = float(stated.value)
                exact = int(size) if size.is_integer() and abs(size) < 2**53 else size
                found[country, field] = (country, region, territory, field, exact, stated.base, year, value[:_TEXT])
    rows = tuple(found.values())
    return Table(_FACTBOOK_COLUMNS, rows, tuple(range(1, len(rows) + 1)))


def _year(value: str) -> int | None:
    years = _SHORT_YEAR.findall(value[:_TEXT])
    return int(years[-1]) if years else None


def _regions(connection: sqlite3.Connection) -> dict[str, tuple[str, str]]:
    """Return the region of each country and whether it is a territory, as the comparisons list them."""
    found: dict[str, tuple[str, str]] = {}
    for slug, region in REGIONS.items():
        for measure in ("area-total", "population-total", "coastline", "internet-country-code"):
            pages = connection.execute(
                "SELECT text FROM documents WHERE url = ? OR url LIKE ? || '/%'", [address(measure, slug)] * 2
            )
            for (text,) in pages:
                for match in _RANKED.finditer(text):
                    found.setdefault(match[1], (region, "yes" if match[2] == "territory" else "no"))
    return found
