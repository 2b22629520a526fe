"""A thread pool of daemon threads without a limit; starting a thread takes longer than many calls."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue

IDLE_S = 2.0
"""Seconds after which an idle thread ends."""

Work = Callable[[], None]
"""Must not raise."""

_idle: list[SimpleQueue[Work]] = []
"""The inboxes of idle threads; the last one added is used first."""
os.register_at_fork(after_in_child=_idle.clear)  # a forked child has none of the threads


def start(work: Work) -> None:
    """Run `work` at once in an idle or a new thread; it does not keep the process alive."""
    try:
        inbox = _idle.pop()
    except IndexError:
        threading.Thread(target=_serve, args=(work,), name="pool", daemon=True).start()
    else:
        inbox.put(work)


def _serve(work: Work) -> None:
    inbox: SimpleQueue[Work] = SimpleQueue()
    while True:
        work()
        _idle.append(inbox)
        try:
            work = inbox.get(timeout=IDLE_S)
        except Empty:
            try:
                _idle.remove(inbox)
            except ValueError:  # `start` has taken the inbox and is about to fill it
                work = inbox.get()
            else:
                return
