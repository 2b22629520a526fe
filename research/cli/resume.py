"""`resume`: continue a paused, waiting or interrupted run."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from research.cli.common import load_run, print_run
from research.cli.parser import Commands, add_json_option, add_run_argument
from research.cli.watch import answered, watch
from research.errors import ConfigError

if TYPE_CHECKING:
    from research.events.events import PlanItem
    from research.events.view import RunView


def add(commands: Commands) -> None:
    """Declare the command."""
    command = commands.add("resume", "continue a run that is paused, waits for a reply or was interrupted", run)
    add_run_argument(command)
    command.add_argument("--reply", metavar="TEXT", help="the reply to the run's question")
    command.add_argument(
        "--plan", metavar="FILE", help="the plan to continue with: one item per line, or JSON; -: standard input"
    )
    add_json_option(command)


def run(arguments: argparse.Namespace) -> int:
    """Continue the run and print it."""
    from research.events.view import fold
    from research.workbench.estimate import before_resuming

    bench, events = load_run(arguments)
    before = fold(events)
    plan = _plan(arguments.plan, before) if arguments.plan else None
    if not before.outcome or before.outcome == "needs_input":
        print(before_resuming(before.recipe, before.question, models=bench.model), file=sys.stderr)
    view = answered(
        bench, watch(bench, bench.engine.resume(arguments.run, arguments.reply, plan=plan, here=True), before)
    )
    return print_run(view, arguments.json)


def _plan(name: str, view: RunView) -> tuple[PlanItem, ...]:
    """Return the plan in a file.  Raises `ConfigError`."""
    from research.agent.plan_text import parse, sources_of

    try:
        text = sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"--plan {name}: {error}") from error
    return parse(text, sources_of(view.recipe))
