"""`worker`: take runs from the queue and work on them; any number of workers may share a queue."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
import time
from typing import TYPE_CHECKING

from research import defaults
from research.cli.common import open_settings
from research.cli.parser import Commands, positive_int
from research.errors import ConfigError, StoreUnavailable

if TYPE_CHECKING:
    from research.config.settings import Settings
    from research.workbench.workbench import Workbench

DEFAULT_RUNS = 8
"""Runs at once in one process, unless `--runs` says otherwise."""
CLEAN_EVERY_S = 600.0
"""How often entries of ended runs are deleted from the queue."""


def add(commands: Commands) -> None:
    """Declare the command."""
    command = commands.add("worker", "take queued runs and work on them until the process is asked to end", run)
    command.add_argument(
        "--runs",
        type=positive_int,
        default=DEFAULT_RUNS,
        metavar="N",
        help=f"run at most N at once; default: {DEFAULT_RUNS}",
    )


def run(arguments: argparse.Namespace) -> int:
    """Work until the process is asked to end (SIGTERM, Ctrl-C)."""
    settings = open_settings(arguments.home)
    from research.engine.queue import listen

    signal.signal(signal.SIGTERM, signal.default_int_handler)
    worker = _Worker(settings)
    try:
        worker.warm_up()
        listen(settings, arguments.runs, worker.take)
        queue = "the database" if settings.database_url is not None else settings.root
        _print(f"worker {os.getpid()} takes up to {arguments.runs} runs from {queue}")
        threading.Thread(target=worker.reclaim_lost_runs, name="tend-runs", daemon=True).start()
        while True:
            time.sleep(3_600)
    except KeyboardInterrupt:
        # The runs stay in the store: another worker continues them once their heartbeat is old enough.
        at_work = ", ".join(worker.at_work) or "none"
        _print(f"worker {os.getpid()} ends; runs left to other workers: {at_work}")
        sys.stderr.flush()
        os._exit(0)  # does not wait for threads in mid-call


class _Worker:
    """The homes that this process has opened, by user, and the runs it works on."""

    def __init__(self, settings: Settings) -> None:
        self.at_work: dict[str, str] = {}
        """The user of each run that this worker drives, by run id."""
        self._settings = settings
        self._benches: dict[str, Workbench] = {}
        self._lock = threading.Lock()
        self._queued: set[tuple[str, str]] | None = None
        """(user, run id) of every queued run, read at most once in each round of `reclaim_lost_runs`."""

    def open(self, user: str) -> Workbench:
        """Return the user's workbench, whose engine puts lost runs into the queue."""
        from research.config.users import settings_for
        from research.workbench.workbench import Workbench

        with self._lock:
            if user not in self._benches:
                self._benches[user] = Workbench(settings_for(self._settings, user), _LostRunQueue(self, user))
            return self._benches[user]

    def warm_up(self) -> None:
        """Import what every run needs and try the sandbox, so that the first run need not wait."""
        from research.agent.journal import Journal

        bench = self.open("")
        bench.context_for(bench.recipe(model=defaults.OFFLINE), Journal(), threading.Event())

    def take(self, user: str, run_id: str) -> None:
        """Work on a run until it ends or pauses."""
        try:
            bench = self.open(user)
            bench.reload()  # picks up keys entered since
            _print(f"run {run_id} taken")
            self.at_work[run_id] = user
            bench.engine.drive(run_id)
            row = bench.store.run(run_id)
            _print(f"run {run_id} {row.outcome or row.status}")
        except (ConfigError, StoreUnavailable) as error:
            _print(f"run {run_id} left: {error}")
        finally:
            self.at_work.pop(run_id, None)

    def reclaim_lost_runs(self) -> None:
        """Keep putting runs that no process works on back into the queue, such as those of killed workers."""
        from research.config.users import known_users
        from research.engine.queue import delete_ended

        cleaned = 0.0
        while True:
            try:
                self._queued = None
                for user in ("", *known_users(self._settings)):
                    self.open(user).engine.reclaimer.reclaim_lost()
            except (ConfigError, StoreUnavailable) as error:
                _print(f"cannot look for lost runs: {error}")
            if time.monotonic() - cleaned > CLEAN_EVERY_S:
                cleaned = time.monotonic()
                delete_ended(self._settings)
            time.sleep(self._settings.timings.reclaim_every)

    def is_queued(self, user: str, run_id: str) -> bool:
        """Return whether a run is in the queue."""
        from research.engine.queue import enqueued

        if self._queued is None:
            # One query for the whole queue costs less than one for each run.
            self._queued = enqueued(self._settings)
        return (user, run_id) in self._queued


class _LostRunQueue:
    """Queues a run unless it is queued already or this process works on it."""

    def __init__(self, worker: _Worker, user: str) -> None:
        from research.engine.queue import DbosQueue

        self._worker, self._user = worker, user
        self._queue = DbosQueue(worker._settings, user)

    def put(self, run_id: str) -> None:
        if run_id not in self._worker.at_work and not self._worker.is_queued(self._user, run_id):
            self._queue.put_lost(run_id)


def _print(line: str) -> None:
    sys.stderr.write(f"{line}\n")  # atomically: threads and other workers write here, too
    sys.stderr.flush()
