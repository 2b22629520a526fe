"""Commands about saved runs: runs, show, replay, export."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from research.cli.common import load, open_home, print_run, writable
from research.errors import ConfigError

if TYPE_CHECKING:
    from research.events import Event


def runs(arguments: argparse.Namespace) -> int:
    store = open_home(arguments).store
    rows = store.runs(arguments.query, arguments.limit)
    if arguments.metrics:
        return _metrics([store.events(row.id) for row in rows], arguments.json)
    if arguments.json:
        fields = ("id", "question", "status", "outcome", "created")
        print(json.dumps([{name: getattr(row, name) for name in fields} for row in rows], ensure_ascii=False))
        return 0
    if not rows:
        print("No runs yet." if not arguments.query else f"No run holds {arguments.query!r}.", file=sys.stderr)
    for row in rows:
        print(f"{row.id}  {row.outcome or row.status:<12} {row.recipe.label:<28} {' '.join(row.question.split())[:70]}")
    return 0


def _metrics(runs: Sequence[Sequence[Event]], as_json: bool) -> int:
    import msgspec

    from research.metrics import measure
    from research.view import fold

    found = measure(fold(events) for events in runs)
    if found is None:
        raise ConfigError("no run has ended yet: there is nothing to measure")
    values = msgspec.structs.asdict(found)
    print(json.dumps(values) if as_json else "\n".join(f"{name}: {_figure(value)}" for name, value in values.items()))
    return 0


def _figure(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:.3g}"


def show(arguments: argparse.Namespace) -> int:
    from research.comparing import kin
    from research.exports.json import as_dict
    from research.view import fold

    bench, events = load(arguments)
    view = fold(events)
    if arguments.json:
        told = as_dict(view, events if arguments.events else None) | kin(bench.store, bench.store.run(arguments.run))
        print(json.dumps(told, ensure_ascii=False))
        return 0
    print_run(view, as_json=False)
    return 0


def replay(arguments: argparse.Namespace) -> int:
    from research import progress
    from research.view import fold, until

    _, events = load(arguments)
    kept = until(events, arguments.to) if arguments.to else events
    for event in kept:
        for line in progress.lines(event):
            print(line)
    if len(kept) == len(events):
        print(progress.summary(fold(kept)))
    return 0


def export(arguments: argparse.Namespace) -> int:
    from research.exports import FORMATS
    from research.view import fold

    kind = FORMATS[arguments.format]
    target = writable(arguments.output) if arguments.output else None
    if target is None and kind.binary and sys.stdout.isatty():
        raise ConfigError(f"{kind.title} is not for a terminal: say where to write it, e.g. -o report.{kind.suffix}")
    _, events = load(arguments)
    content = kind.make(fold(events), events)
    if target is not None:
        target.write_bytes(content)
    elif kind.binary:
        sys.stdout.buffer.write(content)
    else:
        sys.stdout.write(content.decode())
    return 0
