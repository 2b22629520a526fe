"""Iteration that can be interrupted while it waits for the next item."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextvars import ContextVar

import pytest

from research._util.interruptible import interruptible
from research.errors import ProviderError, Stopped
from tests.workers import LONG_S

NAME: ContextVar[str] = ContextVar("name", default="")


def never() -> None:
    """Never interrupt."""


def test_items_arrive_in_order_and_in_the_callers_context() -> None:
    def items() -> Iterator[str]:
        for n in range(1_000):
            yield f"{NAME.get()}{n}"

    NAME.set("item ")
    assert list(interruptible(items(), never)) == [f"item {n}" for n in range(1_000)]


def test_an_error_is_raised_after_the_items_before_it() -> None:
    def items() -> Iterator[int]:
        yield 1
        raise ProviderError("gone")

    found = interruptible(items(), never)
    assert next(found) == 1
    with pytest.raises(ProviderError, match="gone"):
        next(found)


def test_a_wait_is_interrupted_and_the_iterator_is_closed_later() -> None:
    asked, released, closed = threading.Event(), threading.Event(), threading.Event()
    late: list[str] = []

    def items() -> Iterator[int]:
        try:
            asked.set()
            if not released.wait(LONG_S / 2):
                late.append("the wait was not interrupted")
            yield 1
        finally:
            closed.set()

    def check() -> None:
        if asked.is_set():
            raise Stopped

    with pytest.raises(Stopped):
        list(interruptible(items(), check))
    assert late == []
    assert not closed.is_set()
    released.set()
    assert closed.wait(LONG_S)
