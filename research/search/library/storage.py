"""Write documents to the library's tables, and find the files of a folder."""

from __future__ import annotations

import hashlib
import json
import os
import re
import sqlite3
import stat
import zlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from urllib.parse import quote as escaped
from urllib.parse import unquote

import msgspec
from msgspec.structs import asdict, replace

from research._util.decoding import decode
from research._util.paths import resolved
from research.errors import ConfigError
from research.search.library.factbook import Document
from research.text import clip, segment
from research.web import locators
from research.web.locators import Place
from research.web.table import Cell, Table

TITLE, NAMES = 300, 300
"""Longest title, and longest other names, in characters."""
LISTED = 1_000
"""Most skipped files listed for a folder."""
_URL = 1500
"""Longest address, in characters."""
_PASSAGE = 700
"""Longest passage, in characters."""
_SHORT = 20_000
"""Longest text quoted from as a whole, in characters."""
_LINE = re.compile(r"^[^\S\n]*+\S[^\n]*", re.M)
_SENTENCE_END = re.compile(r"[.;!?]\s+|[。！？；]")


OF_EVALUATION = f"name GLOB '*/corpora/*-{'[0-9a-f]' * 12}'"
"""Selects collections with documents of question sets: searched only if named."""


def collection_ids(connection: sqlite3.Connection, wanted: Iterable[str] | None) -> list[int]:
    """Return the ids of the wanted collections, or of all those of `names` if it is None.

    A folder may be named by any path to it.  Raises `ConfigError` for an unknown one.
    """
    known = dict(connection.execute("SELECT name, id FROM collections WHERE forgotten IS NULL"))
    if wanted is None:
        return [known[name] for name in names(connection) if name in known]
    found = []
    for name in wanted:
        number = known.get(name) or known.get(str(resolved(Path(name))))
        if number is None:
            raise ConfigError(f"unknown collection {name!r}; known: {', '.join(sorted(known)) or 'none yet'}")
        found.append(number)
    return found


def names(connection: sqlite3.Connection) -> list[str]:
    """Return the names of the collections that are neither forgotten nor of an evaluation, sorted."""
    shown = f"SELECT name FROM collections WHERE forgotten IS NULL AND NOT {OF_EVALUATION} ORDER BY name"
    return [name for (name,) in connection.execute(shown)]


def unknown(connection: sqlite3.Connection, wanted: Iterable[str]) -> list[str]:
    """Return the names that no collection, or only a forgotten one, has."""
    known = {name for (name,) in connection.execute("SELECT name FROM collections WHERE forgotten IS NULL")}
    return [name for name in wanted if name not in known and str(resolved(Path(name))) not in known]


def version_of(connection: sqlite3.Connection, name: str) -> str | None:
    """Return the version of a collection's content; None if there is no such collection."""
    row = connection.execute("SELECT version FROM collections WHERE name = ?", [name]).fetchone()
    return row[0] if row else None


def ensure_collection(connection: sqlite3.Connection, name: str) -> int:
    """Return the id of the collection of that name; create it if it is missing, restore it if it was forgotten."""
    connection.execute("INSERT INTO collections (name) VALUES (?) ON CONFLICT DO UPDATE SET forgotten = NULL", [name])
    found: int = connection.execute("SELECT id FROM collections WHERE name = ?", [name]).fetchone()[0]
    return found


def fingerprints(connection: sqlite3.Connection, collection: int, again: str = "") -> dict[str, tuple[int, str]]:
    """Return the modification time in ns and the SHA-256 of each document of a collection, by url.

    Those with `again` in their notes get `(0, "")`, so that they are read again.
    """
    rows = connection.execute("SELECT url, mtime, sha256, notes FROM documents WHERE collection = ?", [collection])
    return {url: (0, "") if again and again in notes else (mtime, digest) for url, mtime, digest, notes in rows}


def delete(connection: sqlite3.Connection, urls: Iterable[str]) -> None:
    """Delete the documents with these urls."""
    connection.executemany("DELETE FROM documents WHERE url = ?", [(url,) for url in urls])


