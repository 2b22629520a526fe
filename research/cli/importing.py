"""The command import: runs from files."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from research.cli.common import open_home
from research.errors import ConfigError


def runs(arguments: argparse.Namespace) -> int:
    """Prints the id of each run that was kept, one a line; what else there is to say goes to standard error."""
    from research.importing import MAX_BYTES, keep, read_runs

    saved = []
    for name in arguments.files:  # all of them are read before one is kept
        try:
            with Path(name).open("rb") as file:
                saved += read_runs(file.read(MAX_BYTES + 1))
        except OSError as error:
            raise ConfigError(f"{name} cannot be read: {error.strerror}") from error
        except ConfigError as error:
            raise ConfigError(f"{name}: {error}") from error
    store = open_home(arguments).store
    for each in saved:
        kept = keep(store, each)
        print(kept.id)
        if kept.state == "there":
            print(f"{kept.id} is there already, with the same events", file=sys.stderr)
        elif kept.state == "renamed":
            print(f"{each.id} was taken by another run; this one is kept as {kept.id}", file=sys.stderr)
        if kept.withheld:
            print(f"left out of the recipe of {kept.id}: {', '.join(kept.withheld)}", file=sys.stderr)
    return 0
