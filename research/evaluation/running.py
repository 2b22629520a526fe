"""Ask every recipe every question, measure what comes of it, and keep each row.

The same budget and corpus for all; questions in their order, all recipes of one before the next, so that what an
interrupted evaluation has is paired.  Rows that are kept are not asked again, and a run that was interrupted goes on.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from typing import TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from research import decoding
from research.desk import Keeper
from research.engine import ENDED, new_id
from research.errors import ConfigError, ProviderError
from research.evaluation.corpus import Corpus
from research.evaluation.datasets import Question
from research.evaluation.judging import Judged, checked_judge, price, race
from research.evaluation.measures import measure
from research.evaluation.recipes import Candidate
from research.evaluation.records import Mark, Records, Row
from research.events import Paused
from research.recipe import Recipe
from research.text import clip
from research.types import Usage
from research.view import RunView, fold
from research.workbench import Workbench

LOOK_S = 0.25
"""How often a run at work is looked at."""
SHOWN = 500
"""Characters of an answer that a row keeps."""


class Plan(Struct, frozen=True):
    """What an evaluation is to do."""

    name: str
    questions: tuple[Question, ...]
    candidates: tuple[Candidate, ...]
    corpus: Corpus = Corpus()
    concurrency: int = 2
    """Runs at once."""
    max_usd: float | None = None
    """No run begins that could take the whole beyond it: each is expected to cost its budget, or where it has none as
    much as the dearest so far."""
    judge: str = ""
    """Model that judges the reports, against the question's own reference or else the first recipe's report."""
    fresh: bool = False
    """Forget what is kept of these questions first; the runs stay."""


class Evaluation(Struct, frozen=True):
    """What an evaluation has so far."""

    name: str
    rows: dict[str, list[Row]]
    """Those that are measured, by the candidate's name, in the order of the questions."""
    left: int
    """Rows that are still to come: it was stopped, its cap was reached, or a run rests."""
    known: int
    """Rows that were there before."""
    spent_usd: float | None
    """All of its rows together; None when a price is unknown."""
    reason: str = ""
    """Why a run rests, e.g. a service that is down: no other was begun after it."""


class Saved(Struct, frozen=True):
    """An evaluation that was begun, as it is kept."""

    plan: Plan
    created: float
    """Seconds since the epoch."""


R = TypeVar("R", Row, Mark)

Watch = Callable[[Candidate, Question, Row], None]
"""Called for each row that is measured, from any thread."""


def evaluate(
    bench: Workbench, plan: Plan, watch: Watch = lambda *_: None, stop: threading.Event | None = None
) -> Evaluation:
    """Begin an evaluation, or go on with it: `carry_out` after `check` and `begin`.

    Raises `ConfigError` for what is wrong with the plan, before anything runs, and with a run's recipe.
    """
    check(bench, plan)
    records = Records(bench.store, plan.name)
    plan = replace(plan, name=records.name)
    if plan.fresh:
        records.forget({question.digest for question in plan.questions})
    begin(records, plan)
    return carry_out(bench, plan, watch, stop)


def carry_out(
    bench: Workbench, plan: Plan, watch: Watch = lambda *_: None, stop: threading.Event | None = None
) -> Evaluation:
    """Run what is missing of a plan that was checked and begun, and return all there is.

    `stop` lets runs at work rest; they go on the next time.  Raises `ConfigError` for what is wrong with a run's recipe.
    """
    return _Runner(bench, plan, watch, stop or threading.Event()).work()


def check(bench: Workbench, plan: Plan) -> None:
    """Raises `ConfigError` for what is wrong with a plan, and changes nothing."""
    Records(bench.store, plan.name)
    names = [each.name for each in plan.candidates]
    if len({each.key for each in plan.candidates}) < len(names) or not names:
        raise ConfigError(f"recipes {', '.join(names) or 'none'}: at least one is needed, each once")
    if len({each.recipe.budget for each in plan.candidates}) > 1:
        raise ConfigError("the recipes of an evaluation share one budget; give all of them the same")
    if plan.judge:
        checked_judge(plan.judge, bench.model(plan.judge))
    if plan.max_usd is None:
        return
    asked = [plan.judge] if plan.judge else []
    asked += [name for each in plan.candidates for name in (each.recipe.model, *each.recipe.roles.values())]
    for name in dict.fromkeys(asked):
        if price(bench.model(name), Usage(1_000, 1_000)) is None:
            raise ConfigError(f"the price of {name} is unknown: a cap on cost cannot be kept; leave it out")


