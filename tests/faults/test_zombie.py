"""A process that was suspended while one on another machine resumed its run can no longer write to that run."""

from __future__ import annotations

import os
import signal
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import psycopg

from research.config.settings import load
from research.events import events as e
from research.events.view import fold
from research.workbench.workbench import Workbench
from tests.conftest import linked_home
from tests.fake_openai import Body, FakeOpenAI, FakeReply
from tests.faults.test_waiting import environment
from tests.player import QUESTION, Player, lap_of
from tests.warm import Warm
from tests.workers import LONG_S, until


def suspend(pid: int, database: Path | str) -> None:
    """Suspend a process at a moment when it locks nothing in its database, a file or the URL of a Postgres database."""
    state = Path(f"/proc/{pid}/stat")
    while True:
        os.kill(pid, signal.SIGSTOP)
        until(lambda: state.read_text().rpartition(")")[2].split()[0] == "T")
        if _free(database):
            return
        os.kill(pid, signal.SIGCONT)


def _free(database: Path | str) -> bool:
    if isinstance(database, str):
        with psycopg.connect(database) as other:
            found = other.execute(
                "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() "
                "AND backend_type = 'client backend' AND state <> 'idle'"
            ).fetchone()
            return found is None
    with closing(sqlite3.connect(database, timeout=0, isolation_level=None)) as other:
        try:
            other.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            return False
        return True


def test_a_process_that_lost_its_run_while_suspended_writes_nothing_more(
    home: Path, tmp_path: Path, database_url: str, warm: Warm
) -> None:
    """Both processes wait for a reply, and the suspended one gets its reply first.

    Two home folders stand for two machines: neither sees the other's locks.
    """
    player, lock = Player("native", laps=4), threading.Lock()
    arrived, gates = [threading.Event(), threading.Event()], [threading.Event(), threading.Event()]

    def held(body: Body) -> FakeReply:
        if lap_of(body) == 2:
            with lock:
                turn = next((n for n, each in enumerate(arrived) if not each.is_set()), None)
                if turn is not None:
                    arrived[turn].set()
            if turn is not None:
                assert gates[turn].wait(LONG_S)
        return player(body)

    with FakeOpenAI(held) as server:
        elsewhere = linked_home(home, tmp_path / "elsewhere")
        bench = Workbench(load(home=elsewhere, openai_base_url=server.base_url, database_url=database_url))
        process = warm.start(
            ["run", QUESTION, "--home", str(home), "--model", "openai:fake"],
            cwd=home,
            environment={**environment(server.base_url), "DATABASE_URL": database_url},
        )
        run_id = next(line for line in process.stderr if line.startswith("run ")).split()[1]
        assert arrived[0].wait(LONG_S)
        suspend(process.pid, database_url)
        bench.engine.resume(run_id)
        assert arrived[1].wait(LONG_S)
        os.kill(process.pid, signal.SIGCONT)
        gates[0].set()
        _, said = process.communicate()
        gates[1].set()
        assert bench.engine.wait(run_id, LONG_S)
    events = bench.store.events(run_id)
    assert process.returncode == 2, said
    assert "running elsewhere" in said
    assert [event.seq for event in events] == list(range(len(events)))
    assert sum(isinstance(event, e.RunFinished) for event in events) == 1
    assert sum(isinstance(event, e.Resumed) for event in events) == 1
    assert fold(events).outcome == "answered"
