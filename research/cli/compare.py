"""`compare`: research one question with several recipes at once, or put saved runs side by side."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from research.cli.common import EXIT_STATUS, on_interrupt, open_home, prepare_library, print_json, writable
from research.cli.parser import Commands, add_json_option
from research.cli.recipe_options import (
    add_folder_option,
    add_memory_options,
    add_recipe_options,
    chosen,
    collections,
)
from research.errors import ConfigError

if TYPE_CHECKING:
    from research.compare.alignment import Step
    from research.events.recipe import Recipe
    from research.events.view import RunView
    from research.store.saved import Comparison
    from research.workbench.workbench import Workbench

POLL_S = 0.1
"""How long to wait for a run before reading its new events."""
_WORST_FIRST = (1, 4, 3, 0)
"""Exit statuses: failed, stopped, waits for input, completed."""


def add(commands: Commands) -> None:
    """Declare the command."""
    command = commands.add(
        "compare", "research one question with several recipes at once, or put saved runs side by side", run
    )
    command.add_argument("question", nargs="?", help="the question for every recipe")
    command.add_argument(
        "--recipe",
        action="append",
        default=[],
        metavar="FRAMEWORK[:OPTION=VALUE,…]/CONTEXT[/MODEL]",
        help="a recipe, such as react/full, or agent:COMMAND for a program that reads the question; give 2 to 4",
    )
    command.add_argument(
        "--runs", nargs="+", default=[], metavar="RUN", help="2 to 4 saved runs, instead of a question"
    )
    command.add_argument("--export", metavar="FILE.md", help="write the comparison to this file")
    add_json_option(command)
    add_recipe_options(command)
    add_memory_options(command)
    add_folder_option(command)


def run(arguments: argparse.Namespace) -> int:
    """Compare; the exit status is that of the run that ended worst."""
    from research.compare.starting import MOST, compare_saved
    from research.compare.starting import compare as start
    from research.engine.engine import checked_question
    from research.events.view import fold

    if bool(arguments.runs) == bool(arguments.recipe) or bool(arguments.runs) == (arguments.question is not None):
        raise ConfigError(f"give a question and 2 to {MOST} --recipe options, or 2 to {MOST} saved runs with --runs")
    export = writable(arguments.export) if arguments.export else None
    bench = open_home(arguments)
    if arguments.runs:
        comparison = compare_saved(bench, arguments.runs)
        views = [fold(bench.store.events(run_id)) for run_id in comparison.runs]
    else:
        question = checked_question(arguments.question)
        recipes = [_recipe(bench, text, arguments) for text in arguments.recipe]
        prepare_library(bench, recipes[0].folders, arguments.folder)
        recipes = [
            _recipe(bench, text, arguments) for text in arguments.recipe
        ]  # with `query`, if there are tables now
        comparison = start(bench, question, recipes)
        print(f"comparison {comparison.id}: runs {' '.join(comparison.runs)}", file=sys.stderr, flush=True)
        views = _watch(bench, comparison.runs)
    if export is not None:
        from research.exports.comparison import markdown

        export.write_text(markdown(comparison, views, bench.saved.opinions(comparison.id)), encoding="utf-8")
    if arguments.json:
        print_json(_as_dict(comparison, views))
    else:
        _print(comparison, views)
    return min((EXIT_STATUS.get(view.status, 0) for view in views), key=_WORST_FIRST.index)


def _recipe(bench: Workbench, text: str, arguments: argparse.Namespace) -> Recipe:
    from research.evaluation.recipe_notation import parsed

    options = {**chosen(arguments), "recall": arguments.recall, "remember": arguments.remember, **parsed(text)}
    try:
        return bench.recipe(**options | collections(arguments, options["search"], bench.folders()))
    except ConfigError as error:
        raise ConfigError(f"--recipe {text}: {error}") from error


def _watch(bench: Workbench, runs: Sequence[str]) -> list[RunView]:
    """Wait until all runs have ended, with a line on stderr for each event of any of them, and return their views."""
    from research.events.view import RunView
    from research.exports import progress

    on_interrupt(partial(_stop, bench, runs))
    views = [RunView() for _ in runs]
    working = True
    while working:
        # Checked before the events are read, so that the last ones are not missed.
        working = not all(bench.engine.wait(run_id, POLL_S) for run_id in runs)
        for number, (run_id, view) in enumerate(zip(runs, views, strict=True), 1):
            for event in bench.store.events(run_id, view.seq):
                view.apply(event)
                for line in progress.lines(event):
                    recipe = f"{view.recipe.framework}/{view.recipe.context}"
                    print(f"[{number} {recipe}] {line}", file=sys.stderr, flush=True)
    return views


def _stop(bench: Workbench, runs: Sequence[str]) -> None:
    """Ask all runs to stop, so that each ends with a readable report."""
    for run_id in runs:
        with suppress(ConfigError):  # it has ended already
            bench.engine.stop(run_id)


def _as_dict(comparison: Comparison, views: Sequence[RunView]) -> dict[str, Any]:
    """Return what `--json` prints: `runs` as `show --json`, `table` with one object per run.

    Keys are added over time, never renamed.
    """
    from research.compare.alignment import align
    from research.compare.numbers import differences, figures, sources
    from research.exports.json import as_dict

    return {
        "comparison": comparison.id,
        "question": comparison.question,
        "comparable": not differences(views),
        "differences": list(differences(views)),
        "runs": [as_dict(view) for view in views],
        "table": [figures(view) for view in views],
        "sources": sources(views),
        "steps": [[step and _step_as_dict(step) for step in row] for row in align(views)],
    }


def _step_as_dict(step: Step) -> dict[str, Any]:
    return {
        "agent": step.round.agent,
        "round": step.round.number,
        "purpose": step.round.purpose,
        "tool": step.tool,
        "asked": step.asked,
    }


def _print(comparison: Comparison, views: Sequence[RunView]) -> None:
    from research.compare.numbers import differences
    from research.exports import progress

    for number, view in enumerate(views, 1):
        print(f"--- {number}  {view.recipe.label}  ({view.run})\n\n{progress.summary(view)}\n")
    for each in differences(views):
        print(f"The runs differ in {each}: compare with care.")
    print(f"Comparison {comparison.id}")
