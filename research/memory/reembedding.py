"""Encode a memory again in the background, after its encoder was changed."""

from __future__ import annotations

import sqlite3
import threading
from typing import TYPE_CHECKING

from research._util.background_thread import Background
from research.errors import WorkbenchError

if TYPE_CHECKING:
    from research.memory.entries import Memory


class Reembedding:
    """Runs `Memory.reembed` in a low-priority thread, one for each open memory.

    Commits some entries at a time: after an interruption by `close`, a crash or an error, the next `start` continues
    from there.  Two processes may run it at once: each skips what the other has committed.
    """

    def __init__(self, memory: Memory) -> None:
        self.done, self.total = 0, 0
        """Entries encoded since `start`, and the total; both 0 until the first are done."""
        self.error = ""
        """Why it ended early; empty if it did not."""
        self._memory = memory
        self._background = Background("renew-memory", self._work)

    @property
    def running(self) -> bool:
        return self._background.running

    def start(self) -> threading.Thread:
        """Start or continue, and return the thread; returns the running thread if there is one."""
        if not self.running:
            self.done, self.total, self.error = 0, 0, ""
        return self._background.start()

    def close(self) -> None:
        """Stop after the entries in progress, and wait for it. It cannot be restarted."""
        self._background.close()

    def _work(self, closing: threading.Event) -> None:
        try:
            self._memory.reembed(self._report, closing)
        except (WorkbenchError, sqlite3.Error, OSError) as error:
            self.error = str(error)

    def _report(self, done: int, total: int) -> None:
        self.done, self.total = done, total
