"""The command line.  It calls the same functions as the pages; `--json` puts one object on stdout and nothing else."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from research.errors import WorkbenchError

EXAMPLE = (
    "What was France's real GDP (purchasing power parity) in 2024, and by how much did it grow compared with 2023?"
)


def main(argv: Sequence[str] | None = None) -> int:
    arguments = _parser().parse_args(argv)
    try:
        module, _, name = arguments.command.partition(".")
        # Only the file of this command is imported: `--help` and a wrong call answer at once.
        status: int = getattr(importlib.import_module(f"research.cli.{module}"), name)(arguments)
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

    def add(name: str, command: str, help_text: str) -> argparse.ArgumentParser:
        sub: argparse.ArgumentParser = commands.add_parser(name, help=help_text, description=help_text)
        sub.set_defaults(command=command)
        sub.add_argument("--home", metavar="DIR", help="folder where everything is kept (WORKBENCH_HOME)")
        return sub

    run = add("run", "running.run", "research a question")
    run.add_argument("question", help=f'e.g. "{EXAMPLE}"')
    run.add_argument(
        "--preset", metavar="NAME", help='"Quick look", Deep, Academic, "High reliability", or one of your own'
    )
    run.add_argument("--framework", help="default: react")
    run.add_argument("--context", help="context strategy; default: full, evolving for iter_research")
    run.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="e.g. framework.rounds=5 context.k=3"
    )
    run.add_argument("--follow", metavar="RUN", help="go on from what that run found; its sources keep their numbers")
    run.add_argument("--export", metavar="FILE.md", help="write the report there")
    run.add_argument("--detach", action="store_true", help="print the run's id and go on in the background")
    run.add_argument("--json", action="store_true")
    run.add_argument("--run-id", help=argparse.SUPPRESS)

    compare = add(
        "compare", "comparing.compare", "one question with several recipes at once, or saved runs side by side"
    )
    compare.add_argument("question", nargs="?", help="what every recipe is asked")
    compare.add_argument(
        "--recipe",
        action="append",
        default=[],
        metavar="FRAMEWORK/CONTEXT[/MODEL]",
        help="given 2 to 4 times, e.g. react/full",
    )
    compare.add_argument(
        "--runs", nargs="+", default=[], metavar="RUN", help="2 to 4 saved runs, instead of a question"
    )
    compare.add_argument("--export", metavar="FILE.md", help="write the comparison there")
    compare.add_argument("--json", action="store_true")

    evaluation = add("eval", "evaluating.evaluate", "a dataset with several recipes, and how sure one can be")
    evaluation.add_argument(
        "dataset", metavar="DATASET", help="a JSONL file, or factbook, factbook-zh, almanac, almanac-zh"
    )
    evaluation.add_argument(
        "--recipe",
        action="append",
        default=[],
        metavar="FRAMEWORK[:OPTION=VALUE,…]/CONTEXT[/MODEL]",
        help="given once or more, e.g. react/full reflexion:evaluator=gold/full",
    )
    evaluation.add_argument("--corpus", metavar="PATH", help="a folder, or JSONL of id, title, text; searched alone")
    evaluation.add_argument(
        "--split", default="dev", choices=["dev", "held"], help="of a set that needs no file; default: dev"
    )
    evaluation.add_argument("--limit", type=_positive(int), metavar="N", help="the first N questions")
    evaluation.add_argument(
        "--concurrency", type=_positive(int), default=2, metavar="N", help="runs at once; default: 2"
    )
    evaluation.add_argument("--max-usd", type=_positive(float), metavar="X", help="begin no run beyond this cost")
    evaluation.add_argument("--judge", metavar="MODEL", help="also compare the reports, by this model")
    evaluation.add_argument("--name", help="what rows are kept under; default: the dataset's name")
    evaluation.add_argument("--fresh", action="store_true", help="ask again what is kept from before")
    evaluation.add_argument("--export", metavar="FILE.md|.csv", help="write the tables, or one line for each row")
    evaluation.add_argument("--json", action="store_true")

    for sub in (run, compare, evaluation):
        sub.add_argument(
            "--model",
            help="extractive, openai:NAME, anthropic:NAME, gguf:PATH, scripted:FILE, recorded:RUN; default: WORKBENCH_MODEL",
        )
        sub.add_argument(
            "--role",
            action="append",
            default=[],
            metavar="ROLE=MODEL",
            help="another model for a role, e.g. summariser",
        )
        sub.add_argument("--protocol", default="auto", choices=["auto", "native", "tagged"], help="how calls travel")
        sub.add_argument(
            "--tools",
            default="search,visit,python",
            help="of search,visit,python,scholar,recall; default: search,visit,python",
        )
        sub.add_argument(
            "--search", default="library", help="library, folders, web, or web services by name; default: library"
        )
        sub.add_argument("--mcp", default="", metavar="NAMES", help="MCP servers of mcp.json whose tools are offered")
        if sub is not evaluation:  # its folder is the corpus, and what one question taught is not told to the next
            _remembering(sub)
            sub.add_argument(
                "--folder", action="append", default=[], metavar="DIR", help="search your own documents too"
            )
        sub.add_argument("--temperature", type=float, metavar="T", help="default: the provider's")
        sub.add_argument("--budget-tokens", type=_positive(int), metavar="N")
        sub.add_argument("--budget-usd", type=_positive(float), metavar="X")
        sub.add_argument("--budget-seconds", type=_positive(float), metavar="S")

    evaluation.set_defaults(search="")  # the corpus, or without one the library

    # What is not given is left to the preset.
    run.set_defaults(protocol=None, tools=None, search=None, mcp=None, folder=None, recall=None, remember=None)

    runs = add("runs", "saved.runs", "list saved runs")
    runs.add_argument("query", nargs="?", default="", help="only runs whose question or answer holds this")
    runs.add_argument("--limit", type=_positive(int), default=20)
    runs.add_argument("--metrics", action="store_true", help="rounds, tool failures and latency over these runs")
    runs.add_argument("--json", action="store_true")

    show = add("show", "saved.show", "show a saved run")
    show.add_argument("run", help="its id, or a unique beginning of it")
    show.add_argument("--json", action="store_true")
    show.add_argument("--events", action="store_true", help="with --json: the events too")

    replay = add("replay", "saved.replay", "play a saved run again, round by round")
    replay.add_argument("run")
    replay.add_argument("--to", type=_positive(int), metavar="ROUND", help="stop after this round")

    export = add("export", "saved.export", "write a run to a file")
    export.add_argument("run")
    export.add_argument("--format", default="md", choices=["md", "html", "pdf", "docx", "bib", "csl", "json", "jsonl"])
    export.add_argument("-o", "--output", metavar="FILE", help="default: standard output")

    imported = add("import", "importing.runs", "take in runs from files")
    imported.add_argument(
        "files", nargs="+", metavar="FILE", help=".jsonl as `export --format jsonl` writes it, or .zip"
    )

    stop = add("stop", "running.stop", "ask a run to stop")
    stop.add_argument("run")

    pause = add("pause", "running.pause", "let a run rest after the call in flight")
    pause.add_argument("run")

    resume = add("resume", "running.resume", "go on with a run that rests, waits or was interrupted")
    resume.add_argument("run")
    resume.add_argument("--reply", metavar="TEXT", help="the reply to its question")
    resume.add_argument("--json", action="store_true")

    fork = add("fork", "running.fork", "a new run with the same first rounds, which goes on by itself")
    fork.add_argument("run")
    fork.add_argument(
        "--round", type=_positive(int), required=True, metavar="K", help="rounds that both have in common"
    )
    fork.add_argument("--framework", help="go on with another framework: react, tool_rounds or iter_research")
    fork.add_argument("--context", help="go on with another context strategy")
    fork.add_argument("--model", help="go on with another model")
    fork.add_argument("--question", help="go on with another question")
    fork.add_argument(
        "--edit", action="append", default=[], metavar="CALL=FILE",
        help="go on with the text of that file (-: standard input) in the place of what a call gave, or `report=FILE` for the "
        "evolving report; ids of calls: show RUN --json --events",
    )  # fmt: skip
    _remembering(fork)
    fork.set_defaults(recall=None, remember=None)
    fork.add_argument("--json", action="store_true")

    library = add("library", "parts.library", "the documents that `search` looks through")
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

    memory = add("memory", "memory.entries", "what earlier runs learned and what you noted")
    actions = memory.add_subparsers(required=True, metavar="ACTION", parser_class=_Parser)
    search = act("search", "find entries by meaning and by words")
    search.add_argument("query")
    search.add_argument("--limit", type=_positive(int), default=10)
    search.add_argument("--json", action="store_true")
    search.set_defaults(command="memory.search")
    entries = act("list", "list the entries, newest first")
    entries.add_argument("--limit", type=_positive(int), default=50)
    entries.add_argument("--json", action="store_true")
    entries.set_defaults(command="memory.entries")
    kept = act("export", "write all entries as lines of JSON")
    kept.add_argument("-o", "--output", metavar="FILE", help="default: standard output")
    kept.set_defaults(command="memory.export")
    load = act("import", "add the entries of an exported file")
    load.add_argument("file")
    load.set_defaults(command="memory.load")
    for name, help_text in (
        ("forget", "take entries out of the memory"),
        ("pin", "keep entries whatever else is added"),
        ("unpin", "let entries make room for others again"),
    ):
        each = act(name, help_text)
        each.add_argument("id", nargs="+")
        each.set_defaults(command=f"memory.{name}")
    note = act("add", "keep a note of yours")
    note.add_argument("text")
    note.add_argument("--tag", action="append", default=[], metavar="TAG")
    note.set_defaults(command="memory.add")
    act("reembed", "encode all entries anew, after the encoder was changed").set_defaults(command="memory.reembed")

    parse = add("parse", "parts.parse", "how replies of a model are read: one JSON case a line in, its reading out")
    parse.add_argument("--tools", required=True, metavar="FILE", help='[{"name", "description", "parameters"}, …]')

    mcp = add("mcp", "mcp.serve", "serve research as MCP tools; or `mcp list`, `mcp approve NAME`")
    mcp.add_argument("--http", metavar="HOST:PORT", help="over HTTP on this machine, not standard input and output")
    actions = mcp.add_subparsers(metavar="ACTION", parser_class=_Parser)
    act("list", "try the servers of mcp.json and list their tools").set_defaults(command="mcp.check")
    approve = act("approve", "accept tools whose descriptions have changed")
    approve.add_argument("server")
    approve.set_defaults(command="mcp.approve")

    worker = add("worker", "worker.worker", "take queued runs and work on them, until it is told to end")
    worker.add_argument(
        "--runs", type=_positive(int), default=8, metavar="N", help="at most so many at once; default: 8"
    )

    move = add(
        "migrate-to", "moving.migrate", "copy runs, presets and memory of every user to a Postgres; the files stay"
    )
    move.add_argument("url", nargs="?", metavar="postgresql://USER:PASSWORD@HOST/NAME", help="default: DATABASE_URL")

    add("doctor", "parts.doctor", "what is installed, what works, and how to mend the rest")
    return parser


def _remembering(sub: argparse.ArgumentParser) -> None:
    """What a run takes from the memory, and what it leaves there."""
    sub.add_argument(
        "--recall",
        type=_number,
        default=0,
        metavar="N",
        help="put up to N entries of the memory before the first round, at most 20; default: 0",
    )
    sub.add_argument(
        "--remember",
        default="off",
        choices=["off", "findings", "everything"],
        help="keep this in the memory when the run has ended; default: off",
    )


def _number(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r}: a whole number is accepted, 0 for none")
    return int(text)


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


if __name__ == "__main__":
    sys.exit(main())
