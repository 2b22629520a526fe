"""A run ends exactly once, even if it is stopped, finished and reclaimed at the same moment or the clock is set back."""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from research.agent.journal import Journal
from research.errors import ConfigError
from research.events import events as e
from research.events.view import fold
from tests.fake_openai import Body, FakeReply
from tests.faults.kills import Bench, Point, Provider, Warm, warmed
from tests.faults.test_by_itself import RUN, Place
from tests.player import QUESTION, Player, lap_of
from tests.workers import LONG_S, until

TIMES = int(os.environ.get("WORKBENCH_FAULTS", "30"))


@pytest.fixture(scope="module")
def warm() -> Iterator[Warm]:
    with warmed() as parent:
        yield parent


def at_once(*calls: Callable[[], object]) -> list[str]:
    """Call every function in a thread, all at the same moment, and return the messages of those refused."""
    together, refused = threading.Barrier(len(calls)), list[str]()

    def run(call: Callable[[], object]) -> None:
        together.wait(LONG_S)
        try:
            call()
        except ConfigError as error:
            refused.append(str(error))

    threads = [threading.Thread(target=run, args=(call,)) for call in calls]
    for each in threads:
        each.start()
    for each in threads:
        each.join(LONG_S)
        assert not each.is_alive()
    return refused


def one_end(events: list[e.Event]) -> None:
    assert [event.seq for event in events] == list(range(len(events)))
    assert [type(event) for event in events].count(e.RunFinished) == 1
    assert isinstance(events[-1], e.RunFinished)


def test_a_run_that_is_stopped_and_resumed_while_it_finishes_ends_once(tmp_path: Path) -> None:
    """Its own engine and another one stop it, and another resumes it, as its last reply arrives."""

    def once(number: int) -> None:
        gate, player = threading.Event(), Player("native", 1)
        delay = random.Random(number).uniform(0, 0.05)

        def play(body: Body) -> FakeReply:
            if lap_of(body) == 1:
                gate.wait(LONG_S)
            return player(body)

        with Provider(play) as provider:
            mine, other = Bench(tmp_path, provider.base_url), Bench(tmp_path, provider.base_url)
            run_id = mine.engine.start(QUESTION, mine.recipe(model="openai:fake", tools=["search"])).run_id

            def stop(bench: Bench) -> None:
                time.sleep(delay)
                bench.engine.stop(run_id)

            calls = [gate.set, lambda: stop(mine), lambda: stop(other), lambda: other.engine.resume(run_id)]
            at_once(*calls)
            assert mine.engine.wait(run_id, LONG_S)
            assert other.engine.wait(run_id, LONG_S)
            one_end(mine.store.events(run_id))

    with ThreadPoolExecutor(10) as pool:
        list(pool.map(once, range(TIMES)))


@pytest.mark.slow
def test_an_interrupted_run_that_many_resume_and_stop_at_once_ends_once(tmp_path: Path, warm: Warm) -> None:
    """Two processes and two threads resume it while two threads stop it."""

    def once(number: int) -> None:
        place = Place(tmp_path / str(number), warm)
        place.killed(Point("stream", 2, 5))
        with Provider(place.player) as provider:
            benches = [Bench(place.home, provider.base_url) for _ in range(4)]
            lives = [place.begin(provider, "resume") for _ in range(2)]
            at_once(
                *(partial(bench.engine.resume, RUN) for bench in benches[:2]),
                *(partial(bench.engine.stop, RUN) for bench in benches[2:]),
            )
            for life in lives:
                life.over()
            assert all(bench.engine.wait(RUN, LONG_S) for bench in benches)
        one_end(place.events)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(once, range(max(4, TIMES // 8))))


def test_a_stop_request_holds_although_another_engine_resumes_the_run_first(tmp_path: Path, warm: Warm) -> None:
    """Both engines found the run interrupted; the one that resumed it first withdrew the requests made before."""
    place = Place(tmp_path / "home", warm)
    place.killed(Point("stream", 2, 5))
    gate = threading.Event()

    def play(body: Body) -> FakeReply:
        assert gate.wait(LONG_S)
        return place.player(body)

    with Provider(play) as provider:
        first, second = Bench(place.home, provider.base_url), Bench(place.home, provider.base_url)
        build = second.context_for

        def late(*args: object) -> object:
            first.engine.resume(RUN)
            return build(*args)

        second.engine._context_for = late  # type: ignore[assignment]
        second.engine.stop(RUN)
        until(lambda: first.engine._driver._active[RUN].stop.is_set())  # and acts after the call in flight
        gate.set()
        assert first.engine.wait(RUN, LONG_S)
    one_end(place.events)
    assert place.bench.store.run(RUN).status == "stopped"


def test_branches_of_a_run_that_another_process_reclaimed_stop(tmp_path: Path) -> None:
    """The process that lost the run finishes the calls in flight and makes no others."""
    player, taken, lock = Player("native", laps=12), list[int](), threading.Lock()

    def play(body: Body) -> FakeReply:
        with lock:
            while lap_of(body) == 2 and not taken:
                seq = len(other.store.events(RUN))
                try:
                    other.store.append([e.Resumed(run=RUN, seq=seq, time=time.time())])
                    taken.append(len(player.purposes))
                except ConfigError:
                    pass  # the run appended its next event first
        return player(body)

    with Provider(play) as provider:
        bench, other = Bench(tmp_path, provider.base_url), Bench(tmp_path, provider.base_url)
        recipe = bench.recipe(framework="parallel", model="openai:fake", tools=["search"])
        bench.engine.start(QUESTION, recipe, RUN)
        assert bench.engine.wait(RUN, LONG_S)
    assert provider.asked_for <= taken[0] + 2 * 3
    assert isinstance(bench.store.events(RUN)[-1], e.Resumed)


def test_durations_are_never_negative_although_the_clock_is_set_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The clock goes back by an hour during the run, and again while the run is paused."""
    real, back = time.time, [0.0]
    monkeypatch.setattr(time, "time", lambda: real() - back[0])
    player = Player("native", laps=3)

    def play(body: Body) -> FakeReply:
        back[0] += 3600 * (lap_of(body) == 1)
        if lap_of(body) == 2 and not bench.store.requests([RUN]):
            bench.engine.pause(RUN)
        return player(body)

    with Provider(play) as provider:
        bench = Bench(tmp_path, provider.base_url)
        bench.engine.start(QUESTION, bench.recipe(model="openai:fake", tools=["search"]), RUN)
        assert bench.engine.wait(RUN, LONG_S)
        assert bench.store.run(RUN).status == "paused"
        back[0] += 3600
        bench.engine.resume(RUN)
        assert bench.engine.wait(RUN, LONG_S)
        events = bench.store.events(RUN)
    one_end(events)
    assert [event.time for event in events] != sorted(event.time for event in events)
    view = fold(events)
    assert view.outcome == "answered"
    assert 0 <= view.seconds < 1800
    assert 0 <= view.elapsed(time.time()) < 1800
    assert 0 <= Journal(events).seconds < 1800
    assert all(since <= until_ for since, until_ in view.worktime.idle)
    assert all(event.seconds >= 0 for event in events if isinstance(event, e.Replied | e.RunFinished))
    assert all(event.observation.seconds >= 0 for event in events if isinstance(event, e.ToolFinished))
