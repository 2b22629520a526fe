"""The Wayback Machine, for pages that are gone.  API: https://archive.org/help/wayback_api.php"""

from __future__ import annotations

import re
from urllib.parse import quote

from msgspec import Struct, ValidationError
from msgspec.structs import replace

from research._util import decoding
from research._util.said import say
from research.errors import ToolError
from research.web.fetch import FetchedPage, FetchPolicy, fetch

GONE = frozenset(("status 404", "status 410"))
"""Codes of the errors after which the archive is asked."""
_SNAPSHOT = re.compile(r"https?://([^/]{1,200}/web/)((\d{4})(\d\d)(\d\d)\d{6})(/.{1,2000})")


class _Snapshot(Struct):
    url: str = ""
    available: bool = False


class _Snapshots(Struct):
    closest: _Snapshot | None = None


class _Response(Struct):
    archived_snapshots: _Snapshots


def archived(url: str, archive: str, policy: FetchPolicy) -> FetchedPage | None:
    """Return the newest copy of a page, with a note that tells its date; None if the archive has none.

    `archive` is the archive's address, which receives the url.  Raises `ToolError`.
    """
    found = fetch(f"{archive.rstrip('/')}/wayback/available?url={quote(url, safe='')}", policy=policy)
    try:
        closest = decoding.decode(found.text.encode(), _Response).archived_snapshots.closest
    except (ValidationError, ValueError):
        return None
    copy = _SNAPSHOT.fullmatch(closest.url) if closest and closest.available else None
    if copy is None:
        return None
    scheme = archive.partition(":")[0]
    there, time, year, month, day, rest = copy.groups()
    page = fetch(f"{scheme}://{there}{time}id_{rest}", policy=policy)  # `id_`: as it was, without the archive's frame
    note = say("the page is gone; this is its copy of {day} in the archive", day=f"{year}-{month}-{day}")
    return replace(page, notes=(note, *page.notes))


def fetched(url: str, archive: str, policy: FetchPolicy) -> FetchedPage:
    """Return a page, or its copy in the archive if it is gone; `archive` may be empty.  Raises `ToolError`."""
    try:
        return fetch(url, policy=policy)
    except ToolError as error:
        if not archive or error.code not in GONE or (copy := archived(url, archive, policy)) is None:
            raise
        return copy