def saved(keeper: Keeper) -> list[Saved]:
    """The evaluations that were begun, newest first."""
    found = [decoding.decode(body, Saved) for body in keeper.kept("evaluation")]
    return sorted(found, key=lambda each: -each.created)


def stands(plan: Plan, rows: Collection[Row], known: int = 0, reason: str = "") -> Evaluation:
    """What an evaluation has, from all of its rows; nothing is run."""
    at = _measured(rows)
    digests = [question.digest for question in plan.questions]
    done = {
        each.name: [row for digest in digests if (row := at.get((key, digest)))]
        for each in plan.candidates
        for key in [each.key]
    }
    costs = [cost for row in at.values() for cost in (row.cost_usd, row.judge_usd)]
    spent = None if None in costs else sum(cost for cost in costs if cost is not None)
    return Evaluation(plan.name, done, left(plan, rows), known, spent, reason)


def left(plan: Plan, rows: Collection[R]) -> int:
    """How many rows are still to be measured, or measured and still to be judged."""
    at, digests = _measured(rows), [question.digest for question in plan.questions]
    keys = [each.key for each in plan.candidates]
    return sum((key, digest) not in at for key in keys for digest in digests) + len(_unjudged(plan, rows))


def _measured(rows: Collection[R]) -> dict[tuple[str, str], R]:
    """By recipe and question: a key is made from the whole recipe, which is slow for thousands of rows."""
    return {(row.recipe, row.asked): row for row in rows if row.done}


def _unjudged(plan: Plan, rows: Collection[R]) -> list[tuple[Question, Candidate]]:
    """Whose reports are still to be judged; there is nothing to judge the first recipe's against without a reference."""
    if not plan.judge:
        return []
    at, first = _measured(rows), plan.candidates[0].key
    recipes = [(each, each.key) for each in plan.candidates]
    asked = [(question, question.digest) for question in plan.questions]
    return [
        (question, each)
        for question, digest in asked
        for each, key in recipes
        if (row := at.get((key, digest)))
        and row.judge != plan.judge
        and (question.reference or (key != first and (first, digest) in at))
    ]


def begin(records: Records, plan: Plan) -> Plan:
    """Keep what is to be done, as `together`: one by one recipes make a matrix.  Returns the plan as it is kept."""
    kept = together(plan, begun(records))
    records.begin(msgspec.json.encode(kept))
    return kept.plan


def begun(records: Records) -> Saved | None:
    """The evaluation of these records; None when there is none."""
    body = records.begun()
    return None if body is None else decoding.decode(body, Saved)


def together(plan: Plan, before: Saved | None) -> Saved:
    """The plan with the recipes that were asked the same before."""
    plan = replace(plan, fresh=False)
    if before is None:
        return Saved(plan, time.time())
    keys, names = ({getattr(each, part) for each in plan.candidates} for part in ("key", "name"))
    others = tuple(
        replace(each, name=f"{each.name} {each.key}") if each.name in names else each
        for each in before.plan.candidates
        if each.key not in keys
    )
    if others and same(before.plan, plan):
        plan = replace(plan, candidates=(*plan.candidates, *others))
    return Saved(plan, before.created)


def same(one: Plan, other: Plan) -> bool:
    """Whether two plans ask the same questions over the same documents within the same budget."""
    first, second = ({each.recipe.budget for each in plan.candidates} for plan in (one, other))
    return (one.questions, one.corpus, first) == (other.questions, other.corpus, second)


