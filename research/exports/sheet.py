"""Text layout for the PDF: fonts, line breaking, lines, and cells side by side.

fpdf2 writes the file and embeds the used part of the fonts, but breaks lines only at spaces, which Chinese does not have, so
lines are filled here.  Fonts come with packages: Noto Sans SC (OFL), DejaVu (matplotlib) for what that lacks, Noto Sans
(OFL) for bold, and Noto Emoji (OFL).
Characters that may not begin or end a line follow UAX 14 (line breaking).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final, Literal

import msgspec
from msgspec.structs import replace

from research._util import extras
from research.citations.marks import SYMBOLS
from research.exports.blocks import Align, Span
from research.exports.document import COLOURS, Document
from research.exports.font import bold, truetype
from research.exports.formulas import line as formula_line
from research.exports.right_to_left import has_backwards, runs_backwards, shaped, visual

if TYPE_CHECKING:
    from fpdf import FPDF

_MARGIN, _BOTTOM = 22.0, 20.0
"""Millimetres."""
SIZE, SMALL = 10.5, 9.0
"""Points."""
_INK, _QUIET, LINE, _LINK = (31, 35, 40), (91, 99, 109), (200, 205, 211), (31, 95, 168)
_VERDICTS: Final = {status: tuple(bytes.fromhex(colour)) for status, colour in COLOURS.items()}
_SHARES: Final = {"left": 0.0, "center": 0.5, "right": 1.0}
"""Share of a cell's free width that is left of its text."""
_FLAG = re.compile("[\U0001f1e6-\U0001f1ff]{2}")
"""The two regional letters that readers see as a flag."""
_PAGES = "\ue000\ue001\ue002\ue003"
"""Placeholder for the number of pages, in private characters that no other text contains."""

_PIECE = re.compile(
    r"\n|[^\S\n]+|"  # a line break, spaces
    r"[（《〈「『【〔“‘]*[\u3000-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uff60\U00020000-\U0003ffff]"
    r"[、。，．：；？！）》〉」』】〕”’…—～%％]*|"  # a wide character with the punctuation that must stay with it
    r"[^\s\u3000-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uff60\U00020000-\U0003ffff]+"  # a word
)
_UNBROKEN = 30
"""Most characters of a piece that is never broken."""
_LONG = re.compile(r"[^/?&=#._-]{1,30}[/?&=#._-]{0,3}|[/?&=#._-]{1,30}")
"""Parts of an address, split after its separators."""
_LATIN = "“”‘’…—–·•"
"""Punctuation that a Chinese font draws as wide as a character."""
Line = list[tuple[Span, float]]
"""Pieces of a line with their widths in millimetres."""


