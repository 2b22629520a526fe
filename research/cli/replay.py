"""`replay`: print the progress of a saved run, round by round."""

from __future__ import annotations

import argparse

from research.cli.common import load_run
from research.cli.parser import Commands, add_run_argument, positive_int


def add(commands: Commands) -> None:
    """Declare the command."""
    command = commands.add("replay", "play a saved run again, round by round", run)
    add_run_argument(command)
    command.add_argument("--to", type=positive_int, metavar="ROUND", help="stop after this round")


def run(arguments: argparse.Namespace) -> int:
    """Print the lines that appeared while the run was active, and its answer, or its reports at that round."""
    from research.events.branches import first_rounds
    from research.events.view import fold
    from research.exports import progress

    _, events = load_run(arguments)
    played = first_rounds(events, arguments.to) if arguments.to else events
    for event in played:
        for line in progress.lines(event):
            print(line)
    view = fold(played)
    if len(played) == len(events):
        print(progress.summary(view))
        return 0
    for agent, reports in {"": view.reports, **{name: each.reports for name, each in view.branches.items()}}.items():
        if reports:
            number, report = reports[-1]
            print(f"\n{agent and agent + ': '}report of round {number}\n\n{report}")
    return 0
