"""`library`: the documents that the search tool looks through."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from research.cli.common import open_home, prepare_library, print_json
from research.cli.parser import Commands, add_json_option, positive_int

if TYPE_CHECKING:
    from research.search.library.documents import Library


def add(commands: Commands) -> None:
    """Declare the command and its actions."""
    actions = Commands.actions_of(commands.add("library", "the documents that `search` looks through", None))
    command = actions.add(
        "add", "index a folder: text, web pages, pdf, Office files, spreadsheets, books, messages", add_folder
    )
    command.add_argument("folder", help="the folder to add; its files are read again when they change")
    actions.add("zotero", "copy and index the library of the Zotero program on this machine", add_zotero)
    command = actions.add("search", "search all collections", search)
    command.add_argument("query")
    command.add_argument("--limit", type=positive_int, default=10, metavar="N", help="at most N; default: 10")
    command = actions.add("list", "list the collections, and the files that are skipped", list_collections)
    add_json_option(command)
    command = actions.add("remove", "remove a folder from the library; its files are not touched", remove)
    command.add_argument("collection", help="the folder's name, as `library list` prints it")
    command = actions.add("prepare", "index the World Factbook, once", prepare)
    command.add_argument(
        "--vectors", action="store_true", help="compute the vectors now; the app does so in the background"
    )


def add_folder(arguments: argparse.Namespace) -> int:
    """Index a folder."""
    from research.exports import progress

    library = open_home(arguments).library
    with progress.bar(sys.stderr) as report:
        result = library.add_folder(Path(arguments.folder), report)
    print(f"{result.indexed} indexed, {result.unchanged} unchanged, {result.removed} removed")
    for path, reason in result.unreadable:
        print(f"not read: {path}: {reason}")
    for path, note in result.partial:
        print(f"read in part: {path}: {note}")
    return 0


def add_zotero(arguments: argparse.Namespace) -> int:
    """Copy the Zotero library into a folder of its own, and index that."""
    from research.exports import progress
    from research.search.library import uploads, zotero

    bench = open_home(arguments)
    place = uploads.folder(bench.settings.home, "Zotero")
    with progress.bar(sys.stderr) as report, zotero.client() as client:
        copied = zotero.copy(place, client, report)
        result = bench.library.add_folder(place, report)
    print(f"{copied.files:,} files of Zotero; {result.indexed} indexed, {result.unchanged} unchanged")
    for name, reason in (*copied.missing, *((path.name, reason) for path, reason in result.unreadable)):
        print(f"not read: {name}: {reason}")
    return 0


def search(arguments: argparse.Namespace) -> int:
    """Print the best passages for a query."""
    bench = open_home(arguments)
    prepare_library(bench, ())
    for passage in bench.library.search(arguments.query, arguments.limit):
        print(f"{passage.title}\n  {passage.url}\n  {passage.quote}\n")
    return 0


def list_collections(arguments: argparse.Namespace) -> int:
    """Print one line for each collection, and one for each file that could not be read."""
    library = open_home(arguments).library
    if not arguments.json:
        _print_collections(library)
        return 0
    found = [
        {
            "name": info.name,
            "documents": info.documents,
            "passages": info.passages,
            "vectors": info.vectors,
            "skipped": [{"path": str(path), "reason": reason} for path, reason in library.unreadable(info.name)],
            "read_in_part": [{"file": file, "note": note} for file, note in library.partial(info.name)],
        }
        for info in library.collections()
    ]
    print_json(found)
    return 0


def remove(arguments: argparse.Namespace) -> int:
    """Remove a collection."""
    open_home(arguments).library.remove(arguments.collection)
    return 0


def prepare(arguments: argparse.Namespace) -> int:
    """Index the World Factbook unless it is indexed already."""
    from research.exports import progress

    bench = open_home(arguments)
    with progress.bar(sys.stderr) as report:
        bench.prepare((), report, vectors=arguments.vectors)
    _print_collections(bench.library)
    return 0


def _print_collections(library: Library) -> None:
    for info in library.collections():
        skipped = f", {info.unreadable:,} files not read:" if info.unreadable else ""
        print(
            f"{info.name}: {info.documents:,} documents, {info.passages:,} passages, {info.vectors:,} vectors{skipped}"
        )
        for path, reason in library.unreadable(info.name) if skipped else ():
            print(f"  {path}: {reason}")
        for file, note in library.partial(info.name):
            print(f"  read in part: {file}: {note}")
