"""Documents that were sent in: kept under the home folder, where they are a folder of the library like any other.

Names and bytes come from strangers.  A name never leaves its folder, and what cannot be read is not kept.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Callable, Sequence
from pathlib import Path, PurePosixPath

from msgspec import Struct

from research import readers
from research.errors import ConfigError
from research.readers import UnreadableFile

NAME_BYTES = 150
"""Longest name in UTF-8, well below what file systems take; a number may be added to it."""
_DEVICES = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?", re.IGNORECASE)
"""Names that Windows reads as devices, whatever follows the dot."""


class Kept(Struct, frozen=True):
    """What became of files that were sent in, by the names they came with."""

    folder: Path
    saved: tuple[str, ...] = ()
    known: tuple[str, ...] = ()
    """The same content is in the folder already."""
    refused: tuple[tuple[str, str], ...] = ()
    """Files that cannot be read, each with the reason."""


def folder(home: Path, name: str) -> Path:
    """Where the collection of that name is kept.  Raises `ConfigError` for a name without a letter or digit."""
    if not re.search(r"[^\W_]", name):
        raise ConfigError(f"collection name {name!r}: letters or digits are needed, e.g. Papers")
    return home.resolve() / "uploads" / safe_name(name)


def keep(
    place: Path, files: Sequence[tuple[str, Callable[[], bytes]]], progress: Callable[[int, int, str], None]
) -> Kept:
    """Keep the files that can be read; each is given as its name and a way to its bytes.

    Raises `ConfigError` when the folder cannot be written.
    """
    saved, known, refused = [], [], []
    try:
        place.mkdir(parents=True, exist_ok=True)
        contents = {_digest(file.read_bytes()) for file in place.iterdir() if file.is_file()}
        for done, (name, content) in enumerate(files):
            progress(done, len(files), name)
            data = content()
            if _digest(data) in contents:
                known.append(name)
                continue
            wanted = safe_name(name)
            try:
                # In a process of its own: parsers have been made to loop, to swell and to crash.
                readers.read_apart(data, Path(wanted).suffix, wanted)
            except UnreadableFile as error:
                refused.append((name, error.reason))
                continue
            _write(place, wanted, data)
            contents.add(_digest(data))
            saved.append(name)
        if not any(place.iterdir()):
            place.rmdir()
    except OSError as error:
        raise ConfigError(f"{error.filename or place}: {error.strerror or error}; nothing more was kept") from error
    return Kept(place, tuple(saved), tuple(known), tuple(refused))


def safe_name(name: str) -> str:
    """One part of a path that every file system takes, as close to `name` as can be; its suffix stays."""
    last = re.split(r"[/\\]", unicodedata.normalize("NFC", name.rstrip("/\\ ")))[-1]
    # Control and format characters too: a mark that turns the direction of text can hide a suffix.
    spoken = "".join(" " if unicodedata.category(char)[0] in "CZ" else char for char in last)
    path = PurePosixPath(re.sub(r'[<>:"|?*]', "_", " ".join(spoken.split())).strip(". "))
    stem, suffix = path.stem, path.suffix
    room = NAME_BYTES - len(suffix.encode())
    stem = (stem.encode()[: max(1, room)].decode(errors="ignore") or "document").rstrip(". ")
    suffix = suffix.encode()[:NAME_BYTES].decode(errors="ignore")
    return f"_{stem}{suffix}" if _DEVICES.fullmatch(stem + suffix) else f"{stem or 'document'}{suffix}"


def _write(place: Path, name: str, data: bytes) -> None:
    """Under that name, or with a number where another file has it; whole or not at all."""
    wanted = target = place / name
    number = 1
    while True:
        try:
            target.touch(exist_ok=False)
            break
        except FileExistsError:
            number += 1
            target = wanted.with_stem(f"{wanted.stem} ({number})")
    part = place / f".{target.name}.part"  # hidden: indexing leaves a half-written file out
    try:
        part.write_bytes(data)
        part.replace(target)
    except OSError:
        part.unlink(missing_ok=True)
        target.unlink()
        raise


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
