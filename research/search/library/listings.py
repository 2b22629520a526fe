"""Lists for the library page: collections, their documents, and a map of the documents by meaning."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from msgspec import Struct

from research.defaults import PAGES
from research.search.library import storage
from research.text import clip, storable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class CollectionInfo(Struct, frozen=True):
    """A collection's size.  `vectors` is the number of its passages that have a vector."""

    name: str
    documents: int
    passages: int
    vectors: int
    characters: int = 0
    """Length of the text of all documents together."""
    indexed: float | None = None
    """Time of the last indexing, in seconds since 1970; None if an older version of the library did it."""
    unreadable: int = 0
    """Files that could not be read at the last indexing."""
    of_evaluation: bool = False
    """Whether an evaluation brought it, so that only questions of its set search it."""

    @property
    def missing(self) -> int:
        """Return how many passages still need a vector; kept pages need none."""
        return 0 if self.name == PAGES else self.passages - self.vectors


class DocumentInfo(Struct, frozen=True):
    """A document in a list."""

    url: str
    title: str
    characters: int
    passages: int = 0
    modified: float = 0.0
    """When its file was last changed or its page was read, in seconds since 1970; 0 if neither is."""


class Spot(Struct, frozen=True):
    """A document on the map, x and y from -1 to 1; documents of similar meaning are close together."""

    url: str
    title: str
    x: float
    y: float


def collections(connection: sqlite3.Connection, encoder: str) -> list[CollectionInfo]:
    """List the collections by name; `vectors` counts those of this encoder."""
    inside = "SELECT id FROM documents WHERE collection = collections.id"
    passages = f"SELECT id FROM passages WHERE document IN ({inside})"
    rows = connection.execute(
        f"""SELECT name, (SELECT count(*) FROM ({inside})), (SELECT count(*) FROM ({passages})),
        (SELECT count(*) FROM vectors WHERE encoder = ? AND passage IN ({passages})),
        (SELECT coalesce(sum(length(text)), 0) FROM documents WHERE collection = collections.id), indexed,
        (SELECT count(*) FROM unreadable WHERE collection = collections.id), {storage.OF_EVALUATION}
        FROM collections WHERE forgotten IS NULL ORDER BY name""",
        [encoder],
    )
    return [CollectionInfo(*row) for row in rows]


def documents(
    connection: sqlite3.Connection, collection: int, query: str, limit: int, offset: int
) -> list[DocumentInfo]:
    """List a page of a collection's documents by title, limited to those with `query` in their title or url."""
    connection.create_function("casefold", 1, str.casefold, deterministic=True)  # SQLite's lower() is ASCII only
    rows = connection.execute(
        """SELECT url, title, length(text), (SELECT count(*) FROM passages WHERE document = documents.id), mtime / 1e9
        FROM documents WHERE collection = :scope
        AND (instr(casefold(title), :query) OR instr(casefold(url), :query))
        ORDER BY title, url LIMIT :limit OFFSET :offset""",
        {"scope": collection, "query": query.casefold(), "limit": limit, "offset": offset},
    )
    return [DocumentInfo(*row) for row in rows]


def collections_of(connection: sqlite3.Connection, urls: list[str]) -> dict[str, str]:
    """Return the name of each document's collection, by url."""
    marks = ",".join("?" * len(urls))
    rows = connection.execute(
        f"SELECT url, name FROM documents JOIN collections ON collections.id = collection WHERE url IN ({marks})", urls
    )
    return dict(rows.fetchall())


def modified(connection: sqlite3.Connection, urls: list[str]) -> dict[str, float]:
    """Return when each document's file was last changed, in seconds since 1970, by url; 0 if it has no file."""
    marks = ",".join("?" * len(urls))
    return dict(connection.execute(f"SELECT url, mtime / 1e9 FROM documents WHERE url IN ({marks})", urls).fetchall())


def unreadable(connection: sqlite3.Connection, collection: int) -> list[tuple[Path, str]]:
    """List the files of a collection that could not be read, with the reason."""
    rows = connection.execute("SELECT path, reason FROM unreadable WHERE collection = ? ORDER BY path", [collection])
    return [(Path(path), reason) for path, reason in rows]


def partial(connection: sqlite3.Connection, collection: int) -> list[tuple[str, str]]:
    """List the files of a collection read in part, with one note each."""
    rows = connection.execute(
        "SELECT url, notes FROM documents WHERE collection = ? AND notes != '' ORDER BY url LIMIT ?",
        [collection, storage.LISTED],
    )
    return [(unquote(url.rpartition("/")[2]), note) for url, notes in rows for note in notes.splitlines()]


def record_indexing(connection: sqlite3.Connection, folder: str, now: float, failed: list[tuple[Path, str]]) -> None:
    """Record the time of an indexing and the files that could not be read."""
    scope = storage.ensure_collection(connection, folder)
    connection.execute("UPDATE collections SET indexed = ? WHERE id = ?", [now, scope])
    connection.execute("DELETE FROM unreadable WHERE collection = ?", [scope])
    connection.executemany(
        "INSERT INTO unreadable (collection, path, reason) VALUES (?, ?, ?)",
        [(scope, storable(str(path)), storable(clip(reason, 300))) for path, reason in failed],
    )


def spots(connection: sqlite3.Connection, collection: int, encoder: str, limit: int) -> list[Spot]:
    """Place at most `limit` documents, an even sample, by the first two principal components of their mean vectors."""
    import numpy as np

    from research.search.library.plane import plane

    every = connection.execute(
        """SELECT max(1, (count(*) + ? - 1) / ?) FROM documents WHERE collection = ?""", [limit, limit, collection]
    ).fetchone()[0]
    rows = connection.execute(
        """SELECT url, title, vector FROM
        (SELECT id, url, title, row_number() OVER (ORDER BY title, url) AS nth FROM documents WHERE collection = ?)
        AS documents JOIN passages ON document = documents.id JOIN vectors ON passage = passages.id AND encoder = ?
        WHERE nth % ? = 0 ORDER BY nth""",
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
