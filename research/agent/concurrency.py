"""Running several generators of events at the same time."""

from __future__ import annotations

import queue
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context

from research.agent.context import Steps, T
from research.errors import Stopped
from research.events.events import Event


def together(steps: Sequence[Steps[T]], limit: int, name: str) -> Steps[list[T]]:
    """Run generators in threads, at most `limit` at once, and emit their events as they happen.

    Returns their results in the given order.  Raises the first error after all of them have ended.
    """
    if not steps:
        return []
    events: queue.SimpleQueue[tuple[Event, threading.Semaphore] | None] = queue.SimpleQueue()
    turns, closed = [threading.Semaphore(0) for _ in steps], threading.Event()

    def drive(step: Steps[T], turn: threading.Semaphore) -> T:
        try:
            while not closed.is_set():
                events.put((next(step), turn))
                turn.acquire()  # work done before its event is saved would be repeated after a crash
            step.close()
            raise Stopped("the caller no longer reads the run's events")
        except StopIteration as end:
            result: T = end.value
            return result
        finally:
            events.put(None)

    with ThreadPoolExecutor(min(limit, len(steps)), thread_name_prefix=name) as pool:
        try:  # covers submit: if one thread cannot start, the others must not wait for their turn forever
            futures = [
                pool.submit(copy_context().run, drive, step, turn) for step, turn in zip(steps, turns, strict=True)
            ]
            running = len(futures)
            while running:
                item = events.get()
                if item is None:
                    running -= 1
                else:
                    event, turn = item
                    yield event
                    turn.release()
        finally:
            closed.set()
            for turn in turns:
                turn.release()
        return [future.result() for future in futures]
