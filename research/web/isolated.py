"""Read untrusted files in sealed processes: malicious files have made parsers loop, use up memory and crash.

A parser that is taken over finds no file, no network and no other document there, and is killed when its time is over.
"""

from __future__ import annotations

import os
import stat
import sys
import time
from functools import cache
from pathlib import Path

from msgspec.structs import replace

from research._util import decoding
from research._util.beneath import open_beneath
from research.sandbox import WarmProcesses
from research.text import clip
from research.web import file_types, linked, readers, scans
from research.web.readers import FileText, PdfRead, UnreadableFile

FILE_S = 120.0
"""Seconds for a file of a folder; books of some thousand pages take one minute."""

PROBE = "probe"
"""In place of a suffix: try what a sealed process must not do."""

_processes = WarmProcesses("research.web.reader_process")


def read_isolated(
    data: bytes,
    suffix: str,
    name: str,
    *,
    served: tuple[str, str] = ("", ""),
    timeout_s: float = 30.0,
    links: bool = False,
) -> FileText:
    """Read a file like `readers.read_bytes`, in a sealed process that is killed after `timeout_s` seconds.

    `served`: the charset that a server declared, and its host.  `links`: keep links and footnotes, as
    `linked.read_bytes` does, if it knows the format.

    The first call takes half a second more than later ones.  Raises `Stopped` when the call was cancelled.
    """
    readers.check(name, suffix, len(data))
    try:
        kind = file_types.kind(data, suffix)  # a process is prepared for one format before its seal
        kind += linked.MARK if links and kind in linked.SUFFIXES else ""
        kind += scans.MARK if kind == ".pdf" and scans.program() else ""
        until = time.monotonic() + timeout_s
        answer = _processes.run(data, kind, *served, timeout_s=timeout_s)
    except TimeoutError as error:
        raise UnreadableFile(name, f"takes more than {timeout_s:g} s to read") from error
    except ChildProcessError as error:
        raise UnreadableFile(name, f"crashes its reader ({error}); save it again, or in another format") from error
    try:
        read = decoding.decode(answer, PdfRead | str if kind.endswith(scans.MARK) else FileText | str)
    except (ValueError, RecursionError) as error:  # a file that took over its reader can forge the answer
        raise UnreadableFile(name, "makes its reader answer nonsense") from error
    if isinstance(read, str):
        raise UnreadableFile(name, clip(read, readers.LINE))
    if isinstance(read, PdfRead):
        pages = scans.read(read.pages, read.pictures, until)
        read = readers.completed(readers.pdf(replace(read, pages=tuple(pages)), name, scans.NOT_READ), name)
    return readers.bounded(replace(read, title=read.title or name), name)


def load(path: Path, folder: Path | None = None) -> bytes:
    """Return the content of a regular file of a folder (None: its own); refuse files outside it, pipes and devices.

    Raises `UnreadableFile`.
    """
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # opening a device may already do something
            raise UnreadableFile(path, "is not a regular file")
        # The file may be swapped meanwhile: a pipe would block, and a device may have no end.
        with os.fdopen(open_beneath(folder or path.parent, path), "rb") as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode):
                raise UnreadableFile(path, "is not a regular file")
            readers.check(path, path.suffix, found.st_size)
            data = file.read(readers.MAX_BYTES + 1)
    except OSError as error:
        raise UnreadableFile(path, f"cannot be opened: {error.strerror}") from error
    readers.check(path, path.suffix, len(data))
    return data


def read_file(path: Path, data: bytes | None = None) -> FileText:
    """Read one file, or `data` as its content.  The title is the document's own or the file name without suffix.

    Raises `UnreadableFile`.
    """
    data = load(path) if data is None else data
    try:
        if sys.platform == "win32":  # processes cannot be confined there
            return readers.read_bytes(data, path.suffix, path.stem)
        return read_isolated(data, path.suffix, path.stem, timeout_s=FILE_S)
    except UnreadableFile as error:
        raise UnreadableFile(path, error.reason) from error.__cause__


@cache
def problem() -> str:
    """Return what a reader process may do despite its seal, or why it cannot be sealed; empty if all is well."""
    try:
        return decoding.decode(_processes.run(b"", PROBE, "", timeout_s=10.0), str)
    except (OSError, ValueError) as error:
        return str(error)
