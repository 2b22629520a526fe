"""What is in the library: its collections, their documents, and where these lie beside one another."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from research.search import shelves

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class CollectionInfo(Struct, frozen=True):
    """How much a collection holds.  `vectors` of its `passages` can be found by meaning so far."""

    name: str
    documents: int
    passages: int
    vectors: int
    characters: int = 0
    """Of text, all documents together."""
    indexed: float | None = None
    """When its files were last looked at, seconds since the epoch; None where that was before it was noted."""
    unreadable: int = 0
    """Files that could not be read then."""


class DocumentInfo(Struct, frozen=True):
    """A document in a list."""

    url: str
    title: str
    characters: int


class Spot(Struct, frozen=True):
    """A document on the map; x and y from -1 to 1, near where the meaning is near."""

    url: str
    title: str
    x: float
    y: float


def collections(connection: sqlite3.Connection, encoder: str) -> list[CollectionInfo]:
    """By name; `vectors` counts those of this encoder."""
    inside = "SELECT id FROM documents WHERE collection = collections.id"
    passages = f"SELECT id FROM passages WHERE document IN ({inside})"
    rows = connection.execute(
        f"""SELECT name, (SELECT count(*) FROM ({inside})), (SELECT count(*) FROM ({passages})),
        (SELECT count(*) FROM vectors WHERE encoder = ? AND passage IN ({passages})),
        (SELECT coalesce(sum(length(text)), 0) FROM documents WHERE collection = collections.id), indexed,
        (SELECT count(*) FROM unreadable WHERE collection = collections.id)
        FROM collections WHERE forgotten IS NULL ORDER BY name""",
        [encoder],
    )
    return [CollectionInfo(*row) for row in rows]


def documents(
    connection: sqlite3.Connection, collection: int, query: str, limit: int, offset: int
) -> list[DocumentInfo]:
    """A page of a collection's documents by title, those with `query` in their title or url."""
    connection.create_function("casefold", 1, str.casefold, deterministic=True)  # SQLite's lower is ASCII only
    rows = connection.execute(
        """SELECT url, title, length(text) FROM documents WHERE collection = :scope
        AND (instr(casefold(title), :query) OR instr(casefold(url), :query))
        ORDER BY title, url LIMIT :limit OFFSET :offset""",
        {"scope": collection, "query": query.casefold(), "limit": limit, "offset": offset},
    )
    return [DocumentInfo(*row) for row in rows]


def homes(connection: sqlite3.Connection, urls: list[str]) -> dict[str, str]:
    """The collection that each document belongs to."""
    marks = ",".join("?" * len(urls))
    rows = connection.execute(
        f"SELECT url, name FROM documents JOIN collections ON collections.id = collection WHERE url IN ({marks})", urls
    )
    return dict(rows.fetchall())


def unreadable(connection: sqlite3.Connection, collection: int) -> list[tuple[Path, str]]:
    rows = connection.execute("SELECT path, reason FROM unreadable WHERE collection = ? ORDER BY path", [collection])
    return [(Path(path), reason) for path, reason in rows]


def note_visit(connection: sqlite3.Connection, folder: str, now: float, failed: list[tuple[Path, str]]) -> None:
    """A folder was looked through, and these files of it could not be read."""
    scope = shelves.collection(connection, folder)
    connection.execute("UPDATE collections SET indexed = ? WHERE id = ?", [now, scope])
    connection.execute("DELETE FROM unreadable WHERE collection = ?", [scope])
    connection.executemany(
        "INSERT INTO unreadable (collection, path, reason) VALUES (?, ?, ?)",
        [(scope, shelves.storable(str(path)), shelves.storable(reason)) for path, reason in failed],
    )


def spots(connection: sqlite3.Connection, collection: int, encoder: str, limit: int) -> list[Spot]:
    """At most `limit` of a collection's documents, evenly taken, by the first two components of their mean vectors."""
    import numpy as np

    from research.memory.plane import plane

    every = connection.execute(
        """SELECT max(1, (count(*) + ? - 1) / ?) FROM documents WHERE collection = ?""", [limit, limit, collection]
    ).fetchone()[0]
    rows = connection.execute(
        """SELECT url, title, vector FROM
        (SELECT id, url, title, row_number() OVER (ORDER BY title, url) AS place FROM documents WHERE collection = ?)
        AS documents JOIN passages ON document = documents.id JOIN vectors ON passage = passages.id AND encoder = ?
        WHERE place % ? = 0 ORDER BY place""",
        [collection, encoder, every],
    ).fetchall()
    sums: dict[str, NDArray[np.float32]] = {}
    titles: dict[str, str] = {}
    for url, title, blob in rows:
        vector = np.frombuffer(blob, "<f4")
        sums[url] = sums[url] + vector if url in sums else vector
        titles[url] = title
    if not sums:
        return []
    matrix = np.stack(list(sums.values()))
    matrix = matrix / np.maximum(np.linalg.norm(matrix, axis=1, keepdims=True), 1e-9)
    places = plane(matrix.astype(np.float32)).tolist()
    return [Spot(url, titles[url], x, y) for url, (x, y) in zip(titles, places, strict=True)]
