"""The runs that a gateway has open: finds the one for a request, keeps them alive, and ends them."""

from __future__ import annotations

import logging
import re
import time
from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Final

from research.engine.engine import ENDED, new_id
from research.engine.presence import Presence
from research.errors import ConfigError, StoreUnavailable
from research.events.events import Event, Paused
from research.servers.gateway_requests import Asking
from research.servers.gateway_runs import FRAMEWORK, Call, RecordedRun, restored
from research.servers.gateway_spool import Spool, recover
from research.store import Filters

if TYPE_CHECKING:
    from collections.abc import Sequence

    from research.workbench.workbench import Workbench

NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,59}")
OPEN_CALLS_S: Final = 600.0
"""Seconds without a request that end a run whose agent owes results of calls."""
REMEMBERED_S: Final = 3600.0
"""Age of paused runs whose conversations are still recognised."""
_UNNAMED: Final = re.compile(r"\d{6}-\d{6}-[0-9a-f]{8}")
_log = logging.getLogger(__name__)


class _Writer:
    """Writes the events of one run; opens its file at the first."""

    def __init__(self, desk: Desk, run_id: str) -> None:
        self._desk, self._run_id = desk, run_id
        self.spool: Spool | None = None
        self.presence = ExitStack()

    def __call__(self, events: Sequence[Event]) -> None:
        if self.spool is None:
            self.spool = Spool(self._desk.folder / f"{self._run_id}.events", self._desk.bench.store)
            self.presence.enter_context(self._desk.presence.driving(self._run_id))
        try:
            self.spool.append(events)
        except OSError as error:
            raise StoreUnavailable(f"the call cannot be recorded: {error.strerror}") from error

    def close(self) -> None:
        if self.spool is not None:
            self.spool.close()
            self.spool = None
        self.presence.close()


