"""`eval sets` and `eval add`: named sets of questions, and additions to them."""

from __future__ import annotations

import argparse
import sys
import time
from typing import TYPE_CHECKING, Any

from research.cli.common import open_home, print_json
from research.errors import ConfigError

if TYPE_CHECKING:
    from research.evaluation import Dataset
    from research.evaluation.sets import Version
    from research.workbench.workbench import Workbench

ACTIONS = ("sets", "add")


def add_options(command: argparse.ArgumentParser) -> None:
    """Declare the options of `eval add`."""
    command.add_argument(
        "--from",
        dest="source",
        metavar="FILE",
        help="with add: the file with the questions; with annotate: the file with the annotations",
    )
    command.add_argument("--run", metavar="RUN", help="with add: the question of this run")
    command.add_argument(
        "--answer",
        action="append",
        default=[],
        metavar="TEXT",
        help="with add --run: an expected answer; may be repeated",
    )
    command.add_argument(
        "--unanswerable",
        action="store_true",
        help="with add --run: mark the question as one that the sources do not answer",
    )


def run(arguments: argparse.Namespace) -> int:
    """Carry out the action; the exit status is 0."""
    return _list(arguments) if arguments.dataset == "sets" else _add(arguments)


def _list(arguments: argparse.Namespace) -> int:
    from research.evaluation.sets import Sets

    sets = Sets(open_home(arguments).store)
    found = sets.history(arguments.evaluation) if arguments.evaluation else sets.latest()
    if arguments.json:
        print_json({"sets": [_told(each) for each in found]})
        return 0
    if not found:
        print("no saved set yet; `eval add NAME --from FILE` makes one")
    for each in found:
        day = time.strftime("%Y-%m-%d %H:%M", time.localtime(each.created))
        print(f"{each.name}@{each.version}  {day}  {len(each.questions):,} questions  {each.note}")
    return 0


def _add(arguments: argparse.Namespace) -> int:
    from research.evaluation.sets import Sets

    if not arguments.evaluation or bool(arguments.source) == bool(arguments.run):
        raise ConfigError("eval add needs a set and what to add: eval add SET --from FILE, or eval add SET --run RUN")
    bench = open_home(arguments)
    dataset, note = _from_run(bench, arguments) if arguments.run else _from_file(arguments)
    sets = Sets(bench.store)
    made = sets.add(arguments.evaluation, dataset, note)
    if arguments.json:
        print_json(_told(made))
    else:
        print(f"{made.name}@{made.version}: {len(made.questions):,} questions")
    return 0


def _from_file(arguments: argparse.Namespace) -> tuple[Dataset, str]:
    from research.evaluation import load

    if arguments.answer or arguments.unanswerable:
        raise ConfigError("--answer and --unanswerable belong to the question of a run; a file has its own answers")
    dataset = load(arguments.source, arguments.split)
    for each in dataset.notes:
        print(f"{arguments.source}: {each}", file=sys.stderr)
    return dataset, f"{len(dataset.questions):,} questions of {dataset.name}"


def _from_run(bench: Workbench, arguments: argparse.Namespace) -> tuple[Dataset, str]:
    from research.evaluation import Dataset
    from research.evaluation.sets import from_run

    row = bench.store.run(arguments.run)
    question = from_run(row.question, arguments.answer, answerable=not arguments.unanswerable)
    if not question.has_gold:
        print("no --answer: the question is asked, but counts as neither right nor wrong", file=sys.stderr)
    return Dataset(row.id, (question,)), f"the question of run {row.id}"


def _told(each: Version) -> dict[str, Any]:
    return {
        "set": each.name,
        "version": each.version,
        "created": each.created,
        "questions": len(each.questions),
        "note": each.note,
    }
