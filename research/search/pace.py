"""Turns at a service: not too often, not too long, and not at all while it wants to be left alone.

One `Pace` stands for one service in this process; all threads that use the service share it.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from typing import TypeVar

from research import cancel
from research.errors import ToolError

T = TypeVar("T")

ATTEMPTS = 3
PATIENCE_S = 10.0
"""A caller waits so long for its turn; for a longer pause it is told at once."""
TOTAL_S = 25.0
"""Seconds for all attempts of one request together, waiting included."""
LONGEST_PAUSE_S = 600.0
"""A service may ask for more, in seconds or with a date far away: it is asked again after this."""
_FIRST_BACKOFF_S = 1.0
_FIRST_PAUSE_S = 15.0
"""After the last attempt failed; doubled for each time in a row."""


class Clock:
    """Time, as far as waiting goes."""

    def now(self) -> float:
        """Seconds, monotonic."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Raises `Stopped` when meanwhile nobody waits for the call any more."""
        given_up = cancel.current() or threading.Event()
        if given_up.wait(seconds):
            cancel.check()


SYSTEM = Clock()


class Trouble(Exception):
    """One attempt failed.  The message names the service and what to do."""

    def __init__(
        self, message: str, *, retry: bool = False, after_s: float | None = None, pause_s: float = 0.0
    ) -> None:
        super().__init__(message)
        self.retry = retry
        """The same request may succeed in a moment."""
        self.after_s = after_s
        """When the service says so itself."""
        self.pause_s = pause_s
        """Leave the service alone for so long, without another attempt."""


class Pace:
    """When a service may be asked next."""

    def __init__(self, name: str, interval_s: float, clock: Clock = SYSTEM) -> None:
        self.clock = clock
        self._name = name
        self.interval_s = interval_s
        self._lock = threading.Lock()
        self._next = self._paused_until = clock.now()
        self._strikes = 0

    def run(self, attempt: Callable[[float], T]) -> T:
        """The result of `attempt`, called with the seconds it may take; tried again where that may help.

        `attempt` raises `Trouble`.  Raises `ToolError`.
        """
        deadline = self.clock.now() + TOTAL_S
        for tried in range(ATTEMPTS):
            self._turn()
            try:
                result = attempt(max(deadline - self.clock.now(), 1.0))
            except Trouble as trouble:
                wait = self._wait(trouble, tried)
                again = trouble.retry and tried < ATTEMPTS - 1 and wait <= PATIENCE_S
                if not again or self.clock.now() + wait >= deadline:
                    raise ToolError(self._giving_up(trouble)) from trouble
                self._pause(wait)
            else:
                self._strikes = 0
                return result
        raise AssertionError("the last attempt returns or raises")

    def _turn(self) -> None:
        """Wait until the service may be asked.  Raises `ToolError` at once when that takes too long."""
        with self._lock:
            now = self.clock.now()
            wait = max(self._next - now, 0.0)
            if wait > PATIENCE_S:
                raise ToolError(f"{self._name} is to be left alone for {wait:.0f} s more; use other sources until then")
            self._next = now + wait + self.interval_s
        if wait:
            self.clock.sleep(wait)
            if self._paused_until > self.clock.now():  # another thread was told so meanwhile
                self._turn()

    def _wait(self, trouble: Trouble, tried: int) -> float:
        if trouble.after_s is not None:
            return min(trouble.after_s, LONGEST_PAUSE_S)
        return _FIRST_BACKOFF_S * float(2**tried) * random.uniform(0.5, 1.0)  # so that clients spread

    def _giving_up(self, trouble: Trouble) -> str:
        """Leave the service alone where it needs that; the message says for how long."""
        if not trouble.retry and not trouble.pause_s:
            return str(trouble)
        pause = max(trouble.pause_s, trouble.after_s or 0) or _FIRST_PAUSE_S
        if trouble.after_s is None:
            pause *= 2**self._strikes
            self._strikes = min(self._strikes + 1, 10)
        pause = min(pause, LONGEST_PAUSE_S)
        self._pause(pause)
        return f"{trouble}. It is left alone for {pause:.0f} s; use other sources until then"

    def _pause(self, seconds: float) -> None:
        """Nobody asks for so long."""
        with self._lock:
            self._paused_until = max(self._paused_until, self.clock.now() + seconds)
            self._next = max(self._next, self._paused_until)


_PACES: dict[tuple[str, str, Clock], Pace] = {}
_MAKING = threading.Lock()


def shared(name: str, url: str, interval_s: float, clock: Clock = SYSTEM) -> Pace:
    """The one pace in this process of the service at that url."""
    with _MAKING:
        return _PACES.setdefault((name, url, clock), Pace(name, interval_s, clock))
