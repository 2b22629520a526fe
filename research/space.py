"""What the home folder takes on the disk, and giving some of it back."""

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
    "Runs": "workbench.sqlite*", "Library": "library.*", "Memory": "memory*", "Uploads": "uploads*",
    "Kept search results": "search-cache.*", "Settings": "settings.*",
}  # fmt: skip
"""The names of files and folders in the home, by what they are."""
_DATABASES: Final = ("workbench.sqlite", "library.sqlite", "memory.sqlite")


class Part(Struct, frozen=True):
    """What one part of the home takes."""

    name: str
    bytes: int


def parts(home: Path) -> list[Part]:
    """What is there, by part; the last is everything else."""
    sizes = dict.fromkeys([*PARTS, "Other"], 0)
    with os.scandir(home) as entries:
        for entry in entries:
            part = next((name for name, pattern in PARTS.items() if fnmatch(entry.name, pattern)), "Other")
            sizes[part] += _size(entry)
    return [Part(name, size) for name, size in sizes.items() if size]


def free(home: Path) -> int:
    """Bytes left on its disk."""
    return shutil.disk_usage(home).free


def clean(home: Path) -> int:
    """Drop the kept search results, and what SQLite keeps of rows that are gone; returns the bytes won.

    Nothing that cannot be had again is touched, and runs at work go on.  Raises `ConfigError`.
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
                raise ConfigError(
                    f"{home / name} cannot be cleaned now: {error}; what is in it is untouched"
                ) from error
    return max(0, before - sum(part.bytes for part in parts(home)))


def _size(entry: os.DirEntry[str]) -> int:
    """Bytes of a file, or of all files in a folder; links are not followed."""
    try:
        if entry.is_dir(follow_symlinks=False):
            with os.scandir(entry.path) as entries:
                return sum(map(_size, entries))
        return entry.stat(follow_symlinks=False).st_size
    except FileNotFoundError:  # gone meanwhile
        return 0
