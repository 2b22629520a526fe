"""`parse`: show how model replies are read."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from research.cli.parser import Commands
from research.errors import ConfigError, WorkbenchError


def add(commands: Commands) -> None:
    """Declare the command."""
    command = commands.add("parse", "show how model replies are read: one JSON case per line in, its reading out", run)
    command.add_argument(
        "--tools", required=True, metavar="FILE", help='a JSON file: [{"name", "description", "parameters"}, …]'
    )


def run(arguments: argparse.Namespace) -> int:
    """Read cases from standard input and print one JSON line for each."""
    import msgspec

    from research._util import decoding
    from research.parsing import parse_line
    from research.types import ToolSpec

    try:
        tools = decoding.decode(Path(arguments.tools).read_bytes(), list[ToolSpec])
    except (OSError, msgspec.MsgspecError) as error:
        raise ConfigError(f"--tools {arguments.tools}: expected a JSON list of tools: {error}") from error
    for number, line in enumerate(sys.stdin.buffer, 1):
        if line.strip():
            try:
                print(parse_line(line.decode("utf-8", "replace"), tools))
            except WorkbenchError as error:
                raise ConfigError(f"line {number}: {error}") from error
    return 0
