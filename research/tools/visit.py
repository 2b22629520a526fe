"""`visit`: reads one document, reduced to what is relevant to the goal."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from research import defaults, plugins
from research._util.said import say
from research.errors import ConfigError, ToolError
from research.events.recipe import Recipe
from research.plugins import tool
from research.search.relevance import reduce, scores
from research.search.scope import EVERYTHING, Scope, of_recipe
from research.tools.host import Host
from research.tools.spec import spec_of
from research.types import Passage, Tool, ToolOutput, ToolSpec
from research.web.locators import told
from research.web.url_guard import LIBRARY, is_users_own, normalized, original

if TYPE_CHECKING:
    from research.config.settings import Settings
    from research.search.embedders import Embedder
    from research.search.library.documents import Library
    from research.web.fetch import FetchedPage
    from research.web.readers import Link

Reader = Callable[[str], "FetchedPage"]
"""Reads a web page.  Raises `ToolError`."""

SEARCHED = 10_000_000
"""Most characters of a document searched for the goal's words."""
READ = 50_000
"""Most characters compared by meaning: of a longer document, the lines with the goal's words."""
PAGES, KEPT = 200, 50_000_000
"""Most pages kept, and most characters of them."""
SHOWN = 3_800
"""Characters that the model sees, including links; with number, title and URL about 4,000."""
LINKS = 8
"""Links shown beside the text."""
LINKS_SHOWN = 1_000
"""Characters of the shown links."""


class Pages:
    """The web pages of a run: kept, so reading one again tells its site nothing (`UrlGuard`)."""

    def __init__(
        self, read: Reader, library: Library, scope: Scope = EVERYTHING, *, keeps: bool = False, copies: bool = False
    ) -> None:
        """`keeps`: pages read stay in the library. `copies`: unreadable pages are read from there."""
        self._reader = read
        self._library = library
        self._scope = scope
        self._keeps, self._copies = keeps, copies
        self._seen: dict[str, FetchedPage] = {}

    def get(self, url: str) -> FetchedPage:
        """Return a page.  Raises `ToolError` where it cannot be read, or is outside the scope."""
        if why := self._scope.of_url(url):
            raise ToolError(say("This page is not opened: {why}.", why=why), "refused")
        key = normalized(url)
        page = self._seen.get(key) or self._read(url)
        if len(self._seen) < PAGES and sum(len(each.text) for each in self._seen.values()) + len(page.text) <= KEPT:
            self._seen[key] = page
        if why := self._refusal(page):
            raise ToolError(say("This page is not used: {why}.", why=why), "refused")
        return page

    def _read(self, url: str) -> FetchedPage:
        """Read a page now, and keep it; if it cannot be read now, return the kept copy."""
        try:
            page = self._reader(url)
        except ToolError as error:
            copy = self._library.pages.copy((url, normalized(url)), str(error)) if self._copies else None
            if copy is None:
                raise
            return copy
        if self._keeps and not self._refusal(page):
            self._library.pages.keep(page)
        return page

    def _refusal(self, page: FetchedPage) -> str:
        return self._scope.refusal(Passage(original(page.url), page.title, "", page.csl))


