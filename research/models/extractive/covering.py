"""Choose lines that together contain the words of a free-form question."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from research.models.extractive.evidence import Fact
from research.text import content_tokens, tokens


def words_of(text: str) -> list[str]:
    """Return the topic words of a text, without duplicates."""
    return list(dict.fromkeys(content_tokens(text)))


ASKING = frozenset(
    "name list say tell find know report country year number value figure time thing kind type call called name".split()
)
"""Words that mark a question without saying what it is about."""


def tokens_of(fact: Fact) -> frozenset[str]:
    """Return the words of a line and of its title."""
    return fact.all_tokens | frozenset(tokens(fact.title))


def names_of(fact: Fact) -> list[str]:
    """Return the runs of capitalised words inside a line, except at the start of a sentence."""
    return re.findall(r"(?<![.!?]\s)(?<!^)\b[A-ZÀ-Þ][\w'’-]+(?:\s+[A-ZÀ-Þ][\w'’-]+)*", fact.line)


def cover(facts: Sequence[Fact], words: Sequence[str]) -> list[Fact]:
    """Choose up to five lines greedily, each adding the most words that the earlier ones lack."""
    chosen: list[Fact] = []
    left = set(words)
    while left and len(chosen) < 5:
        gain: Callable[[Fact], int] = lambda fact: len(tokens_of(fact) & left)  # noqa: E731, B023 - used at once
        best = max((f for f in facts if not f.cut), key=gain, default=None)
        if best is None or gain(best) == 0 or (not chosen and gain(best) < 2):
            break
        chosen.append(best)
        left -= tokens_of(best)
    return chosen
