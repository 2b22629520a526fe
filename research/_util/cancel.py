"""Cancellation of the call that runs in the current thread.

The toolbox cancels a call when its time is over or the user stops the run.  A thread cannot be killed, so code that
waits for a server or a subprocess waits in short steps and checks for it in between.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from research.errors import Stopped

CHECK_EVERY_S = 0.2
"""Longest time between two checks, in seconds."""

_cancelled: ContextVar[threading.Event | None] = ContextVar("cancelled", default=None)


@contextmanager
def cancelled_by(event: threading.Event) -> Iterator[None]:
    """While inside the block, cancel this thread's call as soon as the event is set."""
    token = _cancelled.set(event)
    try:
        yield
    finally:
        _cancelled.reset(token)


def current() -> threading.Event | None:
    """Return the event that cancels the current call, for code that can wait on one; None if there is none."""
    return _cancelled.get()


def check() -> None:
    """Raise `Stopped` if the current call is cancelled."""
    event = _cancelled.get()
    if event is not None and event.is_set():
        raise Stopped("the call was cancelled")
