"""Commands that make a run happen: run, resume, fork, pause, stop."""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from research.cli.common import index, load, names, open_home, pairs, print_run, writable
from research.errors import ConfigError

if TYPE_CHECKING:
    from research.driving import Followed
    from research.view import RunView
    from research.workbench import Workbench


def run(arguments: argparse.Namespace) -> int:
    from research.engine import checked_question

    checked_question(arguments.question)
    export = writable(arguments.export) if arguments.export else None
    bench = open_home(arguments)
    before = bench.store.run(arguments.follow).id if arguments.follow else None
    recipe = bench.recipe(**_choices(bench, arguments))
    index(bench, recipe.folders)
    if arguments.detach and bench.settings.engine == "workers":
        if before is None:
            print(bench.engine.start(arguments.question, recipe, arguments.run_id))
        else:
            print(bench.engine.follow_up(before, arguments.question, recipe))
        return 0
    if arguments.detach:
        return _detach(bench)
    from research.view import RunView

    if before is None:
        events = bench.engine.follow(arguments.question, recipe, arguments.run_id)
    else:
        events = bench.engine.followed_up(before, arguments.question, recipe, arguments.run_id)
    if arguments.run_id is None:
        print(f"run {events.run_id}", file=sys.stderr, flush=True)
    view = _watch(bench, events, RunView())
    if export is not None:
        from research.exports.markdown import markdown

        export.write_text(markdown(view), encoding="utf-8")
    return print_run(view, arguments.json)


def _watch(bench: Workbench, events: Followed, view: RunView) -> RunView:
    """Make the run happen, with a line on stderr for each thing that does."""
    from research import progress

    _stop_on_interrupt(bench, events.run_id)
    for event in events:
        view.apply(event)
        for line in progress.lines(event):
            print(line, file=sys.stderr, flush=True)
    return view


def resume(arguments: argparse.Namespace) -> int:
    from research.view import fold

    bench, events = load(arguments)
    view = _watch(bench, bench.engine.resume(arguments.run, arguments.reply), fold(events))
    return print_run(view, arguments.json)


def fork(arguments: argparse.Namespace) -> int:
    from research import presets
    from research.view import RunView

    bench = open_home(arguments)
    row = bench.store.run(arguments.run)
    recipe = None
    given = {name: getattr(arguments, name) for name in ("framework", "context", "model", "recall", "remember")}
    changed = {name: value for name, value in given.items() if value is not None}
    if changed:
        choices = presets.of(row.recipe).arguments() | changed
        # Options belong to the framework or strategy that is left.
        choices["options"] = {
            name: value for name, value in choices["options"].items() if name.partition(".")[0] not in changed
        }
        recipe = bench.recipe(**choices)
    index(bench, row.recipe.folders)
    edits = {name: _written(path) for name, path in pairs(arguments.edit, "--edit").items()}
    events = bench.engine.forked(row.id, arguments.round, recipe=recipe, question=arguments.question, edits=edits)
    print(f"run {events.run_id}", file=sys.stderr, flush=True)
    return print_run(_watch(bench, events, RunView()), arguments.json)


def _written(path: str) -> str:
    """The text of a file; `-` is standard input.  Raises `ConfigError`."""
    try:
        return sys.stdin.read() if path == "-" else Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"--edit: {path} cannot be read: {error}") from error


def _choices(bench: Workbench, arguments: argparse.Namespace) -> dict[str, Any]:
    """The arguments of `Workbench.recipe`: those of the preset, if one is named, then what stands on the command line."""
    from research import presets

    found = presets.find(bench, arguments.preset) if arguments.preset else presets.Fitted(presets.Choices())
    for gap in found.gaps:
        print(f"preset: {gap}", file=sys.stderr)
    choices = found.choices.arguments()
    options = choices.pop("options")
    given = {
        "framework": arguments.framework, "context": arguments.context, "model": arguments.model,
        "protocol": arguments.protocol, "temperature": arguments.temperature, "folders": arguments.folder,
        "recall": arguments.recall, "remember": arguments.remember,
        **{
            name: names(text) for name in ("tools", "search", "mcp") if (text := getattr(arguments, name)) is not None
        },
    }  # fmt: skip
    for side in ("framework", "context"):
        # The preset's options belong to its own framework and strategy.
        if given[side] not in (None, choices[side]):
            options = {name: value for name, value in options.items() if not name.startswith(f"{side}.")}
            if side == "framework":
                choices["context"] = None
    choices |= {name: value for name, value in given.items() if value is not None}
    caps = {"tokens": arguments.budget_tokens, "usd": arguments.budget_usd, "seconds": arguments.budget_seconds}
    budget = msgspec.structs.replace(choices["budget"], **{name: cap for name, cap in caps.items() if cap is not None})
    roles = {**choices["roles"], **pairs(arguments.role, "--role")}
    return {**choices, "options": {**options, **pairs(arguments.set, "--set")}, "roles": roles, "budget": budget}


def _stop_on_interrupt(bench: Workbench, run_id: str) -> None:
    """Ctrl-C asks the run to stop, so that it ends with a readable report; a second one ends the process."""

    def stop(*_: object) -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        bench.engine.stop(run_id)

    signal.signal(signal.SIGINT, stop)


def _detach(bench: Workbench) -> int:
    """Start the same command again in a session of its own, and return its id once the run exists."""
    from research.engine import new_id

    run_id = new_id()
    again = [word for word in sys.argv[1:] if word not in ("--detach", "--json")]
    log = bench.settings.home / "detached.log"
    with log.open("ab") as sink:
        process = subprocess.Popen(
            [sys.executable, "-m", "research", *again, "--run-id", run_id],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=sink, start_new_session=True,
        )  # fmt: skip
    while process.poll() is None:
        try:
            bench.store.run(run_id)
        except ConfigError:
            time.sleep(0.05)
            continue
        break
    if process.poll() not in (None, 0):
        raise ConfigError(f"the run did not start; {log} says why")
    print(run_id)
    return 0


def stop(arguments: argparse.Namespace) -> int:
    bench = open_home(arguments)
    row = bench.store.run(arguments.run)
    if row.status in ("completed", "stopped", "failed"):
        raise ConfigError(f"run {row.id} is not running: {row.outcome or row.status}")
    bench.engine.stop(row.id)
    print(f"asked run {row.id} to stop", file=sys.stderr)
    bench.engine.wait(row.id)  # one that nobody worked on is ended here
    return 0


def pause(arguments: argparse.Namespace) -> int:
    bench = open_home(arguments)
    row = bench.store.run(arguments.run)
    bench.engine.pause(row.id)
    print(f"asked run {row.id} to rest; `resume` goes on with it", file=sys.stderr)
    return 0
