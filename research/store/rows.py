"""What both stores share: rows to copy to another store, look-up by id, and search patterns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from msgspec import Struct

from research._util import decoding
from research.errors import ConfigError
from research.events.recipe import Recipe
from research.store import Origin, RunRow

LAST: Final = "\U0010ffff"
"""Sorts after every character of an id, so ids that start with `id` lie between `id` and `id + LAST`."""

COLUMNS: Final = (
    "id, question, recipe, status, outcome, created, updated, beat, answer, origin, origin_how, origin_round"
)
"""The columns that `run_row` takes, in order."""


class StoredRun(Struct, frozen=True):
    """Everything that is stored for one run."""

    row: RunRow
    deleted: float | None
    """When the run was deleted, in seconds since the epoch."""
    events: tuple[tuple[int, str], ...]
    """Each event as its number and its JSON, in order."""
    requests: tuple[tuple[str, float], ...]
    """Each request as `stop` or `pause` and its time, in order."""


class StoredValue(Struct, frozen=True):
    """A value of the key-value store."""

    kind: str
    key: str
    body: bytes
    time: float
    """When it was written, in seconds since the epoch."""


def run_row(columns: Sequence[Any], tags: Sequence[str]) -> RunRow:
    """Build a row from the values of `COLUMNS`."""
    run_id, question, encoded, status, outcome, created, updated, heartbeat, answer, *source = columns
    recipe, origin = decoding.decode(encoded, Recipe), Origin(*source) if source[0] else None
    return RunRow(run_id, question, recipe, status, outcome, created, updated, heartbeat, answer, origin, tuple(tags))


def only_match(run_id: str, rows: Sequence[RunRow]) -> RunRow:
    """Return the only run whose id starts with `run_id`; `rows` are the first two matches, and a complete id wins.

    Raises `ConfigError` for an unknown or ambiguous id.
    """
    if not rows or not run_id:
        raise ConfigError(f"unknown run {run_id!r}; `python -m research runs` lists the saved ones")
    if len(rows) > 1 and rows[0].id != run_id:
        raise ConfigError(
            f"run id {run_id!r} is ambiguous: {rows[0].id} and {rows[1].id} start with it; give more characters"
        )
    return rows[0]


def containing(text: str) -> str:
    """Return the LIKE pattern, escaped by backslashes, for strings that contain the text."""
    return f"%{starting_with(text)}"


def starting_with(text: str) -> str:
    """Return the LIKE pattern, escaped by backslashes, for strings that start with the text."""
    for special in "\\%_":
        text = text.replace(special, f"\\{special}")
    return f"{text}%"
