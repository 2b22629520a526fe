"""`query`: lists the tables of the library, and runs SQL over them."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from research._util.said import say
from research.defaults import FACTBOOK
from research.errors import ToolError
from research.events.recipe import FOLDERS, LIBRARY, Recipe
from research.plugins import tool
from research.search.embedders import Embedder
from research.search.library.catalogue import TableEntry
from research.search.library.describing import described, fitting
from research.search.library.quoting import passages, result_text
from research.tools.host import Host
from research.tools.spec import spec_of
from research.types import Tool, ToolOutput, ToolSpec
from research.web.url_guard import is_users_own

if TYPE_CHECKING:
    from research.sandbox.sql import SqlResult
    from research.search.library.documents import Library

NO_TABLE = "The library has no table yet."
_LISTED = 6
"""Tables that the tool's description names."""
_SHOWN = 5
"""Tables that one call describes."""
_CELLS = 1_500_000
"""Most cells of all tables that one statement reads."""


class QueryTool:
    """Describes the tables that fit a question, or runs one SELECT statement over them."""

    timeout_s = 45.0

    def __init__(
        self, library: Callable[[], Library], collections: Sequence[str], embedder: Callable[[], Embedder] | None = None
    ) -> None:
        self._library = library
        self._collections = collections
        self._embedder = embedder

    @property
    def spec(self) -> ToolSpec:
        return spec_of(self.__call__, "query", f"{_DESCRIPTION}\n{self._listed()}")

    def _listed(self) -> str:
        entries = self.entries()
        if not entries:
            return NO_TABLE
        names = [f"{each.name} ({', '.join(each.columns[:8])}{', …' if each.columns[8:] else ''})" for each in entries]
        more = f" and {len(names) - _LISTED} more" if names[_LISTED:] else ""
        return f"Tables: {'; '.join(names[:_LISTED])}{more}."

    def entries(self) -> list[TableEntry]:
        """Return the catalogue of the run's collections."""
        library = self._library()
        gone = library.unknown(self._collections)
        return library.tables([name for name in self._collections if name not in gone])

    def __call__(
        self,
        sql: Annotated[
            str,
            Field(description="One SELECT statement (SQLite; also median, stdev, corr). Empty: describe the tables."),
        ] = "",
        about: Annotated[str, Field(description="Without sql: the question that the tables should answer.")] = "",
    ) -> ToolOutput:
        if not sql.strip():
            return self._describe(about)
        entries, result = self.run(sql)
        own = any(is_users_own(each.url) for each in entries)
        sources = passages(sql, result, entries, self._library().rows)
        return ToolOutput(result_text(result), sources, private=own)

    def _describe(self, about: str) -> ToolOutput:
        entries = self.entries()
        if not entries:
            return ToolOutput(say("The library has no table: add a folder with csv or spreadsheet files to it."))
        embedder = self._embedder() if self._embedder and about else None
        shown = fitting(entries, about, self._library().held(about), embedder)[:_SHOWN]
        rows = self._library().rows
        text = "\n\n".join(described(each, rows(each) if each.id else each.table, about) for each in shown)
        more = len(entries) - len(shown)
        rest = f"\n\n{more} more: {', '.join(each.name for each in entries if each not in shown)}" if more else ""
        return ToolOutput(text + rest[:600], private=any(is_users_own(each.url) for each in shown))

    def run(self, sql: str) -> tuple[list[TableEntry], SqlResult]:
        """Return the tables that a statement names, and its result.  Raises `ToolError`."""
        from research.sandbox.sql import SqlTable, run_sql

        words = set(re.findall(r"\w+", sql.casefold()))
        named = [each for each in self.entries() if each.name in words]
        if sum(each.count * len(each.columns) for each in named) > _CELLS:
            names = ", ".join(each.name for each in named)
            raise ToolError(say("the tables {names} are too large to be read together", names=names))
        tables = [(each, self._library().rows(each)) for each in named]
        result = run_sql(sql, [SqlTable(each.name, each.columns, table.rows, table.numbers) for each, table in tables])
        return named, result


_DESCRIPTION = (
    "Calculate over the tables of the library (csv files, spreadsheets, tables in documents, the World Factbook's figures) "
    "with SQL: rankings, sums, averages, counts, filters, groups. Call it with `about` first to see the columns, their units "
    "and values; then with `sql`. Results cite the cells they were made from."
)


def collections(recipe: Recipe) -> list[str]:
    """Return a recipe's collections that the run may read."""
    own_sources = {LIBRARY: (FACTBOOK, *recipe.folders), FOLDERS: recipe.folders}
    return list(dict.fromkeys(name for source in recipe.search for name in own_sources.get(source, ())))


@tool("Query", library=True)
def query(host: Host, recipe: Recipe, stop: threading.Event) -> Tool:
    """Calculate over the tables of the library with SQL that only reads."""
    return QueryTool(host.indexed_library, collections(recipe), lambda: host.embedder)
