"""`search`: searches the library and the services that the recipe names."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import msgspec
from pydantic import Field

from research._util.said import say
from research.defaults import FACTBOOK, FACTBOOK_LANGUAGE, OWN_DOCUMENTS, PAGES, PAGES_READ
from research.errors import ToolError
from research.events.recipe import FOLDERS, LIBRARY, Recipe
from research.plugins import tool
from research.search import merge, web
from research.search.relevance import beginning, best_quote, room
from research.search.scope import EVERYTHING, Scope, of_recipe
from research.text import clip
from research.tools.host import Host
from research.tools.spec import spec_of
from research.types import Passage, Searcher, Tool, ToolOutput, ToolSpec
from research.web.url_guard import is_users_own

LIMIT = 10
_NAMED, _NAME = 12, 60
"""Most collections named in the description, and most characters of each name."""


class SearchTool:
    """Returns at most 10 results, best first, each with the lines that fit the query best, the first with more."""

    timeout_s = 45.0
    """Longer than a service may take with all its retries, so that its error arrives."""

    def __init__(
        self, searchers: Sequence[Searcher], collections: Sequence[str] = (), scope: Scope = EVERYTHING
    ) -> None:
        """`collections` are the names of the library's collections that are searched."""
        self._scope = scope
        self._searchers = searchers
        self._collections = collections

    @property
    def spec(self) -> ToolSpec:
        about = "Search for documents. Returns numbered results with a title, a url and the passage that fits best."
        if FACTBOOK in self._collections:
            about += f"\n{FACTBOOK_LANGUAGE}"
        if PAGES in self._collections:
            about += f"\n{PAGES_READ}"
        if own := [Path(name).name or name for name in self._collections if name not in (FACTBOOK, PAGES)]:
            names = ", ".join(clip(" ".join(name.split()), _NAME) for name in own[:_NAMED])
            more = ", …" if len(own) > _NAMED else ""
            about += f"\n{OWN_DOCUMENTS}\n{names}{more}"
        return spec_of(self.__call__, "search", about, each="query")

    def __call__(
        self,
        query: Annotated[
            str, Field(description="A few words: the thing and what you want to know of it.", min_length=1)
        ],
        filter_year: Annotated[int | None, Field(description="Only results of this year.")] = None,
        site: Annotated[str | None, Field(description="Only results whose url contains this.")] = None,
    ) -> ToolOutput:
        ask = web.search_request(query, LIMIT, filter_year, filter_year, site or "")
        gathered, dropped = web.widened(self._searchers, ask, self._scope)
        found = merge.fused([found.passages for found in gathered.found.values()], merge.same_page)[:LIMIT]
        searched = _searched(gathered, found)
        if not found:
            text = "\n".join(filter(None, (_nothing(ask, dropped), gathered.remarks)))
            return ToolOutput(text, searched=searched, failed=dict(gathered.failed))
        without = say("No results {dropped}: these are without that filter.", dropped=dropped) if dropped else ""
        return ToolOutput(
            "\n".join(filter(None, (without, gathered.remarks))),
            tuple(
                msgspec.structs.replace(p, quote=_fitting(p.quote, query, room(rank))) for rank, p in enumerate(found)
            ),
            private=any(is_users_own(passage.url) for passage in found),
            searched=searched,
            failed=dict(gathered.failed),
        )


def _fitting(quote: str, query: str, limit: int) -> str:
    """Return the part of a result's quote that fits the query best; the library's is already chosen."""
    return quote if len(quote) <= limit else best_quote([quote], query, limit) or beginning(quote, limit)


def _nothing(ask: web.SearchRequest, dropped: str) -> str:
    if dropped:
        return say(
            "No results for {query!r} {dropped}, nor without that filter. Try other or fewer words.",
            query=ask.query,
            dropped=dropped,
        )
    return say("No results for {query!r}. Try other or fewer words.", query=ask.query)


def _searched(gathered: web.Gathered, found: Sequence[Passage]) -> dict[str, int]:
    """Return each collection and service searched, with the number of its results shown."""
    shown = {merge.canonical(passage.url) for passage in found}
    places: dict[str, set[str]] = {}
    for name, results in gathered.found.items():
        for place, urls in (results.collections or {name: tuple(each.url for each in results.passages)}).items():
            places.setdefault(place, set()).update(merge.canonical(url) for url in urls)
    return {place: len(urls & shown) for place, urls in places.items()}


@tool("Search", searches=True, library=True)
def search(host: Host, recipe: Recipe, stop: threading.Event) -> Tool:
    """Find documents in the library and with the search services that the recipe names."""
    own_sources = {LIBRARY: (FACTBOOK, *recipe.folders), FOLDERS: recipe.folders}
    remote = web.services([name for name in recipe.search if name not in own_sources], host.settings)
    inside = list(dict.fromkeys(each for name in recipe.search for each in own_sources.get(name, ())))
    own = [_Collections(host, inside)] if inside else []
    return SearchTool([*own, *remote], inside, of_recipe(recipe))


class _Collections:
    """Collections of the library, as a search service."""

    name = LIBRARY

    def __init__(self, host: Host, collections: Sequence[str]) -> None:
        self._host = host
        self._collections = collections

    def search(self, query: str, limit: int = 10) -> Sequence[Passage]:
        return self.find(web.search_request(query, limit)).passages

    def find(self, request: web.SearchRequest) -> web.SearchResults:
        """Return the best documents of those of these collections that still exist."""
        # In a new home the first search waits for the word index, but not for the vectors.
        library = self._host.indexed_library() if FACTBOOK in self._collections else self._host.library
        gone = library.unknown(self._collections)
        there = [name for name in self._collections if name not in gone]
        if not there:
            raise ToolError(
                say("the library no longer has {names}; add it again, or choose other sources", names=", ".join(gone))
            )
        hits = library.scored(request.words, request.limit, there)
        found = tuple(hit.passage for hit in hits if request.admits(hit.passage))
        urls = {passage.url for passage in found}
        names = {hit.passage.url: hit.collection for hit in hits}
        return web.SearchResults(
            found,
            note=say("not searched, because the library no longer has it: {names}", names=", ".join(gone))
            if gone
            else "",
            collections={name: tuple(url for url in names if url in urls and names[url] == name) for name in there},
        )