def store(
    connection: sqlite3.Connection, collection: int, document: Document, mtime: int, digest: str, *, new: bool = False
) -> None:
    """Write a document, replacing the one with its url; `new` says that there is none, which saves the look-up."""
    # The title and the names are indexed with every passage: long ones would grow the index by their square.
    document = replace(document, title=clip(document.title, TITLE), names=document.names[-NAMES:])
    if not new:
        delete(connection, [document.url])
    row = connection.execute(
        """INSERT INTO documents (collection, url, title, text, names, mtime, sha256, notes, csl, bytes) VALUES
        (:collection, :url, :title, :text, :names, :mtime, :sha256, :notes, :csl, length(CAST(:text AS BLOB)))""",
        {**asdict(document), "collection": collection, "mtime": mtime, "sha256": digest},
    )
    for table in document.tables:
        connection.execute(
            "INSERT INTO tables (document, head, count, rows) VALUES (?, ?, ?, ?)",
            [row.lastrowid, *(kept := packed(table))],
        )
        connection.execute("UPDATE documents SET bytes = bytes + ? WHERE id = ?", [len(kept[2]), row.lastrowid])
    title, names = segment(document.title), segment(document.names)
    for ordinal, (start, end) in enumerate(_in_parts(document.text[: document.searched], document.parts)):
        text, part = document.text[start:end], locators.at(document.parts, start)
        passage = connection.execute(
            "INSERT INTO passages (document, ordinal, text, start, place) VALUES (?, ?, ?, ?, ?)",
            [row.lastrowid, ordinal, text, start, f"{part.name}\t{part.columns}" if part else ""],
        )
        connection.execute(
            "INSERT INTO words (rowid, title, names, text) VALUES (?, ?, ?, ?)",
            [passage.lastrowid, title, names, segment(text)],
        )


def packed(table: Table) -> tuple[bytes, int, bytes]:
    """Return a table as stored: its head, its number of rows, and its rows."""
    head = msgspec.json.encode(replace(table, rows=(), numbers=()))
    return head, len(table.rows), zlib.compress(msgspec.msgpack.encode((table.numbers, table.rows)), 1)


def unpacked(head: bytes, rows: bytes | None = None) -> Table:
    """Return a stored table, without its rows if they are not given."""
    table = decode(head, Table)
    if rows is None:
        return table
    numbers, cells = msgspec.msgpack.decode(
        zlib.decompress(rows), type=tuple[tuple[int, ...], tuple[tuple[Cell, ...], ...]]
    )
    return replace(table, numbers=numbers, rows=cells)


def located(connection: sqlite3.Connection, url: str, quote: str) -> str:
    """Return the place of a quote in a document, as citations name it; empty if it has none or several."""
    lines = [line.strip(" …") for line in quote.splitlines()]
    wanted = [line for line in lines if len(line) > 1]
    rows = connection.execute(
        """SELECT DISTINCT place FROM documents JOIN passages ON passages.document = documents.id
        JOIN json_each(?) AS line ON instr(passages.text, line.value) WHERE url = ? AND place != '' LIMIT 2""",
        [json.dumps(wanted[:40]), url],
    ).fetchall()
    if len(rows) != 1:
        return ""
    name, _, columns = rows[0][0].partition("\t")
    return Place(0, name, columns).locator(quote)


def places(connection: sqlite3.Connection, url: str) -> list[tuple[int, str]]:
    """Return where the pages, slides, chapters or sheets of a document begin in its text, each with its name."""
    rows = connection.execute(
        """SELECT start, place FROM passages JOIN documents ON documents.id = document
        WHERE url = ? AND place != '' ORDER BY ordinal""",
        [url],
    )
    named = ((start, place.partition("\t")[0]) for start, place in rows)
    return [next(each) for _, each in groupby(named, key=itemgetter(1))]


