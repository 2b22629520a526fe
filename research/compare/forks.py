"""Forks in a comparison: the rounds that runs have in common, and the lineage of a run."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec import Struct

from research.agent.inherited import prefix_hash
from research.compare.starting import compare_saved
from research.errors import ConfigError
from research.store import Filters
from research.store.saved import Comparison

if TYPE_CHECKING:
    from research.store import RunRow, Store
    from research.workbench.workbench import Workbench

CHAIN = 50
"""Maximum number of nested forks to follow back."""
LISTED = 100
"""Maximum number of forks in the lineage of a run; the newest ones."""


class CommonRounds(Struct, frozen=True):
    """The first rounds that all runs of a comparison share."""

    rounds: int
    """Number of rounds of the main agent; 0 if an edit changed the first."""
    hash: str
    """`prefix_hash` of these rounds; empty for none."""


def common_rounds(store: Store, runs: Sequence[str]) -> CommonRounds | None:
    """Return the rounds that all runs have in common; None unless they are forks of one run.

    An edit ends the common rounds, so they can be fewer than the rounds that the forks inherited.
    """
    try:
        lines = [_line(store, store.run(run)) for run in runs]
    except ConfigError:
        return None  # one was deleted
    if len({line[-1][0] for line in lines}) != 1 or len(runs) < 2:
        return None
    events = [store.events(run) for run in runs]
    for rounds in range(min(_common_limit(line, lines[0]) for line in lines[1:]), 0, -1):
        found = {prefix_hash(each, rounds) for each in events}
        if len(found) == 1:
            return CommonRounds(rounds, found.pop())
    return CommonRounds(0, "")


def _line(store: Store, row: RunRow) -> list[tuple[str, int]]:
    """Return the run and its ancestors, each with the maximum number of rounds that the run can have from it."""
    line = [(row.id, 0)]
    rounds = 0
    while row.origin is not None and row.origin.how == "fork" and len(line) < CHAIN:
        rounds = min(rounds or row.origin.round, row.origin.round)
        line.append((row.origin.run, rounds))
        try:
            row = store.run(row.origin.run)
        except ConfigError:
            break  # deleted, but its forks still exist
    return line


def _common_limit(one: list[tuple[str, int]], other: list[tuple[str, int]]) -> int:
    """Return the maximum number of rounds that two lineages share: those before the fork that separates them."""
    of_other = dict(other)
    for run, rounds in one:
        if run in of_other:
            limits = [each for each in (rounds, of_other[run]) if each]
            return min(limits, default=0)
    return 0


def compare_with_origin(bench: Workbench, run_id: str) -> Comparison:
    """Return the comparison of a fork with its origin, creating it unless it exists.

    Raises `ConfigError` for a run that is not a fork, or whose origin was deleted.
    """
    row = bench.store.run(run_id)
    if row.origin is None or row.origin.how != "fork":
        raise ConfigError(f"run {row.id} is not a fork, so it has no origin to compare it with")
    runs = (row.origin.run, row.id)
    existing = next((each for each in bench.saved.comparisons() if each.runs == runs), None)
    return existing or compare_saved(bench, runs)


class Inherited(Struct, frozen=True):
    """Rounds inherited by a fork."""

    run: str
    """Id of the fork."""
    origin: str
    """Id of the run it was forked from."""
    round: int
    """Number of rounds."""
    hash: str
    """`prefix_hash` of these rounds in the fork."""
    same: bool
    """Whether the origin has the same rounds; False if it was deleted."""


def inherited(store: Store, row: RunRow) -> Inherited | None:
    """Return the rounds that a fork inherited; None for a run that is not a fork."""
    if row.origin is None or row.origin.how != "fork":
        return None
    own, there = prefix_hash(store.events(row.id), row.origin.round), ""
    with suppress(ConfigError):  # deleted
        there = prefix_hash(store.events(store.run(row.origin.run).id), row.origin.round)
    return Inherited(row.id, row.origin.run, row.origin.round, own, own == there)


def lineage(store: Store, row: RunRow) -> dict[str, object]:
    """Return the `origin` of a run (None or an object) and its `forks`, for `show --json`.

    `prefix` is the hash of the inherited rounds in the fork; `same` tells whether the origin has the same rounds.
    """
    origin = row.origin
    source: dict[str, object] | None = None
    if origin is not None:
        source = {"run": origin.run, "how": origin.how}
        if own := inherited(store, row):
            source |= {"round": own.round, "prefix": own.hash, "same": own.same}
    rows = store.runs(limit=LISTED, filters=Filters(origin=row.id))
    forks = [own for each in rows if (own := inherited(store, each))]
    return {
        "origin": source,
        "forks": [{"run": own.run, "round": own.round, "prefix": own.hash, "same": own.same} for own in forks],
    }
