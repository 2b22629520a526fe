"""Health of a deployment: the store, the disk, and the runs that are queued or running.

Cheap and without side effects.  The result is public, so it contains no path, question or name.
"""

from __future__ import annotations

import logging
import shutil
import sqlite3
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from research.errors import WorkbenchError

if TYPE_CHECKING:
    from research.config.settings import Settings
    from research.store import RunRow
    from research.workbench.workbench import Workbench

LOW_MB, LEAST_MB = 1_000, 100
"""Free space on the home folder's disk: below the first, degraded; below the second, nothing is served."""
UNTAKEN_S = 60.0
"""If a run has waited this long in the queue and none is running, there is no worker."""
_MB = 1_000_000

_log = logging.getLogger(__name__)

State = Literal["ok", "degraded"]


class Check(Struct, frozen=True, omit_defaults=True):
    """The result of one check."""

    status: State
    text: str = ""
    """The problem, and how to fix it."""
    free_mb: int | None = None


class Runs(Struct, frozen=True):
    """The queued and running runs of all users."""

    status: State
    queued: int
    running: int
    lost: int
    """Runs whose process is gone; reclaimed within seconds, unless they crashed it several times."""
    seen_s: float | None
    """Seconds since the latest heartbeat of a running run; None if there are none."""
    text: str = ""


class Health(Struct, frozen=True):
    """The overall state: `degraded` if any check is."""

    status: State
    serving: bool
    """Whether pages and commands work; they need the store and free disk space."""
    checks: dict[str, Check | Runs]


def check(bench: Workbench, others: Sequence[Workbench] = ()) -> Health:
    """Return the health of this workbench; the runs of `others`, its users' workbenches, count too.  Never raises."""
    store, rows = _store([bench, *others])
    disk = _disk(bench)
    runs = _runs(rows, bench.settings)
    checks: dict[str, Check | Runs] = {"store": store, "disk": disk, "runs": runs}
    full = disk.free_mb is not None and disk.free_mb < LEAST_MB
    healthy = all(each.status == "ok" for each in checks.values())
    return Health("ok" if healthy else "degraded", rows is not None and not full, checks)


def _store(benches: Sequence[Workbench]) -> tuple[Check, list[RunRow] | None]:
    """Return the queued and running runs; None if the first store cannot be read."""
    found: list[RunRow] = []
    unreadable = 0
    for n, bench in enumerate(benches):
        try:
            found += bench.store.stale(time.time() + 1)
        except (WorkbenchError, sqlite3.Error) as error:
            _log.warning("health: runs cannot be read: %s", error)
            if n == 0:
                return Check("degraded", "runs cannot be read; see the log"), None
            unreadable += 1
    if unreadable:
        return Check("degraded", f"the runs of {unreadable} users cannot be read; see the log"), found
    return Check("ok"), found


def _disk(bench: Workbench) -> Check:
    try:
        free = shutil.disk_usage(bench.settings.home).free // _MB
    except OSError as error:
        _log.warning("health: the home folder cannot be read: %s", error)
        return Check("degraded", "the home folder cannot be read; see the log")
    if free < LOW_MB:
        return Check("degraded", "disk space is low; runs pause when there is none left", free)
    return Check("ok", free_mb=free)


def _runs(rows: Sequence[RunRow] | None, settings: Settings) -> Runs:
    now, known = time.time(), rows or []
    running = [row for row in known if row.status == "running"]
    queued = [row for row in known if row.status == "queued"]
    lost = sum(now - row.heartbeat > settings.timings.lost_after for row in running)
    seen = round(max(0.0, now - max(row.heartbeat for row in running)), 1) if running else None
    untaken = [row for row in queued if now - max(row.heartbeat, row.updated) > UNTAKEN_S]
    alone = settings.engine == "workers" and untaken and lost == len(running)
    text = "no worker takes queued runs; start `python -m research worker`" if alone else ""
    return Runs("degraded" if alone else "ok", len(queued), len(running) - lost, lost, seen, text)
