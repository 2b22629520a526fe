"""Evaluations in the background of a server: begun, stopped and gone on with from a page that may be closed meanwhile.

What they have is read from the store, so that every page, and every process, sees the same.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from research.errors import ConfigError, WorkbenchError
from research.evaluation.records import Records, Row
from research.evaluation.running import (
    Evaluation,
    Plan,
    Saved,
    begin,
    begun,
    carry_out,
    check,
    left,
    same,
    saved,
    stands,
    together,
)
from research.workbench import Workbench


class Standing(Struct, frozen=True):
    """An evaluation as it stands now."""

    saved: Saved
    found: Evaluation
    at_work: tuple[Row, ...]
    """Rows whose runs were begun and not measured yet."""

    @property
    def total(self) -> int:
        """Rows that there are to be."""
        return len(self.saved.plan.questions) * len(self.saved.plan.candidates)

    @property
    def done(self) -> int:
        """Those that are measured."""
        return sum(map(len, self.found.rows.values()))

    @property
    def unjudged(self) -> int:
        """Measured ones whose reports are still to be judged."""
        return self.found.left - (self.total - self.done)


class Job(threading.Thread):
    """One evaluation at work in this process."""

    def __init__(self, bench: Workbench, plan: Plan) -> None:
        super().__init__(name=f"evaluate {plan.name}", daemon=True)
        self._bench = bench
        self.plan = plan
        self.stopping = threading.Event()
        self.begun = time.time()
        self._asking = self.begun
        self._measured = 0
        self._lock = threading.Lock()
        self.indexed: tuple[int, int] | None = None
        """Documents that are made searchable first, done and in all; None as soon as questions are asked."""
        self.error = ""
        """Why it ended before its time, in words."""
        self.reason = ""
        """Why a run rests, and no other was begun."""
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
        """Seconds that so many rows take at the pace so far; None before anything was measured."""
        return (time.time() - self._asking) / self._measured * left if self._measured else None

    def _count(self, *_: object) -> None:
        with self._lock:
            self._measured += 1

    def _indexing(self, done: int, total: int, what: str) -> None:
        self.indexed = (done, max(1, total))


class Evaluations:
    """The evaluations of one workbench.  Safe for threads."""

    def __init__(self, bench: Workbench) -> None:
        self._bench = bench
        self._jobs: dict[str, Job] = {}
        self._lock = threading.Lock()

    def all(self) -> list[Saved]:
        """Newest first."""
        return saved(self._bench.store)

    def standing(self, name: str) -> Standing:
        """Raises `ConfigError` when there is none of that name."""
        records = Records(self._bench.store, name)
        kept = _kept(records)
        rows = records.rows()
        asked = {question.digest for question in kept.plan.questions}
        keys = {each.key for each in kept.plan.candidates}
        at_work = [row for row in rows.values() if not row.done and row.asked in asked and row.recipe in keys]
        return Standing(kept, stands(kept.plan, rows.values()), tuple(at_work))

    def left(self, one: Saved) -> int:
        """How many of its rows are still to come; for a list, quicker than `standing`."""
        return left(one.plan, Records(self._bench.store, one.plan.name).marks())

    def job(self, name: str) -> Job | None:
        """The last one of that name in this process, at work or over."""
        return self._jobs.get(name)

    def working(self, name: str) -> bool:
        job = self._jobs.get(name)
        return job is not None and job.is_alive()

    def start(self, plan: Plan) -> str:
        """Begin an evaluation, or add recipes to one that asks the same; returns its name.

        Raises `ConfigError` for what is wrong with the plan, and where something else has its name.
        """
        records = Records(self._bench.store, plan.name)
        before = begun(records)
        if before is not None and not same(before.plan, plan):
            raise ConfigError(
                f"evaluation {records.name!r} is there, with other questions, documents or another budget; "
                "choose another name"
            )
        self._begin(together(replace(plan, name=records.name), before).plan, records)
        return records.name

    def go_on(self, name: str, max_usd: float | None = None) -> None:
        """Ask what is left; `max_usd` is the new cap on the whole.  Raises `ConfigError`."""
        records = Records(self._bench.store, name)
        self._begin(replace(_kept(records).plan, max_usd=max_usd), records)

    def stop(self, name: str) -> None:
        """Let the runs at work rest after the call in flight; the rest is not asked."""
        job = self._jobs.get(name)
        if job is not None:
            job.stopping.set()

    def forget(self, name: str) -> Callable[[], None]:
        """Drop an evaluation and its rows, not its runs; returns what brings them back.

        Raises `ConfigError` while it is at work.
        """
        with self._lock:
            if self.working(name):
                raise ConfigError(f"evaluation {name!r} is at work; stop it first")
            records = Records(self._bench.store, name)
            body, rows = records.begun(), records.rows()
            records.drop()

        def restore() -> None:
            for row in rows.values():
                records.keep(row)
            if body is not None:
                records.begin(body)

        return restore

    def _begin(self, plan: Plan, records: Records) -> None:
        check(self._bench, plan)
        with self._lock:
            if self.working(plan.name):
                raise ConfigError(f"evaluation {plan.name!r} is at work already; choose another name, or wait for it")
            self._jobs[plan.name] = Job(self._bench, begin(records, plan))


def _kept(records: Records) -> Saved:
    kept = begun(records)
    if kept is None:
        raise ConfigError(f"unknown evaluation {records.name!r}; the page Evaluate lists those that are kept")
    return kept
