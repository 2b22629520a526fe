"""`verifiers`: the judges of citations, and how often they are right."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from research.cli.common import open_home, print_json
from research.cli.parser import Commands, add_json_option, positive_int


def add(commands: Commands) -> None:
    """Declare the command and its actions."""
    actions = Commands.actions_of(
        commands.add("verifiers", "the judges of citations, and how often they are right", None)
    )
    action = actions.add("list", "list the judges with what was measured", list_verifiers)
    add_json_option(action)
    action = actions.add(
        "calibrate", "measure a judge on claims whose verdict is known, and set its thresholds", calibrate
    )
    action.add_argument(
        "name", help="the verifier to measure: rules, cross-encoder:PATH_OR_ID, or a model such as openai:NAME"
    )
    action.add_argument(
        "--claims",
        nargs="+",
        required=True,
        metavar="FILE",
        help='JSON lines with "claim", "sources" ([{"title", "text"}]) or "text", and "verdict" or "true"',
    )
    action.add_argument("--limit", type=positive_int, metavar="N", help="only the first N claims")
    add_json_option(action)


def list_verifiers(arguments: argparse.Namespace) -> int:
    """Print one line for each measured or configured judge."""
    from research.citations.verification import RULES
    from research.workbench import verifier_registry

    bench = open_home(arguments)
    found = verifier_registry.measured(bench.settings.home)
    if arguments.json:
        print_json(found)
        return 0
    for name in dict.fromkeys(filter(None, [RULES, verifier_registry.configured(bench.settings), *found])):
        print(f"{name}: {found[name].line() if name in found else 'not measured here'}")
    return 0


def calibrate(arguments: argparse.Namespace) -> int:
    """Measure the judge, save its thresholds and print them."""
    from research.citations.verification import RULES
    from research.workbench import verifier_registry

    bench = open_home(arguments)

    def progress(done: int, of: int) -> None:
        print(f"{done:,} of {of:,} claims", file=sys.stderr, flush=True)

    found = verifier_registry.measure(
        bench, arguments.name, [Path(each) for each in arguments.claims], arguments.limit, progress
    )
    if arguments.json:
        print_json(found)
        return 0
    print(f"{found.name}: {found.line()}")
    if found.name == RULES:
        return 0
    limits = found.thresholds
    sides = {"supported": limits.support, "contradicted": limits.contradict, "overrules the rules": limits.overrule}
    print("; ".join(f"{side}: {'never' if least is None else f'from {least:.2f}'}" for side, least in sides.items()))
    return 0
