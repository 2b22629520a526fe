"""Freeze the world of an evaluation: the tool results of a saved evaluation, or of a run, are played to all recipes."""

from __future__ import annotations

from research.engine.engine import ENDED
from research.errors import ConfigError
from research.evaluation.plans import stored_plan
from research.evaluation.records import Records
from research.workbench.workbench import Workbench
from research.workbench.worlds import PREFIX, name_of


def frozen(bench: Workbench, wanted: str, evaluation: str, *, fresh: bool = False) -> str:
    """Return `Recipe.world` for `recorded:EVAL` or `recorded:RUN`.

    Unless it is `fresh`, an evaluation keeps the world that it began with, even if more was recorded since.
    Raises `ConfigError` for a world without runs.
    """
    name = wanted.removeprefix(PREFIX).strip()
    if not wanted.startswith(PREFIX) or not name:
        raise ConfigError(
            f"world {wanted!r}: write {PREFIX}EVAL or {PREFIX}RUN, the name of a saved evaluation or a run"
        )
    before = stored_plan(Records(bench.store, evaluation))
    if before is not None and not fresh:
        for each in before.plan.candidates:
            if name_of(each.recipe.world) == name:
                return each.recipe.world
    return bench.worlds.keep(*_recorded(bench, name, evaluation))


def _recorded(bench: Workbench, name: str, evaluation: str) -> tuple[str, list[str]]:
    """Return the recording's name, and its runs: recipe by recipe, in the order of the questions."""
    saved = None if "/" in name else stored_plan(Records(bench.store, name))
    if saved is None:
        try:
            row = bench.store.run(name)
        except ConfigError as error:
            raise ConfigError(f"world {PREFIX}{name}: no evaluation has this name, and {error}") from error
        if row.status not in ENDED:
            raise ConfigError(
                f"world {PREFIX}{name}: the run has not ended ({row.status}); its results may still change"
            )
        return row.id, [row.id]
    if saved.plan.name == Records(bench.store, evaluation).name:
        raise ConfigError(f"evaluation {evaluation!r} cannot be played to itself; choose another name")
    rows = Records(bench.store, name).rows().values()
    place = {each.key: number for number, each in enumerate(saved.plan.candidates)}
    asked = {question.digest: number for number, question in enumerate(saved.plan.questions)}
    done = [row for row in rows if row.done and row.recipe in place and row.asked in asked]
    if not done:
        raise ConfigError(f"world {PREFIX}{name}: the evaluation has no finished run yet")
    done.sort(key=lambda row: (place[row.recipe], asked[row.asked], row.trial))
    return saved.plan.name, [row.run for row in done]
