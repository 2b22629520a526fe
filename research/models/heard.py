"""What arrives of a reply and is not shown, such as a call's arguments: whoever waits for the reply can count it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextvars import ContextVar

from research.types import Completion, Delta

_listener: ContextVar[Callable[[str], None] | None] = ContextVar("who hears what is not shown", default=None)


def hearing(pieces: Iterator[Delta | Completion], hear: Callable[[str], None]) -> Iterator[Delta | Completion]:
    """Yield the pieces of a reply; `hear` gets what else arrives, in the thread that iterates."""
    _listener.set(hear)  # for good: the thread that drives a reply has a context of its own
    yield from pieces


def unseen(text: str) -> None:
    """Tell of characters that have arrived and are not shown."""
    hear = _listener.get()
    if hear is not None and text:
        hear(text)
