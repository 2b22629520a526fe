"""The lines of a corrected copy, in pieces that are kept, deleted or inserted."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct


class Piece(Struct, frozen=True):
    """A part of a line: kept, deleted or inserted."""

    text: str
    change: Literal["", "deleted", "inserted"] = ""


class Line(Struct, frozen=True):
    """A line of the copy."""

    pieces: tuple[Piece, ...]
    level: int = 0
    """Level of a heading; 0 for any other line."""
    bullet: str = ""
