"""The thread pool: work starts at once, and idle threads are reused."""

from __future__ import annotations

import subprocess
import sys
import threading
from queue import SimpleQueue

import pytest

from research._util import threads

SOON_S = 30.0


def thread_of_one() -> int:
    told: SimpleQueue[int] = SimpleQueue()
    threads.start(lambda: told.put(threading.get_ident()))
    return told.get(timeout=SOON_S)


def test_all_that_is_begun_is_at_work_at_once() -> None:
    together = threading.Barrier(21)
    for _ in range(20):
        threads.start(lambda: together.wait(SOON_S) and None)
    together.wait(SOON_S)  # broken where one of them waits for another to end


def test_threads_are_used_again() -> None:
    assert len({thread_of_one() for _ in range(200)}) < 30


def test_nothing_is_lost_while_threads_give_up_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "IDLE_S", 0.0)
    assert all(thread_of_one() for _ in range(2_000))


FORKS = """
import os, threading
from research._util import threads

SOON_S, done = 30.0, threading.Event()
threads.start(done.set)
assert done.wait(SOON_S)
while not threads._idle:  # it has been told, and is about to wait for more
    pass
child = os.fork()
if not child:
    done = threading.Event()
    threads.start(done.set)
    os._exit(0 if done.wait(SOON_S) else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""


def test_a_child_process_waits_for_none_of_its_parents_threads() -> None:
    """In a process of its own: what other tests have left at work there may hold what a child would need."""
    assert subprocess.run([sys.executable, "-c", FORKS], timeout=2 * SOON_S, check=False).returncode == 0


def test_it_keeps_no_process_from_ending() -> None:
    program = (
        "import threading; from research._util import threads; threads.start(lambda: threading.Event().wait() and None)"
    )
    assert subprocess.run([sys.executable, "-c", program], timeout=SOON_S, check=False).returncode == 0
