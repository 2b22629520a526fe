"""The two memory stores, an SQLite file and a Postgres schema, for tests that run with both."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from research.memory.postgres_store import PostgresMemoryStore
from research.memory.sqlite_store import SqliteMemoryStore
from research.memory.store import MemoryStore
from research.store.database import close_pool

PLACES = ("file", "postgres")


def open_store(place: str, schema: str = "workbench") -> MemoryStore:
    """Open the store at `place`, the url of a Postgres or the path of a file."""
    return PostgresMemoryStore(place, schema) if place.startswith("postgresql:") else SqliteMemoryStore(Path(place))


def places(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Yield a new place for each test; the body of a fixture with `PLACES` as its parameters."""
    if request.param == "file":
        yield str(tmp_path / "memory.sqlite")
    else:
        url = request.getfixturevalue("database_url")
        yield url
        close_pool(url)
