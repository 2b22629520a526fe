"""Start a comparison: either all of its runs or none."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec.structs import replace

from research.agent.journal import Journal
from research.agent.run import Run
from research.errors import ConfigError
from research.store.saved import Comparison

if TYPE_CHECKING:
    from research.events.recipe import Recipe
    from research.workbench.workbench import Workbench

MOST = 4
"""Maximum number of runs in a comparison."""


def compare(bench: Workbench, question: str, recipes: Sequence[Recipe], beside: Sequence[str] = ()) -> Comparison:
    """Start a run of the question with each recipe, and save them as a comparison.

    `beside` are the ids of saved runs to show first; if one has the same question, the new runs are its reruns.  Raises
    `ConfigError` that names the faulty recipe, before any run is started.
    """
    _check_count(len(recipes) + len(beside))
    if len({recipe.budget for recipe in recipes}) > 1:
        raise ConfigError("the recipes of a comparison share one budget; give all of them the same")
    # A reply to one run would change only that run's question.
    recipes = [replace(recipe, ask=False) for recipe in recipes]
    saved = [bench.store.run(run_id) for run_id in beside]
    # A rerun of a follow-up also inherits the earlier rounds, because its question refers to them.
    original = next((row.id for row in saved if row.question == question.strip()), None)
    for place, recipe in enumerate(recipes, 1):
        try:
            # Build the run as the engine does, to find errors in the recipe before any run exists.
            Run(question, recipe, bench.context_for(recipe, Journal(), threading.Event()))
        except ConfigError as error:
            raise ConfigError(f"recipe {place} ({recipe.label}): {error}") from error
    started: list[str] = []
    try:
        for recipe in recipes:
            started.append(
                bench.engine.rerun(original, recipe).run_id if original else bench.engine.start(question, recipe).run_id
            )
    except ConfigError:
        for run_id in started:
            with suppress(ConfigError):  # the run has already ended
                bench.engine.stop(run_id)
        bench.store.delete(started)
        raise
    return _save(bench, question.strip(), (*(row.id for row in saved), *started))


def compare_saved(bench: Workbench, run_ids: Sequence[str]) -> Comparison:
    """Save existing runs as a comparison.  Raises `ConfigError` for an unknown run, or one given twice."""
    _check_count(len(run_ids))
    rows = [bench.store.run(run_id) for run_id in run_ids]
    if len({row.id for row in rows}) < len(rows):
        raise ConfigError("a run is given twice; name each run of a comparison once")
    return _save(bench, rows[0].question, tuple(row.id for row in rows))


def _check_count(runs: int) -> None:
    if not 2 <= runs <= MOST:
        raise ConfigError(f"cannot compare {runs}: give 2 to {MOST} recipes or runs")


def _save(bench: Workbench, question: str, runs: tuple[str, ...]) -> Comparison:
    comparison = Comparison(secrets.token_hex(4), question, runs, time.time())
    bench.saved.save_comparison(comparison)
    return comparison
