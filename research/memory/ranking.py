"""Two rankings become one, and a list of results may be made more diverse."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from research.memory import Entry
from research.relevance import scores
from research.text import content_tokens

if TYPE_CHECKING:
    from numpy.typing import NDArray

FUSION = 60
_MARKS = re.compile(r"[\u0300-\u036f]+")
"""The accents of letters, once these are taken apart."""
_LETTER = r"[^\W_\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]"
_WORD = re.compile(rf"{_LETTER}+(?:['’]{_LETTER}+)?(?:[.,]\d+)*")
"""As a token is, without Chinese and kana, which have no spaces between words."""


def fused(
    query: str, entries: Mapping[int, Entry], by_words: Sequence[int], cosines: Mapping[int, float]
) -> dict[int, float]:
    """Reciprocal rank fusion (Cormack, Clarke, Buettcher 2009): number -> score, best first.

    What either search has brought is ranked by both, and a rank counts for what it is worth, from 0 to 1: that by words
    for the share of the query that the entry holds, that by meaning for the cosine.  The best of bad matches is no find.
    """
    coverage = dict(zip(entries, scores(query, held(query, entries.values())), strict=True))
    words = {number: rank for rank, number in enumerate(by_words, 1)}
    found: dict[int, float] = {}
    for rank, number in enumerate(sorted(entries, key=lambda number: -cosines[number]), 1):
        found[number] = coverage[number] / (FUSION + words.get(number, len(words) + 1))
        found[number] += max(0.0, cosines[number]) / (FUSION + rank)
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def held(query: str, entries: Iterable[Entry]) -> list[str]:
    """The words of the query that each entry holds.  A text may be long: only what begins like one is looked at."""
    wanted = set(content_tokens(query))
    spaced = {word for word in wanted if _WORD.fullmatch(word)}
    starts = tuple(word.removesuffix("y") for word in spaced)  # the plural of which ends in "ies"
    found = []
    for entry in entries:
        text = "\n".join((entry.title, entry.text, entry.quote, *entry.tags)).lower()
        text = _MARKS.sub("", unicodedata.normalize("NFKD", text))
        like = {word for word in _WORD.findall(text) if word.startswith(starts)}
        words = spaced.intersection(content_tokens(" ".join(like)))
        found.append(" ".join([*words, *(word for word in wanted - spaced if word in text)]))
    return found


def diverse(
    scores: Mapping[int, float], vectors: Mapping[int, NDArray[np.float32]], limit: int, diversity: float
) -> list[int]:
    """At most `limit` numbers, best first, by maximal marginal relevance (Carbonell and Goldstein 1998).

    Each next one has the highest (1 - diversity) * its share of the best score - diversity * its highest cosine with
    those chosen before.
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
