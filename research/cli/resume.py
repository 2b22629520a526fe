"""`resume`: continue a paused, waiting or interrupted run."""

from __future__ import annotations

import argparse

from research.cli.common import load_run, print_run
from research.cli.parser import Commands
from research.cli.watch import watch


def add(commands: Commands) -> None:
    """Declare the command."""
    command = commands.add("resume", "continue a run that is paused, waits for a reply or was interrupted", run)
    command.add_argument("run", help="id of the run, or a unique beginning of it")
    command.add_argument("--reply", metavar="TEXT", help="the reply to the run's question")
    command.add_argument("--json", action="store_true", help="print one JSON object")


def run(arguments: argparse.Namespace) -> int:
    """Continue the run and print it."""
    from research.events.view import fold

    bench, events = load_run(arguments)
    view = watch(bench, bench.engine.resume(arguments.run, arguments.reply, here=True), fold(events))
    return print_run(view, arguments.json)
