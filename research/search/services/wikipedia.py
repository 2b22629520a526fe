"""Wikipedia in one language.  API: https://api.wikimedia.org/wiki/Core_REST_API; it cannot filter by year."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import quote

from msgspec import Struct

from research.config.settings import Settings
from research.plugins import searcher
from research.search import web
from research.types import Passage


class _Page(Struct):
    key: str | None = None
    title: str | None = None
    excerpt: str | None = None
    description: str | None = None


class _Response(Struct):
    pages: list[_Page]


class Wikipedia(web.Service):
    """Articles, by their words."""

    def fetch(self, request: web.SearchRequest) -> Iterable[Passage | None]:
        params: dict[str, str | int] = {"q": request.words, "limit": min(request.limit, 50)}
        answer = self.remote.json(_Response, "/w/rest.php/v1/search/page", params=params)
        return [
            web.passage(
                f"{self.remote.url}/wiki/{quote(page.key or '', safe='/:(),')}",
                page.title,
                ": ".join(filter(None, (page.description, web.TAG.sub("", page.excerpt or "")))),
                type="entry-encyclopedia",
                container_title="Wikipedia",
            )
            for page in answer.pages
            if page.key
        ]


@searcher("Wikipedia")
def wikipedia(settings: Settings) -> Wikipedia:
    """Articles of the encyclopedia; no key.  WIKIPEDIA_URL chooses another language."""
    return Wikipedia(web.remote(settings, "wikipedia", interval_s=0.5), web.result_cache(settings))
