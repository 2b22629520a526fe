"""The user's own SearXNG instance, through its JSON API.

API: https://docs.searxng.org/dev/search_api.html.  It cannot filter by year; it passes `site:` on to its engines.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from msgspec import Struct

from research.config.settings import Settings
from research.plugins import searcher
from research.search import web
from research.types import Passage
from research.web import csl
from research.web.remote import ErrorResponse
from research.web.throttling import AttemptError


class _Result(Struct):
    url: str | None = None
    title: str | None = None
    content: str | None = None
    published: str | None = msgspec.field(default=None, name="publishedDate")
    author: str | None = None


class _Response(Struct):
    results: list[_Result]
    unresponsive: list[list[str]] = msgspec.field(default_factory=list, name="unresponsive_engines")
    """Pairs of an engine and why it returned nothing."""


class Searxng(web.Service):
    """The engines that the instance's administrator chose."""

    def fetch(self, request: web.SearchRequest) -> Iterable[Passage | None]:
        query = web.with_site(msgspec.structs.replace(request, query=request.words))
        answer = self.remote.json(_Response, "/search", params={"q": query, "format": "json"}, explain=_explain)
        if not answer.results and answer.unresponsive:
            engines = ", ".join(" ".join(pair) for pair in answer.unresponsive)
            raise self.remote.failure(f"no engine of the searxng instance answered ({engines})")
        return [
            web.passage(hit.url, hit.title, hit.content, issued=csl.date(hit.published), author=csl.names([hit.author]))
            for hit in answer.results
        ]


def _explain(response: ErrorResponse) -> AttemptError | None:
    if response.status == 403:
        return AttemptError(
            "searxng does not allow JSON responses (403): add `json` to `search: formats:` in the instance's "
            "settings.yml and restart it; most public instances refuse, so run your own"
        )
    return None


@searcher("SearXNG", needs="searxng_url")
def searxng(settings: Settings) -> Searxng:
    """Your own SearXNG server, with JSON results enabled; no key."""
    web.need(settings, "searxng_url")
    return Searxng(web.remote(settings, "searxng", interval_s=0.5), web.result_cache(settings))
