"""`arun` and `astream`: the event loop is never blocked, and cancelling stops the run."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from contextlib import aclosing

import pytest

import research
from research.errors import ConfigError
from research.events.events import RunFinished, RunStarted
from research.workbench.workbench import Workbench
from tests.fake_openai import Body, FakeOpenAI, FakeReply
from tests.player import Player
from tests.workers import LONG_S

QUESTION = "How many people live in Japan?"
SEARCH = '<think>Look.</think><tool_call>{"name": "search", "arguments": {"query": "Japan population"}}</tool_call>'
ANSWER = "<answer>Japan has 123,201,945 people [1].</answer>"
LATE_S = 60
"""When the model's second reply comes; what does not wait for it ends in less than half of that, however busy the machine."""

Script = Callable[..., str]


def slow(script: Script) -> str:
    """Return a model that searches, then takes long for its second reply."""
    return script(SEARCH, {"text": ANSWER, "delay_s": LATE_S})


async def started(bench: Workbench, rounds: int) -> str:
    """Wait until the model's reply number `rounds` has been requested; return the run's id."""
    deadline = time.monotonic() + 30
    while True:
        for row in bench.store.runs():
            if sum(type(event).__name__ == "Asked" for event in bench.store.events(row.id)) >= rounds:
                return row.id
        assert time.monotonic() < deadline
        await asyncio.sleep(0.02)


def test_arun_returns_the_finished_run_without_blocking_the_loop(bench: Workbench) -> None:
    """Each reply comes only after the event loop has turned since it was requested."""
    turning, replying = threading.Event(), Player("native", laps=1)
    turned: list[bool] = []

    def reply(body: Body) -> FakeReply:
        turning.clear()
        turned.append(turning.wait(LONG_S))
        return replying(body)

    async def main(server: FakeOpenAI) -> research.RunView:
        bench.settings.openai_base_url = server.base_url
        task = asyncio.create_task(research.arun(QUESTION, workbench=bench, model="openai:fake"))
        while not task.done():
            turning.set()
            await asyncio.sleep(0.01)
        return await task

    with FakeOpenAI(reply) as server:
        view = asyncio.run(main(server))
    assert turned == [True, True]
    assert (view.status, view.outcome, len(view.rounds)) == ("completed", "answered", 2)
    assert research.fold(bench.store.events(view.run)) == view


def test_cancelling_arun_stops_the_run_without_waiting_for_the_model(bench: Workbench, script: Script) -> None:
    async def main() -> tuple[str, float]:
        task = asyncio.create_task(research.arun(QUESTION, workbench=bench, model=slow(script)))
        run_id = await started(bench, 2)
        asked = time.monotonic()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return run_id, time.monotonic() - asked

    run_id, took = asyncio.run(main())
    assert took < LATE_S / 2
    row = bench.store.run(run_id)
    assert (row.status, row.outcome) == ("stopped", "stopped")
    assert "Japan" in research.fold(bench.store.events(run_id)).report, "the report lost what was found"


def test_an_arun_call_cancelled_at_once_leaves_no_running_run(bench: Workbench, script: Script) -> None:
    async def main() -> None:
        task = asyncio.create_task(research.arun(QUESTION, workbench=bench, model=slow(script)))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert [row.status for row in bench.store.runs()] in ([], ["stopped"])


def test_astream_yields_the_saved_events(bench: Workbench, script: Script) -> None:
    async def main() -> list[research.Event]:
        return [event async for event in research.astream(QUESTION, workbench=bench, model=script(SEARCH, ANSWER))]

    events = asyncio.run(main())
    assert isinstance(events[0], RunStarted) and isinstance(events[-1], RunFinished)
    assert events == list(bench.store.events(events[0].run))


def test_leaving_astream_stops_the_run_without_waiting_for_the_model(bench: Workbench, script: Script) -> None:
    async def main() -> float:
        async with aclosing(research.astream(QUESTION, workbench=bench, model=slow(script))) as events:
            async for event in events:
                if type(event).__name__ == "ToolFinished":
                    break
            await started(bench, 2)
            left = time.monotonic()
        return time.monotonic() - left

    assert asyncio.run(main()) < LATE_S / 2
    (row,) = bench.store.runs()
    assert (row.status, row.outcome) == ("stopped", "stopped")


def test_arun_raises_a_wrong_argument_in_the_task(bench: Workbench) -> None:
    with pytest.raises(ConfigError, match="telepathy"):
        asyncio.run(research.arun(QUESTION, workbench=bench, framework="telepathy"))
    assert bench.store.runs() == []


def test_several_arun_calls_can_run_at_once(bench: Workbench, script: Script) -> None:
    async def main() -> list[research.RunView]:
        model = script(SEARCH, ANSWER)
        return await asyncio.gather(*(research.arun(QUESTION, workbench=bench, model=model) for _ in range(3)))

    assert [view.outcome for view in asyncio.run(main())] == ["answered"] * 3
