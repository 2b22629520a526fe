"""Score the lines of a text by their relevance to a goal: shared rare words, and meaning when there is an encoder."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from research.text import content_tokens, sentences

if TYPE_CHECKING:
    from research.types import Embedder


def scores(goal: str, lines: Sequence[str], embedder: Embedder | None = None) -> list[float]:
    """Return one score per line: 0 to about 1 for words, plus as much for meaning when there is an encoder.

    The score for words is the share of the goal's tokens in the line, each weighted by its rarity among the lines.
    """
    wanted = set(content_tokens(goal))
    held = [set(content_tokens(line)) & wanted for line in lines]
    frequency = Counter(token for tokens in held for token in tokens)
    weight = {token: math.log(1 + len(lines) / (1 + frequency[token])) for token in wanted}
    total = math.fsum(weight.values()) or 1.0
    found = [math.fsum(weight[token] for token in tokens) / total for tokens in held]
    if embedder is not None and lines:
        vectors = embedder.encode([goal, *lines])
        found = [a + max(0.0, float(b)) for a, b in zip(found, vectors[1:] @ vectors[0], strict=True)]
    return found


def reduce(text: str, goal: str, limit: int, embedder: Embedder | None = None) -> str:
    """Shorten the text to `limit` characters: its most relevant lines, in their order, with `…` for gaps.

    A line longer than a quarter of the limit is scored sentence by sentence.
    """
    if len(text) <= limit:
        return text
    lines = [
        piece for line in text.splitlines() if line.strip() for piece in _pieces(line, min(limit, max(limit // 4, 300)))
    ]
    ranked = sorted(range(len(lines)), key=scores(goal, lines, embedder).__getitem__, reverse=True)
    kept: set[int] = set()
    room = limit
    for index in ranked:
        cost = len(lines[index]) + 3
        if cost <= room:
            kept.add(index)
            room -= cost
    if not kept:
        return lines[ranked[0]][: limit - 1] + "…"
    parts: list[str] = []
    for index in sorted(kept):
        if parts and index - 1 not in kept:
            parts.append("…")
        parts.append(lines[index])
    return "\n".join(parts)


def _pieces(line: str, size: int) -> Iterator[str]:
    """Yield the line, or its sentences if it is longer than `size`; longer sentences are cut into parts of that size."""
    for sentence in [line] if len(line) <= size else sentences(line):
        for start in range(0, len(sentence), size):
            yield sentence[start : start + size]
