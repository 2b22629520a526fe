"""A SearXNG instance of one's own, in JSON.

API: https://docs.searxng.org/dev/search_api.html.  It cannot filter by year; `site:` goes to the engines behind it.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from msgspec import Struct

from research.registry import searcher
from research.search import csl, web
from research.search.pace import Trouble
from research.search.remote import Refusal
from research.settings import Settings
from research.types import Passage


class _Result(Struct):
    url: str | None = None
    title: str | None = None
    content: str | None = None
    published: str | None = msgspec.field(default=None, name="publishedDate")
    author: str | None = None


class _Answer(Struct):
    results: list[_Result]
    unresponsive: list[list[str]] = msgspec.field(default_factory=list, name="unresponsive_engines")
    """Pairs of an engine and why it gave nothing."""


class Searxng(web.Service):
    """The engines that the instance's administrator chose."""

    def fetch(self, ask: web.Ask) -> Iterable[Passage | None]:
        query = web.with_site(msgspec.structs.replace(ask, query=ask.words))
        answer = self.remote.json(_Answer, "GET", "/search", params={"q": query, "format": "json"}, explain=_explain)
        if not answer.results and answer.unresponsive:
            engines = ", ".join(" ".join(pair) for pair in answer.unresponsive)
            raise self.remote.failure(f"no engine behind searxng answered ({engines})")
        return [
            web.passage(hit.url, hit.title, hit.content, issued=csl.date(hit.published), author=csl.names([hit.author]))
            for hit in answer.results
        ]


def _explain(refusal: Refusal) -> Trouble | None:
    if refusal.status == 403:
        return Trouble(
            "searxng does not answer in JSON (403): add `json` to `search: formats:` in the instance's settings.yml and "
            "restart it; most public instances refuse, so use one of your own"
        )
    return None


@searcher("SearXNG", needs="searxng_url")
def searxng(settings: Settings) -> Searxng:
    """A SearXNG instance of your own that answers in JSON; no key."""
    web.need(settings, "searxng_url")
    return Searxng(web.remote(settings, "searxng", interval_s=0.5), web.kept(settings))
