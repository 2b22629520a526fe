"""Run a module in an isolated process: empty environment, pipes only, resource limits, and a guaranteed kill."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from research._util import cancel
from research.errors import Stopped

PROCESS_MEMORY = 2 * 2**30
"""Bytes of address space that each isolated process may use."""

OUTPUT_BYTES = 256 * 2**20
"""Default limit on the output of an isolated process, in bytes."""

AT_ONCE = max(2, min(8, os.cpu_count() or 2))
"""Isolated processes that run at the same time, sandboxes and readers together; others wait."""

_places = threading.BoundedSemaphore(AT_ONCE)
_PIPE_BYTES = 64 * 1024


class ProcessDied(ChildProcessError):
    """An isolated process failed.  `status` is its return code as in `subprocess`: negative for a signal."""

    def __init__(self, module: str, status: int) -> None:
        how = f"was killed by {signal.Signals(-status).name}" if status < 0 else f"ended with status {status}"
        super().__init__(f"{module} {how}")
        self.status = status


def run_isolated(
    module: str,
    data: bytes,
    *arguments: str,
    timeout_s: float,
    output_bytes: int = OUTPUT_BYTES,
    stop: threading.Event | None = None,
) -> bytes:
    """Run `python -m module arguments` in a new process with `data` on stdin, and return its stdout.

    At most `AT_ONCE` run together; the wait for a place does not count.
    Raises `TimeoutError` after `timeout_s` seconds, `Stopped` soon after `stop` is set or `cancel.check` raises, and
    `ChildProcessError` when the process fails or writes over `output_bytes`. Child processes are killed too.
    """
    if sys.platform == "win32":
        raise ChildProcessError("processes cannot be confined on Windows; run the workbench on Linux or macOS")
    with _place(stop):
        return _run(module, data, arguments, timeout_s, output_bytes, stop)


@contextmanager
def _place(stop: threading.Event | None) -> Iterator[None]:
    """Wait for one of the `AT_ONCE` places of this process.  Raises `Stopped` like `run_isolated`."""
    while not _places.acquire(timeout=cancel.CHECK_EVERY_S):
        cancel.check()
        if stop is not None and stop.is_set():
            raise Stopped("an isolated process was not started: stopped while waiting for a place")
    try:
        yield
    finally:
        _places.release()


def _run(
    module: str,
    data: bytes,
    arguments: Sequence[str],
    timeout_s: float,
    output_bytes: int,
    stop: threading.Event | None,
) -> bytes:
    process = subprocess.Popen(
        [sys.executable, "-B", "-m", module, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={},
        cwd=Path(__file__).parents[2],  # so that `-m` finds this package
        start_new_session=True,
    )
    with process:
        try:
            output = _exchanged(process, data, module, timeout_s, output_bytes, stop)
        finally:
            kill_group(process.pid)
    if process.returncode:
        raise ProcessDied(module, process.returncode)
    return output


def _exchanged(
    process: subprocess.Popen[bytes],
    data: bytes,
    module: str,
    timeout_s: float,
    limit: int,
    stop: threading.Event | None,
) -> bytes:
    """Give a process its input, return its output, and wait for its end."""
    assert process.stdin is not None and process.stdout is not None  # both are pipes
    exchange = Exchange(process.stdin, process.stdout, module, timeout_s, limit, stop)
    output = exchange.run(data)
    while process.poll() is None:  # a process may close its pipes and keep running
        try:
            process.wait(exchange.wait_s())
        except subprocess.TimeoutExpired:
            continue
    return output


class Exchange:
    """Writes a process's input and reads its output until it closes both or exceeds a limit."""

    def __init__(
        self,
        stdin: IO[bytes],
        stdout: IO[bytes],
        module: str,
        timeout_s: float,
        limit: int,
        stop: threading.Event | None = None,
    ) -> None:
        self._stdin, self._stdout = stdin, stdout
        self._module = module
        self._timeout_s = timeout_s
        self._deadline = time.monotonic() + timeout_s
        self._limit = limit
        self._stop = stop

    def run(self, data: bytes) -> bytes:
        """Return the output.  Raises `Stopped`, `TimeoutError` and `ChildProcessError` as `run_isolated` does."""
        stdin, stdout = self._stdin, self._stdout
        output, left = bytearray(), memoryview(data)
        os.set_blocking(stdin.fileno(), False)
        with selectors.DefaultSelector() as selector:
            selector.register(stdin, selectors.EVENT_WRITE)
            selector.register(stdout, selectors.EVENT_READ)
            while selector.get_map():
                for key, _ in selector.select(self.wait_s()):
                    if key.fileobj is stdout:
                        piece = os.read(stdout.fileno(), _PIPE_BYTES)
                        output += piece
                        if not piece:
                            selector.unregister(stdout)
                        elif len(output) > self._limit:
                            raise ChildProcessError(f"{self._module} wrote more than {self._limit / 1e6:g} MB")
                        continue
                    try:
                        left = left[os.write(stdin.fileno(), left[:_PIPE_BYTES]) :]
                    except BrokenPipeError:  # the process will not read the rest
                        left = left[:0]
                    if not left:
                        selector.unregister(stdin)
                        stdin.close()
        return bytes(output)

    def wait_s(self) -> float:
        """Return the seconds to wait before the next check.  Raises `Stopped` and `TimeoutError`."""
        cancel.check()
        if self._stop is not None and self._stop.is_set():
            raise Stopped(f"{self._module} was stopped")
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError(f"{self._module} took more than {self._timeout_s:g} s")
        return min(left, cancel.CHECK_EVERY_S)


def kill_group(leader: int) -> None:
    """Kill a process that leads a group, and all of the group."""
    try:
        os.killpg(leader, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):  # PermissionError: on macOS, when only zombies are left
        return  # the whole group has already ended


def confine(seconds: float, memory: int = PROCESS_MEMORY) -> None:
    """Limit this process for good; an isolated process calls this before it reads untrusted input.

    `seconds` limits its CPU time, so that it ends even if its parent has died; `memory` is bytes of address space.
    """
    import resource

    os.chdir("/")
    limits = {
        resource.RLIMIT_CPU: int(seconds) + 1,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_NOFILE: 64,
    }
    if sys.platform == "linux":  # macOS refuses to limit the address space
        limits[resource.RLIMIT_AS] = memory
    for limit, value in limits.items():
        resource.setrlimit(limit, (value, value))