def around(connection: sqlite3.Connection, url: str, passages: Sequence[str]) -> list[str]:
    """Return the text to quote a document from: all of a short one, else these passages with their neighbours."""
    short = "SELECT text FROM documents WHERE url = ? AND length(text) <= ?"
    if (whole := connection.execute(short, [url, _SHORT]).fetchone()) is not None:
        return [str(whole[0])]
    rows = connection.execute(
        """WITH own AS (SELECT document, ordinal, start, passages.text FROM passages
        JOIN documents ON documents.id = document WHERE url = ?)
        SELECT document, ordinal, start, start + length(text) FROM own WHERE EXISTS (SELECT 1 FROM own AS found
        WHERE found.text IN (SELECT value FROM json_each(?)) AND abs(found.ordinal - own.ordinal) < 2) ORDER BY ordinal""",
        [url, json.dumps(passages)],
    ).fetchall()
    spans: dict[int, tuple[int, int, int]] = {}
    for n, (document, ordinal, start, end) in enumerate(rows):
        run = ordinal - n  # equal for neighbours
        spans[run] = document, spans[run][1] if run in spans else start, end
    texts = [
        connection.execute("SELECT substr(text, ?, ?) FROM documents WHERE id = ?", [start + 1, end - start, document])
        for document, start, end in spans.values()
    ]
    return [str(row[0]) for found in texts if (row := found.fetchone())] or list(passages)


def file_of(url: str) -> str:
    """Return the name of a document's file."""
    return unquote(url.rpartition("/")[2])


def _in_parts(text: str, parts: Sequence[Place]) -> Iterator[tuple[int, int]]:
    """Yield the spans of the passages; none crosses a part."""
    starts = sorted({0, *(each.start for each in parts if each.start < len(text))})
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        yield from ((start + one, start + other) for one, other in _passages(text[start:end]))


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


def existing_folder(path: Path) -> Path:
    """Return the resolved path of a folder.  Raises `ConfigError` if it is missing or not a folder."""
    folder = resolved(path)
    try:
        mode = folder.stat().st_mode
    except (FileNotFoundError, NotADirectoryError) as error:
        raise ConfigError(f"folder {folder} does not exist") from error
    except OSError as error:
        raise ConfigError(f"folder {str(folder)[:300]} cannot be opened: {error.strerror}") from error
    if not stat.S_ISDIR(mode):
        raise ConfigError(f"{folder} is a file; give a folder")
    return folder


def files(folder: Path, suffixes: Iterable[str]) -> tuple[list[Path], list[tuple[Path, str]]]:
    """Return the files with these suffixes, sorted by path, and the others, with the reason.

    Others are files of other formats, folders that cannot be listed, and links out of `folder`, which must be absolute
    and resolved.
    """
    accepted, found, left_out = frozenset(suffixes), [], []
    known = ", ".join(suffix[1:] for suffix in suffixes)

    def note(error: OSError) -> None:
        left_out.append((Path(error.filename), error.strerror or str(error)))

    def leads_out(path: Path) -> bool:
        if not path.is_symlink():
            return False
        try:
            if resolved(path).is_relative_to(folder):
                return False
            left_out.append((path, "is a link that leads out of the folder; add the folder that it leads to"))
        except ConfigError as error:
            left_out.append((path, f"is a link that leads nowhere ({error})"))
        return True

    for parent, folders, names in os.walk(folder, onerror=note):
        folders[:] = [name for name in folders if not name.startswith(".") and not leads_out(Path(parent, name))]
        shown = (Path(parent, name) for name in names if not name.startswith("."))
        for path in shown:
            if leads_out(path):
                continue
            if path.suffix.lower() in accepted:
                found.append(path)
            elif len(left_out) < LISTED:
                of = f"is of the format {path.suffix}" if path.suffix else "has no suffix that names its format"
                left_out.append((path, f"{of}, which is not read; save it as one of {known}"))
    return sorted(found), left_out


def file_url(folder: Path, file: Path) -> str:
    """Return a stable, readable url for a file: only harmful characters are escaped."""
    name = re.sub(r"[^\w]+", "-", folder.name.lower()).strip("-")
    place = hashlib.sha256(str(folder).encode()).hexdigest()[:8]
    within = re.sub(
        r"[\s%?#<>\[\]()\ud800-\udfff]",
        lambda char: escaped(char[0], errors="surrogateescape"),
        file.relative_to(folder).as_posix(),
    )
    if len(within) > _URL:
        within = f"{within[:_URL]}-{hashlib.sha256(within.encode()).hexdigest()[:16]}"
    return f"library://{name}-{place}/{within}"
