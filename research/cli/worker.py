"""`worker`: takes runs from the queue and works on them, here; any number of them, on any number of machines."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
import time
from typing import TYPE_CHECKING

from research.errors import ConfigError, StoreUnavailable

if TYPE_CHECKING:
    from research.settings import Settings
    from research.workbench import Workbench

RUNS = 8
"""Runs at once in one process, unless it is told otherwise."""
FORGET_EVERY_S = 600.0
"""How often turns that are over are removed from the queue."""


def worker(arguments: argparse.Namespace) -> int:
    """Work until the process is asked to end (SIGTERM, Ctrl-C)."""
    # sqlite-utils loads pandas where it is installed, only to know its types.
    sys.modules.setdefault("pandas", None)  # type: ignore[arg-type]
    from research import logs
    from research.queue import listen
    from research.settings import load

    settings = load(home=arguments.home)
    logs.start(settings.logs, settings.log_level)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    here = _Worker(settings)
    try:
        here.warm()
        listen(settings, arguments.runs, here.take)
        _say(f"worker {os.getpid()} takes up to {arguments.runs} runs from {_named(settings)}")
        threading.Thread(target=here.tend, name="tend-runs", daemon=True).start()
        while True:
            time.sleep(3_600)
    except KeyboardInterrupt:
        # Nothing is lost: another worker goes on from the events as soon as these runs have been silent for a moment.
        left = ", ".join(here.at_work) or "none"
        _say(f"worker {os.getpid()} ends; runs that go on elsewhere: {left}")
        sys.stderr.flush()
        os._exit(0)  # threads in the middle of a call are not waited for


class _Worker:
    """The users' homes as this process has opened them, and the runs it works on."""

    def __init__(self, settings: Settings) -> None:
        self.at_work: dict[str, str] = {}
        """Users by run."""
        self._settings = settings
        self._open: dict[str, Workbench] = {}
        self._lock = threading.Lock()
        self._enqueued: set[tuple[str, str]] | None = None
        """What stands in the queue, as far as that was looked at in this round."""

    def open(self, user: str) -> Workbench:
        """A user's home, with an engine that puts what is lost into the queue."""
        from research.users import settings_for
        from research.workbench import Workbench

        with self._lock:
            if user not in self._open:
                bench = Workbench(settings_for(self._settings, user), _Missing(self, user))
                self._open[user] = bench
            return self._open[user]

    def warm(self) -> None:
        """Load now what every run needs, and try the sandbox: a run that was taken should not wait for it."""
        from research.journal import Journal

        bench = self.open("")
        bench.shared(bench.recipe(model="extractive"), Journal(), threading.Event())

    def take(self, user: str, run_id: str) -> None:
        """Work on a run, until it ends or rests."""
        try:
            bench = self.open(user)
            bench.reload()  # a key that was entered meanwhile counts
            _say(f"run {run_id} taken")
            self.at_work[run_id] = user
            bench.engine.work_off(run_id)
            row = bench.store.run(run_id)
            _say(f"run {run_id} {row.outcome or row.status}")
        except (ConfigError, StoreUnavailable) as error:
            _say(f"run {run_id} left: {error}")
        finally:
            self.at_work.pop(run_id, None)

    def tend(self) -> None:
        """Put into the queue what should be there and is not: runs of workers that are gone, first of all."""
        from research.engine import TEND_EVERY_S
        from research.queue import forget_ended
        from research.users import known

        forgot = 0.0
        while True:
            try:
                self._enqueued = None
                for user in ("", *known(self._settings)):
                    self.open(user).engine.take_up_lost()
            except (ConfigError, StoreUnavailable) as error:
                _say(f"lost runs cannot be looked for: {error}")
            if time.monotonic() - forgot > FORGET_EVERY_S:
                forgot = time.monotonic()
                forget_ended(self._settings)
            time.sleep(TEND_EVERY_S)

    def stands(self, user: str, run_id: str) -> bool:
        """Whether a run is in the queue; looking at all of it once a round is cheaper than once for each run."""
        from research.queue import enqueued

        if self._enqueued is None:
            self._enqueued = enqueued(self._settings)
        return (user, run_id) in self._enqueued


class _Missing:
    """Puts into the queue what is not there."""

    def __init__(self, worker: _Worker, user: str) -> None:
        from research.queue import DbosQueue

        self._worker, self._user = worker, user
        self._queue = DbosQueue(worker._settings, user)

    def put(self, run_id: str) -> None:
        if run_id not in self._worker.at_work and not self._worker.stands(self._user, run_id):
            self._queue.put_lost(run_id)


def _named(settings: Settings) -> str:
    return "the database" if settings.database_url is not None else str(settings.root)


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
