"""`migrate-to`: copy everything from the files of the home folder to a Postgres database."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from research.cli.common import open_settings
from research.cli.parser import Commands
from research.errors import ConfigError

if TYPE_CHECKING:
    from research.config.settings import Settings

Report = Callable[[int, int, str], None]
"""Takes (done, total, what)."""


def add(commands: Commands) -> None:
    """Declare the command."""
    command = commands.add(
        "migrate-to", "copy the runs, presets and memory of every user to Postgres; the files stay", run
    )
    command.add_argument("url", nargs="?", metavar="postgresql://USER:PASSWORD@HOST/NAME", help="default: DATABASE_URL")


def run(arguments: argparse.Namespace) -> int:
    """Copy the runs, saved values and memory of every user, and print one line for each."""
    from research.config.users import known_users, settings_for
    from research.exports import progress

    settings = open_settings(arguments.home)
    url = arguments.url or (settings.database_url and settings.database_url.get_secret_value())
    if not url:
        raise ConfigError("no database is named; give postgresql://USER:PASSWORD@HOST/NAME, or set DATABASE_URL")
    for each in (settings, *(settings_for(settings, key) for key in known_users(settings))):
        whose = f"user {each.user}: " if each.user else ""
        with progress.bar(sys.stderr) as report:
            copied = _copy(each, url, report)
        print(f"{whose}{', '.join(copied) or 'nothing to copy'}")
    print(f"Set DATABASE_URL to use the database; {settings.home} is unchanged.", file=sys.stderr)
    return 0


def _copy(settings: Settings, url: str, report: Report) -> list[str]:
    """Copy one user's data, and return in words what was copied."""
    from research.store.migration import move
    from research.store.sqlite import SqliteStore

    runs, memory = settings.home / "workbench.sqlite", settings.home / "memory.sqlite"
    copied = []
    if runs.exists():
        source = SqliteStore(runs)
        try:
            moved = move(source, url, settings.schema, report)
        finally:
            source.close()
        copied.append(f"{moved.runs:,} runs with {moved.events:,} events ({moved.new:,} of them new)")
        copied.append(f"{moved.values:,} presets, comparisons and opinions")
    if memory.exists():
        entries, new = _copy_memory(memory, url, settings.schema, report)
        copied.append(f"{entries:,} entries of the memory ({new:,} of them new)")
    return copied


def _copy_memory(path: Path, url: str, schema: str, report: Report) -> tuple[int, int]:
    """Copy the memory; return the number of its entries, and how many were new to the database."""
    from research.memory.postgres_store import PostgresMemoryStore
    from research.memory.sqlite_store import SqliteMemoryStore
    from research.memory.store import copy_entries

    source = SqliteMemoryStore(path)
    try:
        entries = source.count()
        return entries, copy_entries(
            source, PostgresMemoryStore(url, schema), lambda done: report(done, entries, "entries copied")
        )
    finally:
        source.close()
