"""Encoding a memory anew in the background, after its encoder was changed."""

from __future__ import annotations

import sqlite3
import threading
from typing import TYPE_CHECKING

from research.background import Background
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
        self._background = Background("renew-memory", self._work)

    @property
    def running(self) -> bool:
        return self._background.running

    def start(self) -> threading.Thread:
        """Begin, or go on; the thread that is at work already if there is one."""
        if not self.running:
            self.done, self.total, self.error = 0, 0, ""
        return self._background.start()

    def close(self) -> None:
        """Break it off and wait for the entries in hand; it does not start again."""
        self._background.close()

    def _work(self, closing: threading.Event) -> None:
        try:
            self._memory.reembed(self._report, closing)
        except (WorkbenchError, sqlite3.Error, OSError) as error:
            self.error = str(error)

    def _report(self, done: int, total: int) -> None:
        self.done, self.total = done, total
