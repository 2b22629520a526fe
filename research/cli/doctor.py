"""`doctor`: check the installation."""

from __future__ import annotations

import argparse

from research.cli.common import open_home
from research.cli.parser import Commands


def add(commands: Commands) -> None:
    """Declare the command."""
    commands.add("doctor", "what is installed, what works, and how to fix the rest", run)


def run(arguments: argparse.Namespace) -> int:
    """Print one line for each check; the exit status is 1 if something is broken."""
    from research.workbench import diagnostics

    checks = diagnostics.examine(open_home(arguments))
    for check in checks:
        print(f"{check.state:<8} {check.name}: {check.text}")
    return 1 if any(check.state == "broken" for check in checks) else 0
