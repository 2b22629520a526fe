"""The base of the web search services: requests, cached results, and searching several services at once."""

from __future__ import annotations

import html
import re
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from contextvars import copy_context
from functools import partial
from typing import Any, Protocol, runtime_checkable
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct
from pydantic import SecretStr

from research._util import decoding, threads
from research._util.said import say
from research.config.settings import Settings, variable
from research.errors import ConfigError, ToolError
from research.plugins import searcher
from research.search.cache import ResultCache
from research.search.scope import EVERYTHING, Scope
from research.text import clip
from research.types import Passage, Searcher
from research.web import csl
from research.web.remote import Remote, Setting
from research.web.throttling import SYSTEM, Clock

_TITLE, _QUOTE, _URL = 300, 2_000, 2_000
"""Longest title, quote and url of a result, in characters."""
_SITE = 100
"""Longest site filter that is added to a query, in characters."""
TAG = re.compile(r"</?\w[^<>]{0,200}>")
"""A tag in texts of services that highlight words."""
_HOST = re.compile(r"[^\W_](?:[\w-]{0,63}\.)+[\w-]{1,63}")


class SearchRequest(Struct, frozen=True):
    """A query with its filters."""

    query: str
    limit: int = 10
    year_from: int | None = None
    year_to: int | None = None
    """Range of years of publication; None leaves that end open."""
    site: str = ""
    """A host, with or without a path; or any part of a url."""

    @property
    def host(self) -> str:
        """Return the site's host if services can filter by it, else an empty string."""
        host = self.site.partition("/")[0]
        return host if _HOST.fullmatch(host) and len(self.site) <= _SITE else ""

    @property
    def days(self) -> tuple[str, str] | None:
        """Return the first and last day as ISO dates; None without a filter by year."""
        if self.year_from is None and self.year_to is None:
            return None
        return f"{self.year_from or 1900:04}-01-01", f"{self.year_to or 2100:04}-12-31"

    @property
    def words(self) -> str:
        """Return the query with the year appended, for services that cannot filter by year."""
        return f"{self.query} {self.year_to}" if self.year_from == self.year_to is not None else self.query

    def admits(self, passage: Passage) -> bool:
        """Return whether a result matches the site and the years; an unknown year matches every range."""
        year = csl.year(passage.csl)
        if year is not None and not (self.year_from or year) <= year <= (self.year_to or year):
            return False
        return not self.site or _on_site(passage.url, self.site, self.host)


def search_request(
    query: str, limit: int = 10, year_from: int | None = None, year_to: int | None = None, site: str = ""
) -> SearchRequest:
    """Build a request from the arguments of a tool call.  Raises `ToolError`."""
    if not re.search(r"\w", query):
        raise ToolError(say("the query {query!r} has no words to search for", query=query))
    for year in (year_from, year_to):
        if year is not None and not 1000 <= year <= 9999:
            raise ToolError(say("{year} is not a year; write four digits, e.g. 2024", year=year))
    if year_from is not None and year_to is not None and year_from > year_to:
        raise ToolError(
            say(
                "the first year {year_from} is after the last year {year_to}; swap them",
                year_from=year_from,
                year_to=year_to,
            )
        )
    site = re.sub(r"^(?:site:)?(?:https?://)?(?:www\.)?", "", site.strip().lower()).rstrip("/")
    return SearchRequest(" ".join(query.split()), limit, year_from, year_to, site)


class SearchResults(Struct, frozen=True):
    """Results, best first."""

    passages: tuple[Passage, ...]
    age_s: float | None = None
    """Seconds since the service returned them; None if they are not from the cache."""
    note: str = ""
    """A remark for the model, such as an unwritable cache."""
    collections: dict[str, tuple[str, ...]] = {}
    """The collections of the library that were searched, each with the urls of its passages."""


@runtime_checkable
class FilteringSearcher(Protocol):
    """A searcher that filters by years and site."""

    @property
    def name(self) -> str: ...

    def find(self, request: SearchRequest) -> SearchResults:
        """Return the results that match.  Raises `ToolError`."""


class Service:
    """The base of the search services; subclasses implement `fetch`."""

    def __init__(self, remote: Remote, cache: ResultCache | None = None) -> None:
        self.remote = remote
        self.cache = cache

    @property
    def name(self) -> str:
        return self.remote.name

    def fetch(self, request: SearchRequest) -> Iterable[Passage | None]:
        """Return the service's results in its order, None for those without a usable url.  Raises `ToolError`."""
        raise NotImplementedError

    def search(self, query: str, limit: int = 10) -> Sequence[Passage]:
        """Return the results, best first.  Raises `ToolError`."""
        return self.find(search_request(query, limit)).passages

    def find(self, request: SearchRequest) -> SearchResults:
        """Return the results that match, from the cache or the service.  Raises `ToolError`."""
        key = msgspec.json.encode([self.name, self.remote.url, request]).decode()
        note = ""
        try:
            if self.cache and (hit := self.cache.get(key)):
                return SearchResults(*hit)
        except sqlite3.OperationalError as error:
            note = f"the cache of results cannot be read: {error}"
        fitting = tuple(passage for passage in self.fetch(request) if passage and request.admits(passage))[
            : request.limit
        ]
        # A server may echo the key in any field.
        passages = decoding.decode(self.remote.mask(msgspec.json.encode(fitting).decode()), tuple[Passage, ...])
        try:
            if self.cache:
                self.cache.put(key, passages)
        except sqlite3.OperationalError as error:
            note = f"the results cannot be cached: {error}"
        return SearchResults(passages, note=note)


