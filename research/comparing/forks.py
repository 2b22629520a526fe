"""Runs that are forks of one another: how many rounds they have in common, and a comparison from there on."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec import Struct

from research.comparing.starting import of_saved
from research.desk import Comparison
from research.errors import ConfigError
from research.inherited import prefix_hash
from research.store import Filters

if TYPE_CHECKING:
    from research.store import RunRow, Store
    from research.workbench import Workbench

CHAIN = 50
"""Forks of forks that are followed back."""
LISTED = 100
"""Newest forks of a run that are told."""


class Common(Struct, frozen=True):
    """The beginning that runs share."""

    rounds: int
    """Of the main agent, from the first; 0 where an edit changed that one."""
    hash: str
    """Of these rounds, as `research.inherited.prefix_hash` gives it; empty for none."""


def common(store: Store, runs: Sequence[str]) -> Common | None:
    """The rounds that all of these runs have in common; None where they are no forks of one run.

    What an edit changed is not in common: then fewer rounds are shared than were taken over.
    """
    try:
        lines = [_line(store, store.run(run)) for run in runs]
    except ConfigError:
        return None  # one was deleted
    if len({line[-1][0] for line in lines}) != 1 or len(runs) < 2:
        return None
    events = [store.events(run) for run in runs]
    for rounds in range(min(_shared(line, lines[0]) for line in lines[1:]), 0, -1):
        found = {prefix_hash(each, rounds) for each in events}
        if len(found) == 1:
            return Common(rounds, found.pop())
    return Common(0, "")


def _line(store: Store, row: RunRow) -> list[tuple[str, int]]:
    """The run and those it was forked from, back to the first: each with the rounds that the run has of it at most."""
    line = [(row.id, 0)]
    rounds = 0
    while row.origin is not None and row.origin.how == "fork" and len(line) < CHAIN:
        rounds = min(rounds or row.origin.round, row.origin.round)
        line.append((row.origin.run, rounds))
        try:
            row = store.run(row.origin.run)
        except ConfigError:
            break  # deleted; what was forked from it is still there
    return line


def _shared(one: list[tuple[str, int]], other: list[tuple[str, int]]) -> int:
    """At most so many rounds: those up to the fork at which the two lines part."""
    of_other = dict(other)
    for run, rounds in one:
        if run in of_other:
            limits = [each for each in (rounds, of_other[run]) if each]
            return min(limits, default=0)
    return 0


def with_origin(bench: Workbench, run_id: str) -> Comparison:
    """The comparison of a fork with the run it was forked from; the one that was kept before, where there is one.

    Raises `ConfigError` for a run that is no fork, or whose origin is gone.
    """
    row = bench.store.run(run_id)
    if row.origin is None or row.origin.how != "fork":
        raise ConfigError(f"run {row.id} is no fork: there is nothing that it was forked from to compare it with")
    runs = (row.origin.run, row.id)
    kept = next((each for each in bench.desk.comparisons() if each.runs == runs), None)
    return kept or of_saved(bench, runs)


class Taken(Struct, frozen=True):
    """What a fork took over."""

    run: str
    """The fork."""
    origin: str
    round: int
    hash: str
    """Of these rounds as they stand in the fork."""
    same: bool
    """Whether they stand so in the origin too; also false where that is gone."""


def taken(store: Store, row: RunRow) -> Taken | None:
    """What this run took over as a fork; None for one that is none."""
    if row.origin is None or row.origin.how != "fork":
        return None
    own, there = prefix_hash(store.events(row.id), row.origin.round), ""
    with suppress(ConfigError):  # deleted
        there = prefix_hash(store.events(store.run(row.origin.run).id), row.origin.round)
    return Taken(row.id, row.origin.run, row.origin.round, own, own == there)


def kin(store: Store, row: RunRow) -> dict[str, object]:
    """Where a run comes from and what was forked from it, for `show --json`: `origin`, None or an object, and `forks`.

    `prefix` names the rounds taken over as they stand in the fork; `same`: they stand so in its origin too.
    """
    origin = row.origin
    told: dict[str, object] | None = None
    if origin is not None:
        told = {"run": origin.run, "how": origin.how}
        if own := taken(store, row):
            told |= {"round": own.round, "prefix": own.hash, "same": own.same}
    rows = store.runs(limit=LISTED, filters=Filters(origin=row.id))
    forks = [own for each in rows if (own := taken(store, each))]
    return {
        "origin": told,
        "forks": [{"run": own.run, "round": own.round, "prefix": own.hash, "same": own.same} for own in forks],
    }
