"""The passage that is nearest to a statement: BM25 (Robertson and Zaragoza 2009), by which `search` ranks, too."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from math import fsum, log

from research.citations.labelled import label_of
from research.text import line_tokens

_K, _B = 1.2, 0.75


def closest(claim: str, lines: Iterable[tuple[str, str]]) -> tuple[str, str, float]:
    """Return the line, below its title, with most words of a claim for its length, and its share of all of them.

    Rare words count more, and those of its label, which it is about, twice.

    >>> closest("The dam is of granite.", [("", "The dam is old"), ("", "Granite is old"), ("", "The dam is closed")])[1]
    'Granite is old'
    """
    own = line_tokens(claim)
    tokens = {(title, line): line_tokens(f"{title} {line}") for title, line in lines}
    if not any(own & held for held in tokens.values()):
        return next(iter(tokens), ("", "")) + (0.0,)
    frequency = Counter(word for held in tokens.values() for word in own & held)
    weight = {word: log(1 + len(tokens) / (1 + frequency[word])) for word in own}
    usual = fsum(map(len, tokens.values())) / len(tokens)
    share = {each: fsum(weight[word] for word in own & held) for each, held in tokens.items()}
    rated = {
        (title, line): (share[title, line] + fsum(weight[word] for word in own & line_tokens(label_of(line))))
        / (1 + _K * (1 - _B + _B * len(held) / usual))
        for (title, line), held in tokens.items()
    }
    best = max(rated, key=rated.__getitem__)
    return (*best, share[best] / fsum(weight.values()))