class Desk:
    """The open runs of one gateway.  All methods but `end` and `look` run in its event loop."""

    def __init__(self, bench: Workbench, idle_s: float) -> None:
        self.bench, self._idle_s = bench, idle_s
        self.folder = bench.settings.home / "gateway"
        self.presence = Presence(bench.settings.home / "driving")
        self.runs: dict[str, RecordedRun] = {}
        self._writers: dict[str, _Writer] = {}
        self._asleep: dict[str, RecordedRun] = {}
        """Paused runs, resumed by the next request of their conversations."""

    # -- requests -----------------------------------------------------------------------------------------------------

    def repeated(self, asking: Asking, name: str, *, retried: bool) -> Call | None:
        """Return the call that the request repeats, if a run has its answer; see `RecordedRun.repeated`."""
        for run in self._candidates(name):
            if call := run.repeated(asking, retried=retried):
                self._wake(run)
                return call
        return None

    def run_for(self, asking: Asking, name: str, model: str) -> RecordedRun:
        """Return the request's run; begin one if there is none.  Raises `ConfigError`."""
        if name:
            return self._named(asking, name, model)
        for run in self._candidates(""):
            if run.find(asking) is not None:
                self._wake(run)
                return run
        return self._begin(asking, new_id(), model, named=False)

    def open_run(self, name: str) -> RecordedRun | None:
        """Return the latest open run of that name."""
        run = next(iter(self._candidates(name)), None)
        if run is not None:
            self._wake(run)
        return run

    def _candidates(self, name: str) -> list[RecordedRun]:
        known = [*self.runs.values(), *self._asleep.values()]
        of_name = re.compile(rf"{re.escape(name)}(-\d+)?")
        found = [run for run in known if (run.named and of_name.fullmatch(run.id) if name else not run.named)]
        return sorted(found, key=lambda run: run.touched, reverse=True)

    def _named(self, asking: Asking, name: str, model: str) -> RecordedRun:
        if not NAME.fullmatch(name):
            raise ConfigError(f"run {name[:80]!r}: a name has up to 60 letters, digits, hyphens and underscores")
        number = 1
        while True:
            run_id = name if number == 1 else f"{name}-{number}"
            if run := self.runs.get(run_id) or self._asleep.get(run_id) or self._reopened(run_id):
                self._wake(run)
                return run
            if not self._exists(run_id):
                return self._begin(asking, run_id, model, named=True)
            number += 1

    def _exists(self, run_id: str) -> bool:
        with suppress(ConfigError):
            return self.bench.store.run(run_id).id == run_id
        return False

    def _reopened(self, run_id: str) -> RecordedRun | None:
        """Return a recorded run of that id that has not ended; None if there is none."""
        if not self._exists(run_id):
            return None
        row = self.bench.store.run(run_id)
        if row.recipe.framework != FRAMEWORK or row.status in ENDED or self.presence.driven(run_id):
            return None
        return self._restore(run_id)

    def _restore(self, run_id: str) -> RecordedRun:
        writer = self._writers[run_id] = _Writer(self, run_id)
        named = not _UNNAMED.fullmatch(run_id)
        self._asleep[run_id] = run = restored(self.bench.store.events(run_id), writer, named=named)
        return run

    def _begin(self, asking: Asking, run_id: str, model: str, *, named: bool) -> RecordedRun:
        writer = self._writers[run_id] = _Writer(self, run_id)
        self.runs[run_id] = run = RecordedRun(run_id, writer, named=named)
        run.start(asking, model)
        return run

    def _wake(self, run: RecordedRun) -> None:
        if run.id in self._asleep:
            self.runs[run.id] = self._asleep.pop(run.id)
            run.go_on()

    # -- the life of a run --------------------------------------------------------------------------------------------

    def open(self) -> None:
        """Save the events left by a killed gateway, and remember runs that may go on."""
        left = set(recover(self.folder, self.bench.store))
        rows = self.bench.store.runs(limit=50, filters=Filters(frameworks=(FRAMEWORK,), since=time.time() - 86_400))
        for row in rows:
            recent = time.time() - row.updated < REMEMBERED_S
            if row.id in left or (row.status in ("paused", "running") and recent and not self.presence.driven(row.id)):
                run = self._restore(row.id)
                if row.id in left:
                    self._wake(run)

    def look(self) -> Iterator[RecordedRun]:
        """Send heartbeats, read users' requests, and yield the runs to end now."""
        ids = list(self.runs)
        if not ids:
            return
        self.bench.store.heartbeat(ids)
        requests = self.bench.store.requests(ids)
        now = time.time()
        for run in list(self.runs.values()):
            if wish := requests.get(run.id):
                run.closed = "the user stopped it" if wish == "stop" else "the user paused it, and resuming it ends it"
            waits = any(not each.answered for each in run.conversations)
            limit = max(OPEN_CALLS_S, self._idle_s) if waits else self._idle_s
            if not run.at_work and (run.closed or now - run.touched > limit):
                yield run

    def end(self, run: RecordedRun) -> None:
        """End a run because its user wants it or its agent is done; its report is then checked."""
        wish = run.closed
        run.closed = wish or "it has ended"
        self.runs.pop(run.id, None)
        if "paused" in wish:
            run.append(Paused())
        self._writers.pop(run.id).close()
        if "paused" in wish:
            return
        engine = self.bench.engine
        if wish:
            # Until then its recent heartbeat suggests that another process drives it.
            time.sleep(self.bench.settings.timings.dead_after + 0.1)
            engine.stop(run.id)
            engine.wait(run.id)
            return
        try:
            deque(engine.resume(run.id, here=True).events(), 0)
        except ConfigError as error:  # e.g. a user has ended it
            _log.warning("run %s was not changed: %s", run.id, error)

    def pause(self, run: RecordedRun) -> None:
        """Pause a run because the gateway stops; its conversation's next request resumes it."""
        run.closed = "the gateway stops"
        self.runs.pop(run.id, None)
        run.append(Paused(reason="The gateway was stopped; the agent's next request goes on with the run."))
        self._writers.pop(run.id).close()
