"""Put documents into the library: collections, passages, folders of files."""

from __future__ import annotations

import hashlib
import os
import re
import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import quote

from research.errors import ConfigError
from research.search.factbook import Document
from research.text import segment

_PASSAGE = 700
"""Characters of a passage at most."""
_LINE = re.compile(r"[^\n]*\S[^\n]*")
_SENTENCE_END = re.compile(r"[.;!?]\s+|[。！？；]")


def ids(connection: sqlite3.Connection, names: Iterable[str] | None) -> list[int]:
    """Collections by name, or all of them, as far as they are not forgotten; a folder may be written as any path that
    leads to it.  Raises `ConfigError`."""
    known = dict(connection.execute("SELECT name, id FROM collections WHERE forgotten IS NULL"))
    if names is None:
        return list(known.values())
    found = []
    for name in names:
        number = known.get(name) or known.get(str(resolved(Path(name))))
        if number is None:
            raise ConfigError(f"unknown collection {name!r}; known: {', '.join(sorted(known)) or 'none yet'}")
        found.append(number)
    return found


def version_of(connection: sqlite3.Connection, name: str) -> str | None:
    row = connection.execute("SELECT version FROM collections WHERE name = ?", [name]).fetchone()
    return row[0] if row else None


def collection(connection: sqlite3.Connection, name: str) -> int:
    """The collection of that name, made where there is none; one that was forgotten is back."""
    connection.execute("INSERT INTO collections (name) VALUES (?) ON CONFLICT DO UPDATE SET forgotten = NULL", [name])
    found: int = connection.execute("SELECT id FROM collections WHERE name = ?", [name]).fetchone()[0]
    return found


def known(connection: sqlite3.Connection, collection: int) -> dict[str, tuple[int, str]]:
    """Modification time in ns and SHA-256 of each document of a collection."""
    rows = connection.execute("SELECT url, mtime, sha256 FROM documents WHERE collection = ?", [collection])
    return {url: (mtime, digest) for url, mtime, digest in rows}


def delete(connection: sqlite3.Connection, urls: Iterable[str]) -> None:
    connection.executemany("DELETE FROM documents WHERE url = ?", [(url,) for url in urls])


def store(connection: sqlite3.Connection, collection: int, document: Document, mtime: int, digest: str) -> None:
    """Write a document, in place of the one with its url."""
    delete(connection, [document.url])
    row = connection.execute(
        """INSERT INTO documents (collection, url, title, text, names, mtime, sha256)
        VALUES (?, ?, ?, ?, ?, ?, ?)""",
        [collection, document.url, document.title, document.text, document.names, mtime, digest],
    )
    title, names = segment(document.title), segment(document.names)
    for ordinal, (start, end) in enumerate(_passages(document.text)):
        text = document.text[start:end]
        passage = connection.execute(
            "INSERT INTO passages (document, ordinal, text, start) VALUES (?, ?, ?, ?)",
            [row.lastrowid, ordinal, text, start],
        )
        connection.execute(
            "INSERT INTO words (rowid, title, names, text) VALUES (?, ?, ?, ?)",
            [passage.lastrowid, title, names, segment(text)],
        )


def _passages(text: str) -> Iterator[tuple[int, int]]:
    """Spans of neighbouring lines, together 700 characters at most; a longer line is cut."""
    begin = end = None
    for start, stop in _pieces(text):
        if begin is not None and end is not None and stop - begin > _PASSAGE:
            yield begin, end
            begin = None
        begin, end = (start if begin is None else begin), stop
    if begin is not None and end is not None:
        yield begin, end


def _pieces(text: str) -> Iterator[tuple[int, int]]:
    """Lines; long ones in parts that end with a sentence where possible, else with a word."""
    for line in _LINE.finditer(text):
        start, end = line.span()
        while end - start > _PASSAGE:
            middle, limit = start + _PASSAGE // 2, start + _PASSAGE
            stops = [stop.end() for stop in _SENTENCE_END.finditer(text, middle, limit)]
            cut = stops[-1] if stops else text.rfind(" ", middle, limit) + 1 or limit
            yield start, cut
            start = cut
        yield start, end


def resolved(path: Path) -> Path:
    return path.expanduser().resolve()


def existing(path: Path) -> Path:
    folder = resolved(path)
    if not folder.exists():
        raise ConfigError(f"no folder {folder}")
    if not folder.is_dir():
        raise ConfigError(f"{folder} is a file; a folder is accepted")
    return folder


def files(folder: Path, suffixes: Iterable[str]) -> tuple[list[Path], list[tuple[Path, str]]]:
    """The files with these suffixes by path, and the folders that could not be listed."""
    accepted, found, unreadable = frozenset(suffixes), [], []

    def note(error: OSError) -> None:
        unreadable.append((Path(error.filename), error.strerror or str(error)))

    for parent, folders, names in os.walk(folder, onerror=note):
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += [
            Path(parent, name) for name in names if not name.startswith(".") and Path(name).suffix.lower() in accepted
        ]
    return sorted(found), unreadable


def storable(text: str) -> str:
    """Without the lone surrogates that stand for undecodable bytes, in file names above all."""
    return text.encode("utf-8", "replace").decode("utf-8")


def digest(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def file_url(folder: Path, file: Path) -> str:
    """Stable, and as readable as a url can be: only what would break it is escaped."""
    name = re.sub(r"[^\w]+", "-", folder.name.lower()).strip("-")
    place = hashlib.sha256(str(folder).encode()).hexdigest()[:8]
    within = re.sub(
        r"[\s%?#<>\[\]()\ud800-\udfff]",
        lambda char: quote(char[0], errors="surrogateescape"),
        file.relative_to(folder).as_posix(),
    )
    return f"library://{name}-{place}/{within}"
