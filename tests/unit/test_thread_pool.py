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


def test_all_started_work_runs_concurrently() -> None:
    together = threading.Barrier(21)
    for _ in range(20):
        threads.start(lambda: together.wait(SOON_S) and None)
    together.wait(SOON_S)  # the barrier breaks if one waits for another to end


def test_threads_are_reused() -> None:
    assert len({thread_of_one() for _ in range(200)}) < 30


def test_no_work_is_lost_while_idle_threads_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "IDLE_S", 0.0)
    assert all(thread_of_one() for _ in range(2_000))


FORKS = """
import os, threading
from research._util import threads

SOON_S, done = 30.0, threading.Event()
threads.start(done.set)
assert done.wait(SOON_S)
while not threads._idle:  # wait until the thread is idle
    pass
child = os.fork()
if not child:
    done = threading.Event()
    threads.start(done.set)
    os._exit(0 if done.wait(SOON_S) else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""


def test_a_forked_process_does_not_wait_for_its_parents_threads() -> None:
    """Runs in a new process: threads left by other tests may hold locks that the child needs."""
    assert subprocess.run([sys.executable, "-c", FORKS], timeout=2 * SOON_S, check=False).returncode == 0


def test_running_threads_do_not_keep_a_process_from_exiting() -> None:
    program = (
        "import threading; from research._util import threads; threads.start(lambda: threading.Event().wait() and None)"
    )
    assert subprocess.run([sys.executable, "-c", program], timeout=SOON_S, check=False).returncode == 0
