"""Encoding a memory anew in the background, after its encoder was changed."""

from __future__ import annotations

import os
import sqlite3
import sys
import threading
from typing import TYPE_CHECKING

from research.errors import WorkbenchError

if TYPE_CHECKING:
    from research.memory.memory import Memory


class Renewal:
    """Runs `Memory.reembed` in a thread of low priority; one for each open memory.

    What is encoded is committed some entries at a time: broken off by `close`, a crash or an error, the next `start`
    goes on from there.  Two processes may do it at once: each skips what the other has committed.
    """

    def __init__(self, memory: Memory) -> None:
        self.done, self.total = 0, 0
        """Entries encoded since `start`, and those there are; 0 of 0 until the first are done."""
        self.error = ""
        """Why it ended too early, in words."""
        self._memory = memory
        self._guard = threading.Lock()
        self._thread: threading.Thread | None = None
        self._closing = threading.Event()

    @property
    def running(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def start(self) -> threading.Thread:
        """Begin, or go on; the thread that is at work already if there is one."""
        with self._guard:
            if self._thread is None or not self._thread.is_alive():
                self.done, self.total, self.error = 0, 0, ""
                self._thread = threading.Thread(target=self._work, name="renew-memory", daemon=True)
                self._thread.start()
            return self._thread

    def close(self) -> None:
        """Break it off and wait for the entries in hand; it does not start again."""
        self._closing.set()
        with self._guard:
            thread = self._thread
        if thread is not None:
            thread.join()

    def _work(self) -> None:
        if sys.platform == "linux":  # where each thread has a priority of its own
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 10)
        try:
            self._memory.reembed(self._report, self._closing)
        except (WorkbenchError, sqlite3.Error, OSError) as error:
            self.error = str(error)

    def _report(self, done: int, total: int) -> None:
        self.done, self.total = done, total
