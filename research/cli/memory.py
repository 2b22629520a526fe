"""Commands about the memory: search, list, add, pin, forget, export, import, encode anew."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from research.cli.common import open_home, writable
from research.errors import ConfigError

if TYPE_CHECKING:
    from research.memory import Entry
    from research.memory.memory import Memory


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


def add(arguments: argparse.Namespace) -> int:
    from research.memory import Entry

    (added,) = open_home(arguments).memory.add([Entry(arguments.text, tags=tuple(arguments.tag))])
    print(f"{added.id}  {'kept' if added.new else 'says this already'}")
    return 0


def forget(arguments: argparse.Namespace) -> int:
    memory = _holding(arguments, arguments.id)
    print(f"{memory.forget(arguments.id):,} forgotten")
    return 0


def pin(arguments: argparse.Namespace) -> int:
    ids = list(dict.fromkeys(arguments.id))
    _holding(arguments, ids).pin(ids)
    print(f"{len(ids):,} pinned")
    return 0


def unpin(arguments: argparse.Namespace) -> int:
    ids = list(dict.fromkeys(arguments.id))
    _holding(arguments, ids).pin(ids, False)
    print(f"{len(ids):,} no longer pinned")
    return 0


def _holding(arguments: argparse.Namespace, ids: Sequence[str]) -> Memory:
    """The memory, which has all of these entries: they are changed together or not at all."""
    memory = open_home(arguments).memory
    for id_ in ids:
        memory.get(id_)
    return memory


def reembed(arguments: argparse.Namespace) -> int:
    from research import progress

    memory = open_home(arguments).memory
    if other := memory.other_encoder:
        print(f"the entries were encoded by {other}", file=sys.stderr)
    with progress.bar(sys.stderr) as report:
        done = memory.reembed(lambda done, total: report(done, total, "encoding"))
    print(f"{done:,} encoded anew")
    return 0


def _line(entry: Entry) -> str:
    where = " · ".join(filter(None, (entry.kind, entry.run and f"{entry.run} round {entry.round}", entry.url)))
    return f"{entry.id}  {' '.join(entry.text.split())}\n      {where}"


def _fields(entry: Entry) -> dict[str, Any]:
    return msgspec.structs.asdict(entry)


def _print(values: Iterable[dict[str, Any]]) -> None:
    print(json.dumps(list(values), ensure_ascii=False))
