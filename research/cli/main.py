"""The entry of the command line: `python -m research` and the console script `research-workbench`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from importlib import import_module
from pathlib import Path
from typing import Any, TextIO

from research.cli.parser import Commands, Parser
from research.errors import WorkbenchError

SCRIPT = "research-workbench"
"""The console script of the installed package."""
COMMANDS = (
    "run",
    "compare",
    "evaluate",
    "app",
    "runs",
    "show",
    "replay",
    "export",
    "import_runs",
    "stop",
    "resume",
    "fork",
    "library",
    "memory",
    "endpoints",
    "verifiers",
    "check",
    "audit",
    "parse",
    "gateway",
    "mcp",
    "worker",
    "migrate",
    "doctor",
)
"""The modules with a function `add(commands)`, in the order of `--help`."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status: 2 for a wrong call or setting, otherwise the command's own."""
    arguments = build_parser().parse_args(argv)
    with redirect_stdout(_shown(sys.stdout)), redirect_stderr(_shown(sys.stderr)):
        return _run(arguments)


class _Terminal:
    """Escapes control characters in the output: texts of models, servers and pages must not steer a terminal."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        from research.ops.logs import harmless

        return self._stream.write(harmless(text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _shown(stream: TextIO) -> Any:
    """Return the stream, made safe if it is a terminal; files and pipes get the output unchanged."""
    return _Terminal(stream) if stream.isatty() else stream


def _run(arguments: argparse.Namespace) -> int:
    try:
        status: int = arguments.run_command(arguments)
        return status
    except WorkbenchError as error:
        print(f"research: {error}", file=sys.stderr)
        return 2
    except UnicodeEncodeError as error:
        if not any("\ud800" <= char <= "\udfff" for char in str(error.object)):
            raise
        print("research: an argument is not valid UTF-8; write it again", file=sys.stderr)
        return 2
    except BrokenPipeError:
        # The reader has closed the pipe (`| head`); without this, Python fails when it flushes stdout at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def build_parser() -> Parser:
    """Build the parser of all commands."""
    name = SCRIPT if Path(sys.argv[0]).stem == SCRIPT else "python -m research"
    parser = Parser(prog=name, description="Ask questions that take many searches to answer.")
    commands = Commands(parser)
    for name in COMMANDS:
        import_module(f"research.cli.{name}").add(commands)
    return parser