def passage(url: str | None, title: str | None, text: str | None, **fields: Any) -> Passage | None:
    """Convert a result to a passage; None if its url is unusable.  `fields` are fields of CSL JSON."""
    url = (url or "").strip()
    if len(url) > _URL or not re.fullmatch(r"https?://[^\s<>\"\\]+", url, re.IGNORECASE) or not url.isprintable():
        return None
    title = clip(line(title), _TITLE) or url
    return Passage(
        url, title, clip(line(text), _QUOTE), csl.record(**{"type": "webpage", "title": title, "URL": url, **fields})
    )


def line(text: str | None) -> str:
    """Return the text on one line, without HTML entities and unprintable characters."""
    spaced = " ".join(html.unescape(text or "").split())
    return "".join(character for character in spaced if character.isprintable())


def with_site(request: SearchRequest, limit: int = 10_000) -> str:
    """Return the query with a `site:` operator, at most `limit` characters."""
    site = f" site:{request.site}" if request.host else ""
    return clip(request.query, limit - len(site)).rstrip("…") + site


# Choosing services


def remote(settings: Settings, name: str, *, interval_s: float, clock: Clock = SYSTEM) -> Remote:
    """Return the connection to a service, from its settings `NAME_url` and `NAME_api_key`."""
    secret = getattr(settings, f"{name}_api_key", None)
    return Remote(
        name,
        Setting(getattr(settings, f"{name}_url"), settings.named(f"{name}_url")),
        Setting(secret.get_secret_value() if secret else "", settings.named(f"{name}_api_key")),
        interval_s=interval_s,
        clock=clock,
        allow_hosts=settings.allowed_for(f"{name}_url"),
    )


def need(settings: Settings, field: str) -> None:
    """Raise `ConfigError` when a setting is missing."""
    if not _is_set(settings, field):
        raise ConfigError(
            f"{field.removesuffix('_api_key').removesuffix('_url')} needs {variable(field)}: set it in the "
            "environment, in .env, or on the Settings page"
        )


def result_cache(settings: Settings) -> ResultCache:
    """Return the cache of results, shared by all services and runs."""
    return ResultCache(settings.home / "search-cache.sqlite", settings.search_cache_s)


def configured(settings: Settings) -> list[str]:
    """Return the web services whose key or url is set; DuckDuckGo, which needs neither, if there are none."""
    found = [entry.id for entry in searcher.all() if entry.needs and _is_set(settings, entry.needs)]
    return found or ["duckduckgo"]


def scholars() -> list[str]:
    """Return the services that find papers.  All work without a key, some with a lower rate limit."""
    return [entry.id for entry in searcher.all() if entry.scholar]


def services(names: Iterable[str], settings: Settings) -> list[Searcher]:
    """Return the services of those names.  Raises `ConfigError`."""
    return [searcher.get(name).function(settings) for name in names]


def _is_set(settings: Settings, field: str) -> bool:
    value = getattr(settings, field)
    return bool(value.get_secret_value() if isinstance(value, SecretStr) else value)


# Searching several at once


class Gathered(Struct, frozen=True):
    """The results and the error messages of several searchers, by name."""

    found: Mapping[str, SearchResults]
    failed: Mapping[str, str]

    @property
    def remarks(self) -> str:
        """Describe for the model which results are cached, and which searchers failed and why."""
        said = [
            f"{name}: {', '.join(filter(None, (_age(found.age_s), found.note)))}."
            for name, found in self.found.items()
            if found.age_s is not None or found.note
        ]
        return "\n".join(
            [*said, *(say("{name} failed: {why}.", name=name, why=why) for name, why in self.failed.items())]
        )


def gather(searchers: Sequence[Searcher], request: SearchRequest, scope: Scope = EVERYTHING) -> Gathered:
    """Search with all of them at the same time; results outside the scope are left out.

    Raises `ToolError` with all reasons if every one fails.
    """
    named: dict[str, Searcher] = {}
    for one in searchers:
        name = getattr(one, "name", "library")
        named[name if name not in named else f"{name} {len(named) + 1}"] = one
    futures = {name: _start(partial(_find, one, request, scope)) for name, one in named.items()}
    found, failed, unasked = {}, {}, 0
    for name, future in futures.items():
        try:
            found[name] = future.result()
        except ToolError as error:
            failed[name] = str(error).rstrip(".")
            unasked += error.code == "refused"
    if failed and not found:
        reasons = [*failed.values()] if len(failed) == 1 else [f"{name}: {why}" for name, why in failed.items()]
        raise ToolError("; ".join(reasons), "failed" if unasked < len(failed) else "refused")
    return Gathered(found, failed)


