"""`scholar`: searches for papers with the scholarly services that the recipe names."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Annotated

import msgspec
from pydantic import Field

from research._util.said import say
from research.events.recipe import Recipe
from research.plugins import tool
from research.search import merge, web
from research.search.scope import EVERYTHING, Scope, of_recipe
from research.text import clip
from research.tools.host import Host
from research.tools.spec import spec_of
from research.types import Passage, Searcher, Tool, ToolOutput, ToolSpec
from research.web import csl

LIMIT = 10
ABSTRACT = 200
"""Characters of an abstract."""
_AUTHORS = 3
_YEARS = "Only papers of this year or {}."


class ScholarTool:
    """Returns at most 10 papers, best first: title, authors (3, et al.), year, citations, 200 characters of the abstract."""

    timeout_s = 45.0
    """Longer than a service may take with all its retries, so that its error arrives."""

    def __init__(self, searchers: Sequence[Searcher], scope: Scope = EVERYTHING) -> None:
        self._scope = scope
        self._searchers = searchers

    @property
    def spec(self) -> ToolSpec:
        return spec_of(
            self.__call__,
            "scholar",
            "Search for scientific papers. Returns numbered results with title, url, authors, year, number of citations "
            "and the beginning of the abstract.",
        )

    def __call__(
        self,
        query: Annotated[str, Field(description="A few words: the topic, a title or an author.", min_length=1)],
        year_from: Annotated[int | None, Field(description=_YEARS.format("later"))] = None,
        year_to: Annotated[int | None, Field(description=_YEARS.format("earlier"))] = None,
    ) -> ToolOutput:
        ask = web.search_request(query, LIMIT, year_from, year_to)
        gathered, dropped = web.widened(self._searchers, ask, self._scope)
        found = merge.fused([found.passages for found in gathered.found.values()], merge.same_paper)[:LIMIT]
        if not found:
            return ToolOutput("\n".join(filter(None, (_nothing(ask, dropped), gathered.remarks))))
        without = say("No papers {dropped}: these are of other years.", dropped=dropped) if dropped else ""
        return ToolOutput("\n".join(filter(None, (without, gathered.remarks))), tuple(map(_summarised, found)))


def _nothing(ask: web.SearchRequest, dropped: str) -> str:
    if dropped:
        return say(
            "No papers for {query!r} {dropped}, nor of other years. Try other or fewer words.",
            query=ask.query,
            dropped=dropped,
        )
    return say("No papers for {query!r}. Try other or fewer words.", query=ask.query)


def _summarised(paper: Passage) -> Passage:
    authors = [csl.written(author) for author in paper.csl.get("author", ())]
    year, citations = csl.year(paper.csl), csl.citations(paper.csl)
    facts = [
        ", ".join(authors[:_AUTHORS]) + (", et al." if len(authors) > _AUTHORS else ""),
        str(year) if year else "",
        say("RETRACTED") if csl.retracted(paper.csl) else "",
        "" if citations is None else f"{citations:,} citation{'' if citations == 1 else 's'}",
    ]
    lines = " · ".join(filter(None, facts)), clip(paper.quote, ABSTRACT)
    return msgspec.structs.replace(paper, quote="\n".join(filter(None, lines)))


@tool("Scholar", searches=True, scholar=True)
def scholar(host: Host, recipe: Recipe, stop: threading.Event) -> Tool:
    """Find scientific papers with the scholarly services that the recipe names."""
    return ScholarTool(web.services(recipe.scholar, host.settings), of_recipe(recipe))
