"""Commands about the parts of the workbench: library, parse, doctor."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from research import decoding
from research.cli.common import index, open_home
from research.errors import ConfigError, WorkbenchError


def library(arguments: argparse.Namespace) -> int:
    from research import progress

    bench = open_home(arguments)
    library = bench.library
    if arguments.action == "add":
        with progress.bar(sys.stderr) as report:
            result = library.add_folder(Path(arguments.folder).expanduser().resolve(), report)
        print(f"{result.indexed} indexed, {result.unchanged} unchanged, {result.removed} removed")
        for path, reason in result.unreadable:
            print(f"not read: {path}: {reason}")
    elif arguments.action == "search":
        index(bench, ())
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


def parse(arguments: argparse.Namespace) -> int:
    import msgspec

    from research.parsing import parse_line
    from research.types import ToolSpec

    try:
        tools = decoding.decode(Path(arguments.tools).read_bytes(), list[ToolSpec])
    except (OSError, msgspec.MsgspecError) as error:
        raise ConfigError(f"--tools {arguments.tools}: a JSON list of tools is accepted: {error}") from error
    for number, line in enumerate(sys.stdin.buffer, 1):
        if line.strip():
            try:
                print(parse_line(line.decode("utf-8", "replace"), tools))
            except WorkbenchError as error:
                raise ConfigError(f"line {number}: {error}") from error
    return 0


def doctor(arguments: argparse.Namespace) -> int:
    from research import doctor

    checks = doctor.examine(open_home(arguments))
    for check in checks:
        print(f"{check.state:<8} {check.name}: {check.text}")
    return 1 if any(check.state == "broken" for check in checks) else 0
