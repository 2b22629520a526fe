"""Whether two entries say the same, so that one of them is enough."""

from __future__ import annotations

import re

import msgspec

from research.citations import check
from research.memory import Entry
from research.text import sentences
from research.types import Source

LEAST = 0.9
"""Cosine below which two texts are not compared at all."""
_SENTENCES = 4
"""Longer texts are the same only when their words are."""
_WORD = re.compile(r"\w+")
_MARKS = re.compile(r"[\s.!?。！？；;]+$")


def same(one: Entry, other: Entry) -> bool:
    """The same kind of entry from the same source, word for word or each supported by the other.

    A high cosine is not enough: "grew in 2023" and "grew in 2024", or "A exceeds B" and "B exceeds A", have one above
    0.95.  So short texts are held against each other by the check of citations, both ways: it knows figures, names,
    negations and direction.
    """
    if (one.kind, one.url) != (other.kind, other.url):
        return False
    if _words(one.text) == _words(other.text):
        return True
    lines = sentences(one.text), sentences(other.text)
    return (
        len(lines[0]) == len(lines[1]) <= _SENTENCES
        and _supported(lines[0], other.text)
        and _supported(lines[1], one.text)
    )


def together(before: Entry, again: Entry) -> Entry:
    """The earlier one of two that say the same, with the tags and the pin of both."""
    tags = tuple(dict.fromkeys((*before.tags, *again.tags)))
    return msgspec.structs.replace(before, tags=tags, pinned=before.pinned or again.pinned)


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _supported(claims: list[str], quote: str) -> bool:
    cited = "\n\n".join(f"{_MARKS.sub('', claim)} [1]." for claim in claims)
    found = check(cited, [Source(1, "", "", quote)])
    return len(found) == len(claims) and all(citation.status == "supported" for citation in found)
