"""`fork`: start a run from the first rounds of another one."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from research.cli.common import open_home, parse_pairs, prepare_library, print_run
from research.cli.parser import Commands, add_json_option, add_run_argument, positive_int
from research.cli.recipe_options import add_memory_options
from research.cli.watch import answered, watch
from research.errors import ConfigError


def add(commands: Commands) -> None:
    """Declare the command."""
    command = commands.add("fork", "start a new run from the first rounds of a saved one", run)
    add_run_argument(command)
    command.add_argument("--round", type=positive_int, required=True, metavar="K", help="rounds to keep")
    command.add_argument("--framework", help="continue with another framework that works round by round in one agent")
    command.add_argument("--context", help="continue with another context strategy")
    command.add_argument("--model", help="continue with another model")
    command.add_argument("--question", help="continue with another question")
    command.add_argument(
        "--edit",
        action="append",
        default=[],
        metavar="CALL=FILE",
        help="replace the result of a tool call by the text of this file (-: standard input); `report=FILE` replaces "
        "the evolving report; `show RUN --json --events` lists the ids of calls",
    )
    add_memory_options(command)
    # The forked run supplies what the command line leaves out.
    command.set_defaults(recall=None, remember=None)
    add_json_option(command)


def run(arguments: argparse.Namespace) -> int:
    """Fork the run, work on the fork and print it."""
    from research.events.view import RunView
    from research.workbench import presets

    bench = open_home(arguments)
    row = bench.store.run(arguments.run)
    recipe = None
    given = {name: getattr(arguments, name) for name in ("framework", "context", "model", "recall", "remember")}
    changed = {name: value for name, value in given.items() if value is not None}
    if changed:
        choices = presets.of(row.recipe).arguments() | changed
        # Options belong to the replaced framework or strategy.
        choices["options"] = {
            name: value for name, value in choices["options"].items() if name.partition(".")[0] not in changed
        }
        recipe = bench.recipe(**choices)
    prepare_library(bench, row.recipe.folders)
    edits = {name: _read(path) for name, path in parse_pairs(arguments.edit, "--edit").items()}
    handle = bench.engine.fork(
        row.id, arguments.round, recipe=recipe, question=arguments.question, edits=edits, here=True
    )
    print(f"run {handle.run_id}", file=sys.stderr, flush=True)
    return print_run(answered(bench, watch(bench, handle, RunView())), arguments.json)


def _read(path: str) -> str:
    """Return the text of a file; `-` is standard input.  Raises `ConfigError`."""
    try:
        return sys.stdin.read() if path == "-" else Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"--edit: {path} cannot be read: {error}") from error
