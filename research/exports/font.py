"""The characters of a document that a font has, as a TrueType font of their own.

Chinese fonts come with cubic outlines, which PDF embeds with a table that some readers (pypdf among them) cannot follow
when they take the text out again.  With quadratic outlines every reader finds the words.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

_ERROR = 1.0
"""How far an outline may be from the original, in thousandths of its size."""


def truetype(source: Path, characters: Iterable[str], target: Path) -> None:
    """Write to `target` what the font at `source` has of these characters.  Metrics stay; features are left out."""
    from fontTools.fontBuilder import FontBuilder
    from fontTools.pens.cu2quPen import Cu2QuPen
    from fontTools.pens.ttGlyphPen import TTGlyphPen
    from fontTools.subset import Options, Subsetter
    from fontTools.ttLib import TTFont, newTable

    with TTFont(source, lazy=True) as font:
        cut = Subsetter(
            Options(layout_features=[], notdef_outline=True, drop_tables=["VORG", "vhea", "vmtx", "BASE", "DSIG"])
        )
        cut.populate(unicodes=map(ord, characters))
        cut.subset(font)
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
