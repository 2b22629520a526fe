"""A process that stands still is not dead: its run can be paused, and no other process of the machine takes it over."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from research.config.settings import load
from research.config.timings import Timings
from research.errors import ConfigError
from research.events import events as e
from research.workbench.workbench import Workbench
from tests.fake_openai import Body, FakeOpenAI, FakeReply
from tests.faults.test_waiting import environment
from tests.faults.test_zombie import suspend
from tests.player import QUESTION, Player, lap_of
from tests.warm import Process, Warm
from tests.workers import LONG_S, heard


class Stalled(NamedTuple):
    """A process that was suspended while it waited for a reply, and another one's view of its run."""

    process: Process
    run_id: str
    bench: Workbench
    reply: threading.Event


@pytest.fixture
def stalled(home: Path, warm: Warm) -> Iterator[Stalled]:
    player, arrived, reply = Player("native", laps=4), threading.Event(), threading.Event()

    def held(body: Body) -> FakeReply:
        if lap_of(body) == 2 and not arrived.is_set():
            arrived.set()
            assert reply.wait(LONG_S)
        return player(body)

    with FakeOpenAI(held) as server:
        # By its heartbeats, the process counts as dead at once.
        timings = Timings(dead_after=0, lost_after=0, silent_after=0)
        bench = Workbench(load(home=home, openai_base_url=server.base_url, timings=timings))
        words = ["run", QUESTION, "--home", str(home), "--model", "openai:fake"]
        process = warm.start(words, cwd=home, environment=environment(server.base_url))
        run_id = next(line for line in process.stderr if line.startswith("run ")).split()[1]
        assert arrived.wait(LONG_S)
        suspend(process.pid, home / "workbench.sqlite")
        yield Stalled(process, run_id, bench, reply)
        process.kill()
        process.communicate()


def test_a_run_whose_process_stands_still_can_be_paused_and_is_not_taken_over(stalled: Stalled) -> None:
    engine, store = stalled.bench.engine, stalled.bench.store
    engine.pause(stalled.run_id)
    with pytest.raises(
        ConfigError, match=r"already running in a process that has not responded for \d+ s; end that process"
    ):
        engine.resume(stalled.run_id)
    assert engine.reclaimer.reclaim_lost() == []
    assert not engine.reclaimer.interrupted(store.run(stalled.run_id))
    stalled.process.send_signal(signal.SIGCONT)
    heard(store, stalled.run_id)
    stalled.reply.set()
    stalled.process.wait(LONG_S)
    assert store.run(stalled.run_id).status == "paused"
    assert not any(isinstance(event, e.Resumed) for event in store.events(stalled.run_id))


def test_a_run_whose_process_stood_still_is_reclaimed_when_that_process_ends(stalled: Stalled) -> None:
    engine = stalled.bench.engine
    assert engine.reclaimer.reclaim_lost() == []
    stalled.process.kill()
    stalled.process.wait(LONG_S)
    assert engine.reclaimer.reclaim_lost() == [stalled.run_id]
    stalled.reply.set()
    assert engine.wait(stalled.run_id, LONG_S)
    assert sum(isinstance(event, e.Resumed) for event in stalled.bench.store.events(stalled.run_id)) == 1
