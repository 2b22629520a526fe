"""The command line.  It calls the same functions as the pages; `--json` puts one object on stdout and nothing else."""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from research.errors import ConfigError, WorkbenchError

if TYPE_CHECKING:
    from research.engine import Followed
    from research.events import Event
    from research.view import RunView
    from research.workbench import Workbench

EXIT = {"completed": 0, "failed": 1, "waiting_input": 3, "paused": 4, "stopped": 4}
"""Exit status by the run's; 2 is a wrong call or setting."""

EXAMPLE = (
    "What was France's real GDP (purchasing power parity) in 2024, and by how much did it grow compared with 2023?"
)


def main(argv: Sequence[str] | None = None) -> int:
    arguments = _parser().parse_args(argv)
    try:
        status: int = arguments.command(arguments)
        return status
    except WorkbenchError as error:
        print(f"research: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        # The reader has gone (`| head`): nothing to tell it, and Python must not try to flush at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(2, f"research: {message}; see `{self.prog} --help`\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="python -m research", description="Ask questions that take many searches to answer.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND", parser_class=_Parser)

    def add(name: str, command: Any, help_text: str) -> argparse.ArgumentParser:
        sub: argparse.ArgumentParser = commands.add_parser(name, help=help_text, description=help_text)
        sub.set_defaults(command=command)
        sub.add_argument("--home", metavar="DIR", help="folder where everything is kept (WORKBENCH_HOME)")
        return sub

    run = add("run", _run, "research a question")
    run.add_argument("question", help=f'e.g. "{EXAMPLE}"')
    run.add_argument("--framework", default="react", help="default: react")
    run.add_argument("--context", help="context strategy; default: full, evolving for iter_research")
    run.add_argument("--model", help="extractive, openai:NAME, scripted:FILE, recorded:RUN; default: WORKBENCH_MODEL")
    run.add_argument("--role", action="append", default=[], metavar="PURPOSE=MODEL", help="another model for a purpose")
    run.add_argument("--protocol", default="auto", choices=["auto", "native", "tagged"], help="how calls travel")
    run.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="e.g. framework.rounds=5 context.k=3"
    )
    run.add_argument("--tools", default="search,visit,python", help="default: search,visit,python")
    run.add_argument("--search", default="library", help="search sources; default: library")
    run.add_argument("--folder", action="append", default=[], metavar="DIR", help="search your own documents too")
    run.add_argument("--budget-tokens", type=_positive(int), metavar="N")
    run.add_argument("--budget-usd", type=_positive(float), metavar="X")
    run.add_argument("--budget-seconds", type=_positive(float), metavar="S")
    run.add_argument("--export", metavar="FILE.md", help="write the report there")
    run.add_argument("--detach", action="store_true", help="print the run's id and go on in the background")
    run.add_argument("--json", action="store_true")
    run.add_argument("--run-id", help=argparse.SUPPRESS)

    runs = add("runs", _runs, "list saved runs")
    runs.add_argument("query", nargs="?", default="", help="only runs whose question or answer holds this")
    runs.add_argument("--limit", type=_positive(int), default=20)
    runs.add_argument("--metrics", action="store_true", help="rounds, tool failures and latency over these runs")
    runs.add_argument("--json", action="store_true")

    show = add("show", _show, "show a saved run")
    show.add_argument("run", help="its id, or a unique beginning of it")
    show.add_argument("--json", action="store_true")
    show.add_argument("--events", action="store_true", help="with --json: the events too")

    replay = add("replay", _replay, "play a saved run again, round by round")
    replay.add_argument("run")
    replay.add_argument("--to", type=_positive(int), metavar="ROUND", help="stop after this round")

    export = add("export", _export, "write a run to a file")
    export.add_argument("run")
    export.add_argument("--format", default="md", choices=["md", "json", "jsonl"])
    export.add_argument("-o", "--output", metavar="FILE", help="default: standard output")

    stop = add("stop", _stop, "ask a run to stop")
    stop.add_argument("run")

    resume = add("resume", _resume, "go on with a run that waits or was interrupted")
    resume.add_argument("run")
    resume.add_argument("--reply", metavar="TEXT", help="the reply to its question")
    resume.add_argument("--json", action="store_true")

    library = add("library", _library, "the documents that `search` looks through")
    actions = library.add_subparsers(required=True, metavar="ACTION", dest="action", parser_class=_Parser)

    def act(name: str, help_text: str) -> argparse.ArgumentParser:
        action: argparse.ArgumentParser = actions.add_parser(name, help=help_text, description=help_text)
        # No default: one would overwrite what stands before the action.
        action.add_argument("--home", metavar="DIR", default=argparse.SUPPRESS, help=argparse.SUPPRESS)
        return action

    act("add", "index a folder of md, txt, html, pdf and docx files").add_argument("folder")
    search = act("search", "search all collections")
    search.add_argument("query")
    search.add_argument("--limit", type=_positive(int), default=10)
    act("list", "list the collections")
    act("remove", "forget a folder (its files stay)").add_argument("collection")
    act("prepare", "index the World Factbook, once").add_argument(
        "--vectors", action="store_true", help="make the vectors too; the app does it in the background"
    )

    parse = add("parse", _parse, "how replies of a model are read: one JSON case a line in, its reading out")
    parse.add_argument("--tools", required=True, metavar="FILE", help='[{"name", "description", "parameters"}, …]')

    add("doctor", _doctor, "what is installed, what works, and how to mend the rest")
    return parser


