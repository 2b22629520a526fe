"""Tavily.  API: https://docs.tavily.com/documentation/api-reference/endpoint/search."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from research.config.settings import Settings
from research.plugins import searcher
from research.search import web
from research.text import clip
from research.types import Passage
from research.web import csl
from research.web.remote import ErrorResponse
from research.web.throttling import AttemptError


class _Result(Struct):
    url: str | None = None
    title: str | None = None
    content: str | None = None
    published_date: str | None = None


class _Response(Struct):
    results: list[_Result]


class Tavily(web.Service):
    """Tavily at basic depth, which costs one credit per search."""

    def fetch(self, request: web.SearchRequest) -> Iterable[Passage | None]:
        body: dict[str, object] = {"query": clip(request.query, 400), "max_results": min(request.limit, 20)}
        if request.host:
            body["include_domains"] = [request.site]
        if request.days:
            body["start_date"], body["end_date"] = request.days
        answer = self.remote.json(
            _Response,
            "/search",
            body=body,
            explain=_explain,
            headers={"Authorization": f"Bearer {self.remote.key}"},
        )
        return [
            web.passage(hit.url, hit.title, hit.content, issued=csl.date(hit.published_date)) for hit in answer.results
        ]


def _explain(response: ErrorResponse) -> AttemptError | None:
    if response.status in (432, 433):
        return AttemptError(
            f"tavily: the plan's credits are used up ({response.status}); use other sources. It said: {response.message}",
            pause_s=600,
        )
    return None


@searcher("Tavily", needs="tavily_api_key")
def tavily(settings: Settings) -> Tavily:
    """Web search with results prepared for language models; needs TAVILY_API_KEY."""
    web.need(settings, "tavily_api_key")
    return Tavily(web.remote(settings, "tavily", interval_s=0.6), web.result_cache(settings))
