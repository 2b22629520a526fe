"""The text of a pdf's pages as it can be trusted: without undecodable letters, and with what a line's end divided joined."""

from __future__ import annotations

import re
import unicodedata
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Set
from contextlib import suppress
from typing import Any

from msgspec import Struct
from msgspec.structs import replace
from pypdf import PageObject, PdfReader
from pypdf.errors import PyPdfError

from research._util.sentences import unwrapped
from research.text import language_of, without_accents
from research.web import locators, pdf_columns, pdf_forms, pdf_tables
from research.web.pdf_fonts import Fonts, name_pairs
from research.web.pdf_pages import Page

# pypdf warns that "broken PDF files might cause other Exceptions" without naming them: these come from incomplete
# objects or objects of the wrong type.
BROKEN = (
    PyPdfError,
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    NotImplementedError,
    OSError,
    RecursionError,
    TypeError,
    ValueError,
    zlib.error,
)
"""What damaged files raise."""
_DIVIDED = re.compile(r"([^\W\d_]{1,40})[-\u2010\xad]\n[ \t]{0,9}([^\W\d_]{1,40})([^\w\s]{0,9})[ \t]?")
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_GARBLED = 0.2
"""Least share of characters other than letters, signs or spaces that makes a line not text."""
_LONG = re.compile(r"\b[^\W\d_]?[a-zß-ɏ]{4,40}\b")
_ADDRESS = re.compile(r"\w{1,20}://\S{1,2000}")
_JAM = re.compile(r"[^aeiouywæœøı]{5}")
_FALSE = 0.1
"""Least share of words with five consecutive consonants in a false font. In names of countries and languages in 35
languages with Latin letters it is at most 0.006."""
_ENOUGH = 20
"""Fewest words needed to tell."""
_RADICALS = (
    "厂乛乚乙亻冂𠘨刀刂卜㔾小小兀尣尢𡯂巳幺彑彐忄心扌攵 旡日月歺母民氵氺灬爫爫丬牛犭王𤴔目示礻𥫗糹纟罓罒㓁冗𦉫羊𦍌𦍋耂肀聿肉𦥑"
    "艹艹艹虎衤覀西见角𧢲讠贝𧾷车辶辶辶邑钅長镸长门𨸏阝雨青韦页风飞食𩙿飠饣𩠐马骨鬼鱼鸟卤麦黄黾斉齐歯齿竜龙龜亀龟"
)
"""Unicode's equivalent ideographs of the radicals from U+2E81 on."""
_IDEOGRAPHS = {code: unicodedata.normalize("NFKC", chr(code)) for code in range(0x2F00, 0x2FE0)} | {
    code: letter for code, letter in enumerate(_RADICALS, 0x2E81) if letter != " "
}
"""The ideographs for radicals, which browsers write in their place since fonts draw them alike."""


_Piece = tuple[str, str | None]
"""Text, and the name of its font; None: its letters are unknown."""


class _Drawn(Struct, frozen=True):
    """A page with its text, as a whole and in pieces of one font."""

    page: Any
    text: str
    pieces: list[_Piece]
    columns: bool
    """Whether it may have columns written row by row."""


def pages(reader: PdfReader) -> tuple[list[Page], tuple[str, ...]]:
    """Return each page's text, and counts of unread things beside the text.  Raises one of `BROKEN`."""
    left_out = Counter[str]()
    fonts = Fonts()
    drawn = [_drawn(page, fonts) for page in reader.pages]
    false = _false_fonts(piece for each in drawn for piece in each.pieces)
    found = [_page(each, false, left_out) for each in drawn]
    words = Counter(word.casefold() for page in found for word in _WORD.findall(_DIVIDED.sub(" ", page.text)))
    found = [replace(page, text=_unwrapped(_joined(page.text, words))) for page in found]
    with suppress(*BROKEN):  # counts of things beside the pages
        pdf_forms.count_files(reader, left_out)
    return found, locators.left_out(left_out)


