"""`eval`: ask the questions of a dataset with several recipes, and report which is better, with what confidence."""

from __future__ import annotations

import argparse
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from research._util.bounds import split_names
from research.cli import saved_evaluations, saved_sets
from research.cli.common import on_interrupt, open_home, prepare_library, writable
from research.cli.parser import Commands, add_json_option, positive_float, positive_int
from research.cli.recipe_options import add_recipe_options, chosen
from research.errors import ConfigError

if TYPE_CHECKING:
    from research.evaluation import Candidate, Corpus, Dataset, Evaluation, Plan, Question, Row
    from research.workbench.workbench import Workbench

EXPORTS = (".md", ".csv", ".jsonl")


def add(commands: Commands) -> None:
    """Declare the command."""
    command = commands.add("eval", "measure several recipes on a dataset, with confidence intervals", run)
    command.add_argument(
        "dataset",
        metavar="DATASET",
        help="a JSONL or CSV file, a saved set, or factbook, factbook-zh, almanac, almanac-zh",
    )
    command.add_argument(
        "evaluation",
        nargs="?",
        metavar="EVAL",
        help="if DATASET is rescore, export, publish or annotate: a saved evaluation; if it is sets or add: a saved set",
    )
    command.add_argument(
        "--recipe",
        action="append",
        default=[],
        metavar="FRAMEWORK[:OPTION=VALUE,…]/CONTEXT[/MODEL]",
        help="a recipe to measure; repeat it to compare several; scorers: {scorers}",
    )
    command.add_argument(
        "--corpus", metavar="PATH", help="search only this folder, or this JSONL file with id, title and text"
    )
    command.add_argument(
        "--split", default="dev", choices=["dev", "held"], help="part of a built-in dataset; default: dev"
    )
    command.add_argument("--limit", type=positive_int, metavar="N", help="only the first N questions")
    command.add_argument(
        "--trials",
        type=positive_int,
        default=1,
        metavar="N",
        help="run each recipe N times on each question; default: 1",
    )
    command.add_argument(
        "--seed", type=int, default=0, metavar="N", help="derive the seeds of the trials from this number; default: 0"
    )
    _add_world_options(command)
    command.add_argument("--concurrency", type=positive_int, default=2, metavar="N", help="runs at once; default: 2")
    command.add_argument(
        "--max-usd", type=positive_float, metavar="X", help="start no further run once this many US dollars are spent"
    )
    command.add_argument("--judge", metavar="MODEL", help="also let this model compare the reports pairwise")
    command.add_argument("--name", help="name of the evaluation; default: the dataset's name")
    command.add_argument("--fresh", action="store_true", help="ask again instead of reusing earlier rows")
    command.add_argument(
        "--export",
        metavar="FILE.md|.csv|.jsonl",
        help="write the tables (.md), or one line per row (.csv, .jsonl), to this file",
    )
    saved_sets.add_options(command)
    saved_evaluations.add_options(command)
    add_json_option(command)
    add_recipe_options(command)
    command.set_defaults(search="")  # the corpus, or the library if there is none


def _add_world_options(command: argparse.ArgumentParser) -> None:
    """Declare whether tools are called, or their recorded results replayed."""
    command.add_argument(
        "--world",
        default="",
        metavar="recorded:EVAL|RUN",
        help="replay the tool results of a saved evaluation or run for all recipes, instead of calling tools",
    )
    command.add_argument(
        "--world-allow-new",
        action="store_true",
        help="allow calls that have no recorded result; otherwise they are refused",
    )


def run(arguments: argparse.Namespace) -> int:
    """Evaluate; the exit status is 1 if a run failed and 4 if rows are left, which the same command completes."""
    if arguments.dataset in saved_evaluations.ACTIONS:
        return saved_evaluations.run(arguments)
    if arguments.dataset in saved_sets.ACTIONS:
        return saved_sets.run(arguments)
    if arguments.evaluation:
        actions = ", ".join((*saved_evaluations.ACTIONS, *saved_sets.ACTIONS))
        raise ConfigError(
            f"eval {arguments.dataset} {arguments.evaluation}: only {actions} take a second word; give one dataset"
        )
    from research.evaluation import Plan, check, evaluate, load, open_corpus
    from research.evaluation.row_exports import texts_of
    from research.evaluation.sets import Sets

    export = _export(arguments.export)
    bench = open_home(arguments)
    dataset = load(arguments.dataset, arguments.split, Sets(bench.store))
    path = Path(arguments.corpus) if arguments.corpus else None
    corpus = open_corpus(bench.settings.home, dataset.name, dataset.documents, path)
    name = arguments.name or _name(arguments, dataset)
    plan = Plan(
        name,
        dataset.questions[: arguments.limit],
        tuple(_candidates(bench, arguments, corpus, name)),
        corpus,
        arguments.concurrency,
        arguments.max_usd,
        arguments.judge or "",
        arguments.fresh,
        arguments.trials,
        arguments.seed,
    )
    check(bench, plan)
    for note in dataset.notes:
        print(f"{dataset.name}: {note}", file=sys.stderr)
    _print_ungraded(plan)
    prepare_library(bench, corpus.folders, corpus.folders)
    found = evaluate(bench, plan, _progress(plan), _stop_on_interrupt())
    texts = texts_of(bench.store)
    if export is not None:
        text = saved_evaluations.written(export.suffix[1:], plan, found, texts)
        export.write_text(text, encoding="utf-8", newline="")
    _print_remarks(found)
    saved_evaluations.show(plan, found, arguments.json, texts)
    if any(row.outcome == "failed" for rows in found.rows.values() for row in rows):
        return 1
    return 4 if found.left else 0


