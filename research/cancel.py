"""Whether the call at work in this thread is still wanted.

The toolbox gives up on a call when its time is over or the user stops the run.  A thread cannot be killed, but what
waits in it (for a server, for a process set apart) asks here between two short waits, and leaves.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from research.errors import Stopped

ASK_EVERY_S = 0.2
"""Longest wait between two questions."""

_given_up: ContextVar[threading.Event | None] = ContextVar("given_up", default=None)


@contextmanager
def until(event: threading.Event) -> Iterator[None]:
    """What this thread does inside is wanted until the event is set."""
    token = _given_up.set(event)
    try:
        yield
    finally:
        _given_up.reset(token)


def current() -> threading.Event | None:
    """Is set when nobody waits for this thread's call any more; for what can watch an event by itself."""
    return _given_up.get()


def check() -> None:
    """Raise `Stopped` when nobody waits for this thread's call any more."""
    event = _given_up.get()
    if event is not None and event.is_set():
        raise Stopped("nobody waits for this call any more")
