"""Find the label of a reference work that a question asks for, from the meaning of its words.

A small network over sentence vectors gives each label a probability.  Words that tell similar labels apart, and the
lexicon, correct it.  `python -m bench.phrasebook --write` trains it on `phrasebook.jsonl`.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from research.models.extractive.lexicon import concepts
from research.models.extractive.phrasebook import WEIGHTS
from research.models.extractive.places import mentions

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

HERE = Path(__file__).parent
PARTS = ("first", "bias", "last")
ACCEPT = 0.7
"""Least probability of a label that answers; measured by `python -m bench.phrasebook`."""
RANKED = 6
"""Labels to name for a question."""


class Reading(Struct, frozen=True):
    """The label that a clause asks for."""

    ranked: tuple[str, ...]
    """The likeliest labels, best first."""
    sure: float
    """Probability that the first label is right."""
    shares: dict[str, float]
    """The probability of each label before it was compared with the others; an empty label is for none of them."""

    @property
    def label(self) -> str:
        """The likeliest label."""
        return self.ranked[0]

    @property
    def clear(self) -> bool:
        """Return whether no other label is half as likely as the first."""
        others = [share for label, share in self.shares.items() if label and label != self.label]
        return max(others, default=0.0) <= self.shares[self.label] / 2


class Weights(Struct, frozen=True):
    """Settings of the correction, measured by `bench.phrasebook`."""

    contrast: float = 1.0
    """Bonus for the side of a contrast that the question names, and penalty for the others."""
    usual: float = 0.3
    """Bonus for the usual side of a contrast if the question names none."""
    lexicon: float = 0.3
    """Bonus for a label that the lexicon finds in the question."""
    share: float = 2.1
    """Weight of the share of the best label, as a logarithm, in the decision whether it is right."""
    margin: float = 0.53
    """Weight of its ratio to the second label."""
    none: float = 0.09
    """Weight of its ratio to `none of them`."""
    start: float = 1.45
    """Constant of the decision."""


MEASURED = Weights()


class Side(Struct, frozen=True):
    """Labels on one side of a contrast, and words of questions that mean them."""

    labels: re.Pattern[str]
    says: re.Pattern[str]
    usual: bool


@cache
def contrasts() -> tuple[tuple[Side, ...], ...]:
    """Return the groups of labels that a question must tell apart."""
    return tuple(
        tuple(
            Side(re.compile(side["labels"]), re.compile(side["says"]), side.get("usual", False))
            for side in entry["side"]
        )
        for entry in _data()["contrast"]
    )


@cache
def vetoes() -> tuple[tuple[re.Pattern[str], re.Pattern[str] | None], ...]:
    """Return the words that ask for something else, with the labels that are about it nevertheless."""
    return tuple(
        (re.compile(entry["says"]), re.compile(entry["except"]) if "except" in entry else None)
        for entry in _data()["veto"]
    )


def vetoed(text: str, label: str) -> bool:
    """Return whether a masked question has words that the label is not about."""
    lower = text.lower().replace("’", "'")
    return any(says.search(lower) is not None and not (spared and spared.search(label)) for says, spared in vetoes())


@cache
def _data() -> dict[str, Any]:
    return tomllib.loads((HERE / "contrasts.toml").read_text("utf-8"))


@cache
def sides() -> dict[str, tuple[tuple[int, int], ...]]:
    """Return the sides that a label is on, by label: numbers of contrast and side."""
    return {
        label: tuple(
            (i, j)
            for i, contrast in enumerate(contrasts())
            for j, side in enumerate(contrast)
            if side.labels.search(label)
        )
        for label in labels()
    }


@cache
def _model() -> tuple[tuple[str, ...], list[NDArray[np.float32]]]:
    import numpy as np

    with np.load(WEIGHTS) as data:
        return tuple(map(str, data["labels"])), [data[name].astype(np.float32) for name in PARTS]


def network(vector: NDArray[np.float32], weights: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
    """Return the score of each label, shape (labels,), for the vector of a sentence, shape (dimensions,)."""
    import numpy as np

    first, bias, last = weights
    scores: NDArray[np.float32] = np.maximum(vector @ first + bias, 0) @ last
    return scores


def labels() -> tuple[str, ...]:
    """Return the labels that the classifier knows, with an empty one for none of them."""
    return _model()[0]


def masked(text: str, country: str = "{c}") -> str:
    """Return the text with `country` for the names of countries."""
    for mention in sorted(mentions(text), key=lambda each: -each.place[0]):
        text = text[: mention.place[0]] + country + text[mention.place[1] :]
    return re.sub(r"(?<=\{c\})(?:(?:,| and| or|、|和|与|及|还是) ?(?:the )?\{c\})+", "", text)


_YEAR = re.compile(
    r"(?:\b(?:in|during|for|since|by|from|to|through|between|over|until|as of|(?:at |by )?the end of)\s+)?(?:the year )?"
    r"\b(?:19|20)\d\d\b(?:[–-](?:19|20)?\d\d\b)?(?:\s+(?:and|to|or)\s+(?:19|20)\d\d\b)?|[在从到]?(?:19|20)\d\d\s?年[底末初]?"
)


def bare(text: str) -> str:
    """Return a masked text without the country and the years, as the encoder reads it."""
    return " ".join(_YEAR.sub(" ", text.replace("{c}'s", "").replace("{c}", "")).split())


@lru_cache(maxsize=512)
def read(text: str, by: Weights = MEASURED) -> Reading:
    """Return the likeliest labels for a question."""
    shares = probabilities(masked(text))
    ranked = sorted(filter(None, shares), key=lambda label: -shares[label])[:RANKED]
    best, second, none = (max(shares[label], 1e-9) for label in (*ranked[:2], ""))
    score = by.share * math.log(best) + by.margin * math.log(best / second) + by.none * math.log(best / none) + by.start
    sure = 0.0 if vetoed(masked(text), ranked[0]) else 1 / (1 + math.exp(-score))
    return Reading(tuple(ranked), sure, shares)


def probabilities(text: str) -> dict[str, float]:
    """Return the probability of each label for a masked question."""
    import numpy as np

    from research.search.embedders import DEFAULT, cached

    known, weights = _model()
    scores = network(cached(DEFAULT).encode([bare(text)])[0], weights)
    return corrected(text, dict(zip(known, map(float, scores - np.max(scores)), strict=True)))


def corrected(text: str, scores: dict[str, float], by: Weights = MEASURED) -> dict[str, float]:
    """Return probabilities from the classifier's scores, with the contrasts and the lexicon."""
    lower = text.lower().replace("’", "'")
    told = [[bool(side.says.search(lower)) for side in contrast] for contrast in contrasts()]
    found = {concept.label for concept in concepts() if concept.pattern.search(bare(lower))}
    new = {}
    for label, score in scores.items():
        for i, j in sides().get(label, ()):
            if sum(told[i]) == 1:
                score += by.contrast if told[i][j] else -by.contrast
            elif contrasts()[i][j].usual:
                score += by.usual
        new[label] = score + (by.lexicon if label in found else 0.0)
    top = max(new.values())
    total = sum(math.exp(score - top) for score in new.values())
    return {label: math.exp(score - top) / total for label, score in new.items()}
