"""Ask a question from Python: `run`, `stream`, and both for asyncio."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import aclosing, suppress
from typing import Any

from research.config.timings import Timings
from research.errors import WorkbenchError
from research.events.events import Event
from research.events.view import RunView, fold
from research.workbench.workbench import Workbench

_log = logging.getLogger(__name__)


def stream(question: str, *, workbench: Workbench | None = None, **recipe: Any) -> Iterator[Event]:
    """Research a question in this thread, and yield each of the run's events after it was saved.

    >>> for event in research.stream("How many people live in Japan?", model="extractive"):
    ...     print(event)

    `recipe` takes the arguments of `Workbench.recipe`.  The run advances only while the caller iterates: one that stops
    iterating leaves the run interrupted, and `resume` continues it.  Raises `ConfigError` before the first event.
    """
    bench = workbench or Workbench()
    return bench.engine.start(question, bench.recipe(**recipe), here=True).events()


def run(question: str, *, workbench: Workbench | None = None, **recipe: Any) -> RunView:
    """Research a question to the end, and return the finished run.

    >>> view = research.run("How many people live in Japan?", budget=research.Budget(tokens=50_000))
    >>> print(view.report)

    Takes the arguments of `stream`.  Raises `ConfigError` if one is wrong; a run that fails is returned, with the status
    `failed`.
    """
    return fold(stream(question, workbench=workbench, **recipe))


async def astream(question: str, *, workbench: Workbench | None = None, **recipe: Any) -> AsyncGenerator[Event, None]:
    """Research a question in a thread of its own, and yield the run's events; the event loop is never blocked.

    >>> async with contextlib.aclosing(research.astream("How many people live in Japan?")) as events:
    ...     async for event in events:
    ...         print(event)

    Takes the arguments of `stream`.  Cancelling the task, or closing the generator, stops the run.
    """
    feed = _Feed(question, workbench, recipe)
    feed.start()
    try:
        while (event := await feed.next_event()) is not None:
            yield event
    finally:
        await feed.stop()


async def arun(question: str, *, workbench: Workbench | None = None, **recipe: Any) -> RunView:
    """Research a question in a thread of its own, and return the finished run; the event loop is never blocked.

    >>> view = await research.arun("How many people live in Japan?", model="extractive")
    >>> print(view.report)

    Takes the arguments of `stream`.  Cancelling the task stops the run.
    """
    view = RunView()
    async with aclosing(astream(question, workbench=workbench, **recipe)) as events:
        async for event in events:
            view.apply(event)
    return view


class _Feed:
    """Drives one run, and hands its events to the event loop in which it was created.

    Its thread is a daemon: the loop's thread pool would keep the program alive while a call hangs.
    """

    def __init__(self, question: str, workbench: Workbench | None, recipe: Mapping[str, Any]) -> None:
        self._question, self._workbench, self._recipe = question, workbench, recipe
        self._loop = asyncio.get_running_loop()
        self._items: asyncio.Queue[Event | Exception | None] = asyncio.Queue()
        self._done = asyncio.Event()
        self._cancelled = threading.Event()
        self._started: tuple[Workbench, str] | None = None
        """The workbench and the run's id, once the run exists."""

    def start(self) -> None:
        """Start driving the run."""
        threading.Thread(target=self._work, name="run-for-asyncio", daemon=True).start()

    def _work(self) -> None:
        try:
            self._drive()
        except Exception as error:  # noqa: BLE001 - raised in the task that waits for the next event
            self._send(error)
        else:
            self._send(None)

    def _drive(self) -> None:
        bench = self._workbench or Workbench()
        recipe = bench.recipe(**self._recipe)
        if self._cancelled.is_set():
            return
        handle = bench.engine.start(self._question, recipe, here=True)
        self._started = bench, handle.run_id
        if self._cancelled.is_set():
            self._request_stop()
        for event in handle.events():
            self._send(event)

    def _send(self, item: Event | Exception | None) -> None:
        with suppress(RuntimeError):  # the loop is closed, so no task waits for this
            if item is None or isinstance(item, Exception):
                self._loop.call_soon_threadsafe(self._done.set)
            self._loop.call_soon_threadsafe(self._items.put_nowait, item)

    async def next_event(self) -> Event | None:
        """Return the next event, or `None` at the end.  Raises what the run's thread raised."""
        item = await self._items.get()
        if isinstance(item, Exception):
            raise item
        return item

    async def stop(self) -> None:
        """Ask the run to stop unless it has ended, and give it `Timings.stop` to do so."""
        if self._done.is_set():
            return
        self._cancelled.set()
        # The request is written to the store, which may take a moment.
        threading.Thread(target=self._request_stop, name="stop-run", daemon=True).start()
        with suppress(TimeoutError):
            timings = self._started[0].settings.timings if self._started else Timings()
            await asyncio.wait_for(self._done.wait(), timings.stop)

    def _request_stop(self) -> None:
        """Ask the run to stop if it exists; `_drive` asks again if it appears later."""
        if self._started is None:
            return
        bench, run_id = self._started
        try:
            bench.engine.stop(run_id)
        except WorkbenchError as error:
            _log.warning("run %s cannot be stopped: %s", run_id, error)
