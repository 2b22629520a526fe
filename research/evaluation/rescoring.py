"""Apply scorers to the saved runs of an evaluation, without running anything."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from research import plugins
from research.evaluation.contamination import leaks
from research.evaluation.plans import Evaluation, Plan, known_plan, results
from research.evaluation.records import Records, Row
from research.evaluation.row_exports import view_of
from research.evaluation.scorers import OWN, Scores, measure
from research.workbench.workbench import Workbench


class Rescored(Struct, frozen=True):
    """An evaluation after it was scored again."""

    plan: Plan
    found: Evaluation
    scored: int
    """Number of rows that were scored."""
    gone: tuple[str, ...]
    """Ids of runs that were deleted; their rows keep their scores."""


def saved(bench: Workbench, name: str) -> tuple[Plan, Records, dict[str, Row]]:
    """Return the plan, the records and the rows of a stored evaluation.  Raises `ConfigError` for an unknown name."""
    records = Records(bench.store, name)
    return known_plan(records).plan, records, records.rows()


def rescore(bench: Workbench, name: str, scorers: Sequence[str] = ()) -> Rescored:
    """Score every measured row of an evaluation, and store it; `scorers` names those to apply, by default all.

    The judge's points stay.  Raises `ConfigError` for an unknown evaluation or scorer.
    """
    wanted = [plugins.scorer.get(each).id for each in scorers] or [each.id for each in plugins.scorer.all()]
    plan, records, rows = saved(bench, name)
    questions = {each.digest: each for each in plan.questions}
    scored, gone = 0, []
    for key, row in rows.items():
        if not row.done or row.asked not in questions:
            continue
        view, question = view_of(bench.store, row), questions[row.asked]
        if view is None:
            gone.append(row.run)
            continue
        fresh = measure(question, view, plan.corpus.names, wanted)
        found = leaks(view, question) if "leaked" in wanted else row.leaks
        rows[key] = replace(row, scores=_merged(row.scores, fresh, wanted), leaks=found)
        records.keep(rows[key])
        scored += 1
    return Rescored(plan, results(plan, rows.values(), scored), scored, tuple(gone))


def _merged(before: Scores, fresh: Scores, wanted: Sequence[str]) -> Scores:
    """Return the earlier scores, with those of the wanted scorers replaced."""
    own = {name: value for name, value in msgspec.structs.asdict(fresh).items() if name in wanted and name in OWN}
    others = {name: value for name, value in before.extra.items() if name not in wanted}
    return replace(before, **own, extra=others | fresh.extra)
