"""`show`: print a saved run."""

from __future__ import annotations

import argparse

from research.cli.common import load_run, print_json, print_run
from research.cli.parser import Commands, add_json_option, add_run_argument


def add(commands: Commands) -> None:
    """Declare the command."""
    command = commands.add("show", "show a saved run", run)
    add_run_argument(command)
    add_json_option(command)
    command.add_argument("--events", action="store_true", help="with --json: include the events")


def run(arguments: argparse.Namespace) -> int:
    """Print the run."""
    from research.compare.forks import lineage
    from research.events.view import fold
    from research.exports.json import as_dict

    bench, events = load_run(arguments)
    view = fold(events)
    if arguments.json:
        shown = as_dict(view, events if arguments.events else None) | lineage(
            bench.store, bench.store.run(arguments.run)
        )
        print_json(shown)
        return 0
    print_run(view, as_json=False)
    return 0
