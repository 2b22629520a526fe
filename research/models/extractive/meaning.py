"""Find the label of a reference work that a question asks for, from the meaning of its words.

A small network over sentence vectors gives each label a probability.  Words that tell similar labels apart, and the
lexicon, correct it.  `python -m bench.phrasebook --write` trains it on `phrasebook.jsonl`.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from research.models.extractive.lexicon import concepts
from research.models.extractive.phrasebook import MADE, WEIGHTS, Measure, measures, wholes
from research.models.extractive.places import mentions
from research.models.extractive.stems import stem
from research.text import content_tokens

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

HERE = Path(__file__).parent
PARTS = ("first", "bias", "last")
ACCEPT = 0.7
"""Least probability of a label that answers; measured by `python -m bench.sureness`."""
RANKED = 6
"""Labels to name for a question."""
UNHEARD = 2.0
"""Weight of a word that no wording has, often a name; words of few labels have up to 5.2."""
SURELY = 3.0
"""Odds, as a logarithm, beyond which it does not matter how sure it is that a measure is asked for or not."""
CLOSE = 0.4
"""Ratio to the second label, as a logarithm, below which the first one is right only half of the time."""
DOUBTFUL = -0.5
"""Most that the decision may come to then."""
COMMON = 0.15
"""Words in the wordings of this share of the labels tell nothing."""


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


class Weights(Struct, frozen=True):
    """Settings of the correction, measured by `bench.phrasebook`, and of the decisions, by `bench.sureness`."""

    contrast: float = 1.0
    """Bonus for the side of a contrast that the question names, and penalty for the others."""
    usual: float = 0.3
    """Bonus for the usual side of a contrast if the question names none."""
    lexicon: float = 0.3
    """Bonus for a label that the lexicon finds in the question."""
    share: float = 1.27
    """Weight of the share of the best label, as a logarithm, in the decision whether it is right."""
    margin: float = 0.11
    """Weight of its ratio to the second label."""
    made: float = -0.64
    """Weight of the odds that a measure is asked for, which no label states."""
    strange: float = -3.32
    """Weight of the share of telling words that no wording of the label has."""
    start: float = 1.14
    """Constant of the decision."""
    any: float = 0.9
    """Weight of those odds in the decision whether the likeliest measure is right."""
    one: float = 2.07
    """Weight of its share among all measures."""
    begin: float = 0.93
    """Constant of that decision."""


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
    """Return the sides that a label is on, by label: numbers of contrast and side.

    A measure is on the side of its labels, if they are not on both.
    """
    return {name: tuple(_sides_of(each.labels)) for name, each in measures().items()} | {
        label: tuple(_sides_of([label], both=True)) for label in labels()
    }


def _sides_of(names: Sequence[str], *, both: bool = False) -> Iterator[tuple[int, int]]:
    for i, contrast in enumerate(contrasts()):
        found = [j for j, side in enumerate(contrast) if any(side.labels.search(name) for name in names)]
        yield from ((i, j) for j in found if both or len(found) == 1)


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


@cache
def labels() -> tuple[str, ...]:
    """Return the labels that the classifier knows, with an empty one for none of them."""
    return tuple(label for label in _model()[0] if not label.startswith(MADE))


def by_label(name: str) -> dict[str, str]:
    """Return what `bench.phrasebook` wrote of each label beside the weights."""
    import numpy as np

    with np.load(WEIGHTS) as data:
        return dict(zip(labels(), map(str, data[name]), strict=True))


@cache
def figures() -> frozenset[str]:
    """Return the labels whose values are figures, which alone can be compared and calculated with."""
    import numpy as np

    with np.load(WEIGHTS) as data:
        return frozenset(map(str, data["figures"]))


def masked(text: str, country: str = "{c}") -> str:
    """Return the text with `country` for the names of countries."""
    pieces, at = [], 0
    for mention in mentions(text):
        start, end = mention.place
        if start >= at:
            pieces += [text[at:start], country]
            at = end
    text = "".join([*pieces, text[at:]])
    return re.sub(r"(?<=\{c\})(?:(?:,| and| or|、|和|与|及|还是) ?(?:the )?\{c\})+", "", text)


_YEAR = re.compile(
    r"(?:\b(?:in|during|for|since|by|from|to|through|between|over|until|as of|(?:at |by )?the end of)\s+)?(?:the year )?"
    r"\b(?:19|20)\d\d\b(?:[–-](?:19|20)?\d\d\b)?(?:\s+(?:and|to|or)\s+(?:19|20)\d\d\b)?|[在从到]?(?:19|20)\d\d\s?年[底末初]?"
)


def bare(text: str) -> str:
    """Return a masked text without the country and the years, as the encoder reads it."""
    return " ".join(_YEAR.sub(" ", text.replace("{c}'s", "").replace("{c}", "")).split())


@lru_cache(maxsize=512)
def read(text: str, by: Weights = MEASURED, *, calculates: bool = False) -> Reading:
    """Return the likeliest labels for a question; those of figures only for one that `calculates`."""
    shares = probabilities(masked(text))
    if calculates:
        shares = {label: share for label, share in shares.items() if label in {*figures(), *wholes(), ""}}
    return _reading(text, shares, by)


def read_twice(core: str, whole: str, *, calculates: bool = False) -> Reading:
    """Return the likeliest labels for a sentence that asks, read alone and with the sentences around it.

    A sentence that names its country can be understood without the others, so they can only make it surer.
    """
    alone = read(core, calculates=calculates)
    if core == whole:
        return alone
    around = read(whole, calculates=calculates).shares
    both = {label: math.sqrt(share * around[label]) for label, share in alone.shares.items()}
    total = sum(both.values())
    found = _reading(core, {label: share / total for label, share in both.items()}, MEASURED, whole)
    return alone if mentions(core) and (alone.label != found.label or alone.sure > found.sure) else found


def _reading(text: str, shares: dict[str, float], by: Weights, whole: str = "") -> Reading:
    ranked = sorted(filter(None, shares), key=lambda label: -shares[label])[:RANKED]
    if vetoed(masked(whole or text), ranked[0]):
        return Reading(tuple(ranked), 0.0, shares)
    told = signs(text, shares, whole)
    score = by.start + by.share * told.share + by.margin * told.margin + by.made * told.made + by.strange * told.strange
    return Reading(tuple(ranked), _logistic(min(score, DOUBTFUL) if told.margin < CLOSE else score), shares)


class Signs(Struct, frozen=True):
    """What tells whether the likeliest label of a question is right."""

    share: float
    """Its probability, as a logarithm."""
    margin: float
    """Its ratio to that of the second one, as a logarithm."""
    made: float
    """The odds that the question asks for a measure instead, as a logarithm."""
    strange: float
    """The share of telling words that no wording of the label has."""


def signs(text: str, shares: dict[str, float], whole: str = "") -> Signs:
    """Return the signs for a sentence that asks, with all of the question if that is more."""
    best, second = sorted((label for label in shares if label), key=lambda label: -shares[label])[:2]
    share = max(shares[best], 1e-6)
    return Signs(
        math.log(share),
        math.log(share / max(shares[second], 1e-9)),
        max(-SURELY, min(SURELY, _odds(made(whole or text).any))),
        strange(text, best),
    )


_PAIR = re.compile(r"(\S+):(\S+)")
_ASKS = re.compile(r"\b(?:how|what|which|who|where|when)\b|多少|几|谁|什么|哪", re.I)


def strange(text: str, label: str) -> float:
    """Return the share of a question's words, weighted by rarity, that no wording of a label has.

    It is 1 if the question has no words that tell labels apart and does not ask.
    """
    said, spread = explained()
    words = {stem(word) for word in content_tokens(bare(masked(text))) if not word.isdigit()}
    weights = {word: math.log((len(said) + 1) / (spread[word] + 1)) if word in spread else UNHEARD for word in words}
    odd = [word for word in words - said.get(label, frozenset()) if spread.get(word, 0) < COMMON * len(said)]
    if not any(weights.values()):  # a word that is in the wordings of every label has weight 0
        return 0.0 if _ASKS.search(text) else 1.0
    return sum(weights[word] for word in odd) / sum(weights.values())


@cache
def explained() -> tuple[dict[str, frozenset[str]], dict[str, int]]:
    """Return the stems in the wordings of each label, and in how many labels' wordings each stem is."""
    said = {label: frozenset(words.split()) for label, words in by_label("says").items() if label}
    return said, Counter(word for words in said.values() for word in words)


