"""The plan of an evaluation: what to run, how it is stored, and how much of it is done."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Collection
from typing import TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from research._util import decoding
from research.errors import ConfigError
from research.evaluation.corpus import Corpus
from research.evaluation.questions import Question
from research.evaluation.recipe_notation import Candidate
from research.evaluation.records import Mark, Records, Row
from research.events.recipe import provider_of
from research.models.traits import cost
from research.store import KeyValue
from research.store.saved import readable
from research.types import Usage
from research.workbench import leaving
from research.workbench.workbench import Workbench

MOST_TRIALS = 100


class Plan(Struct, frozen=True):
    """What an evaluation runs, and within which limits."""

    name: str
    questions: tuple[Question, ...]
    candidates: tuple[Candidate, ...]
    corpus: Corpus = Corpus()
    concurrency: int = 2
    """Maximum number of runs at once."""
    max_usd: float | None = None
    """Cap on the cost of the whole evaluation.  A run starts only if its expected cost fits: its budget or, without
    one, the cost of the dearest row so far."""
    judge: str = ""
    """Model that judges the reports, against the question's reference or else the first recipe's report."""
    fresh: bool = False
    """Delete existing rows of these questions first; their runs stay."""
    trials: int = 1
    """How often each recipe is asked each question."""
    seed: int | None = None
    """The trials' seeds are made from it; None: no seeds are sent, as in earlier versions."""

    @property
    def world(self) -> str:
        """The recorded world that all recipes work in, as in `Recipe.world`; empty for none."""
        return self.candidates[0].recipe.world


def version_of(questions: Collection[Question]) -> str:
    """Return twelve hex digits that change with any question, answer or id, and with their order."""
    return hashlib.sha256("".join(question.digest for question in questions).encode()).hexdigest()[:12]


class Evaluation(Struct, frozen=True):
    """The results of an evaluation so far."""

    name: str
    rows: dict[str, list[Row]]
    """Measured rows by the candidate's name, in the order of the questions."""
    left: int
    """Rows not measured or not judged yet, because the evaluation was stopped, reached its cap, or a run is paused."""
    known: int
    """Rows that existed before."""
    spent_usd: float | None
    """Cost of all rows together; None if any price is unknown."""
    reason: str = ""
    """Why a run is paused, such as an unavailable service; no run starts after it."""


class StoredEvaluation(Struct, frozen=True):
    """A stored evaluation."""

    plan: Plan
    created: float
    """Seconds since the epoch."""


R = TypeVar("R", Row, Mark)


def check(bench: Workbench, plan: Plan) -> None:
    """Raise `ConfigError` if a plan cannot be carried out."""
    Records(bench.store, plan.name)
    names = [each.name for each in plan.candidates]
    if len({each.key for each in plan.candidates}) < len(names) or not names:
        raise ConfigError(f"recipes {', '.join(names) or 'none'}: give at least one, and each only once")
    if not 1 <= plan.trials <= MOST_TRIALS:
        raise ConfigError(f"trials {plan.trials}: expected 1 to {MOST_TRIALS}")
    if len({each.recipe.budget for each in plan.candidates}) > 1:
        raise ConfigError("the recipes of an evaluation share one budget; give all of them the same")
    worlds = {(each.recipe.world, each.recipe.world_new) for each in plan.candidates}
    if len(worlds) > 1:
        raise ConfigError("the recipes of an evaluation share one world; give all of them the same")
    if plan.world:
        bench.worlds.open(plan.world)
    if plan.judge:
        bench.model(plan.judge)
        if provider_of(plan.judge).written_by == "rules":
            raise ConfigError(
                f"judge {plan.judge!r}: the offline model cannot judge reports; name a language model, e.g. openai:NAME"
            )
        for each in plan.candidates:
            if each.recipe.egress:
                leaving.decided(bench, each.recipe, (plan.judge,))
    if plan.max_usd is None:
        return
    models = [plan.judge] if plan.judge else []
    models += [name for each in plan.candidates for name in (each.recipe.model, *each.recipe.roles.values())]
    for name in dict.fromkeys(models):
        if cost(bench.model(name), Usage(1_000, 1_000)) is None:
            raise ConfigError(f"the price of {name} is unknown, so the cost cannot be capped; leave out the cap")


