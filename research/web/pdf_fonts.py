"""Whether the fonts of a pdf say which letters they draw."""

from __future__ import annotations

import io
import unicodedata
from contextlib import suppress
from typing import Any

_UNICODE = {(0, 3), (0, 4), (0, 6), (3, 1), (3, 10)}
"""Platforms and encodings of a font's own Unicode tables."""
_BIGGEST = 20_000_000


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
