"""`visit`: read one document, reduced to what serves the goal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from research.guard import LIBRARY, own
from research.relevance import reduce, scores
from research.tools import spec_of
from research.types import Passage, ToolOutput, ToolSpec

if TYPE_CHECKING:
    from research.fetch import FetchedPage, FetchPolicy
    from research.readers import Link
    from research.search.library import Library

Reader = Callable[[str, "FetchPolicy"], "FetchedPage"]
"""Reads a web page instead of `fetch`, under the same policy."""

READ = 50_000
"""Characters of a page that are looked at."""
SHOWN = 3_800
"""Characters that the model sees, the links included; with number, title and url about 4,000."""
LINKS = 8
"""Links shown beside the text."""
LINKS_SHOWN = 1_000
"""Characters of them."""


class VisitTool:
    """Opens library documents and public pages."""

    timeout_s = 60.0
    """More than fetching and parsing may take together, so that their own messages arrive."""

    def __init__(self, library: Library, allowed_hosts: tuple[str, ...] = (), reader: Reader | None = None) -> None:
        """`allowed_hosts`: private hosts that may be opened, named by the administrator.  `reader` None: `fetch`."""
        self._library = library
        self._allowed_hosts = allowed_hosts
        self._reader = reader

    @property
    def spec(self) -> ToolSpec:
        return spec_of(
            self.__call__,
            "visit",
            "Read a document of the library or a web page; long ones are reduced to the goal. Links of a page that may "
            "help are listed with it.",
        )

    def __call__(
        self,
        url: Annotated[str, Field(description="Exactly as a search result or a page gave it.", min_length=1)],
        goal: Annotated[str, Field(description="What you want to learn from it.")],
    ) -> ToolOutput:
        if url.startswith(LIBRARY):
            document = self._library.open(url)
            quote = reduce(document.text[:READ], goal, SHOWN)
            return ToolOutput(passages=(Passage(document.url, document.title, quote),), private=own(document.url))
        page = self._read(url)
        links = _shown(page.links, goal)
        quote = reduce(page.text[:READ], goal, SHOWN - len(links))
        return ToolOutput(links, (Passage(page.url, page.title, quote, page.csl),))

    def _read(self, url: str) -> FetchedPage:
        from research.fetch import FetchPolicy, fetch

        policy = FetchPolicy(allow_hosts=self._allowed_hosts)
        return self._reader(url, policy) if self._reader else fetch(url, policy=policy)


def _shown(links: Sequence[Link], goal: str) -> str:
    """The links that serve the goal best, in the order of the page; marked as a quotation, for a page wrote them."""
    found = scores(goal, [f"{link.text} {link.url}" for link in links])
    best = sorted(range(len(links)), key=lambda index: -found[index])[:LINKS]
    lines, room = ["Links on the page:"], LINKS_SHOWN
    for index in sorted(best):
        line = f"> {links[index].text} <{links[index].url}>"
        if len(line) < room:
            lines.append(line)
            room -= len(line) + 1
    return "\n".join(lines) if len(lines) > 1 else ""
