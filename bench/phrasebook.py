"""Train and measure the classifier of `research/models/extractive/meaning.py`: python -m bench.phrasebook [--write]

Leaves every fifth wording of each label out and asks for its label.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from bench.printing import table
from research.models.extractive import meaning
from research.models.extractive.narrower import listed
from research.models.extractive.phrasebook import MADE, WEIGHTS, Measure, entries, measures
from research.models.extractive.stems import stem
from research.search.embedders import cached
from research.search.library.comparisons import TITLE
from research.search.library.factbook import documents
from research.text import content_tokens, has_cjk, tokens

HELD = 0.05
"""Least share of the values of a label that have a word of which a question with it may ask."""
Array = NDArray[np.float32]
Network = list[Array]
"""First weights, bias, last weights."""
FOLDS = 5
NETWORKS, HIDDEN, DROPOUT, EPOCHS, BATCH, DECAY, PACE = 4, 256, 0.5, 40, 1024, 2e-5, 3e-3


def wordings() -> tuple[list[str], list[str], list[bool]]:
    """Return questions, their labels, and whether they were written by hand: labels themselves are questions too."""
    says: list[str] = []
    labels: list[str] = []
    own: list[bool] = []
    for entry in entries():
        made = plain(entry.label) if entry.label else []
        for said in (*entry.says, *made):
            says.append(said)
            labels.append(entry.label)
            own.append(said not in made)
    for name, measure in measures().items():
        made = composed(measure)
        for said in (*measure.says, *made):
            says.append(said)
            labels.append(name)
            own.append(said not in made)
    return says, labels, own


def plain(label: str) -> list[str]:
    """Return the plainest questions for a label."""
    words = _spoken(label)
    return [
        f"What is the {words} of {{c}}?",
        f"{words} {{c}}",
        f"{{c}}: {label}",
        f"Tell me {{c}}'s {words}.",
        f"Which country in {{c}} has the highest {words}?",
        f"Is the {words} higher in {{c}} than in {{c}}?",
    ]


_COMPOSED = {
    "share": (
        "What percentage of {c}'s {b} is {a}?",
        "{a} as a share of {b}, {c}",
        "Divide {a} by {b} for {c}.",
        "Of all {b} in {c}, how much is {a}, in per cent?",
    ),
    "ratio": (
        "How many times {b} is {a} in {c}?",
        "{a} divided by {b}, {c}",
        "What is the ratio of {a} to {b} in {c}?",
    ),
    "per": ("How much {a} is there for each {b} in {c}?", "{a} per {b}, {c}", "Divide {a} by {b} for {c}."),
    "minus": (
        "What is {a} minus {b} in {c}?",
        "By how much does {a} exceed {b} in {c}?",
        "gap between {a} and {b}, {c}",
        "How much of {a} is left in {c} after {b}?",
    ),
    "plus": ("Add up {a} and {b} of {c}.", "{a} and {b} together, {c}", "What is the sum of {a} and {b} in {c}?"),
    "product": (
        "{a} of {c} as an absolute number, not a rate",
        "Turn the {a} of {c} into an amount, using {b}.",
        "From {a} and {b}, work out how many there are in {c}.",
    ),
    "rest": ("What is left in {c} besides {a}, in per cent?", "100 minus {a}, {c}"),
    "years": ("How many years will {a} last in {c} at present {b}?", "{a} divided by yearly {b}, {c}"),
}
_LIKE = {
    "part": "share",
    "sum_over": "share",
    "per_million": "per",
    "per_area": "per",
    "rest_product": "product",
    "gap_product": "product",
    "months": "years",
}


def composed(measure: Measure) -> list[str]:
    """Return the plainest questions for a measure that is calculated."""
    one, *others = map(_spoken, measure.labels)
    rest = others or [one]
    two = rest[0] if measure.kind in ("part", "share") else " and ".join(rest)
    return [said.format(a=one, b=two, c="{c}") for said in _COMPOSED.get(_LIKE.get(measure.kind, measure.kind), ())]


def _spoken(label: str) -> str:
    """Return a label as people say it: `coal exports`."""
    head, _, part = label.partition(", ")
    words = f"{part} {head}".strip() if part and part not in ("total", "name") else head
    return words.lower() if words[1:2].islower() else words


def train(vectors: Array, targets: NDArray[np.int64], count: int, weight: Array) -> Network:
    """Return the weights of a network with one hidden layer: several small ones whose scores are averaged.

    They agree on wordings like those they were trained on, and disagree on others, where one alone would be sure.
    """
    parts = [trained(vectors, targets, count, weight, np.random.default_rng(seed)) for seed in range(NETWORKS)]
    firsts, biases, lasts = zip(*parts, strict=True)
    return [np.hstack(firsts), np.hstack(biases), np.vstack(lasts) / NETWORKS]


def trained(
    vectors: Array, targets: NDArray[np.int64], count: int, weight: Array, random: np.random.Generator
) -> Network:
    """Return the weights of one network, trained by Adam with dropout."""
    first = random.normal(0, 3 / np.sqrt(vectors.shape[1]), (vectors.shape[1], HIDDEN)).astype(np.float32)
    network = [first, np.zeros(HIDDEN, np.float32)]
    network.append(random.normal(0, 0.5 / np.sqrt(HIDDEN), (HIDDEN, count)).astype(np.float32))
    means, squares = ([np.zeros_like(each) for each in network] for _ in range(2))
    step = 0
    for epoch in range(EPOCHS):
        order = random.permutation(len(vectors))
        for start in range(0, len(order), BATCH):
            rows, step = order[start : start + BATCH], step + 1
            slopes = slope(network, vectors[rows], targets[rows], weight[rows], random)
            for value, change, mean, square in zip(network, slopes, means, squares, strict=True):
                mean += 0.1 * (change - mean)
                square += 0.01 * (change * change - square)
                down = np.sqrt(square / (1 - 0.99**step)) + 1e-8
                value -= PACE * (1 - epoch / EPOCHS) * mean / (1 - 0.9**step) / down
    return network


def slope(
    network: Network, vectors: Array, targets: NDArray[np.int64], weight: Array, random: np.random.Generator
) -> Network:
    """Return the gradient of the weighted cross-entropy of a batch."""
    first, bias, last = network
    hidden = vectors @ first + bias
    kept = (random.random(hidden.shape) > DROPOUT).astype(np.float32) / (1 - DROPOUT)
    active = np.maximum(hidden, 0) * kept
    scores = active @ last
    found = np.exp(scores - scores.max(1, keepdims=True))
    found /= found.sum(1, keepdims=True)
    found[np.arange(len(targets)), targets] -= 1
    found *= weight[:, None] / len(targets)
    back = found @ last.T * kept * (hidden > 0)
    return [vectors.T @ back + DECAY * first, back.sum(0), active.T @ found + DECAY * last]


def stems(says: Iterable[str]) -> str:
    """Return the stems of the telling words in some wordings."""
    return " ".join(sorted({stem(word) for said in says for word in content_tokens(meaning.bare(said))}))


def joined(says: Iterable[str]) -> str:
    """Return the stems that wordings name beside others, and hardly ever alone: `coal`, of *coal, oil and gas*."""
    beside, alone = Counter[str](), Counter[str]()
    for said in map(meaning.bare, says):
        named = listed(said)
        beside.update(named)
        either = listed(re.sub(r"\bor\b|或", "and", said))  # a choice says neither that it is a part nor that it is all
        alone.update({stem(word) for word in content_tokens(said)} - named - either)
    return " ".join(sorted(word for word, times in beside.items() if times > 1 and alone[word] * 8 <= times))


def balance(targets: NDArray[np.int64]) -> Array:
    """Return the weight of each wording: labels with many count less per wording."""
    return np.clip(15.0 / np.bincount(targets)[targets], 0.3, 1.0).astype(np.float32)


def folds(labels: Sequence[str]) -> NDArray[np.int64]:
    """Return the fold of each wording: its place among those of its label."""
    seen: Counter[str] = Counter()
    found = []
    for label in labels:
        found.append(seen[label] % FOLDS)
        seen[label] += 1
    return np.array(found)


_ONE_FIGURE = re.compile(r"^([^:\n]+): [-$]?\d[\d,.]*(?:%| [a-z -]+)?(?: of [\w ]+)?(?: \(.*\))?$", re.M)


def figures() -> NDArray[np.str_]:
    """Return the labels whose values are figures: those that countries are compared by, series of years, and single ones."""
    found, others = set[str](), set[str]()
    for document in documents():
        single = set(_ONE_FIGURE.findall(document.text))
        found |= single
        others.update(label for label in re.findall(r"^([^:\n]+): ", document.text, re.M) if label not in single)
    found -= others
    for document in documents():
        kind, _, label = document.title.partition(" · ")
        said = (
            [label]
            if kind == TITLE
            else re.findall(r"^([^:\n]+?),? (?:1[5-9]|20)\d\d: (?=[-$\d])", document.text, re.M)
        )
        found.update(said)
    return np.array(sorted(found & {entry.label for entry in entries()}))


def held(labels: Sequence[str]) -> list[str]:
    """Return for each label the stems that at least `HELD` of its values have, each with the share in percent."""
    of, seen = Counter[str](), {label: Counter[str]() for label in labels}
    for document in documents():
        for label, value in re.findall(r"^([^:\n]+): (.*)", document.text, re.M):
            if label in seen:
                of[label] += 1
                seen[label].update({stem(word) for word in content_tokens(value) if not re.search(r"\d", word)})
    shares = {label: {word: times / of[label] for word, times in seen[label].items()} for label in labels}
    return [
        " ".join(f"{word}:{share:.0%}" for word, share in sorted(shares[label].items()) if share >= HELD)
        for label in labels
    ]


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.phrasebook", description=__doc__)
    parser.add_argument("--write", action="store_true", help="train on all wordings and write the weights")
    parser.add_argument("--folds", type=int, default=FOLDS, help="measure on so many folds only")
    arguments = parser.parse_args()
    says, labels, own = wordings()
    known = tuple(dict.fromkeys(labels))
    targets = np.array([known.index(label) for label in labels])
    vectors = cached("universal").encode([meaning.bare(said) for said in says])
    if arguments.write:
        weights = train(vectors, targets, len(known), balance(targets))
        parts = {name: part.astype(np.float16) for name, part in zip(meaning.PARTS, weights, strict=True)}
        words = sorted({token for said in says for token in tokens(said)})
        by_hand = [(said, label) for said, label, hand in zip(says, labels, own, strict=True) if hand]
        shown = [label for label in known if not label.startswith(MADE)]
        heard = [stems(said for said, other in zip(says, labels, strict=True) if other == label) for label in shown]
        beside = [joined(said for said, other in by_hand if other == label) for label in shown]
        values = held(shown)
        np.savez_compressed(
            WEIGHTS,
            labels=np.array(known),
            words=np.array(words),
            says=np.array(heard),
            held=np.array(values),
            parts=np.array(beside),
            figures=figures(),
            **parts,
        )
        meaning._model.cache_clear()
    place = folds(labels)
    rows: list[Row] = []
    for fold in range(arguments.folds):
        left = (place == fold) & np.array(own)
        weights = train(vectors[place != fold], targets[place != fold], len(known), balance(targets)[place != fold])
        rows += measured(weights, vectors, [i for i, out in enumerate(left) if out], says, labels, known)
    if rows:
        print(lines(rows))
    return 0


Row = tuple[str, str, str, float]
"""A question, its label, the label found, and its probability."""


def measured(
    weights: Network,
    vectors: Array,
    left: Sequence[int],
    says: Sequence[str],
    labels: Sequence[str],
    known: Sequence[str],
) -> list[Row]:
    """Return what is found for the wordings that were left out."""
    rows = []
    for i in left:
        scores = meaning.network(vectors[i], weights)
        found = meaning.corrected(says[i], dict(zip(known, map(float, scores), strict=True)))
        best = max(found, key=found.__getitem__)
        rows.append((says[i], labels[i], best, found[best]))
    return rows


def lines(rows: Sequence[Row]) -> str:
    """Return a table: coverage and precision by the least probability that is accepted."""
    cells = []
    for least in (0.0, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9):
        asked = [row for row in rows if row[1]]
        said = [row for row in asked if row[2] and row[3] >= least]
        right = sum(row[1] == row[2] for row in said)
        none = [row for row in rows if not row[1]]
        refused = sum(not row[2] or row[3] < least for row in none)
        cells.append(
            [f"{least:.1f}", f"{len(said) / len(asked):.2f}", f"{right / len(said):.2f}", f"{refused / len(none):.2f}"]
        )
    for language in (False, True):
        some = [row for row in rows if row[1] and has_cjk(row[0]) == language]
        cells.append(["zh" if language else "en", "", f"{sum(r[1] == r[2] for r in some) / len(some):.2f}", ""])
    return table(("accepted from", "of questions", "right", "refused of the unanswerable"), cells)


if __name__ == "__main__":
    sys.exit(main())
