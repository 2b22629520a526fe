"""`arun` and `astream`: the event loop is never blocked, and cancelling stops the run."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import aclosing

import pytest

import research
from research.errors import ConfigError
from research.events.events import RunFinished, RunStarted
from research.workbench.workbench import Workbench

QUESTION = "How many people live in Japan?"
SEARCH = '<think>Look.</think><tool_call>{"name": "search", "arguments": {"query": "Japan population"}}</tool_call>'
ANSWER = "<answer>Japan has 123,201,945 people [1].</answer>"
BLOCKED_S = 0.5
"""A longer gap between two turns of the event loop means that it is blocked, even on a busy machine."""

Script = Callable[..., str]


async def longest_gap(task: asyncio.Task[object]) -> float:
    """Return the longest time, in seconds, that the event loop did not turn while the task ran."""
    longest, last = 0.0, time.monotonic()
    while not task.done():
        await asyncio.sleep(0.01)
        longest, last = max(longest, time.monotonic() - last), time.monotonic()
    return longest


def slow(script: Script) -> str:
    """Return a model that searches, then takes a minute for its second reply."""
    return script(SEARCH, {"text": ANSWER, "delay_s": 60})


async def started(bench: Workbench, rounds: int) -> str:
    """Wait until the model's reply number `rounds` has been requested; return the run's id."""
    deadline = time.monotonic() + 30
    while True:
        for row in bench.store.runs():
            if sum(type(event).__name__ == "Asked" for event in bench.store.events(row.id)) >= rounds:
                return row.id
        assert time.monotonic() < deadline
        await asyncio.sleep(0.02)


def test_arun_returns_the_finished_run_without_blocking_the_loop(bench: Workbench, script: Script) -> None:
    async def main() -> tuple[research.RunView, float]:
        model = script(SEARCH, {"text": ANSWER, "delay_s": 1})
        task = asyncio.create_task(research.arun(QUESTION, workbench=bench, model=model))
        gap = await longest_gap(task)  # type: ignore[arg-type]
        return await task, gap

    view, gap = asyncio.run(main())
    assert (view.status, view.outcome, len(view.rounds)) == ("completed", "answered", 2)
    assert research.fold(bench.store.events(view.run)) == view
    assert gap < BLOCKED_S


def test_cancelling_arun_stops_the_run_within_a_second(bench: Workbench, script: Script) -> None:
    async def main() -> tuple[str, float]:
        task = asyncio.create_task(research.arun(QUESTION, workbench=bench, model=slow(script)))
        run_id = await started(bench, 2)
        asked = time.monotonic()
        task.cancel()
        gap = asyncio.create_task(longest_gap(task))  # type: ignore[arg-type]
        with pytest.raises(asyncio.CancelledError):
            await task
        assert time.monotonic() - asked < 1.5
        assert await gap < BLOCKED_S
        return run_id, asked

    run_id, asked = asyncio.run(main())
    row = bench.store.run(run_id)
    assert (row.status, row.outcome) == ("stopped", "stopped")
    assert bench.store.events(run_id)[-1].time - time.time() + time.monotonic() - asked < 1.5
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


def test_leaving_astream_stops_the_run_within_a_second(bench: Workbench, script: Script) -> None:
    async def main() -> float:
        async with aclosing(research.astream(QUESTION, workbench=bench, model=slow(script))) as events:
            async for event in events:
                if type(event).__name__ == "ToolFinished":
                    break
            await started(bench, 2)
            left = time.monotonic()
        return time.monotonic() - left

    assert asyncio.run(main()) < 1.5
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
