"""Serper, which returns Google's results.  API: https://serper.dev/playground (`POST /search`)."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from research.config.settings import Settings
from research.plugins import searcher
from research.search import web
from research.types import Passage
from research.web import csl
from research.web.remote import ErrorResponse
from research.web.throttling import AttemptError


class _Result(Struct):
    link: str | None = None
    title: str | None = None
    snippet: str | None = None
    date: str | None = None


class _Response(Struct):
    organic: list[_Result]


class Serper(web.Service):
    """Google's organic results."""

    def fetch(self, request: web.SearchRequest) -> Iterable[Passage | None]:
        body: dict[str, object] = {"q": web.with_site(request, 2_000), "num": min(request.limit, 10)}
        if request.days:
            first, last = ("/".join((day[5:7], day[8:], day[:4])) for day in request.days)
            body["tbs"] = f"cdr:1,cd_min:{first},cd_max:{last}"  # a custom date range, as Google writes it
        answer = self.remote.json(
            _Response, "/search", body=body, headers={"X-API-KEY": self.remote.key}, explain=_explain
        )
        return [web.passage(hit.link, hit.title, hit.snippet, issued=csl.date(hit.date)) for hit in answer.organic]


def _explain(response: ErrorResponse) -> AttemptError | None:
    if response.status == 400 and "credit" in response.message.lower():
        return AttemptError(
            f"serper: the credits are used up (400); use other sources. It said: {response.message}", pause_s=600
        )
    return None


@searcher("Serper", needs="serper_api_key")
def serper(settings: Settings) -> Serper:
    """Google's results; needs SERPER_API_KEY."""
    web.need(settings, "serper_api_key")
    return Serper(web.remote(settings, "serper", interval_s=0.1), web.result_cache(settings))
