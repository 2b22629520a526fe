"""What search services on the web share: how they are asked, kept results, several at once."""

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

from research import crew, decoding
from research.errors import ConfigError, ToolError
from research.registry import searcher
from research.search import csl
from research.search.kept import Kept
from research.search.pace import SYSTEM, Clock
from research.search.remote import Remote
from research.settings import Settings
from research.text import clip
from research.types import Passage, Searcher

_TITLE, _QUOTE, _URL = 300, 2_000, 2_000
"""Characters that are kept of each part of a result."""
_SITE = 100
"""Characters of a site that goes into a query."""
_HOST = re.compile(r"[^\W_](?:[\w-]*\.)+[\w-]+")


class Ask(Struct, frozen=True):
    """What is sought."""

    query: str
    limit: int = 10
    year_from: int | None = None
    year_to: int | None = None
    """Years of publication; each of the two may be open."""
    site: str = ""
    """A host, with or without a path; or any part of a url."""

    @property
    def host(self) -> str:
        """The site, where it is one that services understand."""
        host = self.site.partition("/")[0]
        return host if _HOST.fullmatch(host) and len(self.site) <= _SITE else ""

    @property
    def days(self) -> tuple[str, str] | None:
        """First and last day as ISO dates; None when any year will do."""
        if self.year_from is None and self.year_to is None:
            return None
        return f"{self.year_from or 1900:04}-01-01", f"{self.year_to or 2100:04}-12-31"

    @property
    def words(self) -> str:
        """The query with the year in it, for those who cannot filter."""
        return f"{self.query} {self.year_to}" if self.year_from == self.year_to is not None else self.query

    def admits(self, passage: Passage) -> bool:
        """Whether a result fits the site, and the years as far as its own is known."""
        year = csl.year(passage.csl)
        if year is not None and not (self.year_from or year) <= year <= (self.year_to or year):
            return False
        return not self.site or _on_site(passage.url, self.site, self.host)


def ask(query: str, limit: int = 10, year_from: int | None = None, year_to: int | None = None, site: str = "") -> Ask:
    """An `Ask` from what a model wrote.  Raises `ToolError`."""
    if not re.search(r"\w", query):
        raise ToolError(f"the query {query!r} has no words to search for")
    for year in (year_from, year_to):
        if year is not None and not 1000 <= year <= 9999:
            raise ToolError(f"{year} is not a year; write four digits, e.g. 2024")
    if year_from is not None and year_to is not None and year_from > year_to:
        raise ToolError(f"no year is from {year_from} and up to {year_to}; swap them")
    site = re.sub(r"^(?:site:)?(?:https?://)?(?:www\.)?", "", site.strip().lower()).rstrip("/")
    return Ask(" ".join(query.split()), limit, year_from, year_to, site)


class Found(Struct, frozen=True):
    """Results, best first."""

    passages: tuple[Passage, ...]
    age_s: float | None = None
    """Seconds since the service gave them; None when it just did."""
    note: str = ""
    """What else is to be known of how they came about."""


@runtime_checkable
class Filtering(Protocol):
    """A searcher that can be told years and site."""

    @property
    def name(self) -> str: ...

    def find(self, ask: Ask) -> Found:
        """Raises `ToolError`."""


class Service:
    """A search service; each has its own `fetch`."""

    def __init__(self, remote: Remote, kept: Kept | None = None) -> None:
        self.remote = remote
        self.kept = kept

    @property
    def name(self) -> str:
        return self.remote.name

    def fetch(self, ask: Ask) -> Iterable[Passage | None]:
        """Results as the service gives them, None for those that are none.  Raises `ToolError`."""
        raise NotImplementedError

    def search(self, query: str, limit: int = 10) -> Sequence[Passage]:
        """Best first.  Raises `ToolError`."""
        return self.find(ask(query, limit)).passages

    def find(self, ask: Ask) -> Found:
        """Results that fit, kept or new.  Raises `ToolError`."""
        key = msgspec.json.encode([self.name, self.remote.url, ask]).decode()
        note = ""
        try:
            if self.kept and (hit := self.kept.get(key)):
                return Found(*hit)
        except sqlite3.OperationalError as error:
            note = f"kept results cannot be read: {error}"
        fitting = tuple(passage for passage in self.fetch(ask) if passage and ask.admits(passage))[: ask.limit]
        # A server may echo the key anywhere.
        passages = decoding.decode(self.remote.mask(msgspec.json.encode(fitting).decode()), tuple[Passage, ...])
        try:
            if self.kept:
                self.kept.put(key, passages)
        except sqlite3.OperationalError as error:
            note = f"the results cannot be kept: {error}"
        return Found(passages, note=note)


def passage(url: str | None, title: str | None, text: str | None, **fields: Any) -> Passage | None:
    """A result as a passage; None if its url leads nowhere.  `fields` are those of CSL JSON."""
    url = (url or "").strip()
    if len(url) > _URL or not re.fullmatch(r"https?://[^\s<>\"\\]+", url, re.IGNORECASE) or not url.isprintable():
        return None
    title = clip(line(title), _TITLE) or url
    return Passage(
        url, title, clip(line(text), _QUOTE), csl.record(**{"type": "webpage", "title": title, "URL": url, **fields})
    )


