"""The names of labels, as a question may say them, and words that say nothing about which one is meant."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from msgspec import Struct

from research._util.glossary import chinese_label
from research.models.extractive.phrasebook import entries
from research.models.extractive.words import common

_REST = re.compile(r", | \(| - ")
"""What separates a measure from the part of it that a label names."""
_WHOLE = ("", ", total", ", total population", ", name")
"""The rest of a label that is meant if only the measure is named."""


_SHORT = 3
"""Most characters of a Chinese name that everyday words may contain."""


class Concept(Struct, frozen=True):
    """A label and a pattern for its name."""

    label: str
    pattern: re.Pattern[str]


@cache
def concepts() -> tuple[Concept, ...]:
    """Return names and everyday words for labels: names of several words first, as `population growth` is no population."""
    labels = [entry.label for entry in entries() if entry.label and not re.search(r"\d", entry.label)]
    measures: dict[str, list[str]] = {}
    for label in labels:
        measures.setdefault(_REST.split(label)[0], []).append(label)
    named = {name: label for label in labels for name in (label, chinese_label(label)) if name}
    for measure, parts in measures.items():
        for whole in _meant(measure, parts):
            named |= {measure: whole, re.sub("^总和?", "", chinese_label(whole)): whole}
    named.pop("", None)
    longest = sorted(named, key=len, reverse=True)
    names = [(named[name], re.escape(name.lower().removesuffix("s"))) for name in longest]
    full = [" " in name or (not name.isascii() and len(name) > _SHORT) for name in longest]
    everyday = [(label, words) for label, says in _data()["says"].items() for words in says]
    first, last = (
        [each for each, whole in zip(names, full, strict=True) if whole is wanted] for wanted in (True, False)
    )
    return tuple(Concept(label, re.compile(_bounded(words))) for label, words in (*first, *everyday, *last))


def _meant(measure: str, labels: Sequence[str]) -> Iterator[str]:
    """Yield the label that a measure means without more words, if one does."""
    found = [f"{measure}{rest}" for rest in _WHOLE if f"{measure}{rest}" in labels]
    yield from found[:1] or (labels if len(labels) == 1 else ())


@cache
def filler() -> frozenset[str]:
    """Return words that ask, count or compare."""
    return common() | frozenset(_data()["filler"].split())


@cache
def openers() -> frozenset[str]:
    """Return words that start sentences and are not names."""
    return frozenset(_data()["openers"].split())


def _bounded(words: str) -> str:
    # Chinese words have no boundaries, and a Chinese character next to Latin letters is one: "实际GDP是".
    return words if not words.isascii() else rf"(?<![a-z0-9])(?:{words.strip()})(?:e?s)?(?![a-z0-9])"


@cache
def _data() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name("lexicon.toml").read_text("utf-8"))
