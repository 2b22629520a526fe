"""The Wayback Machine: pages that are gone, and pages as they were on a day.

API: https://archive.org/help/wayback_api.php, and for the last copy of a day or before
https://github.com/internetarchive/wayback/tree/master/wayback-cdx-server.
"""

from __future__ import annotations

import re
from urllib.parse import quote

from msgspec import Struct, ValidationError
from msgspec.structs import replace

from research._util import decoding
from research._util.said import say
from research.errors import ToolError
from research.web.fetch import NO_HOST, FetchedPage, FetchPolicy, fetch, is_gone, parse_url, vet

GONE = frozenset(("status 404", "status 410", NO_HOST))
"""Codes of errors after which to ask the archive."""
_SNAPSHOT = re.compile(r"https?://([^/]{1,200})/web/(\d{14})(/.{1,2000})")


class _Snapshot(Struct):
    url: str = ""
    available: bool = False


class _Snapshots(Struct):
    closest: _Snapshot | None = None


class _Response(Struct):
    archived_snapshots: _Snapshots


def archived(url: str, archive: str, policy: FetchPolicy, as_of: str = "") -> tuple[FetchedPage, str] | None:
    """Return the newest copy of a page, or the last one of the day `as_of` or before, with its day; None if there is none.

    `archive` is the archive's address, which receives the url unless its host is private, or missing and perhaps
    private.  Raises `ToolError`.
    """
    try:
        url, private = vet(url, policy=policy)
    except ToolError as error:
        if error.code != NO_HOST or not is_gone(url, policy=policy):
            raise
        url, private = str(parse_url(url)), False
    if private:
        return None
    end = f"{as_of.replace('-', '')}235959" if as_of else ""
    near = f"&timestamp={quote(end)}" if end else ""
    found = fetch(f"{archive.rstrip('/')}/wayback/available?url={quote(url, safe='')}{near}", policy=policy)
    try:
        closest = decoding.decode(found.text.encode(), _Response).archived_snapshots.closest
    except (ValidationError, ValueError):
        return None
    copy = _SNAPSHOT.fullmatch(closest.url) if closest and closest.available else None
    if copy is None:
        return None
    there, time, rest = copy.groups()
    there = f"{archive.partition(':')[0]}://{there}"
    if end and time > end and not (time := _last(url, there, end, policy)):
        return None
    page = fetch(f"{there}/web/{time}id_{rest}", policy=policy)  # `id_`: as it was, without the archive's frame
    return page, f"{time[:4]}-{time[4:6]}-{time[6:8]}"


def _last(url: str, there: str, end: str, policy: FetchPolicy) -> str:
    """Return the time of the last copy made by `end`; empty if there is none."""
    asked = (
        f"{there}/cdx/search/cdx?url={quote(url, safe='')}&to={quote(end)}&filter=statuscode:200&fl=timestamp&limit=-1"
    )
    try:
        found = fetch(asked, policy=policy).text.strip()
    except ToolError as error:
        if error.code != "unreadable":  # an empty answer
            raise
        return ""
    return found if re.fullmatch(r"\d{14}", found) else ""


def fetched(url: str, archive: str, policy: FetchPolicy, as_of: str = "") -> FetchedPage:
    """Return a page, or its copy in the archive if it is gone; `archive` may be empty.  With `as_of`, always its copy.

    Raises `ToolError`.
    """
    if as_of:
        if (copy := archived(url, archive, policy, as_of)) is None:
            raise ToolError(
                say("the archive has no copy of {url} of {day} or before; try another source", url=url, day=as_of),
                "status 404",
            )
        page, day = copy
        return _noted(page, say("read as of {asked}: this is its copy of {day} in the archive", asked=as_of, day=day))
    try:
        return fetch(url, policy=policy)
    except ToolError as error:
        if not archive or error.code not in GONE or (copy := archived(url, archive, policy)) is None:
            raise
        page, day = copy
        return _noted(page, say("the page is gone; this is its copy of {day} in the archive", day=day))


def _noted(page: FetchedPage, note: str) -> FetchedPage:
    return replace(page, notes=(note, *page.notes))