def _drawn(page: PageObject, fonts: Fonts) -> _Drawn:
    pieces: list[_Piece] = []
    starts = pdf_columns.Starts()

    def visit(text: str, _cm: Any, _tm: Any, font: Any, _size: float) -> None:
        pieces.append((text, None if fonts.is_undecodable(font) else str((font or {}).get("/BaseFont"))))

    name_pairs(page)
    text = page.extract_text(visitor_operand_before=starts.add, visitor_text=visit)
    return _Drawn(page, text, pieces, starts.may_be_columns)


def _page(drawn: _Drawn, false: Set[str], left_out: Counter[str]) -> Page:
    page, text, pieces = drawn.page, drawn.text, drawn.pieces
    unread = [font is None or font in false for _, font in pieces]
    lost = any(piece.strip() and wrong for (piece, _), wrong in zip(pieces, unread, strict=True))
    if lost:
        text = "".join("\n" if wrong else piece for (piece, _), wrong in zip(pieces, unread, strict=True))
    lines = text.split("\n")
    kept = [line for line in lines if not _is_garbled(line)]
    text = "\n".join(line if line.isprintable() else "".join(map(_character, line)) for line in kept).strip()
    lost = lost or len(kept) < len(lines)
    scanned, unsure, mixed = not text and not lost and _has_picture(page), False, False
    with suppress(*BROKEN):  # the text has already been read
        text, mixed = pdf_columns.with_columns(page, text) if drawn.columns else (text, False)
        text, unsure = pdf_tables.with_tables(page, text)
    with suppress(*BROKEN):
        text = "\n".join(filter(None, [text, *pdf_forms.lines(page, left_out)]))
    return Page(text.translate(_IDEOGRAPHS), lost, scanned, unsure, mixed=mixed)


def _false_fonts(pieces: Iterable[_Piece]) -> Set[str]:
    """Return the fonts whose tables give letters other than those drawn: their words are unpronounceable."""
    said: dict[str, set[str]] = defaultdict(set)
    for text, font in pieces:
        if font is not None:
            said[font].update(without_accents(word.casefold()) for word in _LONG.findall(_ADDRESS.sub(" ", text)))
    return {
        font
        for font, words in said.items()
        if len(words) >= _ENOUGH and sum(bool(_JAM.search(word)) for word in words) > _FALSE * len(words)
    }


def _is_garbled(line: str) -> bool:
    if line.isprintable() and "\ufffd" not in line:  # nearly all lines; faster than each character alone
        return False
    strange = sum(_is_strange(character) for character in line)
    return strange > 2 and strange >= _GARBLED * len(line)


def _is_strange(character: str) -> bool:
    return character == "\ufffd" or (unicodedata.category(character) in ("Cc", "Co", "Cn") and character != "\t")


def _character(character: str) -> str:
    """Return a character; a private one is a bullet or another nameless sign."""
    return "•" if unicodedata.category(character) == "Co" else "" if _is_strange(character) else character


def _has_picture(page: PageObject) -> bool:
    resources = page.get("/Resources")
    drawn = resources.get_object().get("/XObject") if resources is not None else None
    objects: Iterable[Any] = drawn.get_object().values() if drawn is not None else ()
    return any(each.get_object().get("/Subtype") == "/Image" for each in objects)


def _joined(text: str, words: Counter[str]) -> str:
    """Join words that are divided at the end of a line; the document itself shows which hyphens belong to words."""

    def whole(match: re.Match[str]) -> str:
        first, second, after = match.groups()
        compound, joined = f"{first}-{second}".casefold(), f"{first}{second}".casefold()
        known = words[first.casefold()] and words[second.casefold()]
        keep = not words[joined] and (words[compound] or known or not second.islower()) and "\xad" not in match[0]
        return f"{first}{'-' if keep else ''}{second}{after}\n"

    return _DIVIDED.sub(whole, text)


def _unwrapped(text: str) -> str:
    """Join the lines of Chinese paragraphs: words are divided between them without a sign."""
    return "\n".join(unwrapped(text.split("\n"))) if language_of(text) == "zh" else text
