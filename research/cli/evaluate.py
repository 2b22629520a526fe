"""`eval`: ask the questions of a dataset with several recipes, and report which is better and how sure that is."""

from __future__ import annotations

import argparse
import json
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from research.cli.common import open_home, prepare_library, split_names, writable
from research.cli.parser import Commands, add_json_option, positive_float, positive_int
from research.cli.recipe_options import add_recipe_options, chosen
from research.errors import ConfigError

if TYPE_CHECKING:
    from research.evaluation import Candidate, Corpus, Dataset, Evaluation, Plan, Question, Row
    from research.workbench.workbench import Workbench

EXPORTS = (".md", ".csv")


def add(commands: Commands) -> None:
    """Declare the command."""
    command = commands.add("eval", "measure several recipes on a dataset, with confidence intervals", run)
    command.add_argument(
        "dataset", metavar="DATASET", help="a JSONL file, or factbook, factbook-zh, almanac, almanac-zh"
    )
    command.add_argument(
        "--recipe",
        action="append",
        default=[],
        metavar="FRAMEWORK[:OPTION=VALUE,…]/CONTEXT[/MODEL]",
        help="one or more; each is measured by {scorers}",
    )
    command.add_argument(
        "--corpus", metavar="PATH", help="search only this: a folder, or JSONL with id, title and text"
    )
    command.add_argument(
        "--split", default="dev", choices=["dev", "held"], help="part of a built-in dataset; default: dev"
    )
    command.add_argument("--limit", type=positive_int, metavar="N", help="only the first N questions")
    command.add_argument("--concurrency", type=positive_int, default=2, metavar="N", help="runs at once; default: 2")
    command.add_argument("--max-usd", type=positive_float, metavar="X", help="start no run once this much is spent")
    command.add_argument("--judge", metavar="MODEL", help="also compare the reports with this model")
    command.add_argument("--name", help="name of the evaluation; default: the dataset's name")
    command.add_argument("--fresh", action="store_true", help="ask again instead of reusing earlier rows")
    command.add_argument("--export", metavar="FILE.md|.csv", help="write the tables, or one line per row")
    add_json_option(command)
    add_recipe_options(command)
    command.set_defaults(search="")  # the corpus, or the library if there is none


def run(arguments: argparse.Namespace) -> int:
    """Evaluate; the exit status is 1 if a run failed and 4 if rows are left, which the same command then completes."""
    from research.evaluation import Plan, check, evaluate, load, open_corpus
    from research.evaluation.report import as_dict, markdown, rows_csv

    export = _export(arguments.export)
    dataset = load(arguments.dataset, arguments.split)
    bench = open_home(arguments)
    path = Path(arguments.corpus) if arguments.corpus else None
    corpus = open_corpus(bench.settings.home, dataset.name, dataset.documents, path)
    plan = Plan(
        arguments.name or _name(arguments, dataset),
        dataset.questions[: arguments.limit],
        tuple(_candidates(bench, arguments, corpus)),
        corpus,
        arguments.concurrency,
        arguments.max_usd,
        arguments.judge or "",
        arguments.fresh,
    )
    check(bench, plan)
    prepare_library(bench, corpus.folders)
    found = evaluate(bench, plan, _progress(plan), _stop_on_interrupt())
    if export is not None:
        export.write_text((markdown if export.suffix == ".md" else rows_csv)(plan, found), encoding="utf-8", newline="")
    _print_remarks(found)
    print(json.dumps(as_dict(plan, found), ensure_ascii=False) if arguments.json else markdown(plan, found))
    if any(row.outcome == "failed" for rows in found.rows.values() for row in rows):
        return 1
    return 4 if found.left else 0


def _export(name: str | None) -> Path | None:
    if name and not name.endswith(EXPORTS):
        raise ConfigError(f"--export {name}: the name must end in {' or '.join(EXPORTS)}")
    return writable(name) if name else None


def _name(arguments: argparse.Namespace, dataset: Dataset) -> str:
    from research.evaluation.datasets import BUILT_IN

    return f"{dataset.name} {arguments.split}" if arguments.dataset in BUILT_IN else dataset.name[:60]


def _candidates(bench: Workbench, arguments: argparse.Namespace, corpus: Corpus) -> list[Candidate]:
    from research.evaluation import candidate

    if not arguments.recipe:
        raise ConfigError("give at least one --recipe FRAMEWORK/CONTEXT, e.g. --recipe react/full")
    options = chosen(arguments)
    options["search"] = split_names(arguments.search) or corpus.search
    return [candidate(bench, text, folders=corpus.folders, **options) for text in arguments.recipe]


def _stop_on_interrupt() -> threading.Event:
    """Make Ctrl-C pause the active runs and print the rows so far; a second one ends the process."""
    stop = threading.Event()

    def interrupted(*_: object) -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        print("pausing after the calls in flight; the same command continues", file=sys.stderr, flush=True)
        stop.set()

    signal.signal(signal.SIGINT, interrupted)
    return stop


def _progress(plan: Plan) -> Callable[[Candidate, Question, Row], None]:
    """Return a function that prints a line on stderr for each row."""
    from research.text import clip

    lock, total, done = threading.Lock(), len(plan.questions) * len(plan.candidates), 0

    def report(each: Candidate, question: Question, row: Row) -> None:
        nonlocal done
        with lock:
            done += 1
            right = {None: "", 0.0: "wrong, ", 1.0: "right, "}.get(row.scores.right, "")
            words = clip(" ".join(question.question.split()), 60)
            line = f"{done}/{total} {each.name}: {right}{row.outcome}, {row.seconds:.1f} s, run {row.run}: {words}"
            print(line, file=sys.stderr, flush=True)

    return report


def _print_remarks(found: Evaluation) -> None:
    if found.known:
        print(f"reused {found.known} earlier rows; --fresh asks again", file=sys.stderr)
    if found.reason:
        print(f"a run is paused, and no other was started: {found.reason}", file=sys.stderr)
    if found.left:
        print(f"{found.left} rows are left; the same command continues", file=sys.stderr)
