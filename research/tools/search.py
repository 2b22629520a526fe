"""`search`: results from every source the recipe names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec
from pydantic import Field

from research.guard import own
from research.search import merge, web
from research.text import clip
from research.tools import spec_of
from research.types import Searcher, ToolOutput, ToolSpec

LIMIT = 10
SNIPPET = 200
"""Characters of a result's quote."""


class SearchTool:
    """At most 10 results, best first, each with a quote of at most 200 characters."""

    timeout_s = 45.0
    """More than a service may take with all its attempts, so that its own message arrives."""

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
        ask = web.ask(query, LIMIT, filter_year, filter_year, site or "")
        gathered = web.gather(self._searchers, ask)
        found = merge.fused([found.passages for found in gathered.found.values()], merge.same_page)[:LIMIT]
        if not found:
            return ToolOutput("\n".join(filter(None, (_nothing(ask), gathered.remarks))))
        return ToolOutput(
            gathered.remarks,
            tuple(msgspec.structs.replace(p, quote=clip(p.quote, SNIPPET)) for p in found),
            private=any(own(passage.url) for passage in found),
        )


def _nothing(ask: web.Ask) -> str:
    filtered = [str(ask.year_from)] if ask.year_from else []
    filtered += [ask.site] if ask.site else []
    within = f" within {' and '.join(filtered)}" if filtered else ""
    return f"No results for {ask.query!r}{within}. Try other or fewer words{', or no filter' if filtered else ''}."
