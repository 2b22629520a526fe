"""A process that stands still is not dead: no other process of the machine takes its run, until it ends."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from research.engine import reclaim
from research.events import events as e
from research.workbench.workbench import Workbench
from tests.fake_openai import Body, FakeOpenAI, FakeReply
from tests.faults.test_waiting import environment
from tests.faults.test_zombie import stop
from tests.player import QUESTION, Player, lap_of


def test_a_run_is_reclaimed_when_its_process_ends_and_not_when_it_stands_still(
    bench: Workbench, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    player, arrived, over = Player("native", laps=4), threading.Event(), threading.Event()

    def held(body: Body) -> FakeReply:
        if lap_of(body) == 2 and not arrived.is_set():
            arrived.set()
            assert over.wait(60)
        return player(body)

    monkeypatch.setattr(reclaim, "LOST_AFTER_S", -1.0)  # every heartbeat is too old
    with FakeOpenAI(held) as server:
        bench.settings.openai_base_url = server.base_url
        process = subprocess.Popen(
            [sys.executable, "-m", "research", "run", QUESTION, "--home", str(home), "--model", "openai:fake"],
            env=environment(server.base_url), cwd=home, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        assert process.stderr is not None
        run_id = next(line for line in process.stderr if line.startswith("run ")).split()[1]
        assert arrived.wait(60)
        stop(process.pid, home / "workbench.sqlite")
        assert bench.engine.reclaim_lost() == []
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=60)
        assert bench.engine.reclaim_lost() == [run_id]
        over.set()
        assert bench.engine.wait(run_id, 60)
    assert sum(isinstance(event, e.Resumed) for event in bench.store.events(run_id)) == 1
