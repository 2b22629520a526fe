"""What a run may spend, and what it has spent: one meter for the run and all its children."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from research.errors import LimitReached
from research.recipe import Budget
from research.types import Outcome, Usage


class Meter:
    """Counts calls, tokens, cost and time against a budget.  Safe for threads.

    A call is admitted before it is made and counted after it: the budget can be exceeded by the calls in flight, and
    never by more.
    """

    def __init__(self, budget: Budget, clock: Callable[[], float] = time.monotonic) -> None:
        self.budget = budget
        self._clock = clock
        self._started = clock()
        self.before = 0.0
        """Seconds that were worked before this meter began to run, for a run that goes on."""
        self._lock = threading.Lock()
        self.tokens = 0
        self.usd = 0.0
        self.tool_calls = 0

    def admit(self) -> None:
        """Raises `LimitReached` when a cap is reached."""
        caps: list[tuple[Outcome, float, float | None]] = [
            ("tokens", self.tokens, self.budget.tokens),
            ("cost", self.usd, self.budget.usd),
            ("time", self.seconds, self.budget.seconds),
            ("rounds", self.tool_calls, self.budget.tool_calls),
        ]
        for limit, spent, cap in caps:
            if cap is not None and spent >= cap:
                raise LimitReached(limit)

    def spend(self, usage: Usage) -> None:
        with self._lock:
            self.tokens += usage.prompt_tokens + usage.completion_tokens
            self.usd += usage.cost_usd or 0.0

    def spend_tool_calls(self, count: int) -> None:
        with self._lock:
            self.tool_calls += count

    @property
    def seconds(self) -> float:
        """Worked so far; rests do not count."""
        return self.before + self._clock() - self._started
