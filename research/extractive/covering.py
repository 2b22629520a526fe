"""Lines that together hold the words of a question in free words, among labelled ones."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from research.extractive.evidence import Fact
from research.text import content_tokens, tokens


def words_of(text: str) -> list[str]:
    """The topic words of a text, each once."""
    return list(dict.fromkeys(content_tokens(text)))


ASKING = frozenset(
    "name list say tell find know report country year number value figure time thing kind type call called name".split()
)
"""Words that ask, and do not say for what."""


def tokens_of(fact: Fact) -> frozenset[str]:
    """The words of a line and of its title."""
    return fact.all_tokens | frozenset(tokens(fact.title))


def names_of(fact: Fact) -> list[str]:
    """Capitalised words inside a line."""
    return re.findall(r"(?<![.!?]\s)(?<!^)\b[A-ZÀ-Þ][\w'’-]+(?:\s+[A-ZÀ-Þ][\w'’-]+)*", fact.line)


def cover(facts: Sequence[Fact], words: Sequence[str]) -> list[Fact]:
    """Up to five sentences that together hold the most of the words, each adding at least one."""
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
