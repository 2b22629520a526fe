"""Whether this workbench can do its work: the store, the disk, and the runs that somebody should work on.

Cheap, without side effects, and without a word that only its users should read: no path, no question, no name.
"""

from __future__ import annotations

import logging
import shutil
import sqlite3
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from research.engine import LOST_AFTER_S
from research.errors import WorkbenchError

if TYPE_CHECKING:
    from research.store import RunRow
    from research.workbench import Workbench

LOW_MB, LEAST_MB = 1_000, 100
"""Free on the disk of the home folder: below the first it is time to act, below the second runs cannot be kept for long."""
UNTAKEN_S = 60.0
"""A run that waits in the queue for so long while nobody works on any: there is no worker."""
_MB = 1_000_000

_log = logging.getLogger(__name__)

State = Literal["ok", "degraded"]


class Check(Struct, frozen=True, omit_defaults=True):
    """One thing that was looked at."""

    status: State
    text: str = ""
    """What is wrong, and what to do."""
    free_mb: int | None = None


class Runs(Struct, frozen=True):
    """Runs of all users that have not ended and do not rest."""

    status: State
    queued: int
    running: int
    lost: int
    """Those whose process is gone; they go on by themselves within seconds, unless they have ended it several times."""
    seen_s: float | None
    """Seconds since somebody last said to be at work on one of them; None where there are none."""
    text: str = ""


class Health(Struct, frozen=True):
    """`degraded` as soon as one check is."""

    status: State
    serving: bool
    """Whether pages and commands work: not without the store, and not on a full disk."""
    checks: dict[str, Check | Runs]


def check(bench: Workbench, others: Sequence[Workbench] = ()) -> Health:
    """How this workbench is; the runs of `others`, those of its users, are counted too.  Never raises."""
    store, rows = _store([bench, *others])
    disk = _disk(bench)
    runs = _runs(rows, workers=bench.settings.engine == "workers")
    checks: dict[str, Check | Runs] = {"store": store, "disk": disk, "runs": runs}
    full = disk.free_mb is not None and disk.free_mb < LEAST_MB
    healthy = all(each.status == "ok" for each in checks.values())
    return Health("ok" if healthy else "degraded", rows is not None and not full, checks)


def _store(benches: Sequence[Workbench]) -> tuple[Check, list[RunRow] | None]:
    """The runs that somebody works on or should; None where the first of the stores cannot be read."""
    found: list[RunRow] = []
    silent = 0
    for n, bench in enumerate(benches):
        try:
            found += bench.store.waiting(time.time() + 1)
        except (WorkbenchError, sqlite3.Error) as error:
            _log.warning("health: runs cannot be read: %s", error)
            if n == 0:
                return Check("degraded", "runs cannot be read; the log says why"), None
            silent += 1
    if silent:
        return Check("degraded", f"the runs of {silent} users cannot be read; the log says why"), found
    return Check("ok"), found


def _disk(bench: Workbench) -> Check:
    try:
        free = shutil.disk_usage(bench.settings.home).free // _MB
    except OSError as error:
        _log.warning("health: the home folder cannot be read: %s", error)
        return Check("degraded", "the home folder cannot be read; the log says why")
    if free < LOW_MB:
        return Check("degraded", "little space is left; runs rest while there is none", free)
    return Check("ok", free_mb=free)


def _runs(rows: Sequence[RunRow] | None, *, workers: bool) -> Runs:
    now, known = time.time(), rows or []
    running = [row for row in known if row.status == "running"]
    queued = [row for row in known if row.status == "queued"]
    lost = sum(now - row.beat > LOST_AFTER_S for row in running)
    seen = round(max(0.0, now - max(row.beat for row in running)), 1) if running else None
    untaken = [row for row in queued if now - max(row.beat, row.updated) > UNTAKEN_S]
    alone = workers and untaken and lost == len(running)
    text = "nobody takes queued runs up; start `python -m research worker`" if alone else ""
    return Runs("degraded" if alone else "ok", len(queued), len(running) - lost, lost, seen, text)