def line(text: str | None) -> str:
    """On one line, without entities and what cannot be printed."""
    spaced = " ".join(html.unescape(text or "").split())
    return "".join(character for character in spaced if character.isprintable())


def with_site(ask: Ask, limit: int = 10_000) -> str:
    """The query as search engines understand it, at most `limit` characters."""
    site = f" site:{ask.site}" if ask.host else ""
    return clip(ask.query, limit - len(site)).rstrip("…") + site


def shortened(ask: Ask, words: int) -> Ask:
    """The same with at most so many words."""
    return msgspec.structs.replace(ask, query=" ".join(ask.query.split()[:words]))


# Which there are


def remote(settings: Settings, name: str, *, interval_s: float, clock: Clock = SYSTEM) -> Remote:
    """The connection of a service by its settings `NAME_url` and `NAME_api_key`."""
    secret = getattr(settings, f"{name}_api_key", None)
    return Remote(
        name,
        getattr(settings, f"{name}_url"),
        key=secret.get_secret_value() if secret else "",
        url_setting=_variable(f"{name}_url"),
        key_setting=_variable(f"{name}_api_key"),
        interval_s=interval_s,
        clock=clock,
    )


def need(settings: Settings, field: str) -> None:
    """Raise `ConfigError` when a setting is missing."""
    if not _is_set(settings, field):
        raise ConfigError(
            f"{field.removesuffix('_api_key').removesuffix('_url')} needs {_variable(field)}: set it in the "
            "environment, in .env, or on the Settings page"
        )


def kept(settings: Settings) -> Kept:
    """Where results are kept between runs."""
    return Kept(settings.home / "search-cache.sqlite", settings.search_cache_s)


def configured(settings: Settings) -> list[str]:
    """The web services that the settings give a key or a url to; without any, DuckDuckGo, which needs none."""
    found = [
        entry.id for entry in searcher.all() if "needs" in entry.traits and _is_set(settings, entry.traits["needs"])
    ]
    return found or ["duckduckgo"]


def scholars(settings: Settings) -> list[str]:
    """The services that find papers.  All work without a key, some with a smaller allowance."""
    return [entry.id for entry in searcher.all() if entry.traits.get("scholar")]


def services(names: Iterable[str], settings: Settings) -> list[Searcher]:
    """The services of those names.  Raises `ConfigError`."""
    return [searcher.get(name).function(settings) for name in names]


def _is_set(settings: Settings, field: str) -> bool:
    value = getattr(settings, field)
    return bool(value.get_secret_value() if isinstance(value, SecretStr) else value)


def _variable(field: str) -> str:
    known = Settings.model_fields.get(field)
    return str(known.validation_alias) if known else ""


# Several at once


class Gathered(Struct, frozen=True):
    """What several searchers gave, by name."""

    found: Mapping[str, Found]
    failed: Mapping[str, str]

    @property
    def remarks(self) -> str:
        """For the model: which results are old, and who failed and why."""
        said = [
            f"{name}: {', '.join(filter(None, (_age(found.age_s), found.note)))}."
            for name, found in self.found.items()
            if found.age_s is not None or found.note
        ]
        return "\n".join([*said, *(f"{name} failed: {why}." for name, why in self.failed.items())])


def gather(searchers: Sequence[Searcher], ask: Ask) -> Gathered:
    """Ask all of them at the same time.  Raises `ToolError` that lists all reasons when every one fails."""
    named: dict[str, Searcher] = {}
    for one in searchers:
        name = getattr(one, "name", "library")
        named[name if name not in named else f"{name} {len(named) + 1}"] = one
    futures = {name: _start(partial(_find, one, ask)) for name, one in named.items()}
    found, failed = {}, {}
    for name, future in futures.items():
        try:
            found[name] = future.result()
        except ToolError as error:
            failed[name] = str(error).rstrip(".")
    if failed and not found:
        reasons = [*failed.values()] if len(failed) == 1 else [f"{name}: {why}" for name, why in failed.items()]
        raise ToolError("; ".join(reasons))
    return Gathered(found, failed)


def _find(one: Searcher, ask: Ask) -> Found:
    if isinstance(one, Filtering):
        return one.find(ask)
    found = one.search(ask.words, ask.limit)
    return Found(tuple(passage for passage in found if not ask.site or _on_site(passage.url, ask.site, ask.host)))


def _start(work: Callable[[], Found]) -> Future[Found]:
    """In a thread of its own."""
    future: Future[Found] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:  # noqa: BLE001 - handed to the caller's thread, which raises it
            future.set_exception(error)

    crew.begin(partial(copy_context().run, run))  # in the context, whether the call is still wanted
    return future


def _on_site(url: str, site: str, host: str) -> bool:
    if not host:
        return site.lower() in url.lower()
    parts = urlsplit(url.lower())
    return f".{parts.hostname}".endswith(f".{host}") and parts.path.startswith(site.removeprefix(host))


def _age(seconds: float | None) -> str:
    if seconds is None:
        return ""
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= size:
            return f"from the cache, {seconds / size:.0f} {unit} old"
    return "from the cache, less than a minute old"
