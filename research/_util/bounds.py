"""Lists written with commas, and limits for texts, tags and metadata from outside."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from itertools import islice
from typing import Any

from research.errors import ConfigError
from research.text import clip

FIELD, ITEMS = 300, 50
"""Most characters of a metadata value, and most values in a list."""
TAG, TAGS = 300, 50
"""Most characters of a tag; most tags of an item."""


def split_names(text: str) -> tuple[str, ...]:
    """Split a list separated by commas."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


def named_numbers(text: str, setting: str, known: Collection[str], *, positive: bool = False) -> dict[str, float]:
    """Return the numbers by name in a setting such as `openai=60,anthropic=30`; 0 is one unless `positive`.

    Raises `ConfigError` for a name that is not `known` or appears twice, and for anything but such a number.
    """
    found: dict[str, float] = {}
    for part in split_names(text):
        name, _, number = (each.strip() for each in part.partition("="))
        if name not in known:
            raise ConfigError(f"{setting}: unknown name {name!r}; known: {', '.join(known)}")
        if name in found:
            raise ConfigError(f"{setting}: {name} appears twice; keep one")
        try:
            found[name] = float(number)
        except ValueError:
            found[name] = math.nan
        if not 0 <= found[name] < math.inf or (positive and not found[name]):
            raise ConfigError(
                f"{setting}: {part!r}: expected NAME=NUMBER with {'a number above 0' if positive else '0 or more'}"
            )
    return found


def within(limit: int, what: str, text: str) -> str:
    """Return the text.  Raises `ConfigError` if it is longer than `limit` characters."""
    if len(text) > limit:
        raise ConfigError(f"{what} has {len(text):,} characters; at most {limit:,} are accepted")
    return text


def checked_tags(tags: Iterable[str]) -> list[str]:
    """Return the tags without duplicates and extra white space. Raises `ConfigError` for too long or too many."""
    kept = list(dict.fromkeys(within(TAG, "a tag", tag) for each in tags if (tag := " ".join(each.split()))))
    if len(kept) > TAGS:
        raise ConfigError(f"{len(kept):,} tags are too many; at most {TAGS} are accepted")
    return kept


def short(value: Any, depth: int = 4) -> Any:
    """Return a JSON value with its texts, lists and objects cut short; deeper values become empty texts.

    Metadata from outside is repeated in many places.
    """
    match value:
        case str():
            return clip(value.encode("utf-8", "replace").decode(), FIELD)  # JSON cannot carry lone surrogates
        case int() if abs(value) < 10**9:
            return value
        case list() if depth:
            return [short(each, depth - 1) for each in value[:ITEMS]]
        case dict() if depth:
            return {clip(str(key), 60): short(each, depth - 1) for key, each in islice(value.items(), ITEMS)}
        case _:
            return ""
