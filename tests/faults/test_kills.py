"""A run whose process is killed anywhere, and whose next one is killed too, ends as if nothing had happened.

`WORKBENCH_FAULTS=200` kills so often for each framework; without it, twice.
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

pytestmark = pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="processes are watched as Linux can")

KILLS = int(os.environ.get("WORKBENCH_FAULTS", "2"))
NIGHTLY = KILLS > 2
AT_ONCE = 4


@pytest.fixture(scope="module")
def warm() -> Iterator[Warm]:
    with warmed() as parent:
        yield parent


class Told(Struct):
    """A run that came to its end."""

    events: list[e.Event]
    kills: Counter[str]
    resumed_s: list[float]
    """From the start of a process that goes on with the run to its first request."""

    @property
    def end(self) -> tuple[Any, ...]:
        view = fold(self.events)
        return view.status, view.outcome, view.answer, view.report, view.tool_calls, view.model_calls


class Ended(Struct):
    """All runs of a framework: one that was left in peace, and those that were killed."""

    whole: Told
    killed: list[Told]


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory, warm: Warm) -> Iterator[dict[str, Future[Ended]]]:
    """Runs mostly wait, for the disk or until somebody is surely dead: those of all frameworks do it together."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        yield {
            framework: pool.submit(killed_often, tmp_path_factory.mktemp(framework), warm, framework)
            for framework in FRAMEWORKS
        }


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_killed_anywhere_it_ends_as_if_it_was_not(
    ended: dict[str, Future[Ended]], framework: str, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = ended[framework].result()
    kills = sum((each.kills for each in runs.killed), Counter[str]())
    slowest = max(seconds for each in runs.killed for seconds in each.resumed_s)
    with capsys.disabled():
        print(f"\n{framework}: {kills.total()} kills {dict(kills)}, at work again after {slowest:.1f} s at most")  # noqa: T201 - measured
    assert kills.total() >= KILLS
    assert [each.end for each in runs.killed] == [runs.whole.end] * len(runs.killed)


def killed_often(folder: Path, warm: Warm, framework: str) -> Ended:
    whole = told(folder, warm, framework, "whole", [])
    assert (*whole.end[:2], whole.kills.total()) == ("completed", "answered", 0)
    runs, many = Ended(whole, []), len(committed(whole.events))
    while sum(each.kills.total() for each in runs.killed) < KILLS:
        name = f"run-{len(runs.killed)}"
        seed = random.Random(f"{framework} {name}")
        # Killed somewhere, then while it is taken up, and killed again.
        points = [anywhere(seed, many) for _ in range(seed.randint(1, 3) if NIGHTLY else 1)]
        points += [anywhere(seed, many, early=True) for _ in range(seed.randint(0, 2) if NIGHTLY else 1)]
        runs.killed.append(told(folder, warm, framework, name, points))
    return runs


def told(folder: Path, warm: Warm, framework: str, run_id: str, points: list[Point]) -> Told:
    """Let a run live one life after the other until it has ended; what each leaves behind is looked at."""
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
            assert why == "over" or (why == "" and point.where != "never"), f"it died by itself: {why}"
            assert [event.seq for event in after] == list(range(len(after))), "a gap"
            assert after[: len(before)] == before, "what somebody may have read is gone"
            # Characters of a reply may go with whoever wrote them; nobody else has seen those.
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
    assert (len(set(asked)), len(set(used))) == (len(asked), len(used)), "done twice"
    return Told(after, kills, resumed)


def in_flight(provider: Provider, recorded: list[e.Event], most: int) -> None:
    """What was asked in a life stands on record, but for what was in flight when it ended: that is asked again."""
    replied = sum(isinstance(event, e.Replied) for event in recorded)
    looked_up = sum(
        event.observation.name == "search" and not event.observation.cached
        for event in recorded
        if isinstance(event, e.ToolFinished)
    )
    assert 0 <= provider.asked_for - replied <= most
    assert 0 <= provider.looked_up - looked_up <= most
