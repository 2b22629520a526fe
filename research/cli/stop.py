"""`stop` and `pause`: ask an active run to end, or to pause."""

from __future__ import annotations

import argparse
import sys

from research.cli.common import open_home
from research.cli.parser import Commands, add_run_argument
from research.errors import ConfigError


def add(commands: Commands) -> None:
    """Declare both commands."""
    for name, summary, run in (
        ("stop", "ask a run to stop", stop),
        ("pause", "pause a run after the call in flight", pause),
    ):
        add_run_argument(commands.add(name, summary, run))


def stop(arguments: argparse.Namespace) -> int:
    """Ask the run to stop; end it here if no process works on it."""
    bench = open_home(arguments)
    row = bench.store.run(arguments.run)
    if row.status in ("completed", "stopped", "failed"):
        raise ConfigError(f"run {row.id} is not running: {row.outcome or row.status}")
    bench.engine.stop(row.id)
    print(f"asked run {row.id} to stop", file=sys.stderr)
    bench.engine.wait(row.id)
    return 0


def pause(arguments: argparse.Namespace) -> int:
    """Ask the run to pause."""
    bench = open_home(arguments)
    row = bench.store.run(arguments.run)
    bench.engine.pause(row.id)
    print(f"asked run {row.id} to pause; `resume` continues it", file=sys.stderr)
    return 0
