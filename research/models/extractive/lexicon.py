"""The lexicon: everyday words for measures with their names in reference works, and other names of places."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from msgspec import Struct


class Concept(Struct, frozen=True):
    """A measure or attribute: its label in reference works, and a pattern of everyday words for it."""

    label: str
    pattern: re.Pattern[str]


@cache
def concepts() -> tuple[Concept, ...]:
    """Return all concepts, the more specific ones first."""
    return tuple(
        Concept(entry["label"], re.compile("|".join(rf"(?:{_bounded(words)})" for words in entry["says"])))
        for entry in _data()["concept"]
    )


@cache
def aliases() -> dict[str, str]:
    """Return the mapping from other names of a thing to its usual name, all in lower case."""
    return {other: name for name, others in _data()["alias"].items() for other in others}


@cache
def filler() -> frozenset[str]:
    """Return words that ask, count or compare."""
    return frozenset(_data()["filler"].split())


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
