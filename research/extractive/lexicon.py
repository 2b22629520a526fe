"""What people call things: measures and their names in reference works, and other names of places."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from msgspec import Struct


class Concept(Struct, frozen=True):
    """A measure or attribute under its reference name, with the words that people use for it."""

    label: str
    pattern: re.Pattern[str]


@cache
def concepts() -> tuple[Concept, ...]:
    """All concepts, the more specific ones first."""
    return tuple(
        Concept(entry["label"], re.compile("|".join(rf"(?:{_bounded(words)})" for words in entry["says"])))
        for entry in _data()["concept"]
    )


@cache
def aliases() -> dict[str, str]:
    """Other name -> usual name, both lower case."""
    return {other: name for name, others in _data()["alias"].items() for other in others}


@cache
def filler() -> frozenset[str]:
    """Words of asking, counting and comparing."""
    return frozenset(_data()["filler"].split())


@cache
def openers() -> frozenset[str]:
    """Words that begin sentences without being names."""
    return frozenset(_data()["openers"].split())


def _bounded(words: str) -> str:
    # A Chinese word has no boundary around it, and is none to the letters beside it: "实际GDP是".
    return words if not words.isascii() else rf"(?<![a-z0-9])(?:{words.strip()})(?:e?s)?(?![a-z0-9])"


@cache
def _data() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name("lexicon.toml").read_text("utf-8"))
