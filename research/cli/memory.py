"""Commands about the memory: search, list, export, import, forget."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from research.cli.common import open_home, writable
from research.errors import ConfigError

if TYPE_CHECKING:
    from research.memory import Entry


def search(arguments: argparse.Namespace) -> int:
    found = open_home(arguments).memory.search(arguments.query, arguments.limit)
    if arguments.json:
        _print([{**_fields(each.entry), "score": each.score, "cosine": each.cosine} for each in found])
    for each in () if arguments.json else found:
        print(f"{each.cosine:.2f}  {_line(each.entry)}")
    if not found:
        print(f"Nothing in the memory for {arguments.query!r}.", file=sys.stderr)
    return 0


def entries(arguments: argparse.Namespace) -> int:
    memory = open_home(arguments).memory
    listed = memory.entries(limit=arguments.limit)
    if arguments.json:
        _print(map(_fields, listed))
        return 0
    for entry in listed:
        print(_line(entry))
    print(f"{memory.count():,} of at most {memory.capacity:,} entries", file=sys.stderr)
    return 0


def export(arguments: argparse.Namespace) -> int:
    target = writable(arguments.output) if arguments.output else None
    lines = open_home(arguments).memory.export()
    if target is None:
        sys.stdout.writelines(lines)
    else:
        with target.open("w", encoding="utf-8") as file:
            file.writelines(lines)
    return 0


def load(arguments: argparse.Namespace) -> int:
    try:
        lines = Path(arguments.file).read_bytes().splitlines()
    except OSError as error:
        raise ConfigError(f"{arguments.file} cannot be read ({error.strerror}); name a file of JSON lines") from error
    done = open_home(arguments).memory.load(lines)
    print(f"{done.added:,} added, {done.known:,} known already")
    return 0


def forget(arguments: argparse.Namespace) -> int:
    memory = open_home(arguments).memory
    for id_ in arguments.id:
        memory.get(id_)  # all of them or none
    print(f"{memory.forget(arguments.id):,} forgotten")
    return 0


def _line(entry: Entry) -> str:
    where = " · ".join(filter(None, (entry.kind, entry.run and f"{entry.run} round {entry.round}", entry.url)))
    return f"{entry.id}  {' '.join(entry.text.split())}\n      {where}"


def _fields(entry: Entry) -> dict[str, Any]:
    return msgspec.structs.asdict(entry)


def _print(values: Iterable[dict[str, Any]]) -> None:
    print(json.dumps(list(values), ensure_ascii=False))
