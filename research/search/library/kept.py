"""Pages that runs have read: copies of public pages, documents of one collection of the library, by their web address.

They are searched by words only: vectors of so many pages would not be worth their memory.
"""

from __future__ import annotations

import hashlib
import json
import logging
import sqlite3
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from research._util import decoding
from research._util.said import say
from research.defaults import PAGES
from research.errors import StoreUnavailable
from research.search.library import storage
from research.search.library.factbook import Document
from research.search.library.file import LibraryFile
from research.search.library.quota import Quota, Usage
from research.text import storable

if TYPE_CHECKING:
    from research.web.fetch import FetchedPage

MOST, BYTES = 2_000, 50_000_000
"""Most pages kept, and most bytes of their text; the oldest go first."""
LARGEST = 2_000_000
"""Longest text that is kept, in characters."""
_DELETED = f"{PAGES} of deleted runs"
"""The hidden collection of pages that only deleted runs have read, for as long as these can be restored."""
_log = logging.getLogger(__name__)


class KeptPages:
    """The copies of one library.  Safe for threads and processes."""

    def __init__(self, library: LibraryFile, quota: Quota) -> None:
        self._library = library
        self._quota = quota

    def keep(self, page: FetchedPage) -> None:
        """Keep a copy of a public page, in place of an earlier one of its address.

        A page that is too long or finds no room is skipped: the run must not fail.
        """
        if page.private or len(page.text) > LARGEST:
            return
        try:
            usage = Usage(self._library.connection(), self._library.path.parent, PAGES, self._quota)
            if not usage.refusal(page.text, url=page.url):
                self._keep(page)
        except (sqlite3.Error, StoreUnavailable) as error:
            _log.warning("the page %s is not kept: %s", page.url, error)

    def _keep(self, page: FetchedPage) -> None:
        now, said = time.time_ns(), storable
        document = Document(
            page.url,
            said(page.title),
            said(page.text),
            notes=said("\n".join((f"from a copy kept on {_day(now)}", *page.notes))),
            csl=json.dumps(page.csl),
        )
        with self._library.writing() as connection:
            connection.execute("DELETE FROM collections WHERE name = ? AND forgotten IS NOT NULL", [PAGES])
            scope = storage.ensure_collection(connection, PAGES)
            of = "document = (SELECT id FROM documents WHERE url = ?)"
            runs = connection.execute(f"SELECT run, deleted FROM readings WHERE {of}", [page.url]).fetchall()
            digest = hashlib.sha256(document.text.encode()).hexdigest()
            storage.store(connection, scope, document, now, digest)
            connection.executemany(
                "INSERT INTO readings (document, run, deleted) SELECT id, ?, ? FROM documents WHERE url = ?",
                [(run, deleted, page.url) for run, deleted in runs],
            )
            connection.execute(
                """DELETE FROM documents WHERE id IN (SELECT id FROM (SELECT id, row_number() OVER newest AS number,
                sum(bytes) OVER newest AS total FROM documents WHERE collection = ?
                WINDOW newest AS (ORDER BY mtime DESC, id DESC)) WHERE number > ? OR total > ?)""",
                [scope, MOST, BYTES],
            )
            connection.execute("UPDATE collections SET indexed = ? WHERE id = ?", [now / 1e9, scope])

    def copy(self, urls: Iterable[str], why: str) -> FetchedPage | None:
        """Return the copy of a page that cannot be read now for this reason, by any of its addresses; None if none."""
        from research.web.fetch import FetchedPage

        found = self._rows(f"SELECT url, title, text, csl, mtime, notes {_KEPT}", urls, PAGES)
        if not found:
            return None
        address, title, text, csl, read, notes = found[0]
        note = say("read from a copy kept on {day}, because: {why}", day=_day(read), why=why)
        return FetchedPage(
            address, title, text, "text/html", csl=decoding.decode(csl, dict), notes=(note, *notes.splitlines()[1:])
        )

    def among(self, urls: Iterable[str]) -> frozenset[str]:
        """Return the addresses that have a copy."""
        try:
            found = self._rows(f"SELECT url {_KEPT}", urls, PAGES)
        except (sqlite3.Error, StoreUnavailable) as error:
            _log.warning("whether pages are kept is unknown: %s", error)
            return frozenset()
        return frozenset(url for (url,) in found)

    def read_by(self, run: str, urls: Iterable[str]) -> None:
        """Record that a run has read these pages, if they are kept."""
        try:
            found = self._rows(f"SELECT id {_KEPT}", urls, PAGES)
            if found:
                with self._library.writing() as connection:
                    connection.executemany(
                        "INSERT OR IGNORE INTO readings (document, run) SELECT id, ? FROM documents WHERE id = ?",
                        [(run, document) for (document,) in found],
                    )
        except (sqlite3.Error, StoreUnavailable) as error:
            _log.warning("the pages of run %s are not recorded: %s", run, error)

    def of(self, runs: Iterable[str]) -> int:
        """Return how many pages would go with these runs, because no other has read them."""
        listed = list(runs)
        ((number,),) = self._rows(
            f"""SELECT count(DISTINCT document) FROM readings WHERE deleted IS NULL AND run IN {_LISTED} AND NOT EXISTS
            (SELECT 1 FROM readings AS other WHERE other.document = readings.document AND other.deleted IS NULL
            AND other.run NOT IN {_LISTED})""",
            listed,
            json.dumps(listed),
        )
        return int(number)

    def delete(self, runs: Iterable[str]) -> None:
        """Hide the pages read only by these deleted runs; `purge` erases them."""
        self._change(runs, time.time(), PAGES, _DELETED)

    def restore(self, runs: Iterable[str]) -> None:
        """Undo a `delete`."""
        self._change(runs, None, _DELETED, PAGES)

    def _change(self, runs: Iterable[str], deleted: float | None, source: str, target: str) -> None:
        """Mark the runs as deleted or not; hide pages that no run is left for, and show those that have one again."""
        listed = list(runs)
        if not self._rows(f"SELECT 1 FROM readings WHERE run IN {_LISTED} LIMIT 1", listed):
            return
        having = "EXISTS" if deleted is None else "NOT EXISTS"
        with self._library.writing() as connection:
            connection.execute("INSERT OR IGNORE INTO collections (name, forgotten) VALUES (?, 9e99)", [_DELETED])
            connection.execute(f"UPDATE readings SET deleted = ? WHERE run IN {_LISTED}", [deleted, json.dumps(listed)])
            connection.execute(
                f"""UPDATE documents SET collection = (SELECT id FROM collections WHERE name = ?)
                WHERE collection = (SELECT id FROM collections WHERE name = ?)
                AND EXISTS (SELECT 1 FROM readings WHERE document = documents.id)
                AND {having} (SELECT 1 FROM readings WHERE document = documents.id AND deleted IS NULL)
                AND EXISTS (SELECT 1 FROM collections WHERE name = ?)""",
                [target, source, target],
            )

    def purge(self, before: float) -> None:
        """Erase the pages of runs deleted before this time."""
        with self._library.writing() as connection:
            connection.execute("DELETE FROM readings WHERE deleted < ?", [before])
            connection.execute(
                """DELETE FROM documents WHERE collection = (SELECT id FROM collections WHERE name = ?)
                AND NOT EXISTS (SELECT 1 FROM readings WHERE document = documents.id)""",
                [_DELETED],
            )

    def _rows(self, sql: str, listed: Iterable[str], *more: str) -> list[tuple[Any, ...]]:
        return self._library.connection().execute(sql, [json.dumps(list(listed)), *more]).fetchall()


WITH_VECTORS = f"collection NOT IN (SELECT id FROM collections WHERE name IN ('{PAGES}', '{_DELETED}'))"
"""Documents that are searched by meaning."""
_LISTED = "(SELECT value FROM json_each(?))"
_KEPT = f"""FROM documents WHERE url IN {_LISTED}
AND collection = (SELECT id FROM collections WHERE name = ? AND forgotten IS NULL)"""


def _day(ns: int) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(ns / 1e9))
