"""Score the lines of a text by their relevance to a goal: shared rare words, and meaning when there is an encoder."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from functools import lru_cache
from statistics import median
from typing import TYPE_CHECKING

from research._util.glossary import terms
from research._util.sentences import sentences, sentences_of, unwrapped
from research.text import clip, content_tokens, has_cjk, line_tokens

if TYPE_CHECKING:
    from research.search.embedders import Embedder

QUOTE, BRIEF = 500, 200
"""Longest quote of the first result of a search, and of the others, in characters."""
_NEAR = 0.5
"""Least share of the best line's score for a neighbour to be quoted with it."""
_BESIDE, _ANYHOW = 0.2, 3
"""Threshold between the median (0) and best (1) score of a page's lines; lines below it are left out once a third of
the limit is used."""

_DICE = 0.5
"""Least Dice coefficient of a Chinese and an English word with one meaning, over the labels that contain them."""

_CLAUSE = re.compile(r".+?(?:[.,;!?](?=\s)|[。，、！？；]|$)\s*", re.S)


def scores(goal: str, lines: Sequence[str], embedder: Embedder | None = None) -> list[float]:
    """Return one score per line: 0 to about 1 for words, plus as much for meaning when there is an encoder.

    The score for words is the share of the goal's tokens in the line, each weighted by its rarity among the lines.
    """
    wanted = wordings(goal)
    held = [said(wanted, line_tokens(line)) for line in lines]
    frequency = Counter(token for tokens in held for token in tokens)
    weight = {token: math.log(1 + len(lines) / (1 + frequency[token])) for token in wanted}
    total = math.fsum(weight.values()) or 1.0
    found = [math.fsum(weight[token] for token in tokens) / total for tokens in held]
    if embedder is not None and lines:
        vectors = embedder.encode([goal, *lines])
        found = [a + max(0.0, float(b)) for a, b in zip(found, vectors[1:] @ vectors[0], strict=True)]
    return found


def wordings(goal: str) -> dict[str, frozenset[str]]:
    """Return the goal's tokens that are not stop words, each with tokens that mean the same."""
    return {word: ways(word) for word in content_tokens(goal)}


def said(wanted: Mapping[str, frozenset[str]], tokens: Set[str]) -> set[str]:
    """Return the words that a text's tokens contain, in any wording."""
    return {word for word, spoken in wanted.items() if not spoken.isdisjoint(tokens)}


@lru_cache(maxsize=4_096)
def ways(word: str) -> frozenset[str]:
    """Return a word and, if Chinese and not a single character, the English one that goes with it in the glossary.

    (Dice 1945; compare Smadja, McKeown, Hatzivassiloglou 1996.)
    """
    if not has_cjk(word) or len(word) < 2:
        return frozenset([word])
    labels = terms("label") | terms("measure")
    held = {label for label, chinese in labels.items() if word in chinese}
    both = Counter(token for label in held for token in line_tokens(label))
    every = Counter(token for label in labels for token in line_tokens(label))
    dice = {token: 2 * n / (len(held) + every[token]) for token, n in both.items()}
    best = max(dice.values(), default=0.0)
    return frozenset([word, *(token for token, value in dice.items() if value == best >= _DICE)])


def reduce(text: str, goal: str, limit: int, embedder: Embedder | None = None) -> str:
    """Shorten the text to `limit` characters or less: its most relevant lines, in their order, with `…` for gaps.

    A line longer than a quarter of the limit is scored sentence by sentence.  Barely relevant lines do not fill up the
    limit: of 180 pages, none lost its answer, and quotes took half the room.
    """
    if len(text) <= limit:
        return text
    lines = [
        piece for line in text.splitlines() if line.strip() for piece in _pieces(line, min(limit, max(limit // 4, 300)))
    ]
    served = scores(goal, lines, embedder)
    ranked = sorted(range(len(lines)), key=served.__getitem__, reverse=True)
    usual = median(served) if served else 0.0
    least = usual + _BESIDE * (max(served, default=0.0) - usual)
    kept: set[int] = set()
    room = limit
    for index in ranked:
        if served[index] < least and limit - room >= limit // _ANYHOW:
            break
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


def room(rank: int) -> int:
    """Return the longest quote of a search result, by its rank from 0."""
    return BRIEF if rank else QUOTE


def best_quote(texts: Sequence[str], goal: str, limit: int = QUOTE) -> str:
    """Return the most relevant neighbouring lines of one of the texts, or the best part of one long line.

    Empty if no line shares a word with the goal.
    """
    pairs = [(line, text) for text in texts for line in text.split("\n") if line.strip()]
    served = scores(goal, [line for line, _ in pairs])
    if not any(served):
        return ""
    _, text = pairs[max(range(len(pairs)), key=lambda i: (served[i], -len(pairs[i][0])))]
    flat = text.replace("\n", " ")
    start, end = _best(text, _spans(flat, unwrapped(text.split("\n")), 0), goal, _NEAR, limit)
    if end - start > limit:
        start, end = _best(text, _spans(flat, sentences_of(flat[start:end]), start), goal, _NEAR, limit)
    if end - start <= limit:
        return text[start:end]
    clauses = [match.span() for match in _CLAUSE.finditer(text, start, end)]
    inner, outer = _best(text, clauses, goal, 0.0, limit)
    chosen = clip(text[inner:outer].rstrip(), limit - 2)
    cut = outer < end and not chosen.endswith("…")
    return f"{'…' if inner > start else ''}{chosen}{'…' if cut else ''}"


def _spans(text: str, pieces: Sequence[str], start: int) -> list[tuple[int, int]]:
    """Return the spans of a text's pieces, in order, from `start` on; skip blank pieces."""
    found = []
    for piece in filter(str.strip, pieces):
        start = text.index(piece, start)
        found.append((start, start + len(piece)))
        start += len(piece)
    return found


def beginning(text: str, limit: int = QUOTE) -> str:
    """Return the first whole lines of a text that fit in a quote, or the beginning of one long line."""
    if len(text) <= limit:
        return text
    end = max(0, text.rfind("\n", 0, limit + 1))
    return text[:end].rstrip() or clip(text, limit)


def _best(text: str, spans: Sequence[tuple[int, int]], goal: str, share: float, limit: int) -> tuple[int, int]:
    """Return the best span, extended by neighbours that score at least this share of it, up to the limit.

    Among equal spans, the best is the one whose neighbours have more of the words it lacks, then the shortest: it has
    the fewest words beside the point.
    """
    served = scores(goal, [text[start:end] for start, end in spans])
    most = max(served)
    equal = [i for i, score in enumerate(served) if score == most]
    beside = [text[spans[max(i - 1, 0)][0] : spans[min(i + 1, len(spans) - 1)][1]] for i in equal]
    around = dict(zip(equal, scores(goal, beside), strict=True))
    first = last = max(equal, key=lambda i: (around[i], spans[i][0] - spans[i][1]))
    least = most * share
    while True:
        near = [
            i
            for i in (last + 1, first - 1)
            if 0 <= i < len(spans)
            and served[i] >= least
            and spans[max(i, last)][1] - spans[min(i, first)][0] <= limit - 2
        ]
        if not near:
            return spans[first][0], spans[last][1]
        chosen = max(near, key=served.__getitem__)
        first, last = min(first, chosen), max(last, chosen)
