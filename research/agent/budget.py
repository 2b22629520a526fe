"""`Meter`: counts what a run and all its children spend, against their budget."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from research.errors import LimitReached
from research.events.recipe import Budget
from research.types import Outcome, Usage


class Meter:
    """Counts calls, tokens, cost and time against a budget.  Thread-safe.

    A call is admitted before it is made and counted when it returns, so only calls in flight can exceed the budget.
    """

    def __init__(self, budget: Budget, clock: Callable[[], float] = time.monotonic) -> None:
        self.budget = budget
        self._clock = clock
        self._started = clock()
        self.seconds_before = 0.0
        """Seconds of work before this meter started, for a run that was resumed."""
        self._lock = threading.Lock()
        self.tokens = 0
        self.usd = 0.0
        self.tool_calls = 0

    def admit(self) -> None:
        """Raise `LimitReached` when a cap is reached."""
        caps: list[tuple[Outcome, float, float | None]] = [
            ("tokens", self.tokens, self.budget.tokens),
            ("cost", self.usd, self.budget.usd),
            ("time", self.seconds, self.budget.seconds),
            ("rounds", self.tool_calls, self.budget.tool_calls),
        ]
        for limit, spent, cap in caps:
            if cap is not None and spent >= cap:
                raise LimitReached(limit)

    @property
    def time_is_up(self) -> bool:
        """Whether the limit of time is reached, which a call in flight may find out."""
        return self.budget.seconds is not None and self.seconds >= self.budget.seconds

    def spend(self, usage: Usage) -> None:
        with self._lock:
            self.tokens += usage.prompt_tokens + usage.completion_tokens
            self.usd += usage.cost_usd or 0.0

    def spend_tool_calls(self, count: int) -> None:
        with self._lock:
            self.tool_calls += count

    @property
    def tokens_left(self) -> int | None:
        """Tokens of the budget that are not spent; None without such a cap."""
        return None if self.budget.tokens is None else max(0, self.budget.tokens - self.tokens)

    @property
    def seconds(self) -> float:
        """Seconds of work so far; pauses do not count."""
        return self.seconds_before + self._clock() - self._started
