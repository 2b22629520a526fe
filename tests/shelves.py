"""Both places of a memory, for tests that have to hold for each: a file, or a schema of a Postgres."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from research.database import hang_up
from research.memory.postgres import PostgresShelf
from research.memory.shelf import Shelf
from research.memory.sqlite import SqliteShelf

PLACES = ("file", "postgres")


def shelf(place: str, schema: str = "workbench") -> Shelf:
    """What lies there: `place` is the url of a Postgres or the path of a file."""
    return PostgresShelf(place, schema) if place.startswith("postgresql:") else SqliteShelf(Path(place))


def places(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The body of a fixture with `PLACES` for parameters: a place of its own for each test."""
    if request.param == "file":
        yield str(tmp_path / "memory.sqlite")
    else:
        url = request.getfixturevalue("database_url")
        yield url
        hang_up(url)
