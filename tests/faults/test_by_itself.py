"""A run whose process is gone goes on by itself in another one, once, and not for ever."""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from research.agent.context import RunContext
from research.engine.reclaim import MAX_RECLAIMS
from research.errors import ConfigError
from research.events import events as e
from research.events.view import fold
from tests.faults.kills import NEVER, Bench, Order, Point, Provider, Warm, warmed
from tests.player import QUESTION, Player

pytestmark = pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="processes are watched as Linux can")

NIGHTLY = "WORKBENCH_FAULTS" in os.environ
GOES_ON_S = 5.0
RUN = "a-run"


@pytest.fixture(scope="module")
def warm() -> Iterator[Warm]:
    with warmed() as parent:
        yield parent


class Place:
    """A home, a run in it, and processes that come and go."""

    def __init__(self, home: Path, warm: Warm) -> None:
        self.home, self._warm, self._lives = home, warm, 0
        home.mkdir()
        self.player = Player("native", laps=3)
        self.bench = Bench(home, "http://127.0.0.1:9/v1")

    def killed(self, point: Point, how: Any = "run", *, aged: bool = True) -> int:
        """Let a process work on the run and be killed there; returns how often it asked the provider."""
        with Provider(self.player, point) as provider:
            life = self.begin(provider, how, point)
            life.over()
            assert life.said[1] in ("", "tends")
            if aged:
                self.age()
            return provider.asked_for

    def begin(self, provider: Provider, how: Any, point: Point = NEVER) -> Any:
        self._lives += 1
        said = str(self.home / f"said-{self._lives}")
        return self._warm(Order(str(self.home), provider.base_url, RUN, said, how, point=point), provider)

    def age(self) -> None:
        """As if its heart had stopped long ago."""
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


def until(true: Callable[[], bool], seconds: float = 60) -> None:
    """Wait for another process."""
    last = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < last, "in vain"
        time.sleep(0.02)


def whole(place: Place) -> None:
    """The run has ended once, and nothing that was answered was asked again."""
    events = place.events
    assert [event.seq for event in events] == list(range(len(events)))
    assert [type(event) for event in events].count(e.RunFinished) == 1
    asked = [event.ask for event in events if isinstance(event, e.Replied)]
    assert asked == list(range(1, place.player.laps + 2))
    assert fold(events).outcome == "answered"


def test_it_goes_on_in_another_process(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    with Provider(place.player) as provider:
        other = place.begin(provider, "tend")
        asked = place.killed(Point("stream", 3, 5), aged=False)
        killed = time.time()
        until(place.ended)
        other.kill()
        assert asked + provider.asked_for == 4 + 1, "only what was in flight is asked again"
        assert provider.first is not None
        with capsys.disabled():
            print(f"\nat work again {provider.first - killed:.1f} s after the kill, by itself")  # noqa: T201 - measured
        if NIGHTLY:
            assert provider.first - killed < GOES_ON_S
    assert place.by_itself() == 1
    whole(place)


def test_of_several_that_tend_one_takes_it_up(place: Place) -> None:
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
    """Builds models and tools as slowly as it is told to."""

    def __init__(self, place: Place, base_url: str, wait: Callable[[], object]) -> None:
        super().__init__(place.home, base_url)
        self._wait = wait

    def context_for(self, *args: Any) -> RunContext:
        self._wait()
        return super().context_for(*args)


def test_two_that_have_both_seen_it_lost(place: Place) -> None:
    """Both go for it at the same moment: who is later leaves it alone."""
    place.killed(Point("stream", 2, 5))
    both = threading.Barrier(2, timeout=30)
    with Provider(place.player) as provider:
        benches = [Slow(place, provider.base_url, both.wait) for _ in range(2)]
        workers = [threading.Thread(target=bench.engine.drive, args=(RUN,)) for bench in benches]
        for each in workers:
            each.start()
        for each in workers:
            each.join(60)
        assert provider.asked_for == 3
    assert place.by_itself() == 1
    whole(place)


def test_it_is_taken_up_once_however_long_that_takes(place: Place) -> None:
    place.killed(Point("stream", 2, 5))
    gate = threading.Event()
    with Provider(place.player) as provider:
        bench = Slow(place, provider.base_url, gate.wait)
        assert bench.engine.reclaim_lost() == [RUN]
        assert bench.engine.reclaim_lost() == []
        gate.set()
        assert bench.engine.wait(RUN, 60)
    assert place.by_itself() == 1
    whole(place)


def test_what_kills_every_process_is_left_alone(place: Place) -> None:
    """By hand it is taken up, or stopped."""
    at_once = Point("stream", 1, 0)
    place.killed(at_once)
    for _ in range(MAX_RECLAIMS):
        assert place.killed(at_once, "tend") == 1
    assert place.by_itself() == MAX_RECLAIMS
    assert place.bench.engine.reclaim_lost() == []
    copy = shutil.copytree(place.home, place.home.with_name("copy"))
    with Provider(place.player) as provider:
        place.begin(provider, "resume").over()
        assert provider.asked_for == 4
    whole(place)
    other = Bench(copy, "http://127.0.0.1:9/v1")
    other.engine.stop(RUN)
    assert other.engine.wait(RUN, 60)
    assert other.store.run(RUN).status == "stopped"


def test_one_that_gets_further_each_time_is_not_left_alone(place: Place) -> None:
    place.player.laps = MAX_RECLAIMS + 3
    place.killed(Point("tool", 2))
    for _ in range(MAX_RECLAIMS + 1):
        place.killed(Point("tool", 2), "tend")
    with Provider(place.player) as provider:
        Bench(place.home, provider.base_url).engine.drive(RUN)
    assert place.by_itself() == MAX_RECLAIMS + 2
    whole(place)


@pytest.mark.parametrize("state", ["paused", "waiting_input", "queued"])
def test_what_rests_is_never_taken_up(place: Place, state: str) -> None:
    bench = place.bench
    recipe = bench.recipe(model="openai:fake", tools=["search"])
    started = e.RunStarted(run=RUN, seq=0, time=time.time(), question=QUESTION, recipe=recipe)
    rests: dict[str, list[e.Event]] = {
        "paused": [e.Paused(run=RUN, seq=1, time=time.time(), reason="the service is down")],
        "waiting_input": [e.WaitingForUser(run=RUN, seq=1, time=time.time(), prompt="Which?")],
        "queued": [],
    }
    bench.store.create(RUN, QUESTION, recipe, queued=state == "queued", events=[started])
    bench.store.append(rests[state])
    assert bench.store.run(RUN).status == state
    place.age()
    assert bench.engine.reclaim_lost() == []
    if state != "queued":
        bench.engine.drive(RUN)
    assert len(place.events) == 1 + len(rests[state])


def test_one_that_cannot_be_taken_up_here_ends_as_failed(place: Place) -> None:
    """Say, its model is not installed on this machine."""

    def not_here() -> None:
        raise ConfigError("no such model here")

    place.killed(Point("stream", 2, 5))
    Slow(place, "", not_here).engine.drive(RUN)
    last = place.events[-1]
    assert isinstance(last, e.RunFinished)
    assert (last.status, fold(place.events).error) == ("failed", "no such model here")
