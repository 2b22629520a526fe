"""`audit`: check a report that someone else wrote."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from research.cli.common import open_home, prepare_library, print_run, writable
from research.cli.parser import Commands, add_json_option, positive_float, positive_int


def add(commands: Commands) -> None:
    """Declare the command."""
    command = commands.add("audit", "check the citations of a report that someone else wrote", run)
    command.add_argument(
        "report", help="a file (md, html, docx, pdf, or the JSON of a chat), a link, or - for standard input"
    )
    command.add_argument(
        "--sources", action="append", default=[], metavar="DIR", help="a folder with documents that the report cites"
    )
    command.add_argument(
        "--model", metavar="PROVIDER:NAME", help="the model that judges citations in addition to the rules"
    )
    command.add_argument(
        "--judge",
        default="",
        metavar="JUDGE",
        help="what is judged (uncertain, all or off), or by which judge (model, model:NAME or cross-encoder:PATH)",
    )
    command.add_argument(
        "--most-sources", type=positive_int, metavar="N", help="look for at most N sources; default: 200"
    )
    command.add_argument("--budget-seconds", type=positive_float, metavar="S", help="stop after S seconds of work")
    command.add_argument("--export", metavar="FILE.md", help="write the record of the check to this file")
    command.add_argument(
        "--corrected", metavar="FILE", help="write a corrected copy, .md or .docx with tracked changes, to this file"
    )
    command.add_argument("--run-id", help=argparse.SUPPRESS)
    add_json_option(command)


def run(arguments: argparse.Namespace) -> int:
    """Read the report, check it, and print the record."""
    from research.auditing import corrected, report_intake
    from research.cli.watch import watch
    from research.events.recipe import Budget
    from research.events.view import RunView
    from research.workbench import auditing

    targets = [writable(each) if each else None for each in (arguments.export, arguments.corrected)]
    if targets[1] is not None:
        corrected.kind_of(targets[1])
    bench = open_home(arguments)
    if arguments.report == "-":
        given = report_intake.read_bytes(sys.stdin.buffer.read(), "standard input")
    elif arguments.report.lower().startswith(("http://", "https://")):
        given = auditing.given_of(bench, arguments.report)
    else:
        given = report_intake.read_file(Path(arguments.report))
    prepare_library(bench, (), arguments.sources)
    recipe = auditing.recipe_for(
        bench,
        sources=arguments.sources,
        model=arguments.model,
        judge=arguments.judge,
        budget=Budget(seconds=arguments.budget_seconds),
        most=arguments.most_sources,
    )
    handle = bench.engine.start(auditing.question_of(given), recipe, arguments.run_id, given=given, here=True)
    print(f"run {handle.run_id}", file=sys.stderr, flush=True)
    view = watch(bench, handle, RunView())
    if targets[0] is not None:
        targets[0].write_text(view.report, encoding="utf-8")
    if targets[1] is not None:
        targets[1].write_bytes(corrected.make(view, corrected.kind_of(targets[1])))
    return print_run(view, arguments.json)
