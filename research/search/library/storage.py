"""Write documents to the library's tables, and find the files of a folder."""

from __future__ import annotations

import hashlib
import os
import re
import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import quote

from msgspec.structs import replace

from research.errors import ConfigError
from research.search.library.factbook import Document
from research.text import clip, segment

TITLE, NAMES = 300, 300
"""Longest title, and longest other names, in characters."""
_URL = 1500
"""Longest address, in characters."""
_PASSAGE = 700
"""Longest passage, in characters."""
_LINE = re.compile(r"^[^\S\n]*+\S[^\n]*", re.M)
_SENTENCE_END = re.compile(r"[.;!?]\s+|[。！？；]")


def collection_ids(connection: sqlite3.Connection, names: Iterable[str] | None) -> list[int]:
    """Return the ids of the named collections, or of all that are not forgotten if `names` is None.

    A folder may be named by any path to it.  Raises `ConfigError` for an unknown one.
    """
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
    """Return the version of a collection's content; None if there is no such collection."""
    row = connection.execute("SELECT version FROM collections WHERE name = ?", [name]).fetchone()
    return row[0] if row else None


def ensure_collection(connection: sqlite3.Connection, name: str) -> int:
    """Return the id of the collection of that name; create it if it is missing, restore it if it was forgotten."""
    connection.execute("INSERT INTO collections (name) VALUES (?) ON CONFLICT DO UPDATE SET forgotten = NULL", [name])
    found: int = connection.execute("SELECT id FROM collections WHERE name = ?", [name]).fetchone()[0]
    return found


def fingerprints(connection: sqlite3.Connection, collection: int) -> dict[str, tuple[int, str]]:
    """Return the modification time in ns and the SHA-256 of each document of a collection, by url."""
    rows = connection.execute("SELECT url, mtime, sha256 FROM documents WHERE collection = ?", [collection])
    return {url: (mtime, digest) for url, mtime, digest in rows}


def delete(connection: sqlite3.Connection, urls: Iterable[str]) -> None:
    """Delete the documents with these urls."""
    connection.executemany("DELETE FROM documents WHERE url = ?", [(url,) for url in urls])


def store(
    connection: sqlite3.Connection, collection: int, document: Document, mtime: int, digest: str, *, new: bool = False
) -> None:
    """Write a document, replacing the one with its url; `new` says that there is none, which saves looking for it."""
    document = _bounded(document)
    if not new:
        delete(connection, [document.url])
    row = connection.execute(
        """INSERT INTO documents (collection, url, title, text, names, mtime, sha256, bytes)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, length(CAST(?4 AS BLOB)))""",
        [collection, document.url, document.title, document.text, document.names, mtime, digest],
    )
    title, names = segment(document.title), segment(document.names)
    for ordinal, (start, end) in enumerate(_passages(document.text[: document.searched])):
        text = document.text[start:end]
        passage = connection.execute(
            "INSERT INTO passages (document, ordinal, text, start) VALUES (?, ?, ?, ?)",
            [row.lastrowid, ordinal, text, start],
        )
        connection.execute(
            "INSERT INTO words (rowid, title, names, text) VALUES (?, ?, ?, ?)",
            [passage.lastrowid, title, names, segment(text)],
        )


def _bounded(document: Document) -> Document:
    """Cut what is indexed with every passage: a long title would make the index grow with its square."""
    return replace(document, title=clip(document.title, TITLE), names=document.names[-NAMES:])


def _passages(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of the passages: consecutive lines, together at most 700 characters; longer lines are split."""
    begin = end = None
    for start, stop in _pieces(text):
        if begin is not None and end is not None and stop - begin > _PASSAGE:
            yield begin, end
            begin = None
        begin, end = (start if begin is None else begin), stop
    if begin is not None and end is not None:
        yield begin, end


def _pieces(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of lines; long lines are split after a sentence if possible, else after a word."""
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
    """Return the absolute path, with `~` and links resolved."""
    return path.expanduser().resolve()


def existing_folder(path: Path) -> Path:
    """Return the resolved path of a folder.  Raises `ConfigError` if it is missing or not a folder."""
    folder = resolved(path)
    if not folder.exists():
        raise ConfigError(f"folder {folder} does not exist")
    if not folder.is_dir():
        raise ConfigError(f"{folder} is a file; give a folder")
    return folder


def files(folder: Path, suffixes: Iterable[str]) -> tuple[list[Path], list[tuple[Path, str]]]:
    """Return the files with these suffixes, sorted by path, and what is left out, with the reason.

    That is a folder that cannot be listed, and a link that leads out of `folder`, which has to be absolute and resolved.
    """
    accepted, found, left_out = frozenset(suffixes), [], []

    def note(error: OSError) -> None:
        left_out.append((Path(error.filename), error.strerror or str(error)))

    def leads_out(path: Path) -> bool:
        if not path.is_symlink() or path.resolve().is_relative_to(folder):
            return False
        left_out.append((path, "is a link that leads out of the folder; add the folder that it leads to"))
        return True

    for parent, folders, names in os.walk(folder, onerror=note):
        folders[:] = [name for name in folders if not name.startswith(".") and not leads_out(Path(parent, name))]
        shown = (Path(parent, name) for name in names if not name.startswith("."))
        found += [path for path in shown if path.suffix.lower() in accepted and not leads_out(path)]
    return sorted(found), left_out


def storable(text: str) -> str:
    """Replace lone surrogates, which stand for undecodable bytes, mostly in file names."""
    return text.encode("utf-8", "replace").decode("utf-8")


def file_url(folder: Path, file: Path) -> str:
    """Return a stable, readable url for a file: only characters that would break it are escaped."""
    name = re.sub(r"[^\w]+", "-", folder.name.lower()).strip("-")
    place = hashlib.sha256(str(folder).encode()).hexdigest()[:8]
    within = re.sub(
        r"[\s%?#<>\[\]()\ud800-\udfff]",
        lambda char: quote(char[0], errors="surrogateescape"),
        file.relative_to(folder).as_posix(),
    )
    if len(within) > _URL:
        within = f"{within[:_URL]}-{hashlib.sha256(within.encode()).hexdigest()[:16]}"
    return f"library://{name}-{place}/{within}"
