"""A run whose process died is reclaimed by another process: exactly once, and only a limited number of times."""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import pytest

from research.agent.context import RunContext
from research.engine.reclaim import MAX_RECLAIMS
from research.errors import ConfigError
from research.events import events as e
from research.events.view import fold
from research.store import RunRow
from tests.faults.kills import NEVER, Bench, Order, Point, Provider, Warm, warmed
from tests.player import QUESTION, Player
from tests.workers import LONG_S, until

pytestmark = pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="needs pidfd_open, which only Linux has")

NIGHTLY = "WORKBENCH_FAULTS" in os.environ
GOES_ON_S = 5.0
RUN = "a-run"


@pytest.fixture(scope="module")
def warm() -> Iterator[Warm]:
    with warmed() as parent:
        yield parent


class Place:
    """A home with one run, and the processes that work on it."""

    def __init__(self, home: Path, warm: Warm) -> None:
        self.home, self._warm, self._lives = home, warm, 0
        home.mkdir()
        self.player = Player("native", laps=3)
        self.bench = Bench(home, "http://127.0.0.1:9/v1")

    def killed(self, point: Point, how: Any = "run", *, aged: bool = True) -> int:
        """Start a process on the run, wait until it is killed at `point`, and return its number of model requests."""
        with Provider(self.player, point) as provider:
            life = self.begin(provider, how, point)
            life.over()
            assert life.said[1] == ("tends" if how == "tend" else ""), "the process ended before it was killed"
            if aged:
                self.age()
            return provider.asked_for

    def begin(self, provider: Provider, how: Any, point: Point = NEVER) -> Any:
        self._lives += 1
        said = str(self.home / f"said-{self._lives}")
        return self._warm(Order(str(self.home), provider.base_url, RUN, said, how, point=point), provider)

    def age(self) -> None:
        """Make the last heartbeat 60 s older."""
        self.bench.store._db.execute("UPDATE runs SET beat = beat - 60")

    @property
    def events(self) -> list[e.Event]:
        return self.bench.store.events(RUN)

    def by_itself(self) -> int:
        return sum(isinstance(event, e.Resumed) and event.by_itself for event in self.events)

    def ended(self) -> bool:
        return self.bench.store.run(RUN).status == "completed"


@pytest.fixture
def place(tmp_path: Path, warm: Warm) -> Place:
    return Place(tmp_path / "home", warm)


def whole(place: Place) -> None:
    """Check that the run ended exactly once and repeated no answered request."""
    events = place.events
    assert [event.seq for event in events] == list(range(len(events)))
    assert [type(event) for event in events].count(e.RunFinished) == 1
    asked = [event.ask for event in events if isinstance(event, e.Replied)]
    assert asked == list(range(1, place.player.laps + 2))
    assert fold(events).outcome == "answered"


