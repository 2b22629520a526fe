"""How commands declare themselves: the parser, its subcommands, and the types of numbers."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any, NoReturn, TypeAlias

from research import defaults, plugins

Run: TypeAlias = Callable[[argparse.Namespace], int]
"""Runs a command with its arguments and returns the exit status."""


class HelpFormatter(argparse.HelpFormatter):
    """Fills the names of plug-ins into `{frameworks}`, `{contexts}` … of a help text, and only when it is shown."""

    def _get_help_string(self, action: argparse.Action) -> str:
        text = action.help or ""
        for registry in plugins.KINDS.values():
            mark = f"{{{registry.group.rpartition('.')[2]}}}"
            if mark in text:
                text = text.replace(mark, ", ".join(defaults.ordered(registry.names())))
        return text


class Parser(argparse.ArgumentParser):
    """Reports a usage error in one line on stderr and exits with status 2."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**{"formatter_class": HelpFormatter, **settings})

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"research: {message}; see `{self.prog} --help`\n")


class Commands:
    """The commands of the program, or the actions of one command (`actions_of`)."""

    def __init__(self, parser: argparse.ArgumentParser, metavar: str = "COMMAND", required: bool = True) -> None:
        self._parsers = parser.add_subparsers(required=required, metavar=metavar, parser_class=Parser)
        self._home_help = "folder where everything is kept (WORKBENCH_HOME)"
        self._home_default: str | None = None

    @classmethod
    def actions_of(cls, command: argparse.ArgumentParser, required: bool = True) -> Commands:
        """Give a command its own subcommands, such as `list` in `memory list`."""
        actions = cls(command, "ACTION", required)
        actions._home_help = argparse.SUPPRESS
        # A default would overwrite a `--home` given before the action.
        actions._home_default = argparse.SUPPRESS
        return actions

    def add(self, name: str, summary: str, run: Run | None) -> argparse.ArgumentParser:
        """Declare a command that calls `run`; None: its actions do."""
        command: argparse.ArgumentParser = self._parsers.add_parser(name, help=summary, description=summary)
        if run is not None:
            command.set_defaults(run_command=run)
        command.add_argument("--home", metavar="DIR", default=self._home_default, help=self._home_help)
        return command


def add_run_argument(command: argparse.ArgumentParser) -> None:
    """Declare the argument that names a saved run."""
    command.add_argument("run", help="id of the run, or a unique beginning of it")


def add_json_option(command: argparse.ArgumentParser, what: str = "object") -> None:
    """Declare `--json`."""
    command.add_argument("--json", action="store_true", help=f"print one JSON {what}")


def positive_int(text: str) -> int:
    """Parse a whole number above 0."""
    return int(_above_zero(text, int))


def positive_float(text: str) -> float:
    """Parse a number above 0."""
    return _above_zero(text, float)


def _above_zero(text: str, kind: type[int] | type[float]) -> float:
    try:
        value = kind(text)
    except ValueError:
        value = kind(0)
    if not value > 0:
        raise argparse.ArgumentTypeError(f"expected a number above 0, got {text!r}")
    return value


def port(text: str) -> int:
    """Parse a port; 0 is any free one."""
    if not text.isdecimal() or int(text) > 65_535:
        raise argparse.ArgumentTypeError(f"expected a number from 0 to 65535, got {text!r}")
    return int(text)


def count_or_zero(text: str) -> int:
    """Parse a whole number that may be 0."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"expected a whole number, 0 for none, got {text!r}")
    return int(text)