@cache
def _held() -> dict[str, dict[str, int]]:
    """Return the stems that many values of a label have, by label, each with the share of the values in percent."""
    listed = by_label("held").items()
    return {label: {word: int(share[:-1]) for word, share in _PAIR.findall(words)} for label, words in listed}


@cache
def topics(label: str, most: int = 0) -> frozenset[str]:
    """Return the stems that say that a label is meant, and nothing of its value: its own, and others in its wordings.

    Of those, at most `most` percent of its values have one.
    """
    values = _held().get(label, {})
    said = explained()[0].get(label, frozenset())
    return frozenset(word for word in said if values.get(word, 0) <= most) | {*map(stem, content_tokens(label))}


def _odds(share: float) -> float:
    return math.log(max(share, 1e-4) / max(1 - share, 1e-4))


def _logistic(score: float) -> float:
    return 1 / (1 + math.exp(-score))


def probabilities(text: str) -> dict[str, float]:
    """Return the probability of each label for a masked question, if a label is what it asks for."""
    return corrected(text, {label: score for label, score in _scores(text).items() if not label.startswith(MADE)})


class Made(Struct, frozen=True):
    """What a question asks for if it is not a label, but calculated from several."""

    measure: Measure
    """The likeliest."""
    share: float
    """Its probability, with that of the same one the other way round."""
    any: float
    """The probability that some measure is asked for."""

    @property
    def sure(self) -> float:
        """Return the probability that the likeliest measure is right."""
        one = math.log(max(self.share, 1e-6) / max(self.any, 1e-6))
        return _logistic(MEASURED.begin + MEASURED.any * _odds(self.any) + MEASURED.one * one)


