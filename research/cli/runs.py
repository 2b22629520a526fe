"""`runs`: list saved runs, measure them, or write them as training data."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from research.cli.common import open_home, print_json, writable
from research.cli.parser import Commands, add_json_option, positive_int
from research.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

    from research.events.events import Event
    from research.store import RunRow
    from research.workbench.workbench import Workbench


LISTED = 20
"""Runs that a list shows by default."""


def add(commands: Commands) -> None:
    """Declare the command."""
    command = commands.add("runs", "list saved runs", run)
    command.add_argument(
        "query",
        nargs="*",
        help="only runs whose question or answer contains this; `runs list` lists all, as `runs` does",
    )
    command.add_argument(
        "--limit",
        type=positive_int,
        metavar="N",
        help=f"only the newest N runs; default: {LISTED}, or all with --metrics or --format",
    )
    command.add_argument(
        "--metrics", action="store_true", help="print rounds, tool failures and latency of these runs instead"
    )
    add_json_option(command, "array")
    command.add_argument(
        "--format",
        choices=("sft", "dpo"),
        help="write these runs as training data instead: conversations (sft), or a better and a worse report (dpo)",
    )
    command.add_argument("-o", "--output", metavar="FILE", help="with --format; default: standard output")


def run(arguments: argparse.Namespace) -> int:
    """Print one line for each run."""
    bench = open_home(arguments)
    store = bench.store
    if arguments.output and not arguments.format:
        raise ConfigError("-o writes training data: add --format sft or --format dpo")
    target = writable(arguments.output) if arguments.output else None
    everything = arguments.metrics or arguments.format
    query = " ".join(arguments.query[arguments.query[:1] == ["list"] :])  # `runs list`, as `library list`
    rows = store.runs(query, arguments.limit or (sys.maxsize if everything else LISTED))
    if arguments.metrics:
        return _print_metrics(bench, (store.events(row.id) for row in rows), arguments.json)
    if arguments.format:
        return _write_training(bench, rows, arguments.format, target)
    if arguments.json:
        fields = ("id", "question", "status", "outcome", "created")
        print_json([{name: getattr(row, name) for name in fields} for row in rows])
        return 0
    if not rows:
        print(f"No run contains {query!r}." if query else "No runs yet.", file=sys.stderr)
    for row in rows:
        print(f"{row.id}  {row.outcome or row.status:<12} {row.recipe.label:<28} {' '.join(row.question.split())[:70]}")
    return 0


def _write_training(bench: Workbench, rows: Sequence[RunRow], kind: str, target: Path | None) -> int:
    """Write ended runs; say how many rows they make."""
    from research.exports import training

    runs = {row.id: training.saved(row, bench.store.events(row.id)) for row in rows if row.outcome}
    if kind == "sft":
        found = [each for run in runs.values() for each in training.conversations(run)]
    else:
        votes = [(each, bench.saved.opinions(each.id)) for each in bench.saved.comparisons()]
        found = list(training.pairs(runs, votes))
    content = training.lines(found)
    if target is not None:
        target.write_bytes(content)
    else:
        sys.stdout.write(content.decode())
    what = "conversations" if kind == "sft" else "pairs from forks, votes and repeated attempts"
    print(f"{len(found):,} {what} of {len(runs):,} runs that have ended", file=sys.stderr)
    return 0


def _print_metrics(bench: Workbench, runs: Iterable[Sequence[Event]], as_json: bool) -> int:
    import msgspec

    from research.events.view import fold
    from research.ops.alerts import alerts, parse
    from research.ops.metrics import measure

    metrics = measure(fold(events) for events in runs)
    if metrics is None:
        raise ConfigError("there is nothing to measure: none of these runs has ended")
    above = alerts(metrics, parse(bench.settings.alerts))
    values = msgspec.structs.asdict(metrics)
    if as_json:
        values["alerts"] = [msgspec.structs.asdict(each) for each in above]
    print(json.dumps(values) if as_json else "\n".join(f"{name}: {_format(value)}" for name, value in values.items()))
    for each in above:
        print(f"alert: {each.name} is {each.value:.3g}, above {each.threshold:g} (WORKBENCH_ALERTS)", file=sys.stderr)
    return 0


def _format(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:.3g}"
