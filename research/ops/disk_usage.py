"""Disk usage of the home folder, and how to reduce it."""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing
from fnmatch import fnmatch
from pathlib import Path
from typing import Final

from msgspec import Struct

from research.errors import ConfigError

PARTS: Final = {
    "Runs": "workbench.sqlite*",
    "Library": "library.*",
    "Memory": "memory*",
    "Uploads": "uploads*",
    "Kept search results": "search-cache.*",
    "Settings": "settings.*",
}
"""Patterns of file and folder names in the home, by label."""
_DATABASES: Final = ("workbench.sqlite", "library.sqlite", "memory.sqlite")


class Part(Struct, frozen=True):
    """The size of one part of the home."""

    name: str
    bytes: int


def parts(home: Path) -> list[Part]:
    """Return the parts that are not empty; the last one, `Other`, is everything else."""
    sizes = dict.fromkeys([*PARTS, "Other"], 0)
    with os.scandir(home) as entries:
        for entry in entries:
            part = next((name for name, pattern in PARTS.items() if fnmatch(entry.name, pattern)), "Other")
            sizes[part] += _size(entry)
    return [Part(name, size) for name, size in sizes.items() if size]


def free(home: Path) -> int:
    """Return the free bytes on the disk of the home."""
    return shutil.disk_usage(home).free


def clean(home: Path) -> int:
    """Delete cached search results and the free pages of SQLite files; return the bytes freed.

    Runs continue meanwhile, and only data that can be fetched again is deleted.  Raises `ConfigError`.
    """
    before = sum(part.bytes for part in parts(home))
    for path in home.glob(PARTS["Kept search results"]):
        path.unlink(missing_ok=True)
    for name in _DATABASES:
        if (home / name).exists():
            try:
                with closing(sqlite3.connect(home / name, timeout=10, isolation_level=None)) as connection:
                    connection.execute("VACUUM")
                    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            except sqlite3.DatabaseError as error:
                raise ConfigError(f"{home / name} cannot be cleaned now: {error}; its content is unchanged") from error
    return max(0, before - sum(part.bytes for part in parts(home)))


def _size(entry: os.DirEntry[str]) -> int:
    """Return the bytes of a file, or of all files in a folder, without following links."""
    try:
        if entry.is_dir(follow_symlinks=False):
            with os.scandir(entry.path) as entries:
                return sum(map(_size, entries))
        return entry.stat(follow_symlinks=False).st_size
    except FileNotFoundError:  # removed meanwhile
        return 0
