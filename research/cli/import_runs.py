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
        "files", nargs="+", metavar="FILE", help=".jsonl as `export --format jsonl` writes it, or .zip"
    )


def run(arguments: argparse.Namespace) -> int:
    """Save the runs and print one id per line on stdout; remarks go to stderr."""
    from research.workbench.run_import import MAX_BYTES, import_run, read_runs

    found = []
    for name in arguments.files:  # a file that cannot be read fails the call before anything is saved
        try:
            with Path(name).open("rb") as file:
                found += read_runs(file.read(MAX_BYTES + 1))
        except OSError as error:
            raise ConfigError(f"{name} cannot be read: {error.strerror}") from error
        except ConfigError as error:
            raise ConfigError(f"{name}: {error}") from error
    store = open_home(arguments).store
    for each in found:
        imported = import_run(store, each)
        print(imported.id)
        if imported.state == "there":
            print(f"{imported.id} exists already, with the same events", file=sys.stderr)
        elif imported.state == "renamed":
            print(f"{each.id} is the id of another run; this one was saved as {imported.id}", file=sys.stderr)
        if imported.withheld:
            print(f"left out of the recipe of {imported.id}: {', '.join(imported.withheld)}", file=sys.stderr)
    return 0