def _export(name: str | None) -> Path | None:
    if name and not name.endswith(EXPORTS):
        raise ConfigError(f"--export {name}: the name must end in {' or '.join(EXPORTS)}")
    return writable(name) if name else None


def _print_ungraded(plan: Plan) -> None:
    ungraded = [each.id for each in plan.questions if not each.has_gold]
    if ungraded:
        some = ", ".join(ungraded[:5]) + (", …" if len(ungraded) > 5 else "")
        print(
            f"{len(ungraded)} of {len(plan.questions)} questions have no answer, value or answerable=false ({some}): "
            "their answers are neither right nor wrong",
            file=sys.stderr,
        )


def _name(arguments: argparse.Namespace, dataset: Dataset) -> str:
    from research.evaluation.datasets import BUILT_IN

    name = f"{dataset.name} {arguments.split}" if arguments.dataset in BUILT_IN else dataset.name
    return f"{name[:53]} frozen" if arguments.world else name[:60]  # the recorded evaluation often has the plain name


def _candidates(bench: Workbench, arguments: argparse.Namespace, corpus: Corpus, name: str) -> list[Candidate]:
    from research.evaluation import candidate

    if not arguments.recipe:
        raise ConfigError("give at least one --recipe FRAMEWORK/CONTEXT, e.g. --recipe react/full")
    options = chosen(arguments)
    options["search"] = split_names(arguments.search) or corpus.search
    options |= {"readers": (arguments.judge,) if arguments.judge else (), **_world(bench, arguments, name)}
    return [candidate(bench, text, folders=corpus.folders, **options) for text in arguments.recipe]


def _world(bench: Workbench, arguments: argparse.Namespace, name: str) -> dict[str, Any]:
    """Return the recipe fields that name the recorded world, and print what it holds."""
    if not arguments.world:
        if arguments.world_allow_new:
            raise ConfigError("--world-allow-new needs a recorded world: --world recorded:EVAL or recorded:RUN")
        return {}
    from research.evaluation.frozen_world import frozen

    world = frozen(bench, arguments.world, name, fresh=arguments.fresh)
    print(f"{world}: {len(bench.worlds.open(world)):,} recorded tool results", file=sys.stderr)
    return {"world": world, "world_new": arguments.world_allow_new}


def _stop_on_interrupt() -> threading.Event:
    """Make Ctrl-C pause the active runs and print the rows so far; a second one ends the process."""
    stop = threading.Event()

    def pause() -> None:
        print("pausing after the calls in flight; the same command continues", file=sys.stderr, flush=True)
        stop.set()

    on_interrupt(pause)
    return stop


def _progress(plan: Plan) -> Callable[[Candidate, Question, Row], None]:
    """Return a function that prints a line on stderr for each row."""
    from research.text import clip

    lock, total, done = threading.Lock(), len(plan.questions) * len(plan.candidates) * plan.trials, 0

    def report(each: Candidate, question: Question, row: Row) -> None:
        nonlocal done
        with lock:
            done += 1
            right = _became(row)
            words = clip(" ".join(question.question.split()), 60)
            line = f"{done}/{total} {each.name}: {right}{row.outcome}, {row.seconds:.1f} s, run {row.run}: {words}"
            print(line, file=sys.stderr, flush=True)

    return report


def _became(row: Row) -> str:
    if row.scores.right is None:
        return ""
    return "right, " if row.scores.right else "wrong, " if row.scores.wrong != 0 else "no answer, "


def _print_remarks(found: Evaluation) -> None:
    if found.known:
        print(f"reused {found.known} earlier rows; --fresh asks again", file=sys.stderr)
    if found.reason:
        print(f"a run is paused, and no other was started: {found.reason}", file=sys.stderr)
    if found.left:
        print(f"{found.left} rows are left; the same command continues", file=sys.stderr)
