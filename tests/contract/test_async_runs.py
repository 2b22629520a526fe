"""`arun` and `astream`: the event loop is never blocked, and cancelling stops the run."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import aclosing
from typing import Any

import pytest

import research
from research.errors import ConfigError
from research.events.events import RunFinished, RunStarted
from research.workbench.workbench import Workbench
from tests.fake_openai import Body, FakeOpenAI, FakeReply, Silent
from tests.player import Player
from tests.workers import LONG_S

QUESTION = "How many people live in Japan?"
SEARCH = '<think>Look.</think><tool_call>{"name": "search", "arguments": {"query": "Japan population"}}</tool_call>'
ANSWER = "<answer>Japan has 123,201,945 people [1].</answer>"

Script = Callable[..., str]


@pytest.fixture
def silent(bench: Workbench) -> Iterator[Silent]:
    bench.settings.timings.stop = LONG_S  # a cancelled task waits until its run has stopped
    with Silent(ANSWER) as server:
        bench.settings.openai_base_url = server.base_url
        yield server


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


def test_cancelling_arun_stops_the_run_without_waiting_for_the_model(bench: Workbench, silent: Silent) -> None:
    async def main() -> None:
        task = asyncio.create_task(research.arun(QUESTION, workbench=bench, model="openai:fake"))
        assert await asyncio.to_thread(silent.waits.wait, LONG_S)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert not silent.replied.is_set()
    (row,) = bench.store.runs()
    assert (row.status, row.outcome) == ("stopped", "stopped")
    assert "Japan" in research.fold(bench.store.events(row.id)).report, "the report lost what was found"


@pytest.mark.parametrize(("during", "left"), [("recipe", []), ("create", ["stopped"])])
def test_an_arun_call_cancelled_before_its_run_exists_leaves_no_running_run(
    bench: Workbench, silent: Silent, monkeypatch: pytest.MonkeyPatch, during: str, left: list[str]
) -> None:
    """Its thread makes the recipe, or creates the run in the store, while the call is cancelled."""
    begun, cancelled = threading.Event(), threading.Event()
    owner = bench if during == "recipe" else bench.store
    call = getattr(owner, during)

    def late(*given: Any, **named: Any) -> Any:
        begun.set()
        assert cancelled.wait(LONG_S)
        return call(*given, **named)

    monkeypatch.setattr(owner, during, late)

    async def main() -> None:
        task = asyncio.create_task(research.arun(QUESTION, workbench=bench, model="openai:fake"))
        assert await asyncio.to_thread(begun.wait, LONG_S)
        task.cancel()
        await asyncio.sleep(0)  # the task hears of it
        cancelled.set()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert [row.status for row in bench.store.runs()] == left


def test_astream_yields_the_saved_events(bench: Workbench, script: Script) -> None:
    async def main() -> list[research.Event]:
        return [event async for event in research.astream(QUESTION, workbench=bench, model=script(SEARCH, ANSWER))]

    events = asyncio.run(main())
    assert isinstance(events[0], RunStarted) and isinstance(events[-1], RunFinished)
    assert events == list(bench.store.events(events[0].run))


def test_leaving_astream_stops_the_run_without_waiting_for_the_model(bench: Workbench, silent: Silent) -> None:
    async def main() -> None:
        async with aclosing(research.astream(QUESTION, workbench=bench, model="openai:fake")) as events:
            async for event in events:
                if type(event).__name__ == "ToolFinished":
                    break
            assert await asyncio.to_thread(silent.waits.wait, LONG_S)

    asyncio.run(main())
    assert not silent.replied.is_set()
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
