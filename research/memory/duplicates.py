"""Decide whether two entries say the same, so that the memory keeps only one of them."""

from __future__ import annotations

import msgspec

from research.citations.language import listed
from research.memory import Entry
from research.quantities import quantities
from research.text import STOP_WORDS, tokens

MIN_COSINE = 0.9
"""Two texts with a lower cosine are never compared."""


def is_duplicate(one: Entry, other: Entry) -> bool:
    """Return whether two entries of one kind and source have the same words; one run of them may be moved.

    A high cosine is not enough: "on Monday" and "on Tuesday", or "A exceeds B" and "B exceeds A", have one above 0.98.
    """
    if (one.kind, one.url) != (other.kind, other.url):
        return False
    (words, figures), (others, theirs) = map(_read, (one.text, other.text))
    moved = sum(kind == "number" for kind, *_ in figures) < 2  # unequal: "A has 5, B has 7" and "B has 5, A has 7"
    return figures == theirs and _same_words(words, others, moved)


def merged(earlier: Entry, later: Entry) -> Entry:
    """Return the earlier of two duplicates with the tags of both, pinned if either is."""
    tags = tuple(dict.fromkeys((*earlier.tags, *later.tags)))
    return msgspec.structs.replace(earlier, tags=tags, pinned=earlier.pinned or later.pinned)


def _same_words(one: list[str], other: list[str], moved: bool) -> bool:
    """Return whether two lists of words are equal, except that one run of words may be moved."""
    if one == other or not moved or sorted(one) != sorted(other):
        return one == other
    while one[0] == other[0]:
        one, other = one[1:], other[1:]
    while one[-1] == other[-1]:
        one, other = one[:-1], other[:-1]
    return any(one[at:] + one[:at] == other for at in range(1, len(one)))


def _read(text: str) -> tuple[list[str], list[tuple[str, float, str]]]:
    """Return the content words of a text, with 0 for each figure, and the figures."""
    figures = [q for q in quantities(text) if not q.weak]
    for q in reversed(figures):
        text = f"{text[: q.start]} 0 {text[q.end :]}"
    spoken = (word.removesuffix("'s").removesuffix("’s") for word in tokens(text))
    words = [word for word in spoken if word not in STOP_WORDS or word in listed("reserve")]
    return words, [(q.kind, q.value, q.unit) for q in figures]
