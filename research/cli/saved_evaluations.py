"""`eval rescore`, `eval export` and `eval publish`: work on a saved evaluation without running anything."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from research.cli.common import open_home, print_json, writable
from research.errors import ConfigError

if TYPE_CHECKING:
    from research.evaluation import Evaluation, Plan
    from research.evaluation.row_exports import Texts

ACTIONS = ("rescore", "export", "publish", "annotate")


def add_options(command: argparse.ArgumentParser) -> None:
    """Declare the options of these actions."""
    command.add_argument(
        "--score", action="append", default=[], metavar="SCORER", help="with rescore: only this one; may be repeated"
    )
    command.add_argument("--format", default="csv", choices=["csv", "jsonl", "md"], help="with export; default: csv")
    command.add_argument(
        "-o", "--output", metavar="FILE", help="with export; default: standard output; with publish: findings.html"
    )
    command.add_argument(
        "--with-questions", action="store_true", help="with publish: also the questions of a set that carries a canary"
    )


def run(arguments: argparse.Namespace) -> int:
    """Carry out the action; the exit status is 0."""
    if not arguments.evaluation:
        raise ConfigError(
            f"eval {arguments.dataset} needs the name of a saved evaluation; the page Evaluate lists them"
        )
    return {"rescore": _rescore, "export": _export, "publish": _publish, "annotate": _annotate}[arguments.dataset](
        arguments
    )


def show(plan: Plan, found: Evaluation, as_json: bool, texts: Texts | None = None) -> None:
    """Print an evaluation on stdout."""
    from research.evaluation.report import as_dict, markdown

    if as_json:
        print_json(as_dict(plan, found, texts))
    else:
        print(markdown(plan, found))


def written(kind: str, plan: Plan, found: Evaluation, texts: Texts) -> str:
    """Return an evaluation as a file of this kind: md, csv or jsonl."""
    from research.evaluation.report import markdown
    from research.evaluation.row_exports import rows_csv, rows_jsonl

    if kind == "md":
        return markdown(plan, found)
    return (rows_csv if kind == "csv" else rows_jsonl)(plan, found, texts)


def _rescore(arguments: argparse.Namespace) -> int:
    from research.evaluation.rescoring import rescore

    done = rescore(open_home(arguments), arguments.evaluation, arguments.score)
    print(f"scored {done.scored} saved runs", file=sys.stderr)
    if done.gone:
        print(
            f"{len(done.gone)} runs were deleted; their rows keep their scores: {', '.join(done.gone)}", file=sys.stderr
        )
    show(done.plan, done.found, arguments.json)
    return 0


def _export(arguments: argparse.Namespace) -> int:
    from research.evaluation.plans import results
    from research.evaluation.rescoring import saved
    from research.evaluation.row_exports import texts_of

    bench = open_home(arguments)
    plan, _, rows = saved(bench, arguments.evaluation)
    text = written(arguments.format, plan, results(plan, rows.values()), texts_of(bench.store))
    if arguments.output:
        path: Path = writable(arguments.output)
        path.write_text(text, encoding="utf-8", newline="")
    else:
        sys.stdout.write(text)
    return 0


def _publish(arguments: argparse.Namespace) -> int:
    from research import __version__
    from research.evaluation.findings import findings
    from research.evaluation.plans import results
    from research.evaluation.rescoring import saved

    path = writable(arguments.output or "findings.html")
    bench = open_home(arguments)
    plan, _, rows = saved(bench, arguments.evaluation)
    private = any(each.canary for each in plan.questions) and not arguments.with_questions
    page = findings(
        plan, results(plan, rows.values()), bench.store, bench.settings.secrets(), private=private, version=__version__
    )
    path.write_text(page, encoding="utf-8", newline="\n")
    if private:
        print(
            "the questions carry a canary, so they, their answers and the transcripts are left out; --with-questions adds them",
            file=sys.stderr,
        )
    print(path)
    return 0


def _annotate(arguments: argparse.Namespace) -> int:
    from research.evaluation.annotator_agreement import annotated
    from research.evaluation.plans import results
    from research.evaluation.rescoring import saved

    if not arguments.source:
        raise ConfigError("eval annotate needs a table: eval annotate EVAL --from FILE.csv")
    plan, records, rows = saved(open_home(arguments), arguments.evaluation)
    found = annotated(plan, rows, Path(arguments.source))
    for row in found.values():
        records.keep(row)
    print(f"annotated {len(found)} rows", file=sys.stderr)
    show(plan, results(plan, (rows | found).values()), arguments.json)
    return 0
