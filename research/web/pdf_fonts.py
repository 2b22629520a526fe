"""Whether the fonts of a pdf say which letters they draw, and how they write their codes."""

from __future__ import annotations

import io
import re
import unicodedata
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

_UNICODE = {(0, 3), (0, 4), (0, 6), (3, 1), (3, 10)}
"""Platforms and encodings of a font's own Unicode tables."""
_BIGGEST = 20_000_000
_NESTED = 5
"""Most forms within forms whose fonts are looked at."""
_PAIRS = re.compile(rb"begincodespacerange\s*<[0-9A-Fa-f]{4}>\s*<[0-9A-Fa-f]{4}>\s*endcodespacerange")
"""Matches in a table of codes that each has two bytes."""


def name_pairs(page: Any) -> None:
    """Name the encoding of fonts whose codes are pairs of bytes but whose encoding is a table in the file.

    pypdf knows encodings by name only, and would read such a font byte by byte.
    """
    from pypdf.generic import NameObject, StreamObject

    for font in _fonts(page.get("/Resources"), _NESTED):
        encoding = font.get("/Encoding")
        table = encoding.get_object() if encoding is not None else None
        if font.get("/Subtype") == "/Type0" and isinstance(table, StreamObject) and _PAIRS.search(table.get_data()):
            font[NameObject("/Encoding")] = NameObject("/Identity-H")


def _fonts(resources: Any, nested: int) -> Iterator[Any]:
    """Yield the fonts of a page or form, and of the forms in it."""
    found = resources.get_object() if resources is not None else {}
    for kind in ("/Font", "/XObject"):
        named = found.get(kind)
        for each in named.get_object().values() if named is not None else ():
            inner = each.get_object()
            if kind == "/Font":
                yield inner
            elif nested and inner.get("/Subtype") == "/Form":
                yield from _fonts(inner.get("/Resources"), nested - 1)


class Fonts:
    """Caches its answers: each piece of text names a font."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Any, bool]] = {}
        """By the id of the font, which is kept alive so that the id is not reused."""

    def is_undecodable(self, font: Any) -> bool:
        """Return whether a font's codes are glyph numbers whose letters are unknown or wrong."""
        if not font or font.get("/Encoding") not in ("/Identity-H", "/Identity-V"):
            return False
        if id(font) not in self._known:
            self._known[id(font)] = font, _is_contradicted(font) if "/ToUnicode" in font else _is_unknown(font)
        return self._known[id(font)][1]


def _is_unknown(font: Any) -> bool:
    inner = font.get("/DescendantFonts")
    info = inner.get_object()[0].get_object().get("/CIDSystemInfo") if inner is not None else None
    return info is None or str(info.get_object().get("/Ordering")) == "Identity"


def _is_contradicted(font: Any) -> bool:
    """Return whether the file and the font disagree on the letters of some glyphs.

    A font that contradicts most of what the file says has a table without meaning.
    """
    with suppress(Exception):
        said, drawn = _said(font), _drawn(font)
        wrong = [code for code, letter in said.items() if drawn.get(code) and letter not in drawn[code]]
        right = [code for code, letter in said.items() if letter in drawn.get(code, ())]
        return 0 < len(wrong) <= len(right)
    return False


def _said(font: Any) -> dict[int, str]:
    """Return the letters and figures of the file's table, by glyph code."""
    from pypdf._cmap import get_encoding

    pairs = ((code, _plain(letter)) for code, letter in get_encoding(font)[1].items() if isinstance(code, str))
    return {ord(code): letter for code, letter in pairs if len(code) == 1 and len(letter) == 1 and letter.isalnum()}


def _drawn(font: Any) -> dict[int, set[str]]:
    """Return the letters that the font's own table has for each code."""
    from fontTools.ttLib import TTFont

    inner = font["/DescendantFonts"].get_object()[0].get_object()
    data = inner["/FontDescriptor"].get_object()["/FontFile2"].get_object().get_data()
    if len(data) > _BIGGEST:
        return {}
    program = TTFont(io.BytesIO(data), lazy=True)
    letters: dict[int, set[str]] = {}
    for table in program["cmap"].tables:
        if (table.platformID, table.platEncID) in _UNICODE:
            for code, name in table.cmap.items():
                letters.setdefault(program.getGlyphID(name), set()).add(_plain(chr(code)))
    to_glyph = inner.get("/CIDToGIDMap", "/Identity")
    if to_glyph == "/Identity":
        return letters
    numbers = to_glyph.get_object().get_data()
    return {at: letters.get(int.from_bytes(numbers[2 * at : 2 * at + 2]), set()) for at in range(len(numbers) // 2)}


def _plain(letter: str) -> str:
    return unicodedata.normalize("NFKC", letter)
