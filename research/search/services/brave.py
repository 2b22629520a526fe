"""Brave Search.  API: https://api-dashboard.search.brave.com/api-reference/web/search/get."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from msgspec import Struct

from research.registry import searcher
from research.search import csl, web
from research.search.pace import Trouble
from research.search.remote import Refusal
from research.settings import Settings
from research.types import Passage

_WORDS = 50
"""Of a query, at most."""


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


class _Answer(Struct):
    type: Literal["search"]
    web: _Web | None = None
    """Missing when nothing was found."""


class Brave(web.Service):
    """Brave's own index."""

    def fetch(self, ask: web.Ask) -> Iterable[Passage | None]:
        short = web.with_site(web.shortened(ask, _WORDS - 1), 400)
        params: dict[str, str | int] = {
            "q": short,
            "count": min(ask.limit, 20),
            "text_decorations": "false",
            "result_filter": "web",
        }
        if ask.days:
            params["freshness"] = "to".join(ask.days)
        answer = self.remote.json(
            _Answer, "GET", "/res/v1/web/search", params=params, explain=_explain,
            headers={"X-Subscription-Token": self.remote.key},
        )  # fmt: skip
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


def _explain(refusal: Refusal) -> Trouble | None:
    if refusal.status == 422 and "token" in refusal.said.lower():
        return Trouble(f"brave refused the key (422): set BRAVE_API_KEY. It said: {refusal.said}")
    if refusal.status == 429:
        return Trouble(
            f"brave gets too many requests, or the plan is used up (429). It said: {refusal.said}",
            retry=True,
            after_s=_reset_s(refusal),
        )
    return None


def _reset_s(refusal: Refusal) -> float | None:
    """Seconds until a spent window is over: `X-RateLimit-Remaining: 0, 1000` with `X-RateLimit-Reset: 1, 1419704`."""
    windows = [refusal.headers.get(f"x-ratelimit-{part}", "").split(",") for part in ("remaining", "reset")]
    try:
        return max((float(reset) for left, reset in zip(*windows, strict=True) if float(left) <= 0), default=None)
    except ValueError:
        return None


@searcher("Brave", needs="brave_api_key")
def brave(settings: Settings) -> Brave:
    """An index of its own, not Google's or Bing's; needs BRAVE_API_KEY."""
    web.need(settings, "brave_api_key")
    return Brave(web.remote(settings, "brave", interval_s=1.1), web.kept(settings))
