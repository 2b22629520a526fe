"""A tool that searches: it finds one page of an atlas."""

from __future__ import annotations

import threading
from typing import Annotated

from pydantic import Field

from research.events.recipe import Recipe
from research.plugins import tool
from research.tools.host import Host
from research.tools.spec import spec_of
from research.types import Passage, Tool, ToolOutput, ToolSpec

PAGE = Passage("https://example.org/atlas/japan", "Japan", "Population: 123,201,945 (2024)")


class Atlas:
    """Always finds the page about Japan."""

    timeout_s = 5.0

    @property
    def spec(self) -> ToolSpec:
        return spec_of(self.__call__, "atlas", "Search an atlas.")

    def __call__(self, query: Annotated[str, Field(description="A few words.")]) -> ToolOutput:
        return ToolOutput(passages=(PAGE,))


@tool("Atlas", searches=True)
def atlas(host: Host, recipe: Recipe, stop: threading.Event) -> Tool:
    """Look things up in an atlas."""
    return Atlas()
