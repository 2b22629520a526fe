"""How frameworks and strategies describe the requests they will make, for the estimate of a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from research import plugins


class Span(Struct, frozen=True):
    """The least and the most expected."""

    low: float
    high: float


ANSWER = Span(10, 1_000)
"""Tokens of a reply with its reasoning; over many rounds, the mean."""


class Loop(Struct, frozen=True, kw_only=True):
    """Agents of one kind that ask the model each round until they answer or must."""

    rounds: int
    """Most requests, without the forced answer."""
    purpose: str = "act"
    agents: Span = Span(1, 1)
    least: int = 2
    """Fewest requests: a search and the answer."""
    forced: int = 1
    """Requests for the forced answer."""
    earlier: Span = Span(0, 0)
    """Rounds of tools before the first request."""
    largest: int | None = None
    """Prompt size, in tokens, that ends the loop."""
    report: float = 0
    """Tokens of the report that each reply contains."""
    notes: float = 0
    """Most tokens that the framework adds to the system prompt."""
    context: str = ""
    """Context strategy; empty: the recipe's."""


class Call(Struct, frozen=True, kw_only=True):
    """Requests outside the agent's conversation."""

    purpose: str
    count: Span = Span(1, 1)
    reads: Span
    """Tokens of a prompt, without the instructions."""


Work = Sequence[Loop | Call]
HistorySize = Callable[[int, float], float]
"""Maps the number of earlier rounds, and tokens per round, to how many of those tokens a request contains."""


class History(Struct, frozen=True, kw_only=True):
    """A loop, described to a context strategy that returns the requests it adds."""

    loop: Loop
    framework: plugins.Framework
    rounds: int
    """Rounds before the last request."""
    head: float
    """Most tokens of system prompt and question."""
    growth: Span
    """Tokens that a round adds."""
    each: float
    """Most tokens of a round, with its report."""


def work_of(entry: plugins.Framework, options: Mapping[str, Any]) -> Work:
    """Return the requests of a framework; without the trait `work`, a loop of its `rounds`, or of 2 to 10 requests."""
    if entry.work is None:
        return [Loop(rounds=int(options.get("rounds", 10)))]
    work: Work = entry.work(options)
    return work