@lru_cache(maxsize=512)
def made(text: str) -> Made:
    """Return the likeliest measure for a question, among all labels and measures."""
    scores = adjusted(masked(text), _scores(masked(text)))
    shares = _shares(scores)
    found = [(share, measures()[name]) for name, share in shares.items() if name.startswith(MADE)]
    both: dict[tuple[str, frozenset[str]], float] = {}
    for share, each in found:
        key = (each.kind, frozenset(each.labels))
        both[key] = both.get(key, 0.0) + share
    _, best = max(found, key=lambda each: each[0])
    return Made(best, both[best.kind, frozenset(best.labels)], sum(share for share, _ in found))


@lru_cache(maxsize=512)
def _scores(text: str) -> dict[str, float]:
    """Return the score of each label and measure for a masked question, at most 0."""
    import numpy as np

    from research.search.embedders import DEFAULT, cached

    known, weights = _model()
    scores = network(cached(DEFAULT).encode([bare(text)])[0], weights)
    return dict(zip(known, map(float, scores - np.max(scores)), strict=True))


def corrected(text: str, scores: dict[str, float], by: Weights = MEASURED) -> dict[str, float]:
    """Return probabilities from the classifier's scores, with the contrasts and the lexicon."""
    return _shares(adjusted(text, scores, by))


def adjusted(text: str, scores: dict[str, float], by: Weights = MEASURED) -> dict[str, float]:
    """Return the classifier's scores with the contrasts and the lexicon."""
    lower = text.lower().replace("’", "'")
    told = [[bool(side.says.search(lower)) for side in contrast] for contrast in contrasts()]
    said = bare(lower)
    found = {concept.label for concept in concepts() if concept.pattern.search(said)}
    new = {}
    for label, score in scores.items():
        for i, j in sides().get(label, ()):
            if sum(told[i]) == 1:
                score += by.contrast if told[i][j] else -by.contrast
            elif contrasts()[i][j].usual:
                score += by.usual
        new[label] = score + (by.lexicon if label in found else 0.0)
    asked = {stem(word) for word in content_tokens(said)}
    for whole in wholes():
        new[whole] -= SURELY if _names_part(asked, whole) else 0.0
    return new


def _names_part(asked: Set[str], whole: str) -> bool:
    """Return whether one of these stems is in the wordings of one part of a whole, and of no other part nor the whole."""
    said, _ = explained()
    parts = [each for label, each in said.items() if label.startswith(f"{whole}, ")]
    return any(sum(word in each for each in parts) == 1 for word in asked - said[whole])


def _shares(scores: dict[str, float]) -> dict[str, float]:
    """Return the probabilities that belong to the scores."""
    top = max(scores.values())
    total = sum(math.exp(score - top) for score in scores.values())
    return {label: math.exp(score - top) / total for label, score in scores.items()}
