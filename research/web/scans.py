"""Pages of a pdf that are pictures: their pixels, and the text that the program `tesseract` reads in them.

The pixels are taken out in the sealed process that reads the file.  The program gets nothing else: no picture parser
sees untrusted data.
"""

from __future__ import annotations

import shutil
import time
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from research.sandbox.process import run_isolated
from research.web.pdf_pages import Page

if TYPE_CHECKING:
    from pypdf import PdfReader

MARK = "#scans"
"""Suffix that makes a sealed process return the pictures too."""
INSTALL = "to have it read, install the program tesseract (apt-get install tesseract-ocr, or brew install tesseract)"
NOT_READ = "OCR could not read it: there are too many, or it is of an unknown kind; save the page as a file of its own"
_PAGES, _BYTES = 100, 100_000_000
"""Most pictures of a file, and most bytes of them, packed."""
_LEAST, _WIDE, _HIGH = 50, 3_600, 5_000
"""Shortest side of a picture that may hold text, and the size to which larger ones are reduced."""
_PIXELS = 60_000_000
_PAGE_S = 30.0
"""Seconds for a picture."""
_LANGUAGES = 6
"""Most languages in which a page is read."""


class Picture(Struct, frozen=True):
    """A picture of a page in shades of grey."""

    page: int
    """From 1."""
    width: int
    height: int
    pixels: bytes
    """A byte each, packed."""


def program() -> str | None:
    """Return the path of the program that reads pictures; None if it is not installed."""
    return shutil.which("tesseract")


def pictures(reader: PdfReader, pages: Sequence[Page]) -> tuple[Picture, ...]:
    """Return the pictures of the pages that have no text."""
    found, size = list[Picture](), 0
    for number, page in enumerate(pages, 1):
        for picture in _of(reader.pages[number - 1], number) if page.scanned else ():
            size += len(picture.pixels)
            if len(found) == _PAGES or size > _BYTES:
                return tuple(found)
            found.append(picture)
    return tuple(found)


def _of(page: Any, number: int) -> Iterator[Picture]:
    from research.web.pdf_text import BROKEN

    for each in _images(page):
        with suppress(*BROKEN, MemoryError):
            image = each.image
            if image is None or image.width * image.height > _PIXELS or min(image.size) < _LEAST:
                continue
            image = image.convert("L")
            if page.rotation:
                image = image.rotate(-page.rotation, expand=True)
            image.thumbnail((_WIDE, _HIGH))
            yield Picture(number, image.width, image.height, zlib.compress(image.tobytes(), 1))


def _images(page: Any) -> Iterator[Any]:
    from research.web.pdf_text import BROKEN

    with suppress(*BROKEN, ImportError):  # no pictures without Pillow
        yield from page.images


def prepare() -> None:
    """Load every reader of pictures, before the process is sealed."""
    with suppress(ImportError):
        from PIL import Image

        Image.init()


def read(pages: Sequence[Page], found: Sequence[Picture], until: float) -> list[Page]:
    """Return the pages with text read from their pictures until that time (`time.monotonic`)."""
    path, read = program(), list(pages)
    for picture in found:
        left = min(_PAGE_S, until - time.monotonic())
        if path is None or left <= 1 or not 0 < picture.page <= len(read):
            break
        page = read[picture.page - 1]
        text = "\n".join(filter(None, [page.text, _text(path, picture, left)]))
        read[picture.page - 1] = replace(page, text=text, scanned=not text, ocr=True)
    return read


def _text(path: str, picture: Picture, seconds: float) -> str:
    size = picture.width * picture.height
    try:
        pixels = zlib.decompressobj().decompress(picture.pixels, size + 1)
    except zlib.error:
        return ""
    if len(pixels) != size:  # a file that took over its reader can forge them
        return ""
    data = b"P5 %d %d 255\n" % (picture.width, picture.height) + pixels
    try:
        return _ran(path, data, seconds, "stdin", "stdout", "-l", _languages(path)).strip()
    except (ChildProcessError, TimeoutError):
        return ""


@lru_cache(maxsize=4)
def _languages(path: str) -> str:
    """Return the program's languages, in its notation."""
    try:
        listed = _ran(path, b"", 10.0, "--list-langs").splitlines()[1:]
    except (ChildProcessError, TimeoutError):
        return "eng"
    names = [name.strip() for name in listed if name.strip() and name.strip() != "osd"]
    return "+".join(sorted(names, key=lambda name: name != "eng")[:_LANGUAGES]) or "eng"


def _ran(path: str, data: bytes, seconds: float, *arguments: str) -> str:
    module, limit = "research.sandbox.program", f"{seconds:.0f}"
    return run_isolated(module, data, limit, path, *arguments, timeout_s=seconds).decode("utf-8", "replace")
