"""Evaluations in the background of a server: a page starts, stops and resumes them, and may close.

Progress is read from the store, so that every page and every process sees the same.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from research.errors import ConfigError, WorkbenchError
from research.evaluation.plans import (
    Evaluation,
    Plan,
    StoredEvaluation,
    check,
    count_left,
    known_plan,
    merge,
    results,
    same_setup,
    store_plan,
    stored_plan,
)
from research.evaluation.records import Records, Row
from research.evaluation.runner import carry_out
from research.workbench.workbench import Workbench


class Progress(Struct, frozen=True):
    """A stored evaluation and its progress."""

    saved: StoredEvaluation
    found: Evaluation
    at_work: tuple[Row, ...]
    """Rows whose runs have started but are not measured yet."""

    @property
    def total(self) -> int:
        """Number of rows when the evaluation is complete."""
        return len(self.saved.plan.questions) * len(self.saved.plan.candidates) * self.saved.plan.trials

    @property
    def done(self) -> int:
        """Number of measured rows."""
        return sum(map(len, self.found.rows.values()))

    @property
    def unjudged(self) -> int:
        """Number of measured rows whose reports still have to be judged."""
        return self.found.left - (self.total - self.done)


class Job(threading.Thread):
    """The thread of one evaluation in this process."""

    def __init__(self, bench: Workbench, plan: Plan) -> None:
        super().__init__(name=f"evaluate {plan.name}", daemon=True)
        self._bench = bench
        self.plan = plan
        self.stopping = threading.Event()
        self.started = time.time()
        self._asking = self.started
        self._measured = 0
        self._lock = threading.Lock()
        self.indexed: tuple[int, int] | None = None
        """(done, total) documents while the corpus is indexed; None once questions are asked."""
        self.error = ""
        """The error that ended the evaluation early."""
        self.reason = ""
        """Why a run is paused; no run starts after it."""
        self.start()

    def run(self) -> None:
        try:
            if self.plan.corpus.folders:
                self.indexed = (0, 1)
                self._bench.prepare(self.plan.corpus.folders, self._indexing)
                self.indexed = None
            self._asking = time.time()
            self.reason = carry_out(self._bench, self.plan, self._count, self.stopping).reason
        except (WorkbenchError, OSError, sqlite3.Error) as error:
            self.error = str(error)

    def remaining(self, left: int) -> float | None:
        """Return the seconds that `left` rows take at the current pace; None before the first measured row."""
        return (time.time() - self._asking) / self._measured * left if self._measured else None

    def _count(self, *_: object) -> None:
        with self._lock:
            self._measured += 1

    def _indexing(self, done: int, total: int, what: str) -> None:
        self.indexed = (done, max(1, total))


class Evaluations:
    """Starts and stops the evaluations of one workbench.  Safe for threads."""

    def __init__(self, bench: Workbench) -> None:
        self._bench = bench
        self._jobs: dict[str, Job] = {}
        self._lock = threading.Lock()

    def progress(self, name: str) -> Progress:
        """Return the progress of an evaluation.  Raises `ConfigError` for an unknown name."""
        records = Records(self._bench.store, name)
        saved = known_plan(records)
        rows = records.rows()
        asked = {question.digest for question in saved.plan.questions}
        keys = {each.key for each in saved.plan.candidates}
        at_work = [row for row in rows.values() if not row.done and row.asked in asked and row.recipe in keys]
        return Progress(saved, results(saved.plan, rows.values()), tuple(at_work))

    def left(self, one: StoredEvaluation) -> int:
        """Return the number of rows still to come; faster than `progress`, for lists."""
        return count_left(one.plan, Records(self._bench.store, one.plan.name).marks())

    def job(self, name: str) -> Job | None:
        """Return the last job of that name in this process, running or ended."""
        return self._jobs.get(name)

    def working(self, name: str) -> bool:
        job = self._jobs.get(name)
        return job is not None and job.is_alive()

    def start(self, plan: Plan) -> str:
        """Start an evaluation, or add recipes to one with the same setup, and return its name.

        Raises `ConfigError` for a plan that cannot be carried out, and for the name of another evaluation.
        """
        records = Records(self._bench.store, plan.name)
        before = stored_plan(records)
        if before is not None and not same_setup(before.plan, plan):
            raise ConfigError(
                f"evaluation {records.name!r} exists with other questions or documents, another world or another budget; "
                "choose another name"
            )
        self._begin(merge(replace(plan, name=records.name), before).plan, records)
        return records.name

    def resume(self, name: str, max_usd: float | None = None) -> None:
        """Run the rows that are left; `max_usd` is the new total cap.  Raises `ConfigError`."""
        records = Records(self._bench.store, name)
        self._begin(replace(known_plan(records).plan, max_usd=max_usd), records)

    def stop(self, name: str) -> None:
        """Pause the active runs after the call in flight, and start no more."""
        job = self._jobs.get(name)
        if job is not None:
            job.stopping.set()

    def forget(self, name: str) -> Callable[[], None]:
        """Delete an evaluation and its rows, but not its runs, and return a function that restores them.

        Raises `ConfigError` while it is running, or if it is already gone.
        """
        with self._lock:
            if self.working(name):
                raise ConfigError(f"evaluation {name!r} is running; stop it first")
            records = Records(self._bench.store, name)
            body, rows = records.plan(), records.rows()
            if body is None and not rows:
                raise ConfigError(f"evaluation {name!r} is deleted already")
            records.drop()

        def restore() -> None:
            for row in rows.values():
                records.keep(row)
            if body is not None:
                records.keep_plan(body)

        return restore

    def _begin(self, plan: Plan, records: Records) -> None:
        check(self._bench, plan)
        with self._lock:
            if self.working(plan.name):
                raise ConfigError(
                    f"evaluation {plan.name!r} is already running; choose another name or wait until it ends"
                )
            self._jobs[plan.name] = Job(self._bench, store_plan(records, plan))
