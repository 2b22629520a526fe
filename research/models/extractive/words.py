"""Words of questions: those that say nothing about what is asked, and those that mean nearly the same."""

from __future__ import annotations

import re
import tomllib
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from research.models.extractive.opposites import stem
from research.text import STOP_WORDS, language_of, tokens

_SHORT = 8
"""Longest word that other forms match by their stem: the stem of *countryside* is that of *country*."""
Sense = tuple[int, int]
"""A line of the table of words for the same thing, and the side of its `|`."""


@cache
def filler() -> frozenset[str]:
    """Return the tokens that ask, count or fill a sentence."""
    words = _data()["filler"]
    return frozenset(tokens(words)) | frozenset(words.split()) | frozenset(tokens(" ".join(STOP_WORDS))) | STOP_WORDS


@lru_cache(maxsize=16_384)
def senses(text: str) -> frozenset[Sense]:
    """Return the lines and sides of the table that the words of a text are on."""
    table, phrases = _table()
    found: set[Sense] = set()
    for token in tokens(text):
        found |= table.get(token, frozenset()) | table.get(f"{stem(token)}-", frozenset())
    for match in phrases.finditer(text.lower()):
        found |= table[match.group()]
    return frozenset(found)


def opposite(asked: str, told: str) -> bool:
    """Return whether a question is about one side of a line and the text only about the other."""
    mine, theirs = senses(asked), senses(told)
    return any(
        (line, 1 - side) in theirs and (line, side) not in theirs and (line, 1 - side) not in mine
        for line, side in mine
        if line in _two_sided()
    )


def reason(question: str, template: str, **values: object) -> str:
    """Return why a part counts as not found, in the language of its question."""
    if language_of(question) == "zh":
        chinese: dict[str, str] = _data()["reason"]
        template = chinese.get(template, template)
        values = {name: chinese.get(str(value), value) for name, value in values.items()}
    return template.format(**values)


@cache
def _two_sided() -> frozenset[int]:
    return frozenset(number for number, line in enumerate(_data()["alike"]) if "|" in line)


@cache
def _table() -> tuple[dict[str, frozenset[Sense]], re.Pattern[str]]:
    """Return the senses by stem, Chinese word or phrase, and a pattern for the last two."""
    built: dict[str, set[Sense]] = {}
    for number, line in enumerate(_data()["alike"]):
        for side, words in enumerate(line.split("|")):
            for word in words.split():
                plain = word.replace("_", " ")
                plain = tokens(plain)[0] if plain.isascii() and " " not in plain else plain
                built.setdefault(plain, set()).add((number, side))
                if plain.isascii() and len(plain) <= _SHORT:
                    built.setdefault(f"{stem(plain)}-", set()).add((number, side))
    table = {word: frozenset(found) for word, found in built.items()}
    phrases = sorted((word for word in table if " " in word or not word.isascii()), key=len, reverse=True)
    return table, re.compile("|".join(map(re.escape, phrases)))


@cache
def _data() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name("words.toml").read_text("utf-8"))
