"""Fuse the rankings by words and by meaning into one, and diversify a list of results."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from research.memory import Entry
from research.search.relevance import scores
from research.text import content_tokens

if TYPE_CHECKING:
    from numpy.typing import NDArray

FUSION = 60
"""The constant k of reciprocal rank fusion."""
_MARKS = re.compile(r"[\u0300-\u036f]+")
"""Combining accents."""
_LETTER = r"[^\W_\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]"
_WORD = re.compile(rf"{_LETTER}+(?:['’]{_LETTER}+)?(?:[.,]\d+)*")
"""A token in a script that separates words by spaces, so without Chinese and kana."""


def fuse(
    query: str, entries: Mapping[int, Entry], by_words: Sequence[int], cosines: Mapping[int, float]
) -> dict[int, float]:
    """Return scores by number, best first, by weighted reciprocal rank fusion (Cormack, Clarke, Buettcher 2009).

    Ranks the entries of both searches by both. A rank by words is weighted by the share of the query in the entry, and
    a rank by meaning by the cosine, both from 0 to 1, so that the best of bad matches scores low.
    """
    coverage = dict(zip(entries, scores(query, query_words_in(query, entries.values())), strict=True))
    words = {number: rank for rank, number in enumerate(by_words, 1)}
    found: dict[int, float] = {}
    for rank, number in enumerate(sorted(entries, key=lambda number: -cosines[number]), 1):
        found[number] = coverage[number] / (FUSION + words.get(number, len(words) + 1))
        found[number] += max(0.0, cosines[number]) / (FUSION + rank)
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def query_words_in(query: str, entries: Iterable[Entry]) -> list[str]:
    """Return the words of the query that each entry contains, joined by spaces.

    Texts may be long, so only words that begin like one of the query's become tokens.
    """
    wanted = set(content_tokens(query))
    spaced = {word for word in wanted if _WORD.fullmatch(word)}
    starts = tuple(word.removesuffix("y") for word in spaced)  # "y" becomes "ies" in the plural
    found = []
    for entry in entries:
        text = "\n".join((entry.title, entry.text, entry.quote, *entry.tags)).lower()
        text = _MARKS.sub("", unicodedata.normalize("NFKD", text))
        like = {word for word in _WORD.findall(text) if word.startswith(starts)}
        words = spaced.intersection(content_tokens(" ".join(like)))
        found.append(" ".join([*words, *(word for word in wanted - spaced if word in text)]))
    return found


def diversify(
    scores: Mapping[int, float], vectors: Mapping[int, NDArray[np.float32]], limit: int, diversity: float
) -> list[int]:
    """Return at most `limit` numbers, best first, by maximal marginal relevance (Carbonell and Goldstein 1998).

    Each step chooses the number with the highest value of
    (1 - diversity) * (score / best score) - diversity * (highest cosine with a number already chosen).
    """
    numbers = list(scores)
    if not diversity or not numbers:
        return numbers[:limit]
    shares = np.array(list(scores.values())) / (scores[numbers[0]] or 1.0)
    rows = np.stack([vectors[number] for number in numbers])
    nearest = np.full(len(numbers), -1.0)
    chosen: list[int] = []
    while len(chosen) < min(limit, len(numbers)):
        gain = (1 - diversity) * shares - diversity * nearest
        gain[chosen] = -np.inf
        chosen.append(int(gain.argmax()))
        nearest = np.maximum(nearest, rows @ rows[chosen[-1]])
    return [numbers[place] for place in chosen]