def _positive(kind: type[int] | type[float]) -> Any:
    def parse(text: str) -> float:
        try:
            value = kind(text)
        except ValueError:
            value = kind(0)
        if not value > 0:
            raise argparse.ArgumentTypeError(f"{text!r}: a number above 0 is accepted")
        return value

    return parse


def _open(arguments: argparse.Namespace) -> Workbench:
    # sqlite-utils loads pandas where it is installed, only to know its types: half a second that no command uses.
    sys.modules.setdefault("pandas", None)  # type: ignore[arg-type]
    from research.settings import load
    from research.workbench import Workbench

    return Workbench(load(home=arguments.home))


def _pairs(items: Sequence[str], option: str) -> dict[str, str]:
    for item in items:
        if "=" not in item:
            raise ConfigError(f"{option} {item!r}: write NAME=VALUE")
    return dict(item.split("=", 1) for item in items)


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _run(arguments: argparse.Namespace) -> int:
    from research.engine import checked_question
    from research.recipe import Budget

    checked_question(arguments.question)
    export = _writable(arguments.export) if arguments.export else None
    bench = _open(arguments)
    recipe = bench.recipe(
        framework=arguments.framework,
        context=arguments.context,
        model=arguments.model,
        roles=_pairs(arguments.role, "--role"),
        protocol=arguments.protocol,
        options=_pairs(arguments.set, "--set"),
        tools=_names(arguments.tools),
        search=_names(arguments.search),
        folders=arguments.folder,
        budget=Budget(arguments.budget_tokens, arguments.budget_usd, arguments.budget_seconds),
    )
    _index(bench, recipe.folders)
    if arguments.detach:
        return _detach(bench)
    from research.view import RunView

    events = bench.engine.follow(arguments.question, recipe, arguments.run_id)
    if arguments.run_id is None:
        print(f"run {events.run_id}", file=sys.stderr, flush=True)
    view = _watch(bench, events, RunView())
    if export is not None:
        from research.exports.markdown import markdown

        export.write_text(markdown(view), encoding="utf-8")
    return _print(view, arguments.json)


def _watch(bench: Workbench, events: Followed, view: RunView) -> RunView:
    """Make the run happen, with a line on stderr for each thing that does."""
    from research import progress

    _stop_on_interrupt(bench, events.run_id)
    for event in events:
        view.apply(event)
        for line in progress.lines(event):
            print(line, file=sys.stderr, flush=True)
    return view


def _resume(arguments: argparse.Namespace) -> int:
    from research.view import fold

    bench, events = _load(arguments)
    view = _watch(bench, bench.engine.resume(arguments.run, arguments.reply), fold(events))
    return _print(view, arguments.json)


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


def _index(bench: Workbench, folders: Sequence[str]) -> None:
    """Bring the library up to date, with progress on stderr; only the first time takes noticeable time."""
    from research import progress

    with progress.bar(sys.stderr) as report:
        unreadable = bench.prepare(folders, report)
    for path, reason in unreadable:
        print(f"not read: {path}: {reason}", file=sys.stderr)


def _print(view: RunView, as_json: bool) -> int:
    if as_json:
        from research.exports.json import as_dict

        print(json.dumps(as_dict(view), ensure_ascii=False))
    else:
        from research import progress

        print(progress.summary(view))
    return EXIT.get(view.status, 0)


def _load(arguments: argparse.Namespace) -> tuple[Workbench, list[Any]]:
    bench = _open(arguments)
    return bench, bench.store.events(bench.store.run(arguments.run).id)


