"""`compare`: one question with several recipes at once, or saved runs side by side."""

from __future__ import annotations

import argparse
import json
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from research.cli.common import EXIT, index, names, open_home, pairs, writable
from research.errors import ConfigError

if TYPE_CHECKING:
    from research.desk import Comparison
    from research.recipe import Recipe
    from research.view import RunView
    from research.workbench import Workbench

LOOK_S = 0.1
"""How often each run is looked at for what happened."""
_WORST = (1, 4, 3, 0)
"""Exit statuses, the worst first: failed, stopped, waits for input, completed."""


def compare(arguments: argparse.Namespace) -> int:
    from research.comparing import MOST, of_saved
    from research.comparing import compare as start
    from research.engine import checked_question
    from research.view import fold

    if bool(arguments.runs) == bool(arguments.recipe) or bool(arguments.runs) == (arguments.question is not None):
        raise ConfigError(
            f"give a question and 2 to {MOST} times --recipe FRAMEWORK/CONTEXT, or --runs with saved runs"
        )
    export = writable(arguments.export) if arguments.export else None
    bench = open_home(arguments)
    if arguments.runs:
        comparison = of_saved(bench, arguments.runs)
        views = [fold(bench.store.events(run_id)) for run_id in comparison.runs]
    else:
        question = checked_question(arguments.question)
        recipes = [_recipe(bench, text, arguments) for text in arguments.recipe]
        index(bench, arguments.folder)
        comparison = start(bench, question, recipes)
        print(f"comparison {comparison.id}: runs {' '.join(comparison.runs)}", file=sys.stderr, flush=True)
        views = _watched(bench, comparison.runs)
    if export is not None:
        from research.exports.comparison import markdown

        export.write_text(markdown(comparison, views, bench.desk.opinions(comparison.id)), encoding="utf-8")
    if arguments.json:
        print(json.dumps(_as_dict(comparison, views), ensure_ascii=False))
    else:
        _print(comparison, views)
    return min((EXIT.get(view.status, 0) for view in views), key=_WORST.index)


def _recipe(bench: Workbench, text: str, arguments: argparse.Namespace) -> Recipe:
    """`FRAMEWORK`, `FRAMEWORK/CONTEXT` or `FRAMEWORK/CONTEXT/MODEL`; a model's own name may hold slashes."""
    from research.recipe import Budget

    framework, context, model = (*text.split("/", 2), "", "")[:3]
    try:
        return bench.recipe(
            framework=framework,
            context=context or None,
            model=model or arguments.model,
            roles=pairs(arguments.role, "--role"),
            protocol=arguments.protocol,
            tools=names(arguments.tools),
            search=names(arguments.search),
            mcp=names(arguments.mcp),
            recall=arguments.recall,
            remember=arguments.remember,
            temperature=arguments.temperature,
            folders=arguments.folder,
            budget=Budget(arguments.budget_tokens, arguments.budget_usd, arguments.budget_seconds),
        )
    except ConfigError as error:
        raise ConfigError(f"--recipe {text}: {error}") from error


def _watched(bench: Workbench, runs: Sequence[str]) -> list[RunView]:
    """The runs once all have ended, with a line on stderr for each thing that happens in any of them."""
    from research import progress
    from research.view import RunView

    def stop(*_: object) -> None:
        """Ctrl-C asks all to stop, so that each ends with a readable report; a second one ends the process."""
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        for run_id in runs:
            with suppress(ConfigError):  # it has ended already
                bench.engine.stop(run_id)

    signal.signal(signal.SIGINT, stop)
    views = [RunView() for _ in runs]
    working = True
    while working:
        # Asked before the events are read: what a run wrote last is not missed.
        working = not all(bench.engine.wait(run_id, LOOK_S) for run_id in runs)
        for place, (run_id, view) in enumerate(zip(runs, views, strict=True), 1):
            for event in bench.store.events(run_id, view.seq):
                view.apply(event)
                for line in progress.lines(event):
                    recipe = f"{view.recipe.framework}/{view.recipe.context}"
                    print(f"[{place} {recipe}] {line}", file=sys.stderr, flush=True)
    return views


def _as_dict(comparison: Comparison, views: Sequence[RunView]) -> dict[str, Any]:
    """Keys are added over time, never renamed.  `runs`: as `show --json`; `table`: one object for each of them."""
    import msgspec

    from research.comparing import align, differences, figures, sources
    from research.exports.json import as_dict

    return {
        "comparison": comparison.id,
        "question": comparison.question,
        "comparable": not differences(views),
        "differences": list(differences(views)),
        "runs": [as_dict(view) for view in views],
        "table": [msgspec.to_builtins(figures(view)) for view in views],
        "sources": [msgspec.to_builtins(page) for page in sources(views)],
        "steps": [
            [
                step and {"agent": step.round.agent, "round": step.round.number, "purpose": step.round.purpose,
                          "tool": step.tool, "asked": step.asked}
                for step in row
            ]
            for row in align(views)
        ],
    }  # fmt: skip


def _print(comparison: Comparison, views: Sequence[RunView]) -> None:
    from research import progress
    from research.comparing import differences

    for place, view in enumerate(views, 1):
        print(f"--- {place}  {view.recipe.label}  ({view.run})\n\n{progress.summary(view)}\n")
    for each in differences(views):
        print(f"The runs do not share one {each}: compare with care.")
    print(f"Comparison {comparison.id}")
