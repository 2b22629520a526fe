"""`runs`: list saved runs, or measure them."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from research.cli.common import open_home
from research.cli.parser import Commands, positive_int
from research.errors import ConfigError

if TYPE_CHECKING:
    from research.events.events import Event


def add(commands: Commands) -> None:
    """Declare the command."""
    command = commands.add("runs", "list saved runs", run)
    command.add_argument("query", nargs="?", default="", help="only runs whose question or answer contains this")
    command.add_argument("--limit", type=positive_int, default=20, metavar="N", help="the newest N; default: 20")
    command.add_argument(
        "--metrics", action="store_true", help="print rounds, tool failures and latency of these runs instead"
    )
    command.add_argument("--json", action="store_true", help="print one JSON array")


def run(arguments: argparse.Namespace) -> int:
    """Print one line for each run."""
    store = open_home(arguments).store
    rows = store.runs(arguments.query, arguments.limit)
    if arguments.metrics:
        return _print_metrics([store.events(row.id) for row in rows], arguments.json)
    if arguments.json:
        fields = ("id", "question", "status", "outcome", "created")
        print(json.dumps([{name: getattr(row, name) for name in fields} for row in rows], ensure_ascii=False))
        return 0
    if not rows:
        print("No runs yet." if not arguments.query else f"No run contains {arguments.query!r}.", file=sys.stderr)
    for row in rows:
        print(f"{row.id}  {row.outcome or row.status:<12} {row.recipe.label:<28} {' '.join(row.question.split())[:70]}")
    return 0


def _print_metrics(runs: Sequence[Sequence[Event]], as_json: bool) -> int:
    import msgspec

    from research.events.view import fold
    from research.ops.metrics import measure

    metrics = measure(fold(events) for events in runs)
    if metrics is None:
        raise ConfigError("there is nothing to measure: none of these runs has ended")
    values = msgspec.structs.asdict(metrics)
    print(json.dumps(values) if as_json else "\n".join(f"{name}: {_format(value)}" for name, value in values.items()))
    return 0


def _format(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:.3g}"