def _runs(arguments: argparse.Namespace) -> int:
    store = _open(arguments).store
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
    print(json.dumps(values) if as_json else "\n".join(f"{name}: {value:.3g}" for name, value in values.items()))
    return 0


def _show(arguments: argparse.Namespace) -> int:
    from research.exports.json import as_dict
    from research.view import fold

    _, events = _load(arguments)
    view = fold(events)
    if arguments.json:
        print(json.dumps(as_dict(view, events if arguments.events else None), ensure_ascii=False))
        return 0
    _print(view, as_json=False)
    return 0


def _replay(arguments: argparse.Namespace) -> int:
    from research import progress
    from research.view import fold, until

    _, events = _load(arguments)
    kept = until(events, arguments.to) if arguments.to else events
    for event in kept:
        for line in progress.lines(event):
            print(line)
    if len(kept) == len(events):
        print(progress.summary(fold(kept)))
    return 0


def _export(arguments: argparse.Namespace) -> int:
    from research.events import encode
    from research.exports.json import as_dict
    from research.exports.markdown import markdown
    from research.view import fold

    target = _writable(arguments.output) if arguments.output else None
    _, events = _load(arguments)
    formats = {
        "md": lambda: markdown(fold(events)),
        "json": lambda: json.dumps(as_dict(fold(events)), ensure_ascii=False, indent=2) + "\n",
        "jsonl": lambda: "".join(encode(event).decode() + "\n" for event in events),
    }
    content = formats[arguments.format]()
    if target is None:
        sys.stdout.write(content)
    else:
        target.write_text(content, encoding="utf-8")
    return 0


def _stop(arguments: argparse.Namespace) -> int:
    bench = _open(arguments)
    row = bench.store.run(arguments.run)
    if row.status != "running":
        raise ConfigError(f"run {row.id} is not running: {row.outcome or row.status}")
    bench.engine.stop(row.id)
    print(f"asked run {row.id} to stop", file=sys.stderr)
    return 0


def _library(arguments: argparse.Namespace) -> int:
    from research import progress

    bench = _open(arguments)
    library = bench.library
    if arguments.action == "add":
        with progress.bar(sys.stderr) as report:
            result = library.add_folder(Path(arguments.folder).expanduser().resolve(), report)
        print(f"{result.indexed} indexed, {result.unchanged} unchanged, {result.removed} removed")
        for path, reason in result.unreadable:
            print(f"not read: {path}: {reason}")
    elif arguments.action == "search":
        _index(bench, ())
        for passage in library.search(arguments.query, arguments.limit):
            print(f"{passage.title}\n  {passage.url}\n  {passage.quote}\n")
    elif arguments.action == "remove":
        library.remove(arguments.collection)
    else:
        if arguments.action == "prepare":
            with progress.bar(sys.stderr) as report:
                bench.prepare((), report, vectors=arguments.vectors)
        for info in library.collections():
            print(f"{info.name}: {info.documents:,} documents, {info.passages:,} passages, {info.vectors:,} vectors")
    return 0


def _parse(arguments: argparse.Namespace) -> int:
    import msgspec

    from research.parsing import parse_line
    from research.types import ToolSpec

    try:
        tools = msgspec.json.decode(Path(arguments.tools).read_bytes(), type=list[ToolSpec])
    except (OSError, msgspec.MsgspecError) as error:
        raise ConfigError(f"--tools {arguments.tools}: a JSON list of tools is accepted: {error}") from error
    for number, line in enumerate(sys.stdin.buffer, 1):
        if line.strip():
            try:
                print(parse_line(line.decode("utf-8", "replace"), tools))
            except WorkbenchError as error:
                raise ConfigError(f"line {number}: {error}") from error
    return 0


def _doctor(arguments: argparse.Namespace) -> int:
    from research import doctor

    checks = doctor.examine(_open(arguments))
    for check in checks:
        print(f"{check.state:<8} {check.name}: {check.text}")
    return 1 if any(check.state == "broken" for check in checks) else 0


def _writable(name: str) -> Path:
    """The path, known to be writable before any work is done."""
    path = Path(name)
    there = path.exists()
    try:
        with path.open("ab"):
            pass
        if not there:
            path.unlink()
    except OSError as error:
        raise ConfigError(f"{name} cannot be written ({error.strerror}); name a file in an existing folder") from error
    return path


if __name__ == "__main__":
    sys.exit(main())
