"""`visit`: reads one document, reduced to what is relevant to the goal."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
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
from research.web.places import told
from research.web.url_guard import LIBRARY, is_users_own, normalized, original

if TYPE_CHECKING:
    from research.config.settings import Settings
    from research.search.library.library import Library
    from research.types import Embedder
    from research.web.fetch import FetchedPage, FetchPolicy
    from research.web.readers import Link

Reader = Callable[[str, "FetchPolicy"], "FetchedPage"]
"""Reads a web page instead of `fetch`, under the same policy."""

SEARCHED = 10_000_000
"""Characters of a document that are searched for the words of the goal."""
READ = 50_000
"""Characters of a document that are read for their meaning: of a longer one, the lines with the words of the goal."""
PAGES, KEPT = 200, 50_000_000
"""Most pages that are kept, and most characters of them."""
SHOWN = 3_800
"""Characters that the model sees, including links; with number, title and URL about 4,000."""
LINKS = 8
"""Links shown beside the text."""
LINKS_SHOWN = 1_000
"""Characters of the shown links."""


class VisitTool:
    """Opens library documents and public pages."""

    timeout_s = 60.0
    """Longer than fetching and parsing may take together, so that their own errors arrive."""

    def __init__(
        self,
        library: Library,
        allowed_hosts: tuple[str, ...] = (),
        reader: Reader | None = None,
        embedder: Callable[[], Embedder] | None = None,
        *,
        whole: bool = False,
        shown: int = SHOWN,
        scope: Scope = EVERYTHING,
        contact: str = "",
        archive: str = "",
        as_of: str = "",
        keeps: bool = False,
        copies: bool = False,
    ) -> None:
        """`allowed_hosts`: private hosts that the administrator allows.  `reader` None: `fetch`.

        `embedder` returns the encoder by which the passages of a long text are chosen; None: by words only.
        `contact`: an address that servers are told.  `archive`: where copies of pages that are gone are looked for, and of
        all pages as of the day `as_of`.
        `keeps`: pages that are read stay in the library.  `copies`: pages that cannot be read are read from there.
        `whole`: return the text of the page, too, for a model that reads it.
        """
        self._library = library
        self._allowed_hosts = allowed_hosts
        self._reader = reader
        self._embedder = embedder
        self._whole = whole
        self._shown = shown
        self._scope = scope
        self._contact = contact
        self._archive, self._as_of = archive, as_of
        self._keeps, self._copies = keeps, copies
        self._pages: dict[str, FetchedPage] = {}
        """The pages of this run: reading one again, for another goal, tells its site nothing (`UrlGuard`)."""

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
        if why := self._scope.of_url(url):
            raise ToolError(say("This page is not opened: {why}.", why=why), "refused")
        key = normalized(url)
        page = self._pages.get(key) or self._kept(url)
        if len(self._pages) < PAGES and sum(len(each.text) for each in self._pages.values()) + len(page.text) <= KEPT:
            self._pages[key] = page
        if why := self._scope.refusal(Passage(original(page.url), page.title, "", page.csl)):
            raise ToolError(say("This page is not used: {why}.", why=why), "refused")
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
        """Return the passages that serve the goal, and a remark if the encoder could not help to choose them."""
        if len(text) <= limit or self._embedder is None:
            return reduce(text, goal, limit), ""
        try:
            return reduce(text, goal, limit, self._embedder()), ""
        except ConfigError as error:
            return reduce(text, goal, limit), say("(passages were chosen by words only: {error})", error=error)

    def _kept(self, url: str) -> FetchedPage:
        """Return a page that is read now, and keep it; of one that cannot be read now, the copy that was kept."""
        try:
            page = self._read(url)
        except ToolError as error:
            copy = self._library.pages.copy((url, normalized(url)), str(error)) if self._copies else None
            if copy is None:
                raise
            return copy
        if self._keeps and not self._scope.refusal(Passage(original(page.url), page.title, "", page.csl)):
            self._library.pages.keep(page)
        return page

    def _read(self, url: str) -> FetchedPage:
        from research.web.archive import fetched
        from research.web.fetch import FetchPolicy

        policy = FetchPolicy(allow_hosts=self._allowed_hosts, contact=self._contact)
        if self._reader and not self._as_of:
            return self._reader(url, policy)
        return fetched(url, self._archive, policy, self._as_of)


def _left_out(notes: Sequence[str]) -> str:
    """Return what was left out of a page or a file, as the model is told it."""
    return say("(of this page: {notes})", notes="; ".join(notes)) if notes else ""


def _searched(text: str, goal: str) -> tuple[str, str]:
    """Return what is read of a text, wherever in it the words of the goal are, and a remark if that is a part of it."""
    if len(text) <= READ:
        return text, ""
    return reduce(text[:SEARCHED], goal, READ), say(
        "(a long text: the {read:,} of its {size:,} characters that have most words of the goal were read; "
        "visit it again with other words for more)",
        read=READ,
        size=len(text),
    )


def _best_links(links: Sequence[Link], goal: str) -> str:
    """Return the links most relevant to the goal, in the order of the page, as a quotation since the page wrote them."""
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
    return VisitTool(
        host.library,
        host.settings.allowed_hosts,
        _jina(host.settings),
        lambda: host.embedder,
        whole=recipe.reads_pages,
        shown=plugins.framework.get(recipe.framework).page or SHOWN,
        scope=of_recipe(recipe),
        contact=host.settings.contact,
        archive=host.settings.archive_url,
        as_of=recipe.as_of,
        keeps=host.settings.keep_pages == "on",
        copies=defaults.PAGES in recipe.folders,
    )


def _jina(settings: Settings) -> Reader | None:
    """Return the Jina reader if the settings choose it."""
    if settings.reader == "direct":
        return None
    from research.web.jina import JinaReader

    key = settings.jina_api_key
    return JinaReader(settings.jina_url, key.get_secret_value() if key else "", settings.allowed_for("jina_url"))
