"""Run every recipe on every question, measure the runs, and store each row.

All recipes get the same budget and corpus.  Questions are asked in order, each to all recipes before the next, so that an
interrupted evaluation still compares like with like.  Stored rows are not run again, and interrupted runs resume.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress

from msgspec.structs import replace

from research._util.egress import StaysHere
from research.engine.engine import ENDED, new_id
from research.errors import ConfigError, ProviderError
from research.evaluation.contamination import leaks
from research.evaluation.pairwise_judging import Judged, race
from research.evaluation.plans import Evaluation, Plan, check, results, store_plan, unjudged
from research.evaluation.questions import Question
from research.evaluation.recipe_notation import Candidate
from research.evaluation.records import Records, Row
from research.evaluation.scorers import measure
from research.evaluation.trials import seed_of
from research.events.events import Paused, WaitingForUser
from research.events.recipe import Recipe
from research.events.view import RunView, fold
from research.text import clip
from research.workbench import leaving
from research.workbench.workbench import Workbench

LOOK_S = 0.25
"""Seconds between two checks of an active run."""
SHOWN = 500
"""Characters of the answer that a row stores."""

Watch = Callable[[Candidate, Question, Row], None]
"""Called for each measured row, from any thread."""
Asked = tuple[Question, Candidate, int]
"""A question to a recipe, and the number of the trial."""


def evaluate(
    bench: Workbench, plan: Plan, watch: Watch = lambda *_: None, stop: threading.Event | None = None
) -> Evaluation:
    """Check and store a plan, then carry it out; an evaluation of the same name continues.

    Raises `ConfigError` for a plan that cannot be carried out, before anything runs, and for a run's recipe.
    """
    check(bench, plan)
    records = Records(bench.store, plan.name)
    plan = replace(plan, name=records.name)
    if plan.fresh:
        records.forget({question.digest for question in plan.questions})
    store_plan(records, plan)
    return carry_out(bench, plan, watch, stop)


def carry_out(
    bench: Workbench, plan: Plan, watch: Watch = lambda *_: None, stop: threading.Event | None = None
) -> Evaluation:
    """Run the missing rows of a stored plan, and return all results.

    `stop` pauses the active runs; the next call resumes them.  Raises `ConfigError` for a run's recipe.
    """
    return _Runner(bench, plan, watch, stop or threading.Event()).work()


class _Runner:
    def __init__(self, bench: Workbench, plan: Plan, watch: Watch, stop: threading.Event) -> None:
        self.bench, self.plan, self.watch, self.stop = bench, plan, watch, stop
        self.records = Records(bench.store, plan.name)
        self.rows = self.records.rows()
        self.lock = threading.Lock()
        self.at_work = 0
        self.reason = ""

    def work(self) -> Evaluation:
        pairs = [
            (question, each, trial)
            for question in self.plan.questions
            for trial in range(self.plan.trials)
            for each in self.plan.candidates
        ]
        known = sum(self._row(*pair).done for pair in pairs)
        self._in_threads(self._ask, [pair for pair in pairs if not self._row(*pair).done])
        self._in_threads(self._judge, unjudged(self.plan, self.rows.values()))
        return results(self.plan, self.rows.values(), known, self.reason)

    def _row(self, question: Question, each: Candidate, trial: int) -> Row:
        """Return the stored row, or a new one."""
        new = Row(self.plan.name, each.key, question.id, question.digest, "", trial=trial)
        return self.rows.get(new.key, new)

    def _keep(self, row: Row) -> None:
        self.records.keep(row)
        with self.lock:
            self.rows[row.key] = row

    def _in_threads(self, do: Callable[[Question, Candidate, int], None], pairs: Sequence[Asked]) -> None:
        """Process the pairs, at most `concurrency` at once.  Raise the first error, which also stops the other threads."""
        todo = iter(pairs)
        failed = threading.Event()
        errors: list[BaseException] = []

        def drive() -> None:
            while not (self.stop.is_set() or failed.is_set() or self.reason) and (pair := self._next(todo)) is not None:
                try:
                    do(*pair)
                except BaseException as error:  # noqa: BLE001 - raised in the caller's thread
                    errors.append(error)
                    failed.set()
                finally:
                    with self.lock:
                        self.at_work -= 1

        # Daemon threads, not a pool: a server that shuts down must not wait for an evaluation, which can resume later.
        threads = [
            threading.Thread(target=drive, name=f"evaluate-{number}", daemon=True)
            for number in range(min(self.plan.concurrency, len(pairs)))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if errors:
            raise errors[0]

    def _next(self, todo: Iterator[Asked]) -> Asked | None:
        """Return the next pair, or None if there is none or its expected cost exceeds the cap."""
        with self.lock:
            cap = self.plan.max_usd
            if cap is not None:
                costs = [(row.cost_usd or 0.0) + (row.judge_usd or 0.0) for row in self.rows.values()]
                budget = self.plan.candidates[0].recipe.budget.usd
                one = budget if budget is not None else max(costs, default=0.0)
                if sum(costs) >= cap or sum(costs) + (self.at_work + 1) * one > cap:
                    return None
            pair = next(todo, None)
            self.at_work += pair is not None
            return pair

    def _ask(self, question: Question, each: Candidate, trial: int) -> None:
        row = self._row(question, each, trial)
        if not row.run:
            row = replace(row, run=new_id(), seed=seed_of(self.plan.seed, question, trial))
            self._keep(row)  # stored before the run starts, so that a crash leaves no unknown run
        self._begin(row.run, question, replace(each.asked(question), seed=row.seed))
        tags = self.bench.store.run(row.run).tags
        if self.records.tag not in tags:
            self.bench.store.tag(row.run, [*tags, self.records.tag])
        view = self._ended(row.run)
        if view is None:
            return
        row = replace(
            row,
            outcome=view.outcome or "needs_input",
            answer=clip(view.answer, SHOWN),
            scores=measure(question, view, self.plan.corpus.names),
            leaks=leaks(view, question),
            prompt_tokens=view.prompt_tokens,
            completion_tokens=view.completion_tokens,
            estimated=view.estimated,
            cost_usd=view.cost_usd,
            seconds=view.elapsed(view.updated),
        )
        self._keep(row)
        self.watch(each, question, row)

    def _begin(self, run_id: str, question: Question, recipe: Recipe) -> None:
        """Start or resume a run, unless it has ended or another process works on it."""
        try:
            found = self.bench.store.run(run_id)
        except ConfigError:  # not created yet
            self.bench.engine.start(question.question, recipe, run_id)
            return
        if found.status not in (*ENDED, "waiting_input"):
            with suppress(ConfigError):  # another process holds it or has just reclaimed it
                self.bench.engine.resume(run_id)

    def _ended(self, run_id: str) -> RunView | None:
        """Wait until a run has ended or waits for a reply, and return it; None if it is paused."""
        pausing = False
        while True:
            over = self.bench.engine.wait(run_id, LOOK_S)
            status = self.bench.store.run(run_id).status
            if status == "paused":
                last = self.bench.store.events(run_id)[-1]
                self.reason = self.reason or (last.reason if isinstance(last, Paused) else "")
                return None
            if status in ENDED or status == "waiting_input":
                events = self.bench.store.events(run_id)
                if status == "waiting_input" and isinstance(events[-1], WaitingForUser) and events[-1].site:
                    self.bench.engine.resume(run_id, "no")  # there is no one to consent
                    continue
                return fold(events)
            if self.stop.is_set() and not pausing:
                pausing = True
                with suppress(ConfigError):  # it has just ended
                    self.bench.engine.pause(run_id)
            elif over:  # another process works on it; if that dies, the run resumes here
                time.sleep(LOOK_S)
                with suppress(ConfigError):
                    self.bench.engine.resume(run_id)

    def _judge(self, question: Question, each: Candidate, trial: int) -> None:
        row = self._row(question, each, trial)
        other = "" if question.reference else self._row(question, self.plan.candidates[0], trial).run
        against = question.reference or self._report(other)
        held = leaving.held(self.bench.store, filter(None, (row.run, other)))
        try:
            judged = race(self.bench.model(self.plan.judge), question.question, self._report(row.run), against, held)
        except (ProviderError, StaysHere) as error:
            raise ConfigError(f"judge {self.plan.judge}: {error}; measured rows are saved") from error
        self._keep(_judged(row, judged, self.plan.judge))

    def _report(self, run_id: str) -> str:
        return fold(self.bench.store.events(run_id)).report


def _judged(row: Row, judged: Judged, judge: str) -> Row:
    spent = None if row.judge_usd is None or judged.cost_usd is None else row.judge_usd + judged.cost_usd
    return replace(row, judge=judge, judge_usd=spent, scores=replace(row.scores, race=judged.score))