class Sheet:
    """Writes text downwards, page after page, in a column of `width` from `left`, both in millimetres."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.paper = _paper(document)
        self.left, self.width = _MARGIN, self.paper.w - 2 * _MARGIN
        self.size = SIZE
        self.gap = 2.2
        self.quiet = False
        self._shown = frozenset().union(*(font.cmap for font in self.paper.fonts.values()))  # type: ignore[union-attr]
        self._bold = tuple(self.paper.fonts[name].cmap for name in ("sansB", "monoB"))  # type: ignore[union-attr]
        self._widths: dict[tuple[str, str, float], float] = {}
        self._targets = {each.n: self.paper.add_link() for each in document.references}

    def row(
        self,
        cells: Sequence[Sequence[Span]],
        widths: Sequence[float],
        size: float,
        align: Sequence[Align],
    ) -> None:
        """Draw cells side by side, line by line, so that a row can continue on the next page, and a line below them."""
        filled = [list(self.lines(cell, width - 3, size)) for cell, width in zip(cells, widths, strict=True)]
        for number in range(max(map(len, filled))):
            self.need(self.line_height(size))
            top, x = self.paper.y, self.left
            for place, (lines, width) in enumerate(zip(filled, widths, strict=True)):
                if number < len(lines):
                    room = width - 3 - sum(wide for _, wide in lines[number])
                    self.put(lines[number], x + room * (_SHARES[align[place]] if align else 0.0), size)
                    self.paper.y = top
                x += width
            self.paper.y = top + self.line_height(size)
        self.space(0.6)
        self.rule(sum(widths))
        self.space(0.9)

    def spans(self, spans: Sequence[Span], size: float = 0.0) -> None:
        """Draw a paragraph; neither its first nor its last line is alone on a page."""
        size = size or self.size
        backwards = runs_backwards("".join(span.text for span in spans))
        lines = list(self.lines(spans, self.width, size))
        for place, line in enumerate(lines):
            self.need(self.line_height(size) * (2 if place in (0, len(lines) - 2) and len(lines) > 1 else 1))
            room = self.width - sum(wide for _, wide in line) if backwards else 0.0
            self.put(line, self.left + room, size, backwards=backwards)

    def lines(self, spans: Iterable[Span], width: float, size: float) -> Iterator[Line]:
        """Break the spans into lines of at most `width`; a wider word is cut."""
        line: Line = []
        used = 0.0
        for piece in self.pieces(spans):
            if piece.text == "\n":
                yield line
                line, used = [], 0.0
                continue
            wide = self.measure(piece, size)
            if (
                used + wide > width and line and (piece.cites or not (piece.status or piece.unsourced))
            ):  # a status sign stays on the line of its mark
                if piece.text.isspace():
                    continue
                while line and line[-1][0].text.isspace():
                    line.pop()
                if line:
                    yield line
                line, used = [], 0.0
            if not line and piece.text.isspace() and not piece.code:
                continue
            for part in [piece] if wide <= width else [replace(piece, text=each) for each in piece.text]:
                each = self.measure(part, size)
                if used + each > width and line and wide > width:
                    yield line
                    line, used = [], 0.0
                line.append((part, each))
                used += each
        if line:
            yield line

    def pieces(self, spans: Iterable[Span]) -> Iterator[Span]:
        for span in spans:
            if span.cites:
                yield replace(span, text=self.clean(span.text))
                if span.status:
                    yield Span(SYMBOLS[span.status], status=span.status)
                continue
            if span.formula:
                span = replace(span, text=formula_line(span.text), formula="")
            for piece in _PIECE.findall(shaped(self.clean(span.text))):
                parts = _LONG.findall(piece) if len(piece) > _UNBROKEN else [piece]
                yield from (replace(span, text=part) for part in parts)

    def clean(self, text: str) -> str:
        """Write the name of a picture that the fonts lack, `[rocket]`, and U+FFFD for any other character."""
        composed = unicodedata.normalize("NFC", text).replace("\t", "    ")
        flagged = _FLAG.sub(lambda flag: f"[{''.join(chr(ord(sign) - 0x1F1A5) for sign in flag[0])}]", composed)
        return "".join(map(self._sign, flagged))

    def _sign(self, sign: str) -> str:
        kind = unicodedata.category(sign)
        # Direction marks, skin tones, number frames: the fonts draw them beside what they modify.
        if kind in ("Cf", "Me") or "\ufe00" <= sign <= "\ufe0f" or (kind == "Sk" and sign > "\uffff"):
            return ""
        if ord(sign) in self._shown or sign in "\n ":
            return sign
        name = unicodedata.name(sign, "").lower()
        return f"[{name}]" if kind == "So" and name else "\ufffd"

    def put(self, line: Line, x: float, size: float, *, backwards: bool | None = None) -> None:
        """Draw a line from `x` on, joining neighbours of one style, and move down to the next.

        `backwards`: the paragraph runs right to left; None: decided by the line.
        """
        texts = [span.text for span, _ in line]
        if has_backwards(said := "".join(texts)):
            backwards = runs_backwards(said) if backwards is None else backwards
            placed = [replace(line[at][0], text=text) for at, text in visual(texts, backwards=backwards)]
            line = [(span, self.measure(span, size)) for span in placed]
        height = self.line_height(size)
        top = self.paper.y
        start = 0
        while start < len(line):
            first, end = line[start][0], start + 1
            look = replace(first, text="")
            while (
                end < len(line)
                and replace(line[end][0], text="") == look
                and self._style(line[end][0]) == self._style(first)
            ):
                end += 1
            text = "".join(span.text for span, _ in line[start:end])
            wide = sum(width for _, width in line[start:end])
            self.paper.set_xy(x, top)
            self.write(replace(look, text=text), size, wide, height)
            x += wide
            start = end
        self.paper.set_xy(self.left, top + height)

    def write(self, span: Span, size: float, wide: float, height: float) -> None:
        paper = self.paper
        verdict = "partial" if span.unsourced else span.status
        target: str | int = span.href or (self._targets.get(span.cites, "") if span.cites else "")
        colour = _LINK if target else _VERDICTS[verdict] if verdict else _QUIET if self.quiet else _INK
        paper.set_text_color(*colour)
        paper.set_draw_color(*colour)
        self.font(span, size)
        thicker = span.bold and not self._style(span)  # the bold face lacks Chinese, so strokes are thicker
        paper.text_mode = "FILL_STROKE" if thicker else "FILL"
        paper.set_line_width(size * 0.012 if thicker else 0.1)
        draw = partial(paper.cell, wide or None, height, span.text, link=target)
        if span.italic:  # nor an italic face
            with paper.skew(ax=12, x=paper.x, y=paper.y + height):
                draw()
        else:
            draw()
        paper.text_mode = "FILL"
        paper.set_line_width(0.2)
        if span.strike:
            paper.line(paper.x - wide, paper.y + height / 2, paper.x, paper.y + height / 2)

    def font(self, span: Span, size: float) -> None:
        small = 0.82 if span.cites or span.status or span.unsourced else 0.9 if span.code else 1.0
        self.paper.set_font("mono" if span.code else "sans", self._style(span), size * small)

    def _style(self, span: Span) -> Literal["", "B"]:
        """Return the style of a span in the fonts: bold only if the bold face has all its letters."""
        return "B" if span.bold and all(map(self._bold[span.code].__contains__, map(ord, span.text))) else ""

    def measure(self, span: Span, size: float) -> float:
        """Return the width of a span in millimetres."""
        look = "mono" if span.code else "mark" if span.cites or span.status or span.unsourced else ""
        key = (span.text, look + self._style(span), size)
        if (known := self._widths.get(key)) is None:
            self.font(span, size)
            known = self._widths[key] = self.paper.get_string_width(span.text)
        return known

    def line_height(self, size: float) -> float:
        return size * 0.55

    def need(self, height: float) -> None:
        """Start a new page unless `height` fits on this one."""
        if self.paper.will_page_break(height):
            self.paper.add_page()

    def space(self, height: float) -> None:
        self.paper.y += height

    def indent(self, by: float) -> None:
        self.left, self.width = self.left + by, self.width - by

    def rule(self, width: float = 0.0) -> None:
        self.paper.set_draw_color(*LINE)
        self.paper.line(self.left, self.paper.y, self.left + (width or self.width), self.paper.y)


def _used(document: Document) -> set[str]:
    """Return a superset of the characters in the document."""
    text = msgspec.json.encode(document).decode() + document.say.letters + "•" + "".join(map(chr, range(32, 127)))
    return set(unicodedata.normalize("NFC", text))


def _paper(document: Document) -> FPDF:
    """Return a file with an empty first page, fonts, page numbers and properties."""
    extras.need("export", "a report as PDF")
    import manimgx_fonts
    import matplotlib
    from fpdf import FPDF
    from pylopdf_fonts_zh_cn import sans_path

    say = document.say

    class Paper(FPDF):
        def footer(self) -> None:
            self.set_y(-12)
            self.set_font("sans", size=8)
            self.set_text_color(*_QUIET)
            self.cell(0, 5, say("Page {page} of {all}", page=self.page_no(), all=_PAGES), align="C")

    paper = Paper(format="A4")
    paper.set_margin(_MARGIN)
    paper.set_auto_page_break(True, _BOTTOM)
    paper.c_margin = 0
    paper.alias_nb_pages(_PAGES)
    fonts, noto = Path(matplotlib.get_data_path()) / "fonts" / "ttf", Path(manimgx_fonts.__file__).parent
    with TemporaryDirectory() as folder:
        truetype(sans_path(), _used(document), Path(folder) / "sans.ttf")
        bold(next(noto.rglob("NotoSans[[]*")), _used(document), Path(folder) / "bold.ttf")
        paper.add_font("sans", fname=Path(folder) / "sans.ttf")
        paper.add_font("sans", "B", Path(folder) / "bold.ttf")
    paper.add_font("mono", fname=fonts / "DejaVuSansMono.ttf")
    paper.add_font("mono", "B", fonts / "DejaVuSansMono-Bold.ttf")
    paper.add_font("more", fname=fonts / "DejaVuSans.ttf")
    fallback = ["sans", "more"]
    if any(unicodedata.category(sign) == "So" and sign > "\u2190" for sign in _used(document)):
        paper.add_font("pictures", fname=next(noto.glob("NotoEmoji*.ttf")))
        fallback.append("pictures")
    if say.language == "en":
        for sign in _LATIN:
            paper.fonts["sans"].cmap.pop(ord(sign), None)  # type: ignore[union-attr]
    paper.set_fallback_fonts(fallback, exact_match=False)
    paper.set_title(document.title)
    paper.set_lang("zh-CN" if say.language == "zh" else "en")
    paper.set_creator("Research Workbench")
    paper.set_creation_date(document.started)
    paper.add_page()
    return paper
