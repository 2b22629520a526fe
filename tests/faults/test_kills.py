"""A run whose processes are killed at random points ends exactly as if none of them had been killed.

`WORKBENCH_FAULTS=200` sets the number of kills for each framework; the default is 2.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal

import pytest
from msgspec import Struct

from research.events import events as e
from research.events.view import fold
from research.store.sqlite import SqliteStore
from tests.faults.kills import FRAMEWORKS, LAPS, Order, Point, Provider, Warm, anywhere, committed, warmed
from tests.player import Player

pytestmark = pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="needs pidfd_open, which only Linux has")

KILLS = int(os.environ.get("WORKBENCH_FAULTS", "2"))
NIGHTLY = KILLS > 2
AT_ONCE = 4


@pytest.fixture(scope="module")
def warm() -> Iterator[Warm]:
    with warmed() as parent:
        yield parent


class Finished(Struct):
    """A run that ended."""

    events: list[e.Event]
    kills: Counter[str]
    resumed_s: list[float]
    """For each process that resumed the run, seconds from its start to its first request."""

    @property
    def end(self) -> tuple[Any, ...]:
        view = fold(self.events)
        return view.status, view.outcome, view.answer, view.report, view.tool_calls, view.model_calls


class Ended(Struct):
    """All runs of one framework: one that was never killed, and the killed ones."""

    whole: Finished
    killed: list[Finished]


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory, warm: Warm) -> Iterator[dict[str, Future[Ended]]]:
    """The runs of every framework, run in parallel because they mostly wait for the disk or for a lease to expire."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        yield {
            framework: pool.submit(killed_often, tmp_path_factory.mktemp(framework), warm, framework)
            for framework in FRAMEWORKS
        }


@pytest.mark.slow
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_run_killed_at_random_points_ends_as_if_it_was_never_killed(
    ended: dict[str, Future[Ended]], framework: str, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = ended[framework].result()
    kills = sum((each.kills for each in runs.killed), Counter[str]())
    slowest = max(seconds for each in runs.killed for seconds in each.resumed_s)
    with capsys.disabled():
        print(f"\n{framework}: {kills.total()} kills {dict(kills)}, resumed after {slowest:.1f} s at most")  # noqa: T201 - measured
    assert kills.total() >= KILLS
    assert [each.end for each in runs.killed] == [runs.whole.end] * len(runs.killed)


def killed_often(folder: Path, warm: Warm, framework: str) -> Ended:
    whole = run_to_end(folder, warm, framework, "whole", [])
    assert (*whole.end[:2], whole.kills.total()) == ("completed", "answered", 0)
    runs, many = Ended(whole, []), len(committed(whole.events))
    while sum(each.kills.total() for each in runs.killed) < KILLS:
        name = f"run-{len(runs.killed)}"
        seed = random.Random(f"{framework} {name}")
        # Kill it anywhere, then kill its successors while they resume it.
        points = [anywhere(seed, many) for _ in range(seed.randint(1, 3) if NIGHTLY else 1)]
        points += [anywhere(seed, many, early=True) for _ in range(seed.randint(0, 2) if NIGHTLY else 1)]
        runs.killed.append(run_to_end(folder, warm, framework, name, points))
    return runs


def run_to_end(folder: Path, warm: Warm, framework: str, run_id: str, points: list[Point]) -> Finished:
    """Start one process after the other until the run has ended, and check the log after each."""
    home, width = folder / run_id, FRAMEWORKS[framework]
    home.mkdir()
    player, kills, resumed = Player("native", LAPS), Counter[str](), list[float]()
    store, before = SqliteStore(home / "workbench.sqlite"), list[e.Event]()
    for number, point in enumerate([*points, Point()]):
        with Provider(player, point) as provider:
            said = str(folder / f"{run_id}-{number}")
            how: Literal["run", "resume"] = "resume" if before else "run"
            life = warm(Order(str(home), provider.base_url, run_id, said, how, framework, point), provider)
            life.over()
            acknowledged, why = life.said
            after = store.events(run_id)
            assert why == "over" or (why == "" and point.where != "never"), f"the process failed: {why}"
            assert [event.seq for event in after] == list(range(len(after))), "the log has a gap"
            assert after[: len(before)] == before, "an event that a reader may have seen is gone"
            # Streamed text may be lost with the process that wrote it: no other process has seen it.
            assert {v.seq: v for v in committed(acknowledged)}.items() <= {v.seq: v for v in after}.items()
            in_flight(provider, after[len(before) :], width if why == "" else 0)
            if number and provider.first is not None:
                resumed.append(provider.first - life.started)
            kills[point.where] += why == ""
            before = after
            if any(isinstance(event, e.RunFinished) for event in after):
                break
    store.close()
    assert player.refused == []
    assert [type(event) for event in after].count(e.RunFinished) == 1
    assert isinstance(after[-1], e.RunFinished)
    asked = [(event.agent, event.ask) for event in after if isinstance(event, e.Replied)]
    used = [event.observation.call_id for event in after if isinstance(event, e.ToolFinished)]
    assert (len(set(asked)), len(set(used))) == (len(asked), len(used)), "a request or tool call was recorded twice"
    return Finished(after, kills, resumed)


def in_flight(provider: Provider, recorded: list[e.Event], most: int) -> None:
    """Check that every request of one process is in the log, except at most `most` in flight when it was killed."""
    replied = sum(isinstance(event, e.Replied) for event in recorded)
    looked_up = sum(
        event.observation.name == "search" and not event.observation.cached
        for event in recorded
        if isinstance(event, e.ToolFinished)
    )
    assert 0 <= provider.asked_for - replied <= most
    assert 0 <= provider.looked_up - looked_up <= most
