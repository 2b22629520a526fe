"""Limits for texts, tags and metadata from outside."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any

from research.errors import ConfigError
from research.text import clip

FIELD, ITEMS = 300, 50
"""Most characters of a metadata value, and most values in a list."""
TAG, TAGS = 300, 50
"""Most characters of a tag; most tags of an item."""


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
