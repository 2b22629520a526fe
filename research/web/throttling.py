"""Rate limits of remote services: spacing between requests, retries, and pauses for a service that keeps failing.

Each service has one `RateLimit` in this process, shared by all threads that use the service.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from typing import TypeVar

from research._util import cancel
from research._util.said import say
from research.errors import ToolError

T = TypeVar("T")

ATTEMPTS = 3
MAX_WAIT_S = 10.0
"""Longest wait for a turn; a caller that would wait longer gets a `ToolError` at once."""
TOTAL_S = 25.0
"""Seconds for all attempts of one request together, waits included."""
MAX_PAUSE_S = 600.0
"""Cap on the pause that a service requests, which may be years long."""
_FIRST_BACKOFF_S = 1.0
_FIRST_PAUSE_S = 15.0
"""Pause after the last attempt failed; doubles with each failure in a row."""


class Clock:
    """The monotonic clock; tests pass one of their own."""

    def now(self) -> float:
        """Return the time in seconds."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Wait.  Raises `Stopped` when the tool call is cancelled meanwhile."""
        cancelled = cancel.current() or threading.Event()
        if cancelled.wait(seconds):
            cancel.check()


SYSTEM = Clock()


class AttemptError(Exception):
    """One attempt failed.  The message names the service and what to do."""

    def __init__(
        self, message: str, *, retry: bool = False, after_s: float | None = None, pause_s: float = 0.0
    ) -> None:
        super().__init__(message)
        self.retry = retry
        """The same request may succeed in a moment."""
        self.after_s = after_s
        """Seconds to wait, when the service states them."""
        self.pause_s = pause_s
        """Seconds to pause the service, without another attempt."""


def unreachable(name: str, setting: str = "", *, offline: bool) -> AttemptError:
    """Return the error for a service that does not answer; `setting` names its address, `offline` as in `connections`."""
    right = f", and that {setting} is correct" if setting else ""
    if offline:
        cause = f"no answer from {name}: check that this machine is connected to the internet{right}"
    else:
        cause = f"{name} cannot be reached: check that its server runs{right}"
    return AttemptError(f"{cause}, or search the library instead")


class RateLimit:
    """Decides when the next request to a service may start."""

    def __init__(self, name: str, interval_s: float, clock: Clock = SYSTEM) -> None:
        self.clock = clock
        self._name = name
        self.interval_s = interval_s
        self._lock = threading.Lock()
        self._next = self._paused_until = clock.now()
        self._strikes = 0
        self._why = ""
        """The failure before the pause, for callers during it."""

    def run(self, attempt: Callable[[float], T]) -> T:
        """Call `attempt` with the seconds it may take, and return its result; retry if that may help.

        `attempt` raises `AttemptError`.  Raises `ToolError` when the last attempt fails or the wait would be too long.
        """
        deadline = self.clock.now() + TOTAL_S
        for tried in range(ATTEMPTS):
            self._wait_for_turn()
            try:
                result = attempt(max(deadline - self.clock.now(), 1.0))
            except AttemptError as error:
                wait = self._backoff_s(error, tried)
                retry = error.retry and tried < ATTEMPTS - 1 and wait <= MAX_WAIT_S
                if not retry or self.clock.now() + wait >= deadline:
                    raise ToolError(self._give_up(error)) from error
                self._pause(wait)
            else:
                self._strikes = 0
                return result
        raise AssertionError("the last attempt returns or raises")

    def _wait_for_turn(self) -> None:
        """Wait until the next request may start.  Raises `ToolError` at once when that would take too long."""
        with self._lock:
            now = self.clock.now()
            wait = max(self._next - now, 0.0)
            if wait > MAX_WAIT_S:
                why = self._why if self._paused_until > now else ""
                raise ToolError(_later(why or say("{name} is rate limited", name=self._name), wait))
            self._next = now + wait + self.interval_s
        if wait:
            self.clock.sleep(wait)
            if self._paused_until > self.clock.now():  # another thread paused the service during the wait
                self._wait_for_turn()

    def _backoff_s(self, error: AttemptError, tried: int) -> float:
        if error.after_s is not None:
            return min(error.after_s, MAX_PAUSE_S)
        return _FIRST_BACKOFF_S * float(2**tried) * random.uniform(0.5, 1.0)  # random, so that clients spread out

    def _give_up(self, error: AttemptError) -> str:
        """Pause the service if the error requires it; return the message for the caller."""
        if not error.retry and not error.pause_s:
            return str(error)
        pause = max(error.pause_s, error.after_s or 0) or _FIRST_PAUSE_S
        if error.after_s is None:
            pause *= 2**self._strikes
            self._strikes = min(self._strikes + 1, 10)
        pause = min(pause, MAX_PAUSE_S)
        self._why = str(error)
        self._pause(pause)
        return _later(self._why, pause)

    def _pause(self, seconds: float) -> None:
        """Start no request for this long."""
        with self._lock:
            self._paused_until = max(self._paused_until, self.clock.now() + seconds)
            self._next = max(self._next, self._paused_until)


def _later(why: str, seconds: float) -> str:
    return say("{why}; retry in {wait:.0f} s, or use other sources", why=why, wait=seconds)


_LIMITS: dict[tuple[str, str, Clock], RateLimit] = {}
_CREATING = threading.Lock()


def rate_limit_of(name: str, url: str, interval_s: float, clock: Clock = SYSTEM) -> RateLimit:
    """Return this process's one rate limit for the service at that url."""
    with _CREATING:
        return _LIMITS.setdefault((name, url, clock), RateLimit(name, interval_s, clock))
