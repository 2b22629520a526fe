"""A comparison begins: all of its runs are started, or none is."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from research.desk import Comparison
from research.errors import ConfigError
from research.journal import Journal
from research.run import Run

if TYPE_CHECKING:
    from research.recipe import Recipe
    from research.workbench import Workbench

MOST = 4
"""Runs that can stand side by side."""


def compare(bench: Workbench, question: str, recipes: Sequence[Recipe], beside: Sequence[str] = ()) -> Comparison:
    """Start the question with every recipe at once, and keep the runs as a comparison.

    `beside`: saved runs that stand left of them; of one that was asked the same the new ones are reruns.

    Raises `ConfigError`, which names the recipe that is wrong; then no run was started.
    """
    _counted(len(recipes) + len(beside))
    if len({recipe.budget for recipe in recipes}) > 1:
        raise ConfigError("the recipes of a comparison share one budget; give all of them the same")
    saved = [bench.store.run(run_id) for run_id in beside]
    # What a follow-up knew belongs to its question.
    again = next((row.id for row in saved if row.question == question.strip()), None)
    for place, recipe in enumerate(recipes, 1):
        try:
            # As the engine does: model and tools are made once for nothing, and what is wrong shows before a run exists.
            Run(question, recipe, bench.shared(recipe, Journal(), threading.Event()))
        except ConfigError as error:
            raise ConfigError(f"recipe {place} ({recipe.label}): {error}") from error
    started: list[str] = []
    try:
        for recipe in recipes:
            started.append(bench.engine.rerun(again, recipe) if again else bench.engine.start(question, recipe))
    except ConfigError:
        for run_id in started:
            with suppress(ConfigError):  # it has ended already
                bench.engine.stop(run_id)
        bench.store.delete(started)
        raise
    return _kept(bench, question.strip(), (*(row.id for row in saved), *started))


def of_saved(bench: Workbench, run_ids: Sequence[str]) -> Comparison:
    """Keep saved runs as a comparison.  Raises `ConfigError` for an unknown run, or one that is named twice."""
    _counted(len(run_ids))
    rows = [bench.store.run(run_id) for run_id in run_ids]
    if len({row.id for row in rows}) < len(rows):
        raise ConfigError("a run is named twice; each run stands once in a comparison")
    return _kept(bench, rows[0].question, tuple(row.id for row in rows))


def _counted(runs: int) -> None:
    if not 2 <= runs <= MOST:
        raise ConfigError(f"a comparison of {runs} is not possible: 2 to {MOST} recipes or runs are accepted")


def _kept(bench: Workbench, question: str, runs: tuple[str, ...]) -> Comparison:
    comparison = Comparison(secrets.token_hex(4), question, runs, time.time())
    bench.desk.keep_comparison(comparison)
    return comparison
