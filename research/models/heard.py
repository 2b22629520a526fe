"""Hidden parts of an arriving reply, such as a call's arguments: code that waits for it can count them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextvars import ContextVar

from research.types import Completion, Delta

_listener: ContextVar[Callable[[str], None] | None] = ContextVar("who hears what is not shown", default=None)


def hearing(pieces: Iterator[Delta | Completion], hear: Callable[[str], None]) -> Iterator[Delta | Completion]:
    """Yield the pieces of a reply; `hear` gets anything else that arrives, in the iterating thread."""
    _listener.set(hear)  # not reset: the thread that drives a reply has its own context
    yield from pieces


def unseen(text: str) -> None:
    """Report characters that arrive but are not shown."""
    hear = _listener.get()
    if hear is not None and text:
        hear(text)