class _Runner:
    def __init__(self, bench: Workbench, plan: Plan, watch: Watch, stop: threading.Event) -> None:
        self.bench, self.plan, self.watch, self.stop = bench, plan, watch, stop
        self.records = Records(bench.store, plan.name)
        self.rows = self.records.rows()
        self.lock = threading.Lock()
        self.at_work = 0
        self.reason = ""

    def work(self) -> Evaluation:
        pairs = [(question, each) for question in self.plan.questions for each in self.plan.candidates]
        known = sum(self._row(*pair).done for pair in pairs)
        self._in_threads(self._ask, [pair for pair in pairs if not self._row(*pair).done])
        self._in_threads(self._judge, _unjudged(self.plan, self.rows.values()))
        return stands(self.plan, self.rows.values(), known, self.reason)

    def _row(self, question: Question, each: Candidate) -> Row:
        """The row as it is kept, or a new one."""
        new = Row(self.plan.name, each.key, question.id, question.digest, "")
        return self.rows.get(new.key, new)

    def _keep(self, row: Row) -> None:
        self.records.keep(row)
        with self.lock:
            self.rows[row.key] = row

    # -- in threads -------------------------------------------------------------------------------------------------

    def _in_threads(
        self, do: Callable[[Question, Candidate], None], pairs: Sequence[tuple[Question, Candidate]]
    ) -> None:
        """At most `concurrency` at once.  The first error stops the others, and is raised."""
        todo = iter(pairs)
        failed = threading.Event()
        errors: list[BaseException] = []

        def drive() -> None:
            while not (self.stop.is_set() or failed.is_set() or self.reason) and (pair := self._next(todo)) is not None:
                try:
                    do(*pair)
                except BaseException as error:  # noqa: BLE001 - handed to the caller's thread, which raises it
                    errors.append(error)
                    failed.set()
                finally:
                    with self.lock:
                        self.at_work -= 1

        # Daemons, not a pool: a server that ends does not wait for an evaluation, which goes on another day.
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

    def _next(self, todo: Iterator[tuple[Question, Candidate]]) -> tuple[Question, Candidate] | None:
        """What is to be done next, if the cap on cost has room for it."""
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

    # -- one row ----------------------------------------------------------------------------------------------------

    def _ask(self, question: Question, each: Candidate) -> None:
        row = self._row(question, each)
        recipe = each.asked(question)
        if not row.run:
            row = replace(row, run=new_id())
            self._keep(row)  # first: what dies now is found again
        self._begin(row.run, question, recipe)
        tags = self.bench.store.run(row.run).tags
        if self.records.tag not in tags:
            self.bench.store.tag(row.run, [*tags, self.records.tag])
        view = self._ended(row.run)
        if view is None:
            return
        row = replace(
            row, outcome=view.outcome or "needs_input", answer=clip(view.answer, SHOWN),
            scores=measure(question, view, self.plan.corpus.names),
            prompt_tokens=view.prompt_tokens, completion_tokens=view.completion_tokens, estimated=view.estimated,
            cost_usd=view.cost_usd, seconds=view.elapsed(view.updated),
        )  # fmt: skip
        self._keep(row)
        self.watch(each, question, row)

    def _begin(self, run_id: str, question: Question, recipe: Recipe) -> None:
        """Start the run, or go on with it; one that has ended, or is at work elsewhere, is left."""
        try:
            found = self.bench.store.run(run_id)
        except ConfigError:  # there is none yet
            self.bench.engine.start(question.question, recipe, run_id)
            return
        if found.status not in (*ENDED, "waiting_input"):
            with suppress(ConfigError):  # somebody works on it, or was quicker to take it up
                self.bench.engine.go_on(run_id)

    def _ended(self, run_id: str) -> RunView | None:
        """The run when it has ended, or waits for a reply that nobody gives; None for one that rests."""
        asked = False
        while True:
            over = self.bench.engine.wait(run_id, LOOK_S)
            status = self.bench.store.run(run_id).status
            if status == "paused":
                last = self.bench.store.events(run_id)[-1]
                self.reason = self.reason or (last.reason if isinstance(last, Paused) else "")
                return None
            if status in ENDED or status == "waiting_input":
                return fold(self.bench.store.events(run_id))
            if self.stop.is_set() and not asked:
                asked = True
                with suppress(ConfigError):  # it has ended a moment ago
                    self.bench.engine.pause(run_id)
            elif over:  # another process works on it; should that one die, it goes on here
                time.sleep(LOOK_S)
                with suppress(ConfigError):
                    self.bench.engine.go_on(run_id)

    # -- the judge --------------------------------------------------------------------------------------------------

    def _judge(self, question: Question, each: Candidate) -> None:
        row = self._row(question, each)
        against = question.reference or self._report(self._row(question, self.plan.candidates[0]).run)
        try:
            judged = race(self.bench.model(self.plan.judge), question.question, self._report(row.run), against)
        except ProviderError as error:
            raise ConfigError(f"judge {self.plan.judge}: {error}; what was measured is kept") from error
        self._keep(_judged(row, judged, self.plan.judge))

    def _report(self, run_id: str) -> str:
        return fold(self.bench.store.events(run_id)).report


def _judged(row: Row, judged: Judged, judge: str) -> Row:
    spent = None if row.judge_usd is None or judged.cost_usd is None else row.judge_usd + judged.cost_usd
    return replace(row, judge=judge, judge_usd=spent, scores=replace(row.scores, race=judged.score))
