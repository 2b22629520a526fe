"""`resume`: continue a paused, waiting or interrupted run."""

from __future__ import annotations

import argparse
import sys

from research.cli.common import load_run, print_run
from research.cli.parser import Commands, add_json_option, add_run_argument
from research.cli.watch import watch


def add(commands: Commands) -> None:
    """Declare the command."""
    command = commands.add("resume", "continue a run that is paused, waits for a reply or was interrupted", run)
    add_run_argument(command)
    command.add_argument("--reply", metavar="TEXT", help="the reply to the run's question")
    add_json_option(command)


def run(arguments: argparse.Namespace) -> int:
    """Continue the run and print it."""
    from research.events.view import fold
    from research.workbench.estimate import before_resuming

    bench, events = load_run(arguments)
    before = fold(events)
    if not before.outcome or before.outcome == "needs_input":
        print(before_resuming(before.recipe, before.question, models=bench.model), file=sys.stderr)
    view = watch(bench, bench.engine.resume(arguments.run, arguments.reply, here=True), before)
    return print_run(view, arguments.json)
