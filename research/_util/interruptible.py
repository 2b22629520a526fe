"""Iteration in a context of its own, and iteration that can be given up while the next item is still awaited."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextvars import Context, copy_context
from functools import partial
from queue import Empty, SimpleQueue
from threading import Event
from typing import TypeVar

from msgspec import Struct

from research._util import cancel, threads

T = TypeVar("T")


class _End(Struct, frozen=True):
    """The iterator has no more items, or has raised an error."""

    error: Exception | None = None


def each_within(context: Context, steps: Iterator[T]) -> Iterator[T]:
    """Yield the same steps, each computed in this context; the code that iterates stays in its own."""
    while True:
        try:
            step = context.run(next, steps)
        except StopIteration:
            return
        yield step


def interruptible(items: Iterator[T], check: Callable[[], None]) -> Iterator[T]:
    """Yield the items of an iterator that another thread drives; while none comes, `check` is called every
    `cancel.CHECK_EVERY_S` seconds and raises to give up.

    A thread cannot be killed: after `check` raises, its call is cancelled and it closes the iterator by the next item.
    """
    inbox: SimpleQueue[T | _End] = SimpleQueue()
    given_up = Event()
    threads.start(partial(copy_context().run, _drive, items, inbox, given_up))
    try:
        while True:
            try:
                item = inbox.get(timeout=cancel.CHECK_EVERY_S)
            except Empty:
                check()
                continue
            if isinstance(item, _End):
                if item.error is not None:
                    raise item.error
                return
            yield item
    finally:
        given_up.set()


def _drive(items: Iterator[T], inbox: SimpleQueue[T | _End], given_up: Event) -> None:
    try:
        with cancel.cancelled_by(given_up):
            for item in items:
                if given_up.is_set():
                    break
                inbox.put(item)
            if isinstance(items, Generator):
                items.close()
    except Exception as error:  # noqa: BLE001 - raised in the thread that iterates
        inbox.put(_End(error))
    else:
        inbox.put(_End())
