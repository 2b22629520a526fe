"""Background work in one thread of low priority, which exists only while there is work."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable


class Background:
    """Runs one function in one thread at a time.  Safe for threads."""

    def __init__(self, name: str, work: Callable[[threading.Event], None]) -> None:
        """`work` must not raise; the event it receives asks it to return early."""
        self._name = name
        self._work = work
        self._guard = threading.Lock()
        self._thread: threading.Thread | None = None
        self._repeat = False
        self.closing = threading.Event()
        """Set by `close`."""

    @property
    def running(self) -> bool:
        thread = self._thread
        return thread is not None and thread.is_alive()

    def start(self, *, repeat: bool = False) -> threading.Thread:
        """Start the work, or return the thread already running it; `repeat` makes that thread run it again."""
        with self._guard:
            if self._thread is not None and self._thread.is_alive():
                self._repeat = self._repeat or repeat
            else:
                self._repeat = False
                self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                self._thread.start()
            return self._thread

    def close(self) -> None:
        """Ask the work to return early, and wait for it."""
        self.closing.set()
        with self._guard:
            thread = self._thread
        if thread is not None:
            thread.join()

    def _run(self) -> None:
        if sys.platform == "linux":  # only Linux has per-thread priorities
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 10)
        while True:
            self._work(self.closing)
            with self._guard:
                if not self._repeat or self.closing.is_set():
                    self._thread = None
                    return
                self._repeat = False
