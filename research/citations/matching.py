"""How much of a claim a line of a source has."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

from msgspec import Struct

from research.citations.lexicon import sides
from research.citations.reading import Sentence


class Problem(Struct, frozen=True):
    """What speaks against a claim."""

    reason: str
    against: bool = False
    """The source says otherwise; else it only does not say so."""
    figure: bool = False
    """A figure of the claim is missing."""


def weights_of(claim: Sentence, lines: Sequence[Sentence]) -> dict[str, float]:
    """What each word of a claim weighs: more when few lines of the sources have it."""
    frequency = Counter(key for line in lines for key in claim.keys & line.all_keys)
    return {key: math.log(2 + len(lines) / (1 + frequency[key])) for key in claim.keys}


def match(keys: frozenset[str], line: Sentence, weights: dict[str, float]) -> float:
    """The share of words that a line has, itself or in its context, by weight."""
    total = sum(weights.get(key, 1.0) for key in keys)
    if not total:
        return 1.0
    held = sum(weights.get(key, 1.0) for key in keys if has(line, key))
    return held / total


def has(line: Sentence, key: str) -> bool:
    if key in line.all_keys:
        return True
    if not key.isascii():
        return all(char in line.text or char in line.context for char in key)
    return bool(sides(key) & _line_sides(line.text)) if len(key) > 2 else False


@lru_cache(maxsize=16_384)
def _line_sides(text: str) -> frozenset[tuple[int, int]]:
    return sides(text)


def shared(claim: Sentence, line: Sentence) -> float:
    """Figures and years that both have."""
    return 0.5 * sum(any(q.states(s) for s in line.quantities) for q in claim.quantities if not q.weak)


def closeness(claim: Sentence, line: Sentence) -> float:
    return len(claim.keys & line.keys) + 3 * shared(claim, line)


def told_as(line: Sentence) -> str:
    return f"{line.title}: {line.text}" if line.label else line.text


def cover(claim: Sentence, rank: Sequence[Sentence]) -> list[Sentence]:
    """The best line, and up to two more that have words of the claim which it does not have."""
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
