"""Correct the misspelt words of a question: *captial*, *populaton*."""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from difflib import get_close_matches
from functools import cache
from typing import TYPE_CHECKING

from research.text import tokens

if TYPE_CHECKING:
    from spellchecker import SpellChecker

_WORD = re.compile(r"(?<![\w'’-])[a-z]{5,}(?![\w'’-])")
"""Matches an English word that is no name."""

_NAME = re.compile(r"(?<![\w'’-])[A-Z][^\W\d_]{4,}(?![\w'’-])")
_ALIKE = 0.8
"""Least likeness of a name and a misspelt one: one letter of five."""


def spelt(text: str, said: Set[str], names: Sequence[str] = ()) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Return a question with its misspelt words corrected, and each of these with the word that was understood.

    A word is misspelt if neither a dictionary nor a source (their words are `said`) has it, and one letter away there is one
    the dictionary has; a name, if it is nearly one of these `names` and begins like it.
    """
    words = [word for word in dict.fromkeys(_WORD.findall(text)) if said.isdisjoint((word, *tokens(word)))]
    found = [(word, str(meant)) for word in words if word not in _english() and (meant := _english().correction(word))]
    for name in dict.fromkeys(_NAME.findall(text)):
        alike = [each for each in names if each[0] == name[0]] if said.isdisjoint(tokens(name)) else []
        turned = [each for each in alike if sorted(each) == sorted(name)][:1]
        found += [(name, each) for each in turned or get_close_matches(name, alike, 1, _ALIKE)]
    for word, meant in found:
        text = re.sub(rf"\b{word}\b", meant, text)
    return text, tuple(found)


def negated(text: str) -> set[str]:
    """Return the words that negate another one: *unspent*, *nonresident*, but not *understand*."""
    found = re.finditer(r"\b(?:un|non)-?([a-z]{4,})\b", text.lower())
    return {match[0] for match in found if match[1] in _english()}


def is_english(word: str) -> bool:
    """Return whether a dictionary of English has a word."""
    return word in _english()


@cache
def _english() -> SpellChecker:
    from spellchecker import SpellChecker

    return SpellChecker(distance=1)
