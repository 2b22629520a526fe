"""The class of a source: its kind of publisher.  The table and its reasons are in `source_classes.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from research._util import decoding
from research.errors import ConfigError
from research.types import Passage

UNKNOWN: Final = "unknown"
CLASSES: Final = ("primary data", "journal", "news", "vendor", "forum", UNKNOWN)
FILE: Final = "source_classes.toml"


class Entry(Struct, frozen=True, forbid_unknown_fields=True):
    """One class of the table."""

    why: str = ""
    types: tuple[str, ...] = ()
    """Types of CSL JSON."""
    domains: tuple[str, ...] = ()
    urls: tuple[str, ...] = ()
    """Beginnings of addresses."""


class Table:
    """Maps sources to classes; of two entries for one source, the later counts."""

    def __init__(self, *parts: Mapping[str, Entry]) -> None:
        self._types: dict[str, str] = {}
        self._domains: dict[str, str] = {}
        self._urls: dict[str, str] = {}
        for part in parts:
            for name, entry in part.items():
                self._types |= dict.fromkeys(entry.types, name)
                self._domains |= dict.fromkeys((each.lower().removeprefix("www.") for each in entry.domains), name)
                self._urls |= dict.fromkeys(entry.urls, name)

    def of(self, passage: Passage) -> str:
        """Return the class of a passage's source; empty for the user's own documents and notes."""
        begins = (begin for begin in self._urls if passage.url.startswith(begin))
        if longest := max(begins, key=len, default=""):
            return self._urls[longest]
        if not passage.url.startswith(("http://", "https://")):
            return ""
        kind = self._types.get(str(passage.csl.get("type", "")))
        return kind or next((self._domains[name] for name in _suffixes(passage.url) if name in self._domains), UNKNOWN)


def _suffixes(url: str) -> Iterable[str]:
    """Yield the host of an address and each shorter end of it."""
    try:
        labels = (urlsplit(url).hostname or "").lower().rstrip(".").split(".")
    except ValueError:
        return []
    return [".".join(labels[start:]) for start in range(len(labels))]


@cache
def shipped() -> Mapping[str, Entry]:
    """Return the shipped classes, with the reason for each."""
    return _parsed((Path(__file__).parent / FILE).read_text(encoding="utf-8"), FILE)


def table(home: Path) -> Table:
    """Return the shipped table with the user's entries.  Raises `ConfigError` for a file that cannot be read."""
    path = home / FILE
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        return Table(shipped())
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {error}") from error
    return Table(shipped(), _parsed(text, str(path)))


def _parsed(text: str, name: str) -> dict[str, Entry]:
    try:
        found = decoding.convert(tomllib.loads(text), dict[str, Entry])
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise ConfigError(f"{name}: {error}") from error
    for each in found:
        if each not in CLASSES:
            raise ConfigError(f"{name}: unknown class {each!r}; known: {', '.join(CLASSES)}")
    return found
