"""Command migrate-to: from the files of the home folder to a Postgres."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from research.errors import ConfigError


def migrate(arguments: argparse.Namespace) -> int:
    """Copy runs, desk and memory of every user; the files stay as they are."""
    sys.modules.setdefault("pandas", None)  # type: ignore[arg-type]  # as in `open_home`
    from research import progress
    from research.moving import move
    from research.settings import load
    from research.store.sqlite import SqliteStore
    from research.users import known, settings_for

    settings = load(home=arguments.home)
    url = arguments.url or (settings.database_url and settings.database_url.get_secret_value())
    if not url:
        raise ConfigError("no database is named; give postgresql://USER:PASSWORD@HOST/NAME, or set DATABASE_URL")
    for each in (settings, *(settings_for(settings, key) for key in known(settings))):
        whose = f"user {each.user}: " if each.user else ""
        with progress.bar(sys.stderr) as report:
            runs, memory = each.home / "workbench.sqlite", each.home / "memory.sqlite"
            said = []
            if runs.exists():
                source = SqliteStore(runs)
                try:
                    moved = move(source, url, each.schema, report)
                finally:
                    source.close()
                said.append(f"{moved.runs:,} runs with {moved.events:,} events ({moved.new:,} of them new)")
                said.append(f"{moved.things:,} presets, comparisons and opinions")
            if memory.exists():
                entries, added = _memory(memory, url, each.schema, report)
                said.append(f"{entries:,} entries of the memory ({added:,} of them new)")
        print(f"{whose}{', '.join(said) or 'nothing to move'}")
    print(f"Set DATABASE_URL to work there; what is in {settings.home} was left as it is.", file=sys.stderr)
    return 0


def _memory(path: Path, url: str, schema: str, report: Callable[[int, int, str], None]) -> tuple[int, int]:
    """Entries there were, and those that were not in the database."""
    from research.memory.moving import move
    from research.memory.postgres import PostgresShelf
    from research.memory.sqlite import SqliteShelf

    source = SqliteShelf(path)
    try:
        entries = source.count()
        return entries, move(source, PostgresShelf(url, schema), lambda done: report(done, entries, "entries copied"))
    finally:
        source.close()
