"""Measure how much of a claim a line of a source contains."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

from msgspec import Struct

from research.citations.lexicon import sides
from research.citations.reading import Sentence
from research.types import Reason


class Problem(Struct, frozen=True):
    """A reason to doubt a claim."""

    reason: Reason
    against: bool = False
    """The source contradicts the claim, rather than only not stating it."""
    figure: bool = False
    """A figure of the claim is missing in the source."""
    kind: str = ""
    """What differs, a key of `thresholds.CONTRADICTED`."""


def weights_of(claim: Sentence, lines: Sequence[Sentence]) -> dict[str, float]:
    """Return the weight of each word of a claim; rare words of the sources weigh more."""
    frequency = Counter(key for line in lines for key in claim.keys & line.all_keys)
    return {key: math.log(2 + len(lines) / (1 + frequency[key])) for key in claim.keys}


def match(keys: frozenset[str], line: Sentence, weights: dict[str, float]) -> float:
    """Return the share of words, by weight, that a line or its context contains."""
    total = sum(weights.get(key, 1.0) for key in keys)
    if not total:
        return 1.0
    held = sum(weights.get(key, 1.0) for key in keys if has(line, key))
    return held / total


def has(line: Sentence, key: str) -> bool:
    """Return whether a line contains a word, its characters if it is Chinese, or a synonym."""
    if key in line.all_keys:
        return True
    if not key.isascii():
        return all(char in line.text or char in line.context for char in key)
    return bool(sides(key) & _line_sides(line.text)) if len(key) > 2 else False


@lru_cache(maxsize=16_384)
def _line_sides(text: str) -> frozenset[tuple[int, int]]:
    return sides(text)


def common_figures(claim: Sentence, line: Sentence) -> float:
    """Return 0.5 for each figure and year that both contain."""
    return 0.5 * sum(any(q.states(s) for s in line.quantities) for q in claim.quantities if not q.weak)


def closeness(claim: Sentence, line: Sentence) -> float:
    """Return how many words and figures both contain; figures count more."""
    return len(claim.keys & line.keys) + 3 * common_figures(claim, line)


def embedding_text(line: Sentence) -> str:
    """Return the text of a line to embed, with the title if the line is only a labelled value."""
    return f"{line.title}: {line.text}" if line.label else line.text


def cover(claim: Sentence, rank: Sequence[Sentence]) -> list[Sentence]:
    """Return the best line, and up to two more that contain words of the claim that it lacks."""
    if not rank:
        return []
    chosen = [rank[0]]
    held = claim.keys & rank[0].all_keys
    for line in rank[1:8]:
        new = (claim.keys & line.keys) - held
        if len(new) >= 2 and len(chosen) < 3:
            chosen.append(line)
            held |= new
    return chosen
