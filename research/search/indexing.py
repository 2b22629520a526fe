"""Bring documents into the library: the World Factbook, and folders of files with what has changed in them since."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from research.errors import ConfigError
from research.search import factbook, overview, shelves
from research.search.factbook import Document
from research.search.file import LibraryFile

FACTBOOK = "factbook"
"""The collection that `add_factbook` makes; every other one is a folder and has its absolute path for a name."""

Progress = Callable[[int, int, str], None]
"""Called with how many are done, of how many, and what is at work."""


class FolderReport(Struct, frozen=True):
    """What `add_folder` found: numbers of files, and those that could not be read with the reason."""

    indexed: int
    unchanged: int
    removed: int
    unreadable: tuple[tuple[Path, str], ...] = ()


def quiet(done: int, total: int, what: str) -> None:
    """No progress shown."""


def add_factbook(library: LibraryFile, progress: Progress) -> int:
    """Store the World Factbook unless this version of it is there; returns how many documents were written.

    One transaction: it is there as a whole or not at all.
    """
    version = factbook.version()
    if shelves.version_of(library.connection(), FACTBOOK) == version:
        return 0
    progress(0, 1, "reading the World Factbook")
    documents = list(factbook.documents())
    with library.writing() as connection:
        if shelves.version_of(connection, FACTBOOK) == version:
            return 0  # another process was faster
        collection = shelves.collection(connection, FACTBOOK)
        known = shelves.known(connection, collection)
        written = 0
        for done, document in enumerate(documents, start=1):
            digest = hashlib.sha256("\n".join((document.title, document.names, document.text)).encode())
            if known.pop(document.url, (0, ""))[1] != digest.hexdigest():
                shelves.store(connection, collection, document, 0, digest.hexdigest())
                written += 1
            if done % 100 == 0 or done == len(documents):
                progress(done, len(documents), document.title)
        shelves.delete(connection, known)
        connection.execute(
            "UPDATE collections SET version = ?, indexed = ? WHERE id = ?", [version, time.time(), collection]
        )
    return written


def add_folder(library: LibraryFile, path: Path, progress: Progress) -> FolderReport:
    """Index a folder's files, or what has changed in it since; hidden files and folders are left out.

    Raises `ConfigError` when there is no such folder or nothing in it can be read.
    """
    from research.readers import SUFFIXES, UnreadableFile, read_file

    folder = shelves.existing(path)
    files, unreadable = shelves.files(folder, SUFFIXES)
    connection = library.connection()
    row = connection.execute("SELECT id FROM collections WHERE name = ?", [str(folder)]).fetchone()
    known = shelves.known(connection, row[0]) if row else {}
    indexed = unchanged = 0
    for done, file in enumerate(files):
        progress(done, len(files), file.name)
        url = shelves.file_url(folder, file)
        try:
            mtime = file.stat().st_mtime_ns
            before = known.get(url, (0, ""))
            digest = before[1] if mtime == before[0] else shelves.digest(file)
            text = None if digest == before[1] else read_file(file)
        except UnreadableFile as error:
            unreadable.append((file, error.reason))
            continue
        except OSError as error:
            unreadable.append((file, error.strerror or str(error)))
            continue
        known.pop(url, None)
        if text is None and mtime == before[0]:
            unchanged += 1
            continue
        with library.writing():
            if text is None:
                connection.execute("UPDATE documents SET mtime = ? WHERE url = ?", [mtime, url])
                unchanged += 1
            else:
                names = " ".join(file.relative_to(folder).with_suffix("").parts)
                document = Document(url, *map(shelves.storable, (text.title, text.text, names)))
                shelves.store(connection, shelves.collection(connection, str(folder)), document, mtime, digest)
                indexed += 1
    if not indexed and not unchanged and row is None:
        reasons = "".join(f"; {file.name}: {reason}" for file, reason in unreadable[:5])
        raise ConfigError(f"no readable file in {folder}{reasons} (accepted: {', '.join(sorted(SUFFIXES))})")
    with library.writing():
        shelves.delete(connection, known)
        overview.note_visit(connection, str(folder), time.time(), unreadable)
    progress(len(files), len(files), folder.name)
    failed = {shelves.file_url(folder, file) for file, _ in unreadable}
    return FolderReport(indexed, unchanged, len(known.keys() - failed), tuple(unreadable))
