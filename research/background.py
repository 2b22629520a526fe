"""Work that nobody waits for: one thread of low priority, there only while there is something to do."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable


class Background:
    """Does one kind of work, in one thread at a time.  Safe for threads."""

    def __init__(self, name: str, work: Callable[[threading.Event], None]) -> None:
        """`work` gets the event that tells it to leave off, and raises nothing."""
        self._name = name
        self._work = work
        self._guard = threading.Lock()
        self._thread: threading.Thread | None = None
        self._again = False
        self.closing = threading.Event()
        """Set from `close` on."""

    @property
    def running(self) -> bool:
        thread = self._thread
        return thread is not None and thread.is_alive()

    def start(self, *, again: bool = False) -> threading.Thread:
        """Begin; the thread that is at work already if there is one, which then works once more if `again`."""
        with self._guard:
            if self._thread is not None and self._thread.is_alive():
                self._again = self._again or again
            else:
                self._again = False
                self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                self._thread.start()
            return self._thread

    def close(self) -> None:
        """Let it leave off, and wait until it has."""
        self.closing.set()
        with self._guard:
            thread = self._thread
        if thread is not None:
            thread.join()

    def _run(self) -> None:
        if sys.platform == "linux":  # where each thread has a priority of its own
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 10)
        while True:
            self._work(self.closing)
            with self._guard:
                if not self._again or self.closing.is_set():
                    self._thread = None
                    return
                self._again = False
