"""Copy a Zotero library from the Zotero program on this machine: its records as RIS, and the files attached to them."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import httpx2
from msgspec import Struct

from research.errors import ConfigError
from research.search.library.uploads import safe_name
from research.web.readers import MAX_BYTES, SUFFIXES

ADDRESS = "http://127.0.0.1:23119"
"""Address of Zotero, once Settings › Advanced › "Allow other applications on this computer to communicate" is on."""
RECORDS = "records.ris"
_PAGE, _MOST = 100, 50_000
"""Most records of an answer, and of a library."""
_TIMEOUT_S = 30.0


class Copied(Struct, frozen=True):
    """What was copied, and which attached files were not, and why."""

    files: int
    missing: tuple[tuple[str, str], ...] = ()


def copy(place: Path, ask: httpx2.Client, progress: Callable[[int, int, str], None]) -> Copied:
    """Write the records and the attached files into a folder; delete files there that are gone from Zotero.

    Raises `ConfigError` if Zotero does not answer.
    """
    place.mkdir(parents=True, exist_ok=True)
    records = "".join(each.text.strip() + "\n\n" for each in _pages(ask, {"format": "ris"}))
    kept, missing = {RECORDS}, list[tuple[str, str]]()
    (place / RECORDS).write_text(records, "utf-8")
    attached = [item for page in _pages(ask, {"format": "json", "itemType": "attachment"}) for item in _items(page)]
    for done, item in enumerate(attached):
        source = _file_of(item)
        if source is None:
            continue  # a link to a page
        progress(done, len(attached), source.name)
        name = safe_name(f"{source.stem} {item.get('key', '')}{source.suffix}")
        if why := _copied(source, place / name):
            missing.append((source.name, why))
        else:
            kept.add(name)
    for old in place.iterdir():
        if old.name not in kept and old.is_file():
            old.unlink()
    return Copied(len(kept) - 1, tuple(missing))


def client() -> httpx2.Client:
    """Return a client for the Zotero program on this machine."""
    return httpx2.Client(base_url=ADDRESS, trust_env=False, timeout=_TIMEOUT_S, headers={"Zotero-API-Version": "3"})


def _pages(ask: httpx2.Client, wanted: dict[str, str]) -> Iterator[httpx2.Response]:
    for start in range(0, _MOST, _PAGE):
        try:
            answer = ask.get("/api/users/0/items", params={**wanted, "limit": str(_PAGE), "start": str(start)})
        except httpx2.HTTPError as error:
            raise ConfigError(
                f"Zotero does not answer at {ADDRESS} ({type(error).__name__}); start it, and allow other applications "
                "to communicate with it in its settings under Advanced"
            ) from error
        if answer.status_code != 200:
            raise ConfigError(
                f"Zotero answered with status {answer.status_code}; allow other applications to communicate with it "
                "in its settings under Advanced"
            )
        yield answer
        total = answer.headers.get("total-results", "0")
        if not total.isdecimal() or start + _PAGE >= int(total):
            return


def _items(page: httpx2.Response) -> list[dict[str, Any]]:
    try:
        found = page.json()
    except ValueError as error:
        raise ConfigError("Zotero answered with something that is not JSON; update Zotero") from error
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def _file_of(item: dict[str, Any]) -> Path | None:
    """Return the attached file on this machine; None for a link."""
    links = item.get("links")
    enclosure = links.get("enclosure") if isinstance(links, dict) else None
    address = urlsplit(str(enclosure.get("href", "")) if isinstance(enclosure, dict) else "")
    return Path(unquote(address.path)) if address.scheme == "file" else None


def _copied(source: Path, target: Path) -> str:
    """Copy a file unless the copy is up to date; return why not."""
    if source.suffix.lower() not in SUFFIXES:
        return f"is of the format {source.suffix or 'without a suffix'}, which is not read"
    try:
        found = source.stat()
        if found.st_size > MAX_BYTES:
            return f"is too big: {found.st_size / 1e6:.0f} MB, the limit is {MAX_BYTES / 1e6:.0f} MB"
        if not target.exists() or target.stat().st_mtime_ns != found.st_mtime_ns:
            shutil.copy2(source, target)
    except OSError as error:
        return f"cannot be copied: {error.strerror}"
    return ""
