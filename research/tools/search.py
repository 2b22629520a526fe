"""`search`: results from every source the recipe names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec
from pydantic import Field

from research.text import clip
from research.tools import spec_of
from research.types import Searcher, ToolOutput, ToolSpec

LIMIT = 10
SNIPPET = 200
"""Characters of a result's quote."""


class SearchTool:
    """At most 10 results, best first, each with a quote of at most 200 characters."""

    timeout_s = 30.0

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
        filter_year: Annotated[int | None, Field(description="Only results about this year.")] = None,
        site: Annotated[str | None, Field(description="Only results whose url contains this.")] = None,
    ) -> ToolOutput:
        words = f"{query} {filter_year}" if filter_year else query
        found = [passage for searcher in self._searchers for passage in searcher.search(words, LIMIT)]
        if site:
            found = [passage for passage in found if site in passage.url]
        if not found:
            return ToolOutput(f"No results for {query!r}. Try other or fewer words.")
        return ToolOutput(
            passages=tuple(msgspec.structs.replace(p, quote=clip(p.quote, SNIPPET)) for p in found[:LIMIT])
        )
