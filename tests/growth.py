"""Whether the time that something takes grows faster than its input.

Times of one process at two sizes are compared with each other, so that the speed of the machine does not count.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from functools import partial
from itertools import count
from typing import TypeVar

SMALL, MIDDLE, LARGE = (300, 2_400), (2_000, 16_000), (4_000, 32_000)
"""Characters at which times are compared; what has a bound below the first of the last is not taken for quadratic."""
SUSPICIOUS, FACTOR = 17.0, 20.0
"""Times as long that eight times the input may take: 8 are linear, 64 quadratic."""

T = TypeVar("T")
Timed = Callable[[str], float]
Text = Callable[[int], str]
_fresh = count()


def timed(read: Callable[[str], object], clock: Callable[[], float] = time.thread_time) -> Timed:
    """Return a function that returns the processor time that reading a text takes.

    That of the process counts other threads too, and in ticks of 4 ms while a timer of the process runs.
    """

    def taken(text: str) -> float:
        begun = clock()
        read(text)
        return clock() - begun

    return taken


def repeating(pieces: Iterable[str]) -> dict[str, Text]:
    """Return texts of any length in which a piece is repeated, by piece.

    In the middle of each is a word that no other text has, so that no call finds the result of another in a cache, and
    what a reader strips from both ends is repeated too.
    """

    def text(n: int, each: str) -> str:
        half = (each * n)[: n // 2]
        return f"{half} x{next(_fresh)} {half}"

    return {each: partial(text, each=each) for each in pieces}


def grows(taken: Timed, text: Text, *, exhaustive: bool) -> bool:
    """Return whether the time grows faster than the input; if not exhaustive, only where small texts show it."""
    if exhaustive:
        return steeper(taken, text, LARGE)
    return steeper(taken, text, SMALL, SUSPICIOUS) and steeper(taken, text, MIDDLE)


def steeper(
    taken: Callable[[T], float], made: Callable[[int], T], sizes: tuple[int, int], factor: float = FACTOR
) -> bool:
    """Return whether what is made of the larger size takes more than `factor` times as long as that of the smaller."""
    small, large = [], []
    for calls in (1, 3):  # a busy machine may delay a call
        small += [taken(made(sizes[0])) for _ in range(5)]
        large += [taken(made(sizes[1])) for _ in range(calls)]
        if min(large) <= factor * min(small):
            return False
    return True
