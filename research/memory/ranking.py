"""Two rankings become one, and a list of results may be made more diverse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from research.memory import Entry
from research.relevance import scores
from research.text import content_tokens

if TYPE_CHECKING:
    from numpy.typing import NDArray

FUSION = 60
MEANING = 0.5
"""An entry scores coverage / (60 + its rank by words) + 0.5 / (60 + its rank by meaning), see `fused`."""


def fused(
    query: str, entries: Mapping[int, Entry], by_words: Sequence[int], by_meaning: Sequence[int]
) -> dict[int, float]:
    """Reciprocal rank fusion (Cormack, Clarke, Buettcher 2009): number -> score, best first.

    As in the library, a rank by words counts for the share of the query that the entry holds: the best of bad matches
    is no find.
    """
    wanted = frozenset(content_tokens(query))
    held = [" ".join(wanted.intersection(_tokens(entry))) for entry in entries.values()]
    coverage = dict(zip(entries, scores(query, held), strict=True))
    found = dict.fromkeys(entries, 0.0)
    for rank, number in enumerate(by_words, 1):
        found[number] += coverage[number] / (FUSION + rank)
    for rank, number in enumerate(by_meaning, 1):
        found[number] += MEANING / (FUSION + rank)
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def _tokens(entry: Entry) -> set[str]:
    texts = (entry.title, *entry.text.split("\n"), *entry.quote.split("\n"), *entry.tags)
    return {token for text in texts for token in content_tokens(text)}


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
    shares = np.array([scores[number] for number in numbers]) / scores[numbers[0]]
    rows = np.stack([vectors[number] for number in numbers])
    nearest = np.full(len(numbers), -1.0)
    chosen: list[int] = []
    while len(chosen) < min(limit, len(numbers)):
        gain = (1 - diversity) * shares - diversity * nearest
        gain[chosen] = -np.inf
        chosen.append(int(gain.argmax()))
        nearest = np.maximum(nearest, rows @ rows[chosen[-1]])
    return [numbers[place] for place in chosen]
