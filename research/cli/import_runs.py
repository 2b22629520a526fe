"""`import`: load runs from files."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from research.cli.common import open_home
from research.cli.parser import Commands
from research.errors import ConfigError


def add(commands: Commands) -> None:
    """Declare the command."""
    command = commands.add("import", "load runs from files", run)
    command.add_argument(
        "files", nargs="+", metavar="FILE", help="a .jsonl file from `export --format jsonl`, or a .zip file of several"
    )


def run(arguments: argparse.Namespace) -> int:
    """Save the runs and print one id per line on stdout; remarks go to stderr."""
    from research.engine.engine import ENDED
    from research.workbench.estimate import before_resuming
    from research.workbench.run_import import MAX_BYTES, import_run, read_runs

    found = []
    for name in arguments.files:  # an unreadable file fails the call before anything is saved
        try:
            with Path(name).open("rb") as file:
                found += read_runs(file.read(MAX_BYTES + 1))
        except OSError as error:
            raise ConfigError(f"{name} cannot be read: {error.strerror}") from error
        except ConfigError as error:
            raise ConfigError(f"{name}: {error}") from error
    bench = open_home(arguments)
    for each in found:
        imported = import_run(bench.store, each)
        print(imported.id)
        if imported.state == "there":
            print(f"{imported.id} exists already, with the same events", file=sys.stderr)
        elif imported.state == "renamed":
            print(f"{each.id} is the id of another run; this one was saved as {imported.id}", file=sys.stderr)
        if imported.withheld:
            print(f"left out of the recipe of {imported.id}: {', '.join(imported.withheld)}", file=sys.stderr)
        if imported.limited:
            print(f"limited in the recipe of {imported.id}: {', '.join(imported.limited)}", file=sys.stderr)
        row = bench.store.run(imported.id)
        if row.status not in ENDED:
            costs = before_resuming(row.recipe, row.question, models=bench.model)
            print(f"{row.id} has not ended and waits until you resume it; {costs}", file=sys.stderr)
    return 0
