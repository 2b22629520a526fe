"""What the stores say and ask in the same way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from research.errors import ConfigError
from research.store import RunRow

LAST: Final = "\U0010ffff"
"""Sorts behind every character of an id: what begins with `id` lies between `id` and `id` + LAST."""


class Whole(Struct, frozen=True):
    """Everything that is kept of one run."""

    row: RunRow
    deleted: float | None
    """When it was taken out of every list, seconds since the epoch."""
    events: tuple[tuple[int, str], ...]
    """Each as its seq and its JSON, in order."""
    controls: tuple[tuple[str, float], ...]
    """What was asked of it, and when, in order."""


class Thing(Struct, frozen=True):
    """A value kept beside runs."""

    kind: str
    key: str
    body: bytes
    time: float
    """When it was kept, seconds since the epoch."""


def only(run_id: str, rows: Sequence[RunRow]) -> RunRow:
    """The one run that was meant, of the first two whose id begins so; a whole id wins.  Raises `ConfigError`."""
    if not rows or not run_id:
        raise ConfigError(f"unknown run {run_id!r}; `python -m research runs` lists the saved ones")
    if len(rows) > 1 and rows[0].id != run_id:
        raise ConfigError(f"run {run_id!r} is not unique: {rows[0].id} and {rows[1].id} begin so; give more of it")
    return rows[0]


def holding(words: str) -> str:
    """The LIKE pattern, escaped by a backslash, of every text that holds these words."""
    for special in "\\%_":
        words = words.replace(special, f"\\{special}")
    return f"%{words}%"


def tidy(tags: Sequence[str]) -> list[str]:
    """Each once, without needless space."""
    return list(dict.fromkeys(tag for each in tags if (tag := " ".join(each.split()))))