class VisitTool:
    """Opens library documents and public pages."""

    timeout_s = 60.0
    """Longer than fetching and parsing may take together, so that their errors arrive."""

    def __init__(
        self,
        library: Library,
        pages: Pages,
        embedder: Callable[[], Embedder] | None = None,
        *,
        whole: bool = False,
        shown: int = SHOWN,
    ) -> None:
        """`embedder` returns the encoder that chooses passages of a long text; None: by words only.

        `whole`: return the text of the page, too, for a model that reads it.
        """
        self._library = library
        self._pages = pages
        self._embedder = embedder
        self._whole = whole
        self._shown = shown

    @property
    def spec(self) -> ToolSpec:
        return spec_of(
            self.__call__,
            "visit",
            "Read a document of the library or a web page; long ones are reduced to the goal. Links of a page that may "
            "help are listed with it.",
            each="url",
        )

    def __call__(
        self,
        url: Annotated[str, Field(description="Exactly as a search result or a page gave it.", min_length=1)],
        goal: Annotated[str, Field(description="What you want to learn from it.")],
    ) -> ToolOutput:
        if url.startswith(LIBRARY):
            document = self._library.open(url)
            notes = document.notes.splitlines()
            text, part = _searched(document.text, goal)
            quote, remark = self._reduced(text, goal, self._shown)
            return ToolOutput(
                "\n".join(filter(None, (_left_out(notes), part, remark))),
                (Passage(document.url, self._library.titled(document, quote), quote, notes=told(notes)),),
                private=is_users_own(document.url),
                document=text if self._whole else "",
            )
        page = self._pages.get(url)
        links = _best_links(page.links, goal)
        text, part = _searched(page.text, goal)
        quote, remark = self._reduced(text, goal, self._shown - len(links))
        return ToolOutput(
            "\n".join(filter(None, (links, _left_out(page.notes), part, remark))),
            (Passage(page.url, page.title, quote, page.csl, notes=told(page.notes)),),
            private=page.private,
            document=text if self._whole else "",
        )

    def _reduced(self, text: str, goal: str, limit: int) -> tuple[str, str]:
        """Return the passages that serve the goal, and a remark if the encoder failed."""
        if len(text) <= limit or self._embedder is None:
            return reduce(text, goal, limit), ""
        try:
            return reduce(text, goal, limit, self._embedder()), ""
        except ConfigError as error:
            return reduce(text, goal, limit), say("(passages were chosen by words only: {error})", error=error)


def _left_out(notes: Sequence[str]) -> str:
    """Return the note for the model on what was left out of a page or file."""
    return say("(of this page: {notes})", notes="; ".join(notes)) if notes else ""


def _searched(text: str, goal: str) -> tuple[str, str]:
    """Return the part of a text to read, wherever the goal's words are in it, and a remark if it is not all."""
    if len(text) <= READ:
        return text, ""
    return reduce(text[:SEARCHED], goal, READ), say(
        "(a long text: the {read:,} of its {size:,} characters that have most words of the goal were read; "
        "visit it again with other words for more)",
        read=READ,
        size=len(text),
    )


def _best_links(links: Sequence[Link], goal: str) -> str:
    """Return the links most relevant to the goal, in page order, quoted because the page wrote them."""
    found = scores(goal, [f"{link.text} {link.url}" for link in links])
    best = sorted(range(len(links)), key=lambda index: -found[index])[:LINKS]
    lines, room = [say("Links on the page:")], LINKS_SHOWN
    for index in sorted(best):
        line = f"> {links[index].text} <{links[index].url}>"
        if len(line) < room:
            lines.append(line)
            room -= len(line) + 1
    return "\n".join(lines) if len(lines) > 1 else ""


@tool("Visit", reads=True)
def visit(host: Host, recipe: Recipe, stop: threading.Event) -> Tool:
    """Read one document of the library or a web page, reduced to what serves the goal."""
    keeps, copies = host.settings.keep_pages == "on", defaults.PAGES in recipe.folders
    pages = Pages(_reader(host.settings, recipe.as_of), host.library, of_recipe(recipe), keeps=keeps, copies=copies)
    shown = plugins.framework.get(recipe.framework).page or SHOWN
    return VisitTool(host.library, pages, lambda: host.embedder, whole=recipe.reads_pages, shown=shown)


def direct(allow_hosts: tuple[str, ...], contact: str = "", archive: str = "", as_of: str = "") -> Reader:
    """Return the reader that asks the site of a page.

    `allow_hosts` and `contact`: as in `FetchPolicy`.  `archive`: where to look for copies of missing pages, or with
    `as_of` for all pages as of that day.
    """

    def read(url: str) -> FetchedPage:
        from research.web.archive import fetched
        from research.web.fetch import FetchPolicy

        return fetched(url, archive, FetchPolicy(allow_hosts=allow_hosts, contact=contact), as_of)

    return read


def _reader(settings: Settings, as_of: str) -> Reader:
    """Return the reader chosen by the settings; as of a day, always the archive's."""
    if settings.reader == "direct" or as_of:
        return direct(settings.allowed_hosts, settings.contact, settings.archive_url, as_of)
    from research.web.fetch import FetchPolicy
    from research.web.jina import JinaReader

    key = settings.jina_api_key
    jina = JinaReader(settings.jina_url, key.get_secret_value() if key else "", settings.allowed_for("jina_url"))
    return partial(jina, policy=FetchPolicy(allow_hosts=settings.allowed_hosts, contact=settings.contact))
