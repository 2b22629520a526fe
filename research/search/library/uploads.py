"""Save uploaded documents in a folder under the home folder, which the library indexes like any other.

Names and bytes are untrusted: a file cannot be saved outside its folder, and unreadable files are refused.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Callable, Sequence
from pathlib import Path, PurePosixPath

from msgspec import Struct

from research.errors import ConfigError
from research.search.library.quota import UPLOADS
from research.web import isolated
from research.web.readers import FileText, UnreadableFile

NAME_BYTES = 150
"""Longest file name in UTF-8; leaves room for a number below the limit of file systems."""
_DEVICES = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?", re.IGNORECASE)
"""Names of devices on Windows, with any suffix."""


class UploadReport(Struct, frozen=True):
    """The outcome of an upload, by the files' original names."""

    folder: Path
    saved: tuple[str, ...] = ()
    known: tuple[str, ...] = ()
    """Files whose content is already in the folder."""
    refused: tuple[tuple[str, str], ...] = ()
    """Files that cannot be read, each with the reason."""
    partial: tuple[tuple[str, str], ...] = ()
    """Saved files with omissions, and what was left out and why."""
    texts: dict[str, FileText] = {}
    """Texts read from the saved files, by the SHA-256 of their content."""


def folder(home: Path, name: str) -> Path:
    """Return the folder of the collection with that name.  Raises `ConfigError` for a name without letters or digits."""
    if not re.search(r"[^\W_]", name):
        raise ConfigError(f"collection name {name!r} has no letters or digits; choose one such as Papers")
    return home.resolve() / UPLOADS / safe_name(name)


def save(
    place: Path,
    files: Sequence[tuple[str, Callable[[], bytes]]],
    progress: Callable[[int, int, str], None],
    refusal: Callable[[str, int], str] = lambda text, size: "",
) -> UploadReport:
    """Save the readable files; each is a name and a function that returns its bytes.

    `refusal` returns why a text from a file of that size does not fit the collection; empty if it does.  Raises
    `ConfigError` if the folder cannot be written.
    """
    saved, known, refused, partial, texts = [], [], [], list[tuple[str, str]](), {}
    try:
        place.mkdir(parents=True, exist_ok=True)
        sizes = {file: file.stat().st_size for file in place.iterdir() if file.is_file()}
        for done, (name, content) in enumerate(files):
            progress(done, len(files), name)
            data = content()
            digest = _digest(data)
            if any(size == len(data) and _digest(file.read_bytes()) == digest for file, size in sizes.items()):
                known.append(name)
                continue
            wanted = safe_name(name)
            try:
                # In a sealed process: malicious files have made parsers loop, use up memory, and crash.
                text = isolated.read_isolated(data, Path(wanted).suffix, Path(wanted).stem)
                why = refusal(text.text, len(data))
            except UnreadableFile as error:
                why = error.reason
            if why:
                refused.append((name, why))
                continue
            texts[digest] = text
            sizes[_write(place, wanted, data)] = len(data)
            saved.append(name)
            partial += [(name, note) for note in text.notes]
        if not any(place.iterdir()):
            place.rmdir()
    except OSError as error:
        raise ConfigError(
            f"{error.filename or place}: {error.strerror or error}; the remaining files were not saved"
        ) from error
    return UploadReport(place, tuple(saved), tuple(known), tuple(refused), tuple(partial), texts)


def safe_name(name: str) -> str:
    """Return a file name that every file system accepts, as close to `name` as possible and with its suffix."""
    last = re.split(r"[/\\]", unicodedata.normalize("NFC", name.rstrip("/\\ ")))[-1]
    # Control and format characters too: a mark that reverses text direction can hide a suffix.
    spoken = "".join(" " if unicodedata.category(char)[0] in "CZ" else char for char in last)
    path = PurePosixPath(re.sub(r'[<>:"|?*]', "_", " ".join(spoken.split())).strip(". "))
    stem, suffix = path.stem, path.suffix
    room = NAME_BYTES - len(suffix.encode())
    stem = (stem.encode()[: max(1, room)].decode(errors="ignore") or "document").rstrip(". ")
    suffix = suffix.encode()[:NAME_BYTES].decode(errors="ignore")
    return f"_{stem}{suffix}" if _DEVICES.fullmatch(stem + suffix) else f"{stem or 'document'}{suffix}"


def _write(place: Path, name: str, data: bytes) -> Path:
    """Write the file atomically under that name, with a number appended if the name is taken; return its path."""
    wanted = target = place / name
    number = 1
    while True:
        try:
            target.touch(exist_ok=False)
            break
        except FileExistsError:
            number += 1
            target = wanted.with_stem(f"{wanted.stem} ({number})")
    part = place / f".{target.name}.part"  # hidden, so that indexing skips a half-written file
    try:
        part.write_bytes(data)
        return part.replace(target)
    except OSError:
        part.unlink(missing_ok=True)
        target.unlink()
        raise


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
