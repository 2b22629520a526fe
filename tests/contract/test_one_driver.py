"""When two engines claim a run at the same moment, one drives it, and the last request to it counts."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from research.agent.journal import Journal
from research.agent.lifecycle import execute
from research.agent.run import Run, Steps
from research.engine.engine import ThreadEngine
from research.errors import ConfigError
from research.events import events as e
from research.events.events import Event
from research.store import RunRow
from research.store.sqlite import SqliteStore
from research.types import Answer
from research.workbench.workbench import Workbench
from tests.fake_openai import Body, FakeOpenAI, FakeReply
from tests.player import QUESTION, Player
from tests.workers import LONG_S, until


class Interrupted(SqliteStore):
    """A store that calls `other` after its n-th read, like another process that acts in between."""

    def __init__(self, path: Path, turn: int, other: Callable[[], object]) -> None:
        super().__init__(path)
        self.turn, self.other = turn, other

    def _read(self) -> None:
        self.turn -= 1
        if self.turn == 0:
            self.other()

    def run(self, run_id: str) -> RunRow:
        found = super().run(run_id)
        self._read()
        return found

    def events(self, run_id: str, after: int = -1) -> list[Event]:
        found = super().events(run_id, after)
        self._read()
        return found


def stops(bench: Workbench, run_id: str) -> bool:
    """Return whether the process that drives the run has seen the request to stop."""
    active = bench.engine._driver.active(run_id)
    return active.stop.is_set() if active else bench.store.run(run_id).status == "stopped"


@pytest.mark.examples(2)
@pytest.mark.parametrize("how", ["resume", "stop"])
@pytest.mark.parametrize("turn", [1, 2, 3])
def test_only_one_of_two_engines_resumes_a_run(bench: Workbench, turn: int, how: str) -> None:
    player, gate = Player("native", laps=3), threading.Event()

    def held(body: Body) -> FakeReply:
        assert gate.wait(LONG_S)
        return player(body)

    gate.set()
    with FakeOpenAI(held) as server:
        bench.settings.openai_base_url = server.base_url
        followed = bench.engine.start(QUESTION, bench.recipe(model="openai:fake"), here=True)
        for event in followed.events():
            if isinstance(event, e.ToolFinished):
                bench.engine.pause(event.run)
        run_id = followed.run_id
        gate.clear()
        late = Workbench(bench.settings)
        store = Interrupted(bench.store.path, turn, lambda: bench.engine.resume(run_id))
        late.engine = ThreadEngine(store, late.context_for, settings=late.settings)
        if how == "resume":
            with pytest.raises(ConfigError, match="running"):
                late.engine.resume(run_id, here=True)
        else:
            late.engine.stop(run_id)
            until(lambda: stops(bench, run_id))  # before the next reply of the model can end the run
        gate.set()
        assert bench.engine.wait(run_id, LONG_S)
        assert late.engine.wait(run_id, LONG_S)
    events = bench.store.events(run_id)
    assert sum(isinstance(event, e.Resumed) for event in events) == 1
    assert isinstance(events[-1], e.RunFinished)
    assert bench.store.run(run_id).status == ("completed" if how == "resume" else "stopped")


class Branches(Run):
    """A run with two branches: the first pauses, then a stop is requested before the second pauses."""

    def work(self) -> Steps[Answer]:
        def pauses() -> Steps[None]:
            self.context.check_pause()
            yield from ()

        def stops() -> Steps[None]:
            self.context.stop.set()
            self.context.check_pause()
            yield from ()

        yield from self.together([pauses(), stops()], limit=1)
        raise AssertionError("the run went on")


def test_a_stop_overrides_a_pause_that_began_before_it(bench: Workbench) -> None:
    recipe = bench.recipe()
    run = Branches(QUESTION, recipe, bench.context_for(recipe, Journal(), threading.Event()))
    run.context.pause.set()
    last: Any = list(execute(run, "one"))[-1]
    assert isinstance(last, e.RunFinished)
    assert last.status == "stopped"


def test_resuming_a_run_clears_earlier_requests(bench: Workbench) -> None:
    bench.store.create(RunRow("one", QUESTION, bench.recipe()))
    bench.store.request("one", "pause")
    bench.store.append([e.Resumed(run="one", seq=0, time=1.0)])
    assert bench.store.requests(["one"]) == {}


class Slow(SqliteStore):
    """A store with slow heartbeats that notes those sent for finished runs."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.begun, self.late = threading.Event(), list[str]()

    def heartbeat(self, run_ids: Sequence[str]) -> None:
        self.begun.set()
        threading.Event().wait(0.05)
        self.late += [run_id for run_id in run_ids if self.run(run_id).outcome and run_id in self.over]
        super().heartbeat(run_ids)

    over: frozenset[str] = frozenset()


def test_no_heartbeat_is_sent_for_a_finished_run(bench: Workbench) -> None:
    store = Slow(bench.store.path)
    bench.engine = ThreadEngine(store, bench.context_for, settings=bench.settings)
    for _ in range(3):
        store.begun.clear()
        followed = bench.engine.start(QUESTION, bench.recipe(), here=True)
        for event in followed.events():
            assert isinstance(event, e.RunStarted) or store.begun.wait(LONG_S)
        store.over |= {followed.run_id}
    threading.Event().wait(0.1)
    assert store.late == []
