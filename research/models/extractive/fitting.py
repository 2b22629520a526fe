"""Score how well a labelled line fits a target, and convert names to those that sources use."""

from __future__ import annotations

import re

from research.models.extractive.evidence import Fact
from research.models.extractive.places import usual
from research.models.extractive.question import Target
from research.text import STOP_WORDS, tokens

MATCH = 0.72
"""Lowest score of a line that may be used."""
NEUTRAL = frozenset(["total", "name", "title"])
"""Words in labels that do not distinguish measures."""
ALIKE = {
    "woman": "female",
    "women": "female",
    "girl": "female",
    "lady": "female",
    "man": "male",
    "men": "male",
    "boy": "male",
    "fresh": "freshwater",
    "child": "youth",
}
"""Everyday words and their equivalents in reference works."""


def fit(fact: Fact, target: Target) -> float:
    """Return 0 to about 1: how well a line fits the target."""
    if target.exact:
        label = bare(fact.label)
        return 1.0 if label == target.label else 0.9 if label in target.also else 0.0
    if "note" in fact.label_tokens and "note" not in target.words:
        return 0.0
    words = [ALIKE.get(word, word) for word in target.words]
    near = [ALIKE.get(word, word) for word in target.near]
    bonus = sum(0.08 if word in fact.label_tokens else -0.01 for word in near)
    held_words = sum(1.0 if word in fact.label_tokens else 0.8 if word in fact.all_tokens else 0.0 for word in words)
    if not target.label:
        share = held_words / len(words) if words else 0.0
        head = fact.head_tokens - STOP_WORDS - NEUTRAL
        # A label matches if the question contains all its words, even if it contains some more.
        named = 0.95 if head and head <= set(words) and (len(head) > 1 or share >= 0.5) else 0.0
        return max(share, named - 0.02 * len(fact.label_tokens - set(words)))
    wanted = {t: 0.3 if t in NEUTRAL else 1.0 for t in tokens(target.label) if t not in STOP_WORDS}
    held = sum(weight for t, weight in wanted.items() if t in fact.label_tokens)
    # Other words in the head of a label make it another measure; after the head, they make it a part of the same one.
    allowed = wanted.keys() | STOP_WORDS | NEUTRAL | set(words) | set(near)
    extra = 0.35 * len(fact.head_tokens - allowed) + 0.06 * len(fact.label_tokens - fact.head_tokens - allowed)
    concept = max(0.0, held / sum(wanted.values()) - extra)
    return (3 * concept + 2 * held_words) / (3 + 2 * len(words)) + (bonus if concept >= MATCH else 0.0)


def bare(label: str) -> str:
    """Return a label without the year of its series."""
    return re.sub(r",? (?:1[5-9]|20)\d\d$", "", label)


NAMING = (
    "Nationality",
    "Country name, abbreviation",
    "Country name, former",
    "Country name, conventional",
    "Country name, local",
)
"""Labels of lines with names of the subject."""


def has_words_of(text: str, name: str) -> bool:
    """Return whether a text contains all words of a name."""
    wanted = set(tokens(name))
    return bool(wanted) and wanted <= set(tokens(text))


def usual_name(name: str) -> str:
    """Return the name that sources use."""
    return usual(name) or name


def as_query(text: str) -> str:
    """Return the text as a query, without commas."""
    return " ".join(text.replace(",", " ").split())
