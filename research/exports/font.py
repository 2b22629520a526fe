"""Subset a font to the characters of a document, as TrueType.

Chinese fonts have cubic outlines, which PDF embeds in a form from which some readers (such as pypdf) cannot extract the
text.  All readers can with quadratic outlines.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from fontTools.ttLib import TTFont

_BOLD: Final = 700
"""Weight of a bold face."""
_ERROR = 1.0
"""Maximum distance of an outline from the original, in thousandths of the font size."""


def truetype(source: Path, characters: Iterable[str], target: Path) -> None:
    """Write the glyphs of these characters from `source` to `target`, with their metrics and without layout features."""
    from fontTools.fontBuilder import FontBuilder
    from fontTools.pens.cu2quPen import Cu2QuPen
    from fontTools.pens.ttGlyphPen import TTGlyphPen
    from fontTools.ttLib import TTFont, newTable

    with TTFont(source, lazy=True) as font:
        _cut(font, characters)
        drawn, outlines = font.getGlyphSet(), {}
        for name in font.getGlyphOrder():
            pen = TTGlyphPen(None)
            drawn[name].draw(Cu2QuPen(pen, _ERROR, reverse_direction=True))
            outlines[name] = pen.glyph()
        del font["CFF "]
        font.sfntVersion = "\0\1\0\0"
        font["glyf"] = newTable("glyf")
        made = FontBuilder(font=font)
        made.setupGlyf(outlines)
        made.setupMaxp()
        made.setupPost(keepGlyphNames=False)
        font.save(target)


def bold(source: Path, characters: Iterable[str], target: Path) -> None:
    """Write the bold glyphs of these characters from the variable font `source` to `target`."""
    from fontTools.ttLib import TTFont
    from fontTools.varLib.instancer import instantiateVariableFont

    with TTFont(source) as font:
        _cut(font, characters)
        instantiateVariableFont(font, {"wght": _BOLD}, inplace=True)
        font.save(target)


def _cut(font: TTFont, characters: Iterable[str]) -> None:
    from fontTools.subset import Options, Subsetter

    left = ["VORG", "vhea", "vmtx", "BASE", "DSIG"]
    cut = Subsetter(Options(layout_features=[], notdef_outline=True, drop_tables=left))
    cut.populate(unicodes=map(ord, characters))
    cut.subset(font)