def test_a_killed_run_continues_in_another_process(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    with Provider(place.player) as provider:
        other = place.begin(provider, "tend")
        asked = place.killed(Point("stream", 3, 5), aged=False)
        killed = time.time()
        until(place.ended)
        other.kill()
        assert asked + provider.asked_for == 4 + 1, "only the request in flight is repeated"
        assert provider.first is not None
        with capsys.disabled():
            print(f"\nreclaimed {provider.first - killed:.1f} s after the kill")  # noqa: T201 - measured
        if NIGHTLY:
            assert provider.first - killed < GOES_ON_S
    assert place.by_itself() == 1
    whole(place)


def test_only_one_of_several_processes_reclaims_a_lost_run(place: Place) -> None:
    with Provider(place.player) as here, Provider(place.player) as there:
        others = [place.begin(here, "tend"), place.begin(there, "tend")]
        place.killed(Point("tool", 2), aged=False)
        until(place.ended)
        for each in others:
            each.kill()
        assert 0 in (here.asked_for, there.asked_for)
    assert place.by_itself() == 1
    whole(place)


class Slow(Bench):
    """Calls `wait` before it builds the model and tools of a run."""

    def __init__(self, place: Place, base_url: str, wait: Callable[[], object]) -> None:
        super().__init__(place.home, base_url)
        self._wait = wait

    def context_for(self, *args: Any) -> RunContext:
        self._wait()
        return super().context_for(*args)


def test_when_two_processes_reclaim_at_the_same_moment_the_later_one_gives_up(place: Place) -> None:
    """Both found the run lost before either of them had reclaimed it."""
    place.killed(Point("stream", 2, 5))
    both = threading.Barrier(2, timeout=LONG_S)
    with Provider(place.player) as provider:
        benches = [Slow(place, provider.base_url, both.wait) for _ in range(2)]
        workers = [threading.Thread(target=bench.engine.drive, args=(RUN,)) for bench in benches]
        for each in workers:
            each.start()
        for each in workers:
            each.join(LONG_S)
        assert provider.asked_for == 3
    assert place.by_itself() == 1
    whole(place)


def test_a_run_is_reclaimed_once_even_if_building_its_context_is_slow(place: Place) -> None:
    place.killed(Point("stream", 2, 5))
    gate = threading.Event()
    with Provider(place.player) as provider:
        bench = Slow(place, provider.base_url, gate.wait)
        assert bench.engine.reclaimer.reclaim_lost() == [RUN]
        assert bench.engine.reclaimer.reclaim_lost() == []
        gate.set()
        assert bench.engine.wait(RUN, LONG_S)
    assert place.by_itself() == 1
    whole(place)


@pytest.mark.slow
def test_a_run_that_keeps_killing_its_process_is_no_longer_reclaimed(place: Place) -> None:
    """The user can still resume or stop it."""
    at_once = Point("stream", 1, 0)
    place.killed(at_once)
    for _ in range(MAX_RECLAIMS):
        assert place.killed(at_once, "tend") == 1
    assert place.by_itself() == MAX_RECLAIMS
    assert place.bench.engine.reclaimer.reclaim_lost() == []
    copy = shutil.copytree(place.home, place.home.with_name("copy"))
    with Provider(place.player) as provider:
        place.begin(provider, "resume").over()
        assert provider.asked_for == 4
    whole(place)
    other = Bench(copy, "http://127.0.0.1:9/v1")
    other.engine.stop(RUN)
    assert other.engine.wait(RUN, LONG_S)
    assert other.store.run(RUN).status == "stopped"


@pytest.mark.slow
def test_a_run_that_makes_progress_between_kills_is_always_reclaimed(place: Place) -> None:
    place.player.laps = MAX_RECLAIMS + 3
    place.killed(Point("tool", 2))
    for _ in range(MAX_RECLAIMS + 1):
        place.killed(Point("tool", 2), "tend")
    with Provider(place.player) as provider:
        Bench(place.home, provider.base_url).engine.drive(RUN)
    assert place.by_itself() == MAX_RECLAIMS + 2
    whole(place)


@pytest.mark.parametrize("state", ["paused", "waiting_input", "queued"])
def test_a_paused_waiting_or_queued_run_is_never_reclaimed(place: Place, state: str) -> None:
    bench = place.bench
    recipe = bench.recipe(model="openai:fake", tools=["search"])
    started = e.RunStarted(run=RUN, seq=0, time=time.time(), question=QUESTION, recipe=recipe)
    idle: dict[str, list[e.Event]] = {
        "paused": [e.Paused(run=RUN, seq=1, time=time.time(), reason="the service is down")],
        "waiting_input": [e.WaitingForUser(run=RUN, seq=1, time=time.time(), prompt="Which?")],
        "queued": [],
    }
    bench.store.create(RunRow(RUN, QUESTION, recipe, status="queued" if state == "queued" else "running"), [started])
    bench.store.append(idle[state])
    assert bench.store.run(RUN).status == state
    place.age()
    assert bench.engine.reclaimer.reclaim_lost() == []
    if state != "queued":
        bench.engine.drive(RUN)
    assert len(place.events) == 1 + len(idle[state])


def test_an_interrupted_run_that_cannot_continue_here_pauses_with_the_reason(place: Place) -> None:
    """For example, its model is not installed on this machine, or its key is set only in the terminal that died."""

    def not_here() -> None:
        raise ConfigError("no such model here")

    place.killed(Point("stream", 2, 5))
    here = Slow(place, "", not_here)
    here.engine.drive(RUN)
    assert here.store.run(RUN).status == "paused"
    assert place.events[-1] == e.Paused(run=RUN, seq=place.events[-1].seq, time=ANY, reason="no such model here")
    with Provider(place.player) as provider:
        place.begin(provider, "resume").over()
    whole(place)


def test_a_run_without_events_that_cannot_continue_here_is_left_as_it_is(place: Place) -> None:
    """An earlier version saved a run before its first event."""

    def not_here() -> None:
        raise ConfigError("no such model here")

    place.bench.store.create(RunRow(RUN, QUESTION, place.bench.recipe(model="openai:fake", tools=["search"])))
    place.age()
    Slow(place, "", not_here).engine.drive(RUN)
    assert (place.events, place.bench.store.run(RUN).status) == ([], "running")
