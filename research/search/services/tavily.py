"""Tavily.  API: https://docs.tavily.com/documentation/api-reference/endpoint/search."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from research.registry import searcher
from research.search import csl, web
from research.search.pace import Trouble
from research.search.remote import Refusal
from research.settings import Settings
from research.text import clip
from research.types import Passage


class _Result(Struct):
    url: str | None = None
    title: str | None = None
    content: str | None = None
    published_date: str | None = None


class _Answer(Struct):
    results: list[_Result]


class Tavily(web.Service):
    """Basic depth: one credit a search."""

    def fetch(self, ask: web.Ask) -> Iterable[Passage | None]:
        body: dict[str, object] = {"query": clip(ask.query, 400), "max_results": min(ask.limit, 20)}
        if ask.host:
            body["include_domains"] = [ask.site]
        if ask.days:
            body["start_date"], body["end_date"] = ask.days
        answer = self.remote.json(
            _Answer, "POST", "/search", body=body, explain=_explain,
            headers={"Authorization": f"Bearer {self.remote.key}"},
        )  # fmt: skip
        return [
            web.passage(hit.url, hit.title, hit.content, issued=csl.date(hit.published_date)) for hit in answer.results
        ]


def _explain(refusal: Refusal) -> Trouble | None:
    if refusal.status in (432, 433):
        return Trouble(
            f"tavily: the plan's credits are used up ({refusal.status}); use other sources. It said: {refusal.said}",
            pause_s=600,
        )
    return None


@searcher("Tavily", needs="tavily_api_key")
def tavily(settings: Settings) -> Tavily:
    """Results written for language models; needs TAVILY_API_KEY."""
    web.need(settings, "tavily_api_key")
    return Tavily(web.remote(settings, "tavily", interval_s=0.6), web.kept(settings))
