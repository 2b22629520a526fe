"""Decide whether two entries say the same, so that the memory keeps only one of them."""

from __future__ import annotations

import re

import msgspec

from research.citations import check
from research.citations.names import Names
from research.citations.quantities import quantities
from research.citations.reading import stems
from research.memory import Entry
from research.text import sentences
from research.types import HOLDS, Source

MIN_COSINE = 0.9
"""Two texts with a lower cosine are never compared."""
_MAX_SENTENCES = 4
"""Longer texts are duplicates only when their words are equal."""
_WORD = re.compile(r"\w+")
_FINAL_MARKS = re.compile(r"[\s.!?。！？；;]{1,60}$")


def is_duplicate(one: Entry, other: Entry) -> bool:
    """Return whether two entries of the same kind and source have the same words, or each supports the other.

    A high cosine is not enough: "grew in 2023" and "grew in 2024", or "A exceeds B" and "B exceeds A", have one above
    0.95.  So the citation check compares short texts in both directions: it knows figures, names, negations and
    direction.
    """
    if (one.kind, one.url) != (other.kind, other.url):
        return False
    if _words(one.text) == _words(other.text):
        return True
    if _rephrased(one.text, other.text):
        return True
    lines = sentences(one.text), sentences(other.text)
    return (
        len(lines[0]) == len(lines[1]) <= _MAX_SENTENCES
        and _supported(lines[0], other.text)
        and _supported(lines[1], one.text)
    )


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
    names = Names([one, other])
    return figures[0] == figures[1] and stems(one) == stems(other) and len({key for *_, key in names.of(one)}) < 2


def _supported(claims: list[str], quote: str) -> bool:
    cited = "\n\n".join(f"{_FINAL_MARKS.sub('', claim)} [1]." for claim in claims)
    found = check(cited, [Source(1, "", "", quote)])
    return len(found) == len(claims) and all(citation.status in HOLDS for citation in found)
