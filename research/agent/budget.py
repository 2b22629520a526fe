"""`Meter`: counts what a run and all its children spend, against their budget."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from math import inf

from research.errors import LimitReached
from research.events.recipe import Budget
from research.types import Outcome, Usage


class Meter:
    """Counts calls, tokens, cost and time against a budget.  Thread-safe.

    A call is admitted before it is made and counted when it returns; a reply is cut within it when the budget is spent
    (`reply_stream`), so only the prompts of calls in flight can exceed the budget.
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

    def check_time(self) -> None:
        """Raise `LimitReached` when time is up, also within a call."""
        if self.seconds_left <= 0:
            raise LimitReached("time")

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
    def usd_left(self) -> float | None:
        """Dollars of the budget that are not spent; None without such a cap."""
        return None if self.budget.usd is None else max(0.0, self.budget.usd - self.usd)

    @property
    def seconds_left(self) -> float:
        """Seconds left in the budget; infinite without such a cap."""
        return inf if self.budget.seconds is None else self.budget.seconds - self.seconds

    @property
    def seconds(self) -> float:
        """Seconds of work so far; pauses do not count."""
        return self.seconds_before + self._clock() - self._started
