"""What the user allows as a source: domains, and dates of publication."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct

from research._util.said import say
from research.errors import ConfigError
from research.events.recipe import Recipe
from research.types import Passage

_DOMAIN = re.compile(r"[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63}){0,9}")
_DATE = re.compile(r"(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?")
_SHOWN = 5
"""Domains that a message names."""


class Scope(Struct, frozen=True):
    """The user's limits; without any, everything is allowed."""

    allow: tuple[str, ...] = ()
    """Only these domains and their subdomains; empty: all."""
    deny: tuple[str, ...] = ()
    since: str = ""
    """First day of publication, as ISO date; empty: no limit."""
    until: str = ""

    def of_url(self, url: str) -> str:
        """Return why a page may not be used, by its address; empty if it may.  Only web sources have a domain."""
        host = _host(url)
        if not host:
            return ""
        if any(_within(host, domain) for domain in self.deny):
            return say("{host} is one of the domains that the user excludes", host=host)
        if self.allow and not any(_within(host, domain) for domain in self.allow):
            allowed = ", ".join(self.allow[:_SHOWN]) + (", …" if len(self.allow) > _SHOWN else "")
            return say("{host} is not among the domains that the user allows ({allowed})", host=host, allowed=allowed)
        return ""

    def refusal(self, passage: Passage) -> str:
        """Return why a passage may not be used; empty if it may.

        A date known only to the year or month counts as inside if one of its days is.
        """
        if why := self.of_url(passage.url):
            return why
        if not (self.since or self.until) or not _host(passage.url):
            return ""
        known = _days(passage.csl)
        if known is None:
            return say("it has no date, and the user wants only sources {span}", span=self.span)
        if (self.since and known[1] < self.since) or (self.until and known[0] > self.until):
            return say("it is of {date}, and the user wants only sources {span}", date=known[0], span=self.span)
        return ""

    @property
    def span(self) -> str:
        """Return the range of dates in words."""
        if self.since and self.until:
            return say("from {since} to {until}", since=self.since, until=self.until)
        return say("since {since}", since=self.since) if self.since else say("until {until}", until=self.until)

    @property
    def years(self) -> tuple[int | None, int | None]:
        """Return the first and the last year; None leaves that end open."""
        return int(self.since[:4]) if self.since else None, int(self.until[:4]) if self.until else None


EVERYTHING = Scope()


def scope_of(
    allow_domains: Sequence[str] = (), deny_domains: Sequence[str] = (), since: str = "", until: str = ""
) -> Scope:
    """Return the scope that these fields of a recipe describe.  Raises `ConfigError`."""
    scope = Scope(
        tuple(dict.fromkeys(map(domain, allow_domains))),
        tuple(dict.fromkeys(map(domain, deny_domains))),
        day(since, "since"),
        day(until, "until", 1),
    )
    if scope.since and scope.until and scope.since > scope.until:
        raise ConfigError(f"since {since} is after until {until}; swap them")
    return scope


def of_recipe(recipe: Recipe) -> Scope:
    """Return the scope of a recipe."""
    return Scope(recipe.allow_domains, recipe.deny_domains, recipe.since, recipe.until)


def domain(text: str) -> str:
    """Normalise a domain: `https://www.Example.org/` to `example.org`.  Raises `ConfigError`."""
    bare = re.sub(r"\A(?:https?://)?(?:www\.|\*\.|\.)?", "", text.strip().lower()).rstrip("/.")
    if not _DOMAIN.fullmatch(plain := _ascii(bare)):
        raise ConfigError(f"domain {text[:100]!r}: write a host such as example.org or gov, without a path")
    return plain


def _ascii(host: str) -> str:
    try:
        return host.encode("idna").decode() if not host.isascii() else host
    except UnicodeError:
        return host


def _host(url: str) -> str:
    try:
        parts = urlsplit(url)
        return _ascii((parts.hostname or "").rstrip(".")) if parts.scheme in ("http", "https") else ""
    except ValueError:
        return "?"  # an unreadable address is in no allowed domain


def _within(host: str, name: str) -> bool:
    return f".{host}".endswith(f".{name}")


def day(text: str, name: str, end: int = 0) -> str:
    """Return the first or last (`end` 1) day of a year, a month or a day as ISO date.  Raises `ConfigError`."""
    if not text:
        return ""
    found = _DATE.fullmatch(text.strip())
    days = _span([int(part) for part in found.groups() if part]) if found else None
    if days is None:
        raise ConfigError(f"{name} {text[:40]!r} is not a date; write 2024, 2024-06 or 2024-06-30")
    return days[end]


def _days(fields: dict[str, Any]) -> tuple[str, str] | None:
    parts = ((fields.get("issued") or {}).get("date-parts") or [[]])[0]
    return _span([part for part in parts if isinstance(part, int)]) if parts else None


def _span(parts: Sequence[int]) -> tuple[str, str] | None:
    """Return the first and last day of a date of one to three parts; None if there is no such date."""
    year, month, day = (*parts, 0, 0)[:3]
    if not 1 <= year <= 9999 or not 0 <= month <= 12:
        return None
    last = monthrange(year, month or 12)[1]
    if not 0 <= day <= last:
        return None
    return f"{year:04}-{month or 1:02}-{day or 1:02}", f"{year:04}-{month or 12:02}-{day or last:02}"
