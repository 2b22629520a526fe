"""The thread pool starts work at once and reuses idle threads."""

from __future__ import annotations

import threading
from queue import SimpleQueue

import pytest

from research._util import threads
from tests.workers import LONG_S


def thread_of_one() -> int:
    told: SimpleQueue[int] = SimpleQueue()
    threads.start(lambda: told.put(threading.get_ident()))
    return told.get(timeout=LONG_S)


def test_all_started_work_runs_concurrently() -> None:
    together = threading.Barrier(21)
    for _ in range(20):
        threads.start(lambda: together.wait(LONG_S) and None)
    together.wait(LONG_S)  # the barrier breaks if one waits for another to end


def test_threads_are_reused() -> None:
    assert len({thread_of_one() for _ in range(200)}) < 30


def test_no_work_is_lost_while_idle_threads_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "IDLE_S", 0.0)
    assert all(thread_of_one() for _ in range(2_000))
