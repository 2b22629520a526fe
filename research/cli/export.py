"""`export`: write a saved run to a file."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from research.cli.common import load_run, writable
from research.cli.parser import Commands, add_run_argument
from research.errors import ConfigError

if TYPE_CHECKING:
    from research.exports import Format


_FORMATS = ("md", "html", "pdf", "docx", "bib", "ris", "csl", "json", "jsonl")


def add(commands: Commands) -> None:
    """Declare the command."""
    command = commands.add("export", "write a run to a file", run)
    add_run_argument(command)
    command.add_argument("--format", choices=_FORMATS, help="default: that of the file's ending, or else md")
    command.add_argument("-o", "--output", metavar="FILE", help="default: standard output")


def run(arguments: argparse.Namespace) -> int:
    """Write the run in the chosen format."""
    from research.exports import FORMATS

    ending = (arguments.output or "").rpartition(".")[2].lower()
    arguments.format = arguments.format or (ending if ending in _FORMATS else "md")
    kind = FORMATS[arguments.format]
    target = writable(arguments.output) if arguments.output else None
    if target is None and kind.binary and sys.stdout.isatty():
        raise ConfigError(f"a terminal cannot show {kind.title}: name a file, e.g. -o report.{kind.suffix}")
    content = _content(arguments, kind)
    if target is not None:
        target.write_bytes(content)
    elif kind.binary:
        sys.stdout.buffer.write(content)
    else:
        sys.stdout.write(content.decode())
    return 0


def _content(arguments: argparse.Namespace, kind: Format) -> bytes:
    from research.cli.common import open_home
    from research.events.view import fold
    from research.workbench.run_import import as_it_is

    try:
        _, events = load_run(arguments)
        return kind.make(fold(events), events)
    except ConfigError:
        if arguments.format != "jsonl":
            raise
        store = open_home(arguments).store
        if found := as_it_is(store, store.run(arguments.run).id):  # damaged: written as stored
            return found
        raise
