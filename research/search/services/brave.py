"""Brave Search.  API: https://api-dashboard.search.brave.com/api-reference/web/search/get."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from research.config.settings import Settings
from research.plugins import searcher
from research.search import web
from research.types import Passage
from research.web import csl
from research.web.remote import ErrorResponse
from research.web.throttling import AttemptError

_WORDS = 50
"""Longest query that Brave accepts, in words."""


class _Profile(Struct):
    name: str | None = None


class _Result(Struct):
    url: str | None = None
    title: str | None = None
    description: str | None = None
    page_age: str | None = None
    age: str | None = None
    profile: _Profile | None = None


class _Web(Struct):
    results: list[_Result] = []


class _Response(Struct):
    type: Literal["search"]
    web: _Web | None = None
    """Missing when nothing was found."""


class Brave(web.Service):
    """Brave's own index of the web."""

    def fetch(self, request: web.SearchRequest) -> Iterable[Passage | None]:
        short = " ".join(request.query.split()[: _WORDS - 1])
        params: dict[str, str | int] = {
            "q": web.with_site(replace(request, query=short), 400),
            "count": min(request.limit, 20),
            "text_decorations": "false",
            "result_filter": "web",
        }
        if request.days:
            params["freshness"] = "to".join(request.days)
        answer = self.remote.json(
            _Response,
            "/res/v1/web/search",
            params=params,
            explain=_explain,
            headers={"X-Subscription-Token": self.remote.key},
        )
        return [
            web.passage(
                hit.url,
                hit.title,
                hit.description,
                issued=csl.date(hit.page_age) or csl.date(hit.age),
                container_title=hit.profile.name if hit.profile else None,
            )
            for hit in (answer.web.results if answer.web else ())
        ]


def _explain(response: ErrorResponse) -> AttemptError | None:
    if response.status == 422 and "token" in response.message.lower():
        return AttemptError(f"brave refused the key (422): set BRAVE_API_KEY. It said: {response.message}")
    if response.status == 429:
        return AttemptError(
            f"brave reports too many requests or a used-up plan (429). It said: {response.message}",
            retry=True,
            after_s=_reset_s(response),
        )
    return None


def _reset_s(response: ErrorResponse) -> float | None:
    """Return the seconds until all used-up windows reset; None if none is used up.

    The headers list every window: `X-RateLimit-Remaining: 0, 1000` with `X-RateLimit-Reset: 1, 1419704` means 1 s.
    """
    windows = [response.headers.get(f"x-ratelimit-{part}", "").split(",") for part in ("remaining", "reset")]
    try:
        return max((float(reset) for left, reset in zip(*windows, strict=True) if float(left) <= 0), default=None)
    except ValueError:
        return None


@searcher("Brave", needs="brave_api_key")
def brave(settings: Settings) -> Brave:
    """Web search with its own index; needs BRAVE_API_KEY."""
    web.need(settings, "brave_api_key")
    return Brave(web.remote(settings, "brave", interval_s=1.1), web.result_cache(settings))