def stored_plans(keeper: KeyValue) -> list[StoredEvaluation]:
    """Return all stored evaluations, newest first."""
    found = readable(keeper.values("evaluation"), StoredEvaluation, "evaluation")
    return sorted(found, key=lambda each: -each.created)


def stored_plan(records: Records) -> StoredEvaluation | None:
    """Return the stored evaluation of these records, if there is one."""
    body = records.plan()
    return None if body is None else decoding.decode(body, StoredEvaluation)


def known_plan(records: Records) -> StoredEvaluation:
    """Return the stored evaluation of these records.  Raises `ConfigError` if there is none."""
    if found := stored_plan(records):
        return found
    raise ConfigError(f"unknown evaluation {records.name!r}; the page Evaluate lists all of them")


def store_plan(records: Records, plan: Plan) -> Plan:
    """Merge a plan with the stored one, store the result, and return its plan."""
    saved = merge(plan, stored_plan(records))
    records.keep_plan(msgspec.json.encode(saved))
    return saved.plan


def merge(plan: Plan, before: StoredEvaluation | None) -> StoredEvaluation:
    """Add the recipes of an earlier plan with the same setup, so that a matrix can grow recipe by recipe."""
    plan = replace(plan, fresh=False)
    if before is None:
        return StoredEvaluation(plan, time.time())
    keys, names = ({getattr(each, part) for each in plan.candidates} for part in ("key", "name"))
    others = tuple(
        replace(each, name=f"{each.name} {each.key}") if each.name in names else each
        for each in before.plan.candidates
        if each.key not in keys
    )
    if others and same_setup(before.plan, plan):
        plan = replace(plan, candidates=(*plan.candidates, *others))
    return StoredEvaluation(plan, before.created)


def same_setup(one: Plan, other: Plan) -> bool:
    """Return whether two plans ask the same questions over the same documents, in the same world, with the same budget."""
    first, second = (
        {(each.recipe.budget, each.recipe.world, each.recipe.world_new) for each in plan.candidates}
        for plan in (one, other)
    )
    return (one.questions, one.corpus, first) == (other.questions, other.corpus, second)


def results(plan: Plan, rows: Collection[Row], known: int = 0, reason: str = "") -> Evaluation:
    """Return the results of an evaluation from its rows, without running anything."""
    measured = _measured(rows)
    digests = [question.digest for question in plan.questions]
    done = {
        each.name: [
            row for digest in digests for trial in range(plan.trials) if (row := measured.get((key, digest, trial)))
        ]
        for each in plan.candidates
        for key in [each.key]
    }
    costs = [cost for row in measured.values() for cost in (row.cost_usd, row.judge_usd)]
    spent = None if None in costs else sum(cost for cost in costs if cost is not None)
    return Evaluation(plan.name, done, count_left(plan, rows), known, spent, reason)


def count_left(plan: Plan, rows: Collection[R]) -> int:
    """Return the number of rows still to be measured or judged."""
    measured, digests = _measured(rows), [question.digest for question in plan.questions]
    keys = [each.key for each in plan.candidates]
    missing = sum(
        (key, digest, trial) not in measured for key in keys for digest in digests for trial in range(plan.trials)
    )
    return missing + len(unjudged(plan, rows))


def unjudged(plan: Plan, rows: Collection[R]) -> list[tuple[Question, Candidate, int]]:
    """Return the measured trials whose reports the plan's judge still has to judge.

    The first recipe's report is left out if the question has no reference to compare it with.
    """
    if not plan.judge:
        return []
    measured, first = _measured(rows), plan.candidates[0].key
    recipes = [(each, each.key) for each in plan.candidates]
    asked = [(question, question.digest) for question in plan.questions]
    return [
        (question, each, trial)
        for question, digest in asked
        for trial in range(plan.trials)
        for each, key in recipes
        if (row := measured.get((key, digest, trial)))
        and row.judge != plan.judge
        and (question.reference or (key != first and (first, digest, trial) in measured))
    ]


def _measured(rows: Collection[R]) -> dict[tuple[str, str, int], R]:
    """Return the measured rows by recipe key, question digest and trial.

    Callers compute each `Candidate.key` once, because it hashes the whole recipe: too slow for thousands of rows.
    """
    return {(row.recipe, row.asked, row.trial): row for row in rows if row.done}
