"""What a question or a sentence denies: an answer about what is allowed says nothing of what is not, nor the other way round."""

from __future__ import annotations

import re
from collections.abc import Set

from research.models.extractive.passages import keys
from research.models.extractive.patterns import DENIES
from research.models.extractive.spelling import negated
from research.models.extractive.stems import stem
from research.text import content_tokens

_DENIES = re.compile(rf"{DENIES.pattern}|\b(?:no|none|nobody|without)\b(?! \w+ than)|禁|勿", re.I)
_CLAUSE = re.compile(r"[,;:()?!，；：（）？！。]|\.(?=\s|$)|\bbut\b")


def agrees(line: str, question: str, asked: Set[str]) -> bool:
    """Return whether a sentence denies what the question does and, of the words with the keys `asked`, nothing else.

    >>> agrees("Parking is not paid.", "What is not paid?", {"paid"})
    True
    >>> agrees("Parking is not paid.", "What is paid?", {"paid"})
    False
    """
    unsaid, behind = _opposites(line), _behind(line)
    below = frozenset[str]().union(*map(keys, behind))
    if not _opposites(question) <= unsaid | below:
        return False
    if denied := frozenset[str]().union(*map(keys, _behind(question))):
        return any(stem(word) in denied for clause in behind for word in content_tokens(clause)[:1])
    return below.union(unsaid - _opposites(question)).isdisjoint(asked)


def _behind(text: str) -> list[str]:
    """Return the part of each clause that follows a negation."""
    found = ((clause, _DENIES.search(clause.lower())) for clause in _CLAUSE.split(text))
    return [clause[match.end() :] for clause, match in found if match]


def _opposites(text: str) -> frozenset[str]:
    """Return the keys of the words that others negate: of *spent*, for *unspent*."""
    return keys(" ".join(re.sub(r"^(?:un|non)-?", "", word) for word in negated(text)))
