"""`run`: research a question."""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

from research import defaults
from research._util.bounds import split_names
from research.cli.common import open_home, parse_pairs, prepare_library, print_run, writable
from research.cli.parser import Commands, add_json_option
from research.cli.recipe_options import add_folder_option, add_memory_options, add_recipe_options, collections
from research.cli.watch import answered, watch
from research.errors import ConfigError
from research.workbench.example import EXAMPLE_QUESTION

if TYPE_CHECKING:
    from research.workbench.workbench import Workbench


def add(commands: Commands) -> None:
    """Declare the command."""
    command = commands.add("run", "research a question", run)
    command.add_argument("question", help=f'e.g. "{EXAMPLE_QUESTION}"')
    command.add_argument(
        "--preset",
        metavar="NAME",
        help='a preset: "Quick look", Deep, Academic, "High reliability", or a preset of your own',
    )
    command.add_argument("--framework", help=f"one of {{frameworks}}; default: {defaults.FRAMEWORK}")
    command.add_argument("--context", help="context strategy: {contexts}; default: the framework's own")
    command.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="an option of the framework or the context strategy, e.g. framework.rounds=5 or context.k=3",
    )
    command.add_argument(
        "--follow", metavar="RUN", help="start from the findings of that run; its sources keep their numbers"
    )
    command.add_argument(
        "--no-ask",
        action="store_true",
        help="never ask for clarification: assume the likeliest meaning, and say so in the answer",
    )
    command.add_argument(
        "--plan",
        choices=["approve", "off"],
        help="approve: show the plan and its estimate, and wait; `resume` continues with this plan or an edited one",
    )
    command.add_argument("--export", metavar="FILE.md", help="write the report to this file")
    command.add_argument("--detach", action="store_true", help="print the run's id and continue in the background")
    add_json_option(command)
    command.add_argument("--run-id", help=argparse.SUPPRESS)
    add_recipe_options(command)
    add_memory_options(command)
    add_folder_option(command)
    # The preset supplies what the command line leaves out.
    command.set_defaults(
        protocol=None, tools=None, search=None, mcp=None, folder=None, recall=None, remember=None, novelty=None
    )


def run(arguments: argparse.Namespace) -> int:
    """Research the question and print the report."""
    from research.engine.engine import checked_question

    checked_question(arguments.question)
    export = writable(arguments.export) if arguments.export else None
    bench = open_home(arguments)
    before = bench.store.run(arguments.follow).id if arguments.follow else None
    choices = _choices(bench, arguments)
    recipe = bench.recipe(**choices)  # a wrong choice fails before the folders are read
    prepare_library(bench, recipe.folders, arguments.folder or ())
    recipe = bench.recipe(**choices)  # with `query`, if the folders have tables now
    if arguments.detach and bench.settings.engine == "workers":
        if before is None:
            print(bench.engine.start(arguments.question, recipe, arguments.run_id).run_id)
        else:
            print(bench.engine.follow_up(before, arguments.question, recipe).run_id)
        return 0
    if arguments.detach:
        return _detach(bench)
    from research.events.view import RunView

    if before is None:
        handle = bench.engine.start(arguments.question, recipe, arguments.run_id, here=True)
    else:
        handle = bench.engine.follow_up(before, arguments.question, recipe, arguments.run_id, here=True)
    if arguments.run_id is None:
        print(f"run {handle.run_id}", file=sys.stderr, flush=True)
    view = answered(bench, watch(bench, handle, RunView()))
    if export is not None:
        from research.exports.markdown import markdown

        export.write_text(markdown(view), encoding="utf-8")
    return print_run(view, arguments.json)


def _choices(bench: Workbench, arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the arguments of `Workbench.recipe`: the preset's, replaced by those on the command line."""
    import msgspec

    from research.workbench import presets

    found = presets.find(bench, arguments.preset) if arguments.preset else presets.Fitted(presets.Choices())
    for gap in found.gaps:
        print(f"preset: {gap}", file=sys.stderr)
    choices = found.choices.arguments()
    options = choices.pop("options")
    given = _given(arguments)
    for side in ("framework", "context"):
        # The preset's options fit only its own framework and strategy.
        if given[side] not in (None, choices[side]):
            options = {name: value for name, value in options.items() if not name.startswith(f"{side}.")}
            if side == "framework":
                choices["context"] = None
    choices |= {"tools": defaults.unless_default(choices["tools"])}
    choices |= {name: value for name, value in given.items() if value is not None}
    if arguments.folder or arguments.collections is not None:
        choices |= collections(arguments, choices["search"], bench.folders())
    caps = {"tokens": arguments.budget_tokens, "usd": arguments.budget_usd, "seconds": arguments.budget_seconds}
    budget = msgspec.structs.replace(choices["budget"], **{name: cap for name, cap in caps.items() if cap is not None})
    roles = {**choices["roles"], **parse_pairs(arguments.role, "--role")}
    return {**choices, "options": {**options, **parse_pairs(arguments.set, "--set")}, "roles": roles, "budget": budget}


def _given(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the choices that override the preset; None where the command line has none."""
    names = ("framework", "context", "model", "protocol", "temperature", "recall", "remember", "egress")
    given = {name: getattr(arguments, name) for name in names}
    given["plan"] = None if arguments.plan is None else arguments.plan.replace("off", "")
    given["allow_domains"], given["deny_domains"] = arguments.allow_domain or None, arguments.deny_domain or None
    given |= {name: getattr(arguments, name) or None for name in ("since", "until", "as_of")}
    given["ask"] = False if arguments.no_ask else None
    given["judge"] = arguments.citation_judge or None
    given["novelty"] = None if arguments.novelty is None else arguments.novelty == "on"
    for name in ("tools", "search", "mcp"):
        text = getattr(arguments, name)
        given[name] = None if text is None else split_names(text)
    return given


def _detach(bench: Workbench) -> int:
    """Start the same command in a process and session of its own, and print the run's id once the run exists."""
    from research.engine.engine import new_id

    run_id = new_id()
    words = [word for word in sys.argv[1:] if word not in ("--detach", "--json")]
    log = bench.settings.home / "detached.log"
    with log.open("ab") as sink:
        process = subprocess.Popen(
            [sys.executable, "-m", "research", *words, "--run-id", run_id],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=sink,
            start_new_session=True,
        )
    while process.poll() is None:
        try:
            bench.store.run(run_id)
        except ConfigError:
            time.sleep(0.05)
            continue
        break
    if process.poll() not in (None, 0):
        raise ConfigError(f"the run did not start; see {log} for the reason")
    print(run_id)
    return 0
