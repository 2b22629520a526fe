"""How much disk a library and each of its collections may take: text, index, vectors, and uploaded files."""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

UPLOADS = "uploads"
"""The folder below the home with the uploaded files."""

_GROWTH = 7
"""Bytes that a library file grows per byte of text, with the words and vectors of its passages (measured: 4 and 3)."""


class Quota(Struct, frozen=True):
    """The most bytes of a user's whole library, and of each collection."""

    library: int = 10 * 10**9
    collection: int = 5 * 10**9


DEFAULT_QUOTA = Quota()


class Usage:
    """Disk use of a collection and its library, updated as documents are added."""

    def __init__(self, connection: sqlite3.Connection, home: Path, collection: str, quota: Quota) -> None:
        self._connection = connection
        self._quota = quota
        pages, free, size = (
            connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size")
        )
        used = (pages - free) * size
        inside, texts = connection.execute(
            """SELECT coalesce(sum(bytes) FILTER (WHERE collection = (SELECT id FROM collections WHERE name = ?)), 0),
            coalesce(sum(bytes), 0) FROM documents""",
            [collection],
        ).fetchone()
        uploads = home.resolve() / UPLOADS
        own = Path(collection) if Path(collection).is_relative_to(uploads) else None
        self._library: float = used + _size(uploads)
        self._collection: float = used * inside / max(1, texts) + (_size(own) if own else 0)

    def refusal(self, text: str, file_bytes: int = 0, url: str = "") -> str:
        """Return why a document does not fit; empty if it does, and it counts from now on.

        `file_bytes` is the size of an uploaded file; `url` that of the replaced document.
        """
        before = self._connection.execute("SELECT bytes FROM documents WHERE url = ?", [url]).fetchone()
        growth = _GROWTH * (len(text.encode("utf-8", "replace")) - (before[0] if before else 0)) + file_bytes
        for used, limit, what, variable in (
            (self._library, self._quota.library, "library", "WORKBENCH_LIBRARY_GB"),
            (self._collection, self._quota.collection, "collection", "WORKBENCH_COLLECTION_GB"),
        ):
            if growth > 0 and used + growth > limit:
                return (
                    f"does not fit: it needs {_shown(growth)}, and the {what} takes {_shown(used)} of at most "
                    f"{_shown(limit)}; remove documents, or ask the administrator to raise {variable}"
                )
        self._library += growth
        self._collection += growth
        return ""


def _size(folder: Path) -> int:
    sizes = 0
    for path in folder.rglob("*"):
        with suppress(FileNotFoundError):  # removed meanwhile
            sizes += path.lstat().st_size
    return sizes


def _shown(size: float) -> str:
    return f"{size / 1e9:.1f} GB" if size >= 1e8 else f"{size / 1e6:.1f} MB"
