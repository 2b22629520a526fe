"""`memory`: the entries that earlier runs added, and the user's own notes."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from research.cli.common import open_home, print_json, writable
from research.cli.parser import Commands, add_json_option, positive_int
from research.errors import ConfigError

if TYPE_CHECKING:
    from research.memory import Entry
    from research.memory.entries import Memory


def add(commands: Commands) -> None:
    """Declare the command and its actions."""
    actions = Commands.actions_of(commands.add("memory", "what earlier runs learned, and your own notes", None))
    action = actions.add("search", "find entries by meaning and by words", search)
    action.add_argument("query")
    action.add_argument("--limit", type=positive_int, default=10, metavar="N", help="at most N; default: 10")
    add_json_option(action, "array")
    action = actions.add("list", "list the entries, newest first", list_entries)
    action.add_argument("--limit", type=positive_int, default=50, metavar="N", help="at most N; default: 50")
    add_json_option(action, "array")
    action = actions.add("export", "write all entries as lines of JSON", export)
    action.add_argument("-o", "--output", metavar="FILE", help="default: standard output")
    actions.add("import", "add the entries of an exported file", load).add_argument("file")
    for name, summary, run in (
        ("forget", "delete entries", forget),
        ("pin", "keep entries even when the memory is full", partial(pin, pinned=True)),
        ("unpin", "allow entries to be dropped when the memory is full", partial(pin, pinned=False)),
    ):
        actions.add(name, summary, run).add_argument("id", nargs="+")
    action = actions.add("add", "save a note of your own", add_note)
    action.add_argument("text")
    action.add_argument("--tag", action="append", default=[], metavar="TAG")
    actions.add("reembed", "encode all entries again, after the encoder was changed", reembed)


def search(arguments: argparse.Namespace) -> int:
    """Print the entries nearest to a query."""
    found = open_home(arguments).memory.search(arguments.query, arguments.limit)
    if arguments.json:
        print_json([{**_fields(each.entry), "score": each.score, "cosine": each.cosine} for each in found])
    for each in () if arguments.json else found:
        print(f"{each.cosine:.2f}  {_line(each.entry)}")
    if not found:
        print(f"The memory has nothing about {arguments.query!r}.", file=sys.stderr)
    return 0


def list_entries(arguments: argparse.Namespace) -> int:
    """Print the newest entries."""
    memory = open_home(arguments).memory
    listed = memory.entries(limit=arguments.limit)
    if arguments.json:
        print_json(list(map(_fields, listed)))
        return 0
    for entry in listed:
        print(_line(entry))
    print(f"{memory.count():,} of at most {memory.capacity:,} entries", file=sys.stderr)
    return 0


def export(arguments: argparse.Namespace) -> int:
    """Write all entries as lines of JSON."""
    target = writable(arguments.output) if arguments.output else None
    lines = open_home(arguments).memory.export()
    if target is None:
        sys.stdout.writelines(lines)
    else:
        with target.open("w", encoding="utf-8") as file:
            file.writelines(lines)
    return 0


def load(arguments: argparse.Namespace) -> int:
    """Add the entries of an exported file."""
    try:
        lines = Path(arguments.file).read_bytes().splitlines()
    except OSError as error:
        raise ConfigError(f"{arguments.file} cannot be read ({error.strerror}); name a file of JSON lines") from error
    done = open_home(arguments).memory.load(lines)
    print(f"{done.added:,} added, {done.known:,} known already")
    return 0


def add_note(arguments: argparse.Namespace) -> int:
    """Save a note."""
    from research.memory import Entry

    (added,) = open_home(arguments).memory.add([Entry(arguments.text, tags=tuple(arguments.tag))])
    print(f"{added.id}  {'kept' if added.new else 'known already'}")
    return 0


def forget(arguments: argparse.Namespace) -> int:
    """Delete entries."""
    memory = _memory_with(arguments, arguments.id)
    print(f"{memory.forget(arguments.id):,} forgotten")
    return 0


def pin(arguments: argparse.Namespace, *, pinned: bool) -> int:
    """Pin entries, or unpin them."""
    ids = list(dict.fromkeys(arguments.id))
    _memory_with(arguments, ids).pin(ids, pinned)
    print(f"{len(ids):,} {'pinned' if pinned else 'no longer pinned'}")
    return 0


def _memory_with(arguments: argparse.Namespace, ids: Sequence[str]) -> Memory:
    """Return the memory after checking that every entry exists, so that all change or none.

    Raises `ConfigError`.
    """
    memory = open_home(arguments).memory
    for id_ in ids:
        memory.get(id_)
    return memory


def reembed(arguments: argparse.Namespace) -> int:
    """Encode all entries again."""
    from research.exports import progress

    memory = open_home(arguments).memory
    if other := memory.other_encoder:
        print(f"the entries were encoded by {other}", file=sys.stderr)
    with progress.bar(sys.stderr) as report:
        done = memory.reembed(lambda done, total: report(done, total, "encoding"))
    print(f"{done:,} encoded again")
    return 0


def _line(entry: Entry) -> str:
    where = " · ".join(filter(None, (entry.kind, entry.run and f"{entry.run} round {entry.round}", entry.url)))
    return f"{entry.id}  {' '.join(entry.text.split())}\n      {where}"


def _fields(entry: Entry) -> dict[str, Any]:
    import msgspec

    return msgspec.structs.asdict(entry)
