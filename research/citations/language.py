"""The words of each language that the checker knows: `language.toml`."""

from __future__ import annotations

import re
import tomllib
from functools import cache, lru_cache
from pathlib import Path

from research.text import tokens

_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
_BETWEEN = re.compile(rf"{_CJK.pattern}|[，、；：（）]")


@cache
def _table() -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
    return found


@cache
def listed(kind: str) -> frozenset[str]:
    """Return the words of a kind, of all languages."""
    return frozenset(word for words in _table()[kind].values() for word in re.split(r"[\s,]+", words) if word)


@cache
def unnamed() -> frozenset[str]:
    """Return the words of a label that a claim about it need not have."""
    return spoken("link", "whole", "toward")


@cache
def spoken(*kinds: str) -> frozenset[str]:
    """Return the words of some kinds, and the Chinese characters of which they consist."""
    return frozenset(part for kind in kinds for word in listed(kind) for part in words(word))


def says(kind: str, text: str) -> bool:
    """Return whether a text has a word of a kind.

    >>> says("reserve", "one of the few")
    True
    """
    return pattern(kind).search(text) is not None


@cache
def pattern(kind: str) -> re.Pattern[str]:
    """Return a pattern of the words of a kind."""
    words = (word.replace("_", " ") for word in sorted(listed(kind)))
    return re.compile("|".join(word if _CJK.match(word) else rf"(?<![a-z]){word}(?![a-z])" for word in words), re.I)


@lru_cache(maxsize=65_536)
def words(text: str) -> frozenset[str]:
    """Return the words and numbers of a text, in the singular, and each Chinese character."""
    return frozenset(tokens(_BETWEEN.sub(" ", text))) | frozenset(_CJK.findall(text))
