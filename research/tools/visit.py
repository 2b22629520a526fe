"""`visit`: read one document, reduced to what serves the goal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from research.relevance import reduce
from research.tools import spec_of
from research.types import Passage, ToolOutput, ToolSpec

if TYPE_CHECKING:
    from research.search.library import Library

READ = 50_000
"""Characters of a page that are looked at."""
SHOWN = 3_800
"""Characters that the model sees; with number, title and url about 4,000."""


class VisitTool:
    """Opens library documents and public pages."""

    timeout_s = 60.0
    """More than fetching and parsing may take together, so that their own messages arrive."""

    def __init__(self, library: Library, allowed_hosts: tuple[str, ...] = ()) -> None:
        """`allowed_hosts`: private hosts that may be opened, named by the administrator."""
        self._library = library
        self._allowed_hosts = allowed_hosts

    @property
    def spec(self) -> ToolSpec:
        return spec_of(
            self.__call__, "visit", "Read a document of the library or a web page; long ones are reduced to the goal."
        )

    def __call__(
        self,
        url: Annotated[str, Field(description="Exactly as a search result gave it.", min_length=1)],
        goal: Annotated[str, Field(description="What you want to learn from it.")],
    ) -> ToolOutput:
        if url.startswith("library://"):
            document = self._library.open(url)
            url, title, text = document.url, document.title, document.text
        else:
            from research.fetch import FetchPolicy, fetch

            page = fetch(url, policy=FetchPolicy(allow_hosts=self._allowed_hosts))
            url, title, text = page.url, page.title or page.url, page.text
        return ToolOutput(passages=(Passage(url, title, reduce(text[:READ], goal, SHOWN)),))
