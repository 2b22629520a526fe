"""Daemon threads that are used again: to start one takes longer than many a call does."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue

IDLE_S = 2.0
"""A thread that has had nothing to do for this long ends."""

Work = Callable[[], None]
"""Raises nothing."""

_idle: list[SimpleQueue[Work]] = []
"""Where the threads that have nothing to do wait; the last to come is the first to go."""
os.register_at_fork(after_in_child=_idle.clear)  # a child has none of these threads


def begin(work: Work) -> None:
    """Do something in a thread of its own, at once: nothing waits for a thread that is busy, and none keeps the process."""
    try:
        inbox = _idle.pop()
    except IndexError:
        threading.Thread(target=_stay, args=(work,), name="crew", daemon=True).start()
    else:
        inbox.put(work)


def _stay(work: Work) -> None:
    inbox: SimpleQueue[Work] = SimpleQueue()
    while True:
        work()
        _idle.append(inbox)
        try:
            work = inbox.get(timeout=IDLE_S)
        except Empty:
            try:
                _idle.remove(inbox)
            except ValueError:  # somebody has taken it this moment, and is about to say what for
                work = inbox.get()
            else:
                return
