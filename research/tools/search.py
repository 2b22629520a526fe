"""`search`: searches the library and the services that the recipe names."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Annotated

import msgspec
from pydantic import Field

from research.events.recipe import FOLDERS, LIBRARY, Recipe
from research.plugins import tool
from research.search import merge, web
from research.text import clip
from research.tools.host import Host
from research.tools.spec import spec_of
from research.types import Passage, Searcher, Tool, ToolOutput, ToolSpec
from research.web.url_guard import is_users_own

LIMIT = 10
SNIPPET = 200
"""Characters of a result's quote."""


class SearchTool:
    """Returns at most 10 results, best first, each with a quote of at most 200 characters."""

    timeout_s = 45.0
    """Longer than a service may take with all its retries, so that its own error arrives."""

    def __init__(self, searchers: Sequence[Searcher]) -> None:
        self._searchers = searchers

    @property
    def spec(self) -> ToolSpec:
        return spec_of(
            self.__call__,
            "search",
            "Search for documents. Returns numbered results with a title, a url and the passage that fits best.",
        )

    def __call__(
        self,
        query: Annotated[
            str, Field(description="A few words: the thing and what you want to know of it.", min_length=1)
        ],
        filter_year: Annotated[int | None, Field(description="Only results of this year.")] = None,
        site: Annotated[str | None, Field(description="Only results whose url contains this.")] = None,
    ) -> ToolOutput:
        ask = web.search_request(query, LIMIT, filter_year, filter_year, site or "")
        gathered = web.gather(self._searchers, ask)
        found = merge.fused([found.passages for found in gathered.found.values()], merge.same_page)[:LIMIT]
        if not found:
            return ToolOutput("\n".join(filter(None, (_nothing(ask), gathered.remarks))))
        return ToolOutput(
            gathered.remarks,
            tuple(msgspec.structs.replace(p, quote=clip(p.quote, SNIPPET)) for p in found),
            private=any(is_users_own(passage.url) for passage in found),
        )


def _nothing(ask: web.SearchRequest) -> str:
    filtered = [str(ask.year_from)] if ask.year_from else []
    filtered += [ask.site] if ask.site else []
    within = f" within {' and '.join(filtered)}" if filtered else ""
    return f"No results for {ask.query!r}{within}. Try other or fewer words{', or no filter' if filtered else ''}."


@tool("Search")
def search(host: Host, recipe: Recipe, stop: threading.Event) -> Tool:
    """Find documents in the library and with the search services that the recipe names."""
    own_sources = {LIBRARY: ("factbook", *recipe.folders), FOLDERS: recipe.folders}
    remote = web.services([name for name in recipe.search if name not in own_sources], host.settings)
    own = [_Collections(host, own_sources[name]) for name in recipe.search if name in own_sources]
    return SearchTool([*own, *remote])


class _Collections:
    """Collections of the library, as a search service."""

    def __init__(self, host: Host, collections: Sequence[str]) -> None:
        self._host = host
        self._collections = collections

    def search(self, query: str, limit: int = 10) -> Sequence[Passage]:
        # In a new home the first search waits for the word index, but not for the vectors.
        return self._host.indexed_library().search(query, limit, collections=self._collections)
