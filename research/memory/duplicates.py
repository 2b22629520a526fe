"""Decide whether two entries say the same, so that the memory keeps only one of them."""

from __future__ import annotations

import re

import msgspec

from research.citations.language import listed
from research.citations.names import Names
from research.citations.quantities import quantities
from research.citations.reading import stems
from research.memory import Entry

MIN_COSINE = 0.9
"""Two texts with a lower cosine are never compared."""
_WORD = re.compile(r"\w+")


def is_duplicate(one: Entry, other: Entry) -> bool:
    """Return whether two entries of the same kind and source say the same in the same words, perhaps in another order.

    A high cosine is not enough: "on Monday" and "on Tuesday", or "A exceeds B" and "B exceeds A", have one above 0.98.
    """
    if (one.kind, one.url) != (other.kind, other.url):
        return False
    return _words(one.text) == _words(other.text) or _rephrased(one.text, other.text)


def merged(earlier: Entry, later: Entry) -> Entry:
    """Return the earlier of two duplicates with the tags of both, pinned if either is."""
    tags = tuple(dict.fromkeys((*earlier.tags, *later.tags)))
    return msgspec.structs.replace(earlier, tags=tags, pinned=earlier.pinned or later.pinned)


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _rephrased(one: str, other: str) -> bool:
    """Return whether two texts have the same words, the same figures in the same order, and less than two names.

    "Line 1, part 0" and "line 0, part 1", or "from 5 to 7" and "from 7 to 5", differ in nothing but the order.
    """
    figures = [[(q.kind, q.value, q.unit) for q in quantities(text)] for text in (one, other)]
    reserve = [listed("reserve") & set(_words(text)) for text in (one, other)]
    names = Names([one, other])
    same = figures[0] == figures[1] and reserve[0] == reserve[1] and stems(one) == stems(other)
    return same and len({key for *_, key in names.of(one)}) < 2
