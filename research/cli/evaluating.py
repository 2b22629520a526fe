"""`eval`: a dataset with several recipes, and how sure one can be which is better."""

from __future__ import annotations

import argparse
import json
import signal
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from research.cli.common import index, names, open_home, pairs, writable
from research.errors import ConfigError

if TYPE_CHECKING:
    from research.evaluation import Candidate, Corpus, Dataset, Evaluation, Plan, Question, Row
    from research.workbench import Workbench

EXPORTS = (".md", ".csv")


def evaluate(arguments: argparse.Namespace) -> int:
    """Exit status 0: all was measured; 1: a run failed; 4: some of it is left, the same command goes on."""
    from research.evaluation import Plan, check, load, open_corpus
    from research.evaluation import evaluate as work
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
    index(bench, corpus.folders)
    found = work(bench, plan, _told(plan), _stop_on_interrupt())
    if export is not None:
        export.write_text((markdown if export.suffix == ".md" else rows_csv)(plan, found), encoding="utf-8", newline="")
    _say_the_rest(plan, found)
    print(json.dumps(as_dict(plan, found), ensure_ascii=False) if arguments.json else markdown(plan, found))
    if any(row.outcome == "failed" for rows in found.rows.values() for row in rows):
        return 1
    return 4 if found.left else 0


def _export(name: str | None) -> Path | None:
    if name and not name.endswith(EXPORTS):
        raise ConfigError(f"--export {name}: a name that ends in {' or '.join(EXPORTS)} is accepted")
    return writable(name) if name else None


def _name(arguments: argparse.Namespace, dataset: Dataset) -> str:
    from research.evaluation.datasets import BUILT_IN

    return f"{dataset.name} {arguments.split}" if arguments.dataset in BUILT_IN else dataset.name[:60]


def _candidates(bench: Workbench, arguments: argparse.Namespace, corpus: Corpus) -> list[Candidate]:
    from research.evaluation import candidate
    from research.recipe import Budget

    if not arguments.recipe:
        raise ConfigError("give --recipe FRAMEWORK/CONTEXT, at least once, e.g. --recipe react/full")
    shared: dict[str, Any] = {
        "model": arguments.model,
        "roles": pairs(arguments.role, "--role"),
        "protocol": arguments.protocol,
        "tools": names(arguments.tools),
        "search": names(arguments.search) if arguments.search else corpus.search,
        "temperature": arguments.temperature,
        "folders": corpus.folders,
        "budget": Budget(arguments.budget_tokens, arguments.budget_usd, arguments.budget_seconds),
    }
    return [candidate(bench, text, **shared) for text in arguments.recipe]


def _stop_on_interrupt() -> threading.Event:
    """Ctrl-C lets the runs at work rest, and prints what there is; a second one ends the process."""
    stop = threading.Event()

    def interrupted(*_: object) -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        print("the runs at work rest after the call in flight; the same command goes on", file=sys.stderr, flush=True)
        stop.set()

    signal.signal(signal.SIGINT, interrupted)
    return stop


def _told(plan: Plan) -> Any:
    """A line on stderr for each row."""
    from research.text import clip

    lock, total, done = threading.Lock(), len(plan.questions) * len(plan.candidates), 0

    def told(each: Candidate, question: Question, row: Row) -> None:
        nonlocal done
        with lock:
            done += 1
            right = {None: "", 0.0: "wrong, ", 1.0: "right, "}.get(row.scores.right, "")
            words = clip(" ".join(question.question.split()), 60)
            print(f"{done}/{total} {each.name}: {right}{row.outcome}, {row.seconds:.1f} s, run {row.run}: {words}",
                  file=sys.stderr, flush=True)  # fmt: skip

    return told


def _say_the_rest(plan: Plan, found: Evaluation) -> None:
    if found.known:
        print(f"{found.known} rows were there before; --fresh asks them again", file=sys.stderr)
    if found.reason:
        print(f"a run rests, and no other was begun: {found.reason}", file=sys.stderr)
    if found.left:
        print(f"{found.left} rows are left; the same command goes on", file=sys.stderr)
