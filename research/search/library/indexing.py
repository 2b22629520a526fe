"""Index documents: the World Factbook, and the new and changed files of folders."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec import Struct

from research.defaults import FACTBOOK
from research.errors import ConfigError
from research.search.library import factbook, listings, storage
from research.search.library.factbook import Document
from research.search.library.file import LibraryFile
from research.search.library.quota import DEFAULT_QUOTA, Quota, Usage
from research.text import storable
from research.web.readers import FileText, UnreadableFile

Progress = Callable[[int, int, str], None]
"""Called with the number done, the total, and the name of the current item."""


class FolderReport(Struct, frozen=True):
    """Counts of a folder's files after `add_folder`, and the unreadable ones with the reason."""

    indexed: int
    unchanged: int
    removed: int
    unreadable: tuple[tuple[Path, str], ...] = ()
    partial: tuple[tuple[Path, str], ...] = ()
    """Indexed files with omissions, and what was left out and why."""


def no_progress(done: int, total: int, what: str) -> None:
    """Ignore the progress."""


def add_factbook(library: LibraryFile, progress: Progress) -> int:
    """Store the World Factbook unless this version is stored already; return the number of documents written.

    Uses one transaction: all of it is stored, or nothing.
    """
    version = factbook.version()
    if storage.version_of(library.connection(), FACTBOOK) == version:
        return 0
    progress(0, 1, "reading the World Factbook")
    documents = list(factbook.documents())
    with library.writing() as connection:
        if storage.version_of(connection, FACTBOOK) == version:
            return 0  # another process stored it in the meantime
        collection = storage.ensure_collection(connection, FACTBOOK)
        known = storage.fingerprints(connection, collection)
        written = 0
        for done, document in enumerate(documents, start=1):
            digest = hashlib.sha256("\n".join((document.title, document.names, document.text)).encode())
            before = known.pop(document.url, None)
            if before is None or before[1] != digest.hexdigest():
                storage.store(connection, collection, document, 0, digest.hexdigest(), new=before is None)
                written += 1
            if done % 100 == 0 or done == len(documents):
                progress(done, len(documents), document.title)
        storage.delete(connection, known)
        connection.execute(
            "UPDATE collections SET version = ?, indexed = ? WHERE id = ?", [version, time.time(), collection]
        )
    return written


def add_folder(
    library: LibraryFile,
    path: Path,
    progress: Progress,
    known_texts: Mapping[str, FileText] | None = None,
    quota: Quota = DEFAULT_QUOTA,
) -> FolderReport:
    """Index the files of a folder that are new or changed, except hidden ones; drop those that are gone.

    `known_texts` holds texts already read from files, by the SHA-256 of their content.  Raises `ConfigError` for a
    missing folder, or one without a readable file that fits into the `quota`.
    """
    from research.web import readers, scans

    folder = storage.existing_folder(path)
    files, unreadable = storage.files(folder, readers.SUFFIXES)
    connection = library.connection()
    row = connection.execute("SELECT id FROM collections WHERE name = ?", [str(folder)]).fetchone()
    known = storage.fingerprints(connection, row[0], scans.INSTALL * bool(scans.program())) if row else {}
    usage = Usage(connection, library.path.parent, str(folder), quota)
    indexed = unchanged = 0
    partial = list[tuple[Path, str]]()
    for done, file in enumerate(files):
        progress(done, len(files), file.name)
        url = storage.file_url(folder, file)
        try:
            change = _change(folder, file, known.get(url, (0, "")), known_texts or {})
            refusal = usage.refusal(change.text.text, url=url) if change and change.text else ""
        except UnreadableFile as error:
            refusal = error.reason
        if refusal:
            unreadable.append((file, refusal))
            continue
        known.pop(url, None)
        if change is None:
            unchanged += 1
            continue
        with library.writing():
            if change.text is None:
                connection.execute("UPDATE documents SET mtime = ? WHERE url = ?", [change.mtime, url])
                unchanged += 1
            else:
                names, read = " ".join(file.relative_to(folder).with_suffix("").parts), change.text
                said = storable
                scope = storage.ensure_collection(connection, str(folder))
                text = said(read.title), said(read.text), said(names), said("\n".join(read.notes))
                document = Document(url, *text, parts=read.places, tables=read.tables)
                storage.store(connection, scope, document, change.mtime, change.digest)
                indexed += 1
                partial += [(file, note) for note in read.notes]
    if not indexed and not unchanged and row is None:
        reasons = "".join(f"; {file.name}: {reason}" for file, reason in unreadable[:5])
        raise ConfigError(f"no readable file in {folder}{reasons} (accepted: {', '.join(sorted(readers.SUFFIXES))})")
    with library.writing():
        storage.delete(connection, known)
        listings.record_indexing(connection, str(folder), time.time(), unreadable)
    progress(len(files), len(files), folder.name)
    failed = {storage.file_url(folder, file) for file, _ in unreadable}
    return FolderReport(indexed, unchanged, len(known.keys() - failed), tuple(unreadable), tuple(partial))


class _Change(Struct, frozen=True):
    """A file written since it was indexed; `text` is None if its content is the same."""

    mtime: int
    digest: str
    text: FileText | None


def _change(folder: Path, file: Path, before: tuple[int, str], known_texts: Mapping[str, FileText]) -> _Change | None:
    """Return a file's changes since `before` (its time and digest); None if none.

    Raises `UnreadableFile`.
    """
    from research.web.isolated import load, read_file

    try:
        mtime = file.stat().st_mtime_ns
    except OSError as error:
        raise UnreadableFile(file, error.strerror or str(error)) from error
    if mtime == before[0]:
        return None
    data = load(file, folder)
    digest = hashlib.sha256(data).hexdigest()
    if digest == before[1]:
        return _Change(mtime, digest, None)
    return _Change(mtime, digest, known_texts.get(digest) or read_file(file, data))
