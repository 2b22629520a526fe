"""Shapes and order of right-to-left letters, for files whose letters are placed one by one."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from functools import cache
from itertools import groupby

_BACKWARDS = frozenset(("R", "AL"))
_LAM, _STRETCH = "\u0644", "\u0640"
_FINAL, _INITIAL = (True, False), (False, True)
_ENDS = {"isolated": (False, False), "final": _FINAL, "initial": _INITIAL, "medial": (True, True)}
"""Whether a shape joins the letters before and after it."""


def runs_backwards(text: str) -> bool:
    """Return whether a paragraph's first letter, and so the paragraph, runs from right to left."""
    directions = (unicodedata.bidirectional(character) for character in text)
    return next((each in _BACKWARDS for each in directions if each in ("L", *_BACKWARDS)), False)


def has_backwards(text: str) -> bool:
    """Return whether some letters run from right to left."""
    return any(unicodedata.bidirectional(character) in _BACKWARDS for character in text)


def shaped(text: str) -> str:
    """Return a text with each Arabic letter in the shape that it has between its neighbours.

    >>> [f"{ord(letter):x}" for letter in shaped("\\u0628\\u0628 \\u0644\\u0627")]
    ['fe91', 'fe90', '20', 'fefb']
    """
    shapes = _shapes()
    if not any(character in shapes for character in text):
        return text
    for alef in "\u0622\u0623\u0625\u0627":
        text = text.replace(_LAM + alef, _private(alef))
    letters = [at for at, character in enumerate(text) if unicodedata.category(character) != "Mn"]
    found = list(text)
    for place, at in enumerate(letters):
        before = text[letters[place - 1]] if place else ""
        after = text[letters[place + 1]] if place + 1 < len(letters) else ""
        own = shapes.get(text[at], {})
        ends = _joins(before, _INITIAL) and _FINAL in own, _joins(after, _FINAL) and _INITIAL in own
        found[at] = own.get(ends, text[at])
    return "".join(found)


def _joins(letter: str, ends: tuple[bool, bool]) -> bool:
    """Return whether a letter has a shape joined like this."""
    return letter == _STRETCH or ends in _shapes().get(letter, {})


def _private(alef: str) -> str:
    """Return a placeholder for lam with this alef until its shape is known."""
    return chr(0xE100 + ord(alef) - 0x0600)


@cache
def _shapes() -> dict[str, dict[tuple[bool, bool], str]]:
    """Return the shapes of each Arabic letter by the sides on which it is joined, as Unicode lists them."""
    found: dict[str, dict[tuple[bool, bool], str]] = {}
    for code in (*range(0xFB50, 0xFBFF), *range(0xFE80, 0xFEFD)):
        kind, *parts = (unicodedata.decomposition(chr(code)) or "none").split()
        letters = "".join(chr(int(part, 16)) for part in parts)
        letter = _private(letters[1]) if len(letters) == 2 and letters[0] == _LAM else letters
        if len(letter) == 1 and kind.strip("<>") in _ENDS:
            found.setdefault(letter, {})[_ENDS[kind.strip("<>")]] = chr(code)
    return found


def visual(pieces: Sequence[str], *, backwards: bool) -> list[tuple[int, str]]:
    """Return a line in left-to-right order: texts, each with the number of its piece.

    `backwards`: its paragraph runs from right to left.
    """
    from fpdf.bidi import BIDI_BRACKETS, BidiParagraph
    from fpdf.enums import TextDirection

    owners = [at for at, piece in enumerate(pieces) for _ in piece]
    line = BidiParagraph("".join(pieces), TextDirection.RTL if backwards else TextDirection.LTR)
    placed = [
        (
            owners[each.character_index],
            BIDI_BRACKETS.get(each.character, {"pair": each.character})["pair"]
            if each.embedding_level % 2
            else each.character,
        )
        for each in line.reorder_resolved_levels()
    ]
    return [(at, "".join(text for _, text in group)) for at, group in groupby(placed, key=lambda each: each[0])]
