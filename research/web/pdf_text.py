"""The text of a pdf's pages as it can be trusted: without undecodable letters, and with divided words joined."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct

if TYPE_CHECKING:
    from pypdf import PageObject, PdfReader

_DIVIDED = re.compile(r"([^\W\d_]{1,40})[-\u2010\xad]\n[ \t]{0,9}([^\W\d_]{1,40})([^\w\s]{0,9})[ \t]?")
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_GARBLED = 0.2
"""Share of characters that are no letters, signs or spaces from which a line is not text."""
_SHOWN = 10
"""Most pages that a note names."""


class Page(Struct, frozen=True):
    """What was read of a page."""

    text: str
    lost: bool = False
    """Whether some of its text cannot be decoded."""
    scanned: bool = False
    """Whether it has no text but a picture."""


def pages(reader: PdfReader) -> list[Page]:
    """Return the text of each page.  Raises what pypdf raises."""
    found = [_page(page) for page in reader.pages]
    words = Counter(word.casefold() for page in found for word in _WORD.findall(_DIVIDED.sub(" ", page.text)))
    return [Page(_joined(page.text, words), page.lost, page.scanned) for page in found]


def notes(found: Sequence[Page]) -> tuple[str, ...]:
    """Return which pages were not read, or not as a whole, and why."""
    lost = [number for number, page in enumerate(found, 1) if page.lost]
    scanned = [number for number, page in enumerate(found, 1) if page.scanned]
    return tuple(
        f"{_named(numbers)}: {why}; run OCR on the file to read it"
        for numbers, why in (
            (lost, "text left out, because its font does not say which letters it shows"),
            (scanned, "a picture without text"),
        )
        if numbers
    )


def _named(numbers: Sequence[int]) -> str:
    shown = ", ".join(map(str, numbers[:_SHOWN])) + (f" and {len(numbers) - _SHOWN} more" if numbers[_SHOWN:] else "")
    return f"page{'s' if len(numbers) > 1 else ''} {shown}"


def _page(page: PageObject) -> Page:
    pieces: list[tuple[str, bool]] = []

    def visit(text: str, _cm: Any, _tm: Any, font: Any, _size: float) -> None:
        pieces.append((text, not _is_undecodable(font)))

    text = page.extract_text(visitor_text=visit)
    lost = any(piece.strip() and not known for piece, known in pieces)
    if lost:
        text = "".join(piece if known else "\n" for piece, known in pieces)
    lines = text.split("\n")
    kept = [line for line in lines if not _is_garbled(line)]
    text = "\n".join(line if line.isprintable() else "".join(map(_character, line)) for line in kept).strip()
    lost = lost or len(kept) < len(lines)
    return Page(text, lost, not text and not lost and _has_picture(page))


def _is_undecodable(font: Any) -> bool:
    """Return whether a font's codes are the numbers of its glyphs, and nothing says which letters these are."""
    if not font or "/ToUnicode" in font or font.get("/Encoding") not in ("/Identity-H", "/Identity-V"):
        return False
    inner = font.get("/DescendantFonts")
    info = inner.get_object()[0].get_object().get("/CIDSystemInfo") if inner is not None else None
    return info is None or str(info.get_object().get("/Ordering")) == "Identity"


def _is_garbled(line: str) -> bool:
    if line.isprintable() and "\ufffd" not in line:  # nearly all lines; faster than each character alone
        return False
    strange = sum(_is_strange(character) for character in line)
    return strange > 2 and strange >= _GARBLED * len(line)


def _is_strange(character: str) -> bool:
    return character == "\ufffd" or (unicodedata.category(character) in ("Cc", "Co", "Cn") and character != "\t")


def _character(character: str) -> str:
    """Return a character; a private one is the bullet of a list or another sign without a name."""
    return "•" if unicodedata.category(character) == "Co" else "" if _is_strange(character) else character


def _has_picture(page: PageObject) -> bool:
    resources = page.get("/Resources")
    drawn = resources.get_object().get("/XObject") if resources is not None else None
    objects: Iterable[Any] = drawn.get_object().values() if drawn is not None else ()
    return any(each.get_object().get("/Subtype") == "/Image" for each in objects)


def _joined(text: str, words: Counter[str]) -> str:
    """Join words that are divided at the end of a line; the document itself shows which hyphens belong to a word."""

    def whole(match: re.Match[str]) -> str:
        first, second, after = match.groups()
        compound, joined = f"{first}-{second}".casefold(), f"{first}{second}".casefold()
        known = words[first.casefold()] and words[second.casefold()]
        keep = not words[joined] and (words[compound] or known or not second.islower()) and "\xad" not in match[0]
        return f"{first}{'-' if keep else ''}{second}{after}\n"

    return _DIVIDED.sub(whole, text)