def widened(searchers: Sequence[Searcher], request: SearchRequest, scope: Scope = EVERYTHING) -> tuple[Gathered, str]:
    """Search; if nothing matches, drop the filter by site, then that by year.

    Returns the results and, for the model, which filters were dropped; models invent sites and years, and would search
    them forever.  Raises `ToolError` as `gather` does.
    """
    gathered, dropped = gather(searchers, request, scope), []
    for said, changes in (
        (say("on {site}", site=request.site) if request.site else "", {"site": ""}),
        (_span(request), {"year_from": None, "year_to": None}),
    ):
        if said and not any(found.passages for found in gathered.found.values()):
            dropped.append(said)
            request = msgspec.structs.replace(request, **changes)
            gathered = gather(searchers, request, scope)
    return gathered, say(" and ").join(dropped)


def _span(request: SearchRequest) -> str:
    """Return the years of a filter in words; empty without one."""
    first, last = request.year_from, request.year_to
    if first is None and last is None:
        return ""
    if first == last:
        return say("of {year}", year=first)
    since = say("from {year}", year=first) if first else ""
    return " ".join(filter(None, [since, say("up to {year}", year=last) if last else ""]))


def _find(one: Searcher, request: SearchRequest, scope: Scope) -> SearchResults:
    # Documents of the library have neither a domain nor a date, so they are not filtered by the user's.
    narrowed = _narrowed(request, scope) if isinstance(one, Service) else request
    return _within(_found(one, narrowed, told=not (scope.since or scope.until)), scope)


def _narrowed(request: SearchRequest, scope: Scope) -> SearchRequest:
    """Add to the request the user's limits that services can filter by; `_within` checks all.

    Raises `ToolError` if it asks for other years only.
    """
    first, last = scope.years
    year_from = max(filter(None, (request.year_from, first)), default=None)
    year_to = min(filter(None, (request.year_to, last)), default=None)
    if year_from is not None and year_to is not None and year_from > year_to:
        raise ToolError(
            say("the user wants only sources {span}; search within these years", span=scope.span), "refused"
        )
    site = request.site or (scope.allow[0] if len(scope.allow) == 1 else "")
    return msgspec.structs.replace(request, year_from=year_from, year_to=year_to, site=site)


def _within(found: SearchResults, scope: Scope) -> SearchResults:
    """Return the results that the user allows, with a remark on the others."""
    refused = {passage.url: why for passage in found.passages if (why := scope.refusal(passage))}
    if not refused:
        return found
    kept = tuple(passage for passage in found.passages if passage.url not in refused)
    why = "; ".join(list(dict.fromkeys(refused.values()))[:3])
    note = say("{n} results left out: {why}", n=len(found.passages) - len(kept), why=why)
    return msgspec.structs.replace(found, passages=kept, note="; ".join(filter(None, [found.note, note])))


def _found(one: Searcher, request: SearchRequest, *, told: bool) -> SearchResults:
    """Return the results; `told`: with a remark on those whose year is unknown."""
    if isinstance(one, FilteringSearcher):
        found = one.find(request)
    else:
        passages = one.search(request.words, request.limit)
        found = SearchResults(tuple(filter(request.admits, passages)))
    undated = sum(csl.year(passage.csl) is None for passage in found.passages) if told and request.days else 0
    if not undated:
        return found
    note = say(
        "{undated} of {n} results have no date, so their year was not checked", undated=undated, n=len(found.passages)
    )
    return msgspec.structs.replace(found, note="; ".join(filter(None, [found.note, note])))


def _start(work: Callable[[], SearchResults]) -> Future[SearchResults]:
    """Start the work in a new thread."""
    future: Future[SearchResults] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:  # noqa: BLE001 - handed to the caller's thread, which raises it
            future.set_exception(error)

    threads.start(partial(copy_context().run, run))  # the context carries the tool call's cancellation
    return future


def _on_site(url: str, site: str, host: str) -> bool:
    if not host:
        return site.lower() in url.lower()
    parts = urlsplit(url.lower())
    return f".{parts.hostname}".endswith(f".{host}") and parts.path.startswith(site.removeprefix(host))


def _age(seconds: float | None) -> str:
    if seconds is None:
        return ""
    for unit, size in ((say("d"), 86_400), (say("h"), 3_600), (say("min"), 60)):
        if seconds >= size:
            return say("from the cache, {age:.0f} {unit} old", age=seconds / size, unit=unit)
    return say("from the cache, less than a minute old")
