"""Parts shared by both stores: rows to copy elsewhere, look-up by id, and search patterns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Final, LiteralString

import msgspec
from msgspec import Meta, Struct

from research._util import decoding
from research.errors import ConfigError
from research.events.events import Status
from research.events.recipe import Recipe
from research.store import Origin, RunRow
from research.types import Outcome

_Time = Annotated[float, Meta(ge=0, le=250_000_000_000)]
"""Seconds since the epoch, up to the year 9892."""
LAST: Final = "\U0010ffff"
"""Sorts after every character of an id, so ids that start with `id` lie between `id` and `id + LAST`."""

COLUMNS: Final = (
    "id, question, recipe, status, outcome, created, updated, beat, answer, origin, origin_how, origin_round"
)
"""The columns that `run_row` takes, in order."""
ENDING: Final[LiteralString] = (
    "CASE WHEN status = 'paused' AND answer <> '' THEN 'failed' ELSE COALESCE(outcome, 'running') END"
)
"""`RunRow.ending` in SQL."""


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
    """Build a row from the values of `COLUMNS`; an unreadable one gets a default, and the row says so."""
    run_id, question, encoded, status, outcome, created, updated, heartbeat, answer, *source = columns
    damaged: list[str] = []

    def sound(name: str, value: Any, kind: Any, instead: Any) -> Any:
        try:
            return decoding.convert(value, kind)
        except (ValueError, TypeError):
            damaged.append(name)
            return instead

    try:
        recipe = decoding.decode(encoded, Recipe)
    except (ValueError, TypeError, RecursionError):
        recipe = Recipe()
        damaged.append("recipe")
    origin = None
    if source[0]:
        named = dict(zip(Origin.__struct_fields__, source, strict=True))
        origin = sound("origin", named, Origin, None)
    row = RunRow(
        id=str(run_id),
        question=sound("question", question, str, ""),
        recipe=recipe,
        status=sound("status", status, Status, "failed"),
        outcome=sound("outcome", outcome, Outcome | None, "failed"),
        created=sound("created", created, _Time, 0.0),
        updated=sound("updated", updated, _Time, 0.0),
        heartbeat=sound("beat", heartbeat, _Time, 0.0),
        answer=sound("answer", answer, str, ""),
        origin=origin,
        tags=tuple(map(str, tags)),
    )
    if damaged:  # no process can continue it
        row = msgspec.structs.replace(row, damaged=tuple(damaged), status="failed", outcome="failed")
    return row


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


def starting_with(text: str) -> str:
    """Return the LIKE pattern, escaped by backslashes, for strings that start with the text."""
    for special in "\\%_":
        text = text.replace(special, f"\\{special}")
    return f"{text}%"
