"""A process of its own for work on what strangers wrote: empty environment, three pipes, limits, and a sure end."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from research import cancel
from research.errors import Stopped

PROCESS_MEMORY = 2 * 2**30
"""Bytes of address space of each process set apart."""

OUTPUT_BYTES = 256 * 2**20
"""Most that is taken from a process, unless the caller says less."""

_PIECE = 64 * 1024


class ProcessDied(ChildProcessError):
    """A process set apart failed; `status` is as `subprocess` tells it, below 0 for a signal."""

    def __init__(self, module: str, status: int) -> None:
        told = f"was killed by {signal.Signals(-status).name}" if status < 0 else f"ended with status {status}"
        super().__init__(f"{module} {told}")
        self.status = status


def run_apart(
    module: str,
    data: bytes,
    *arguments: str,
    timeout_s: float,
    output_bytes: int = OUTPUT_BYTES,
    stop: threading.Event | None = None,
) -> bytes:
    """Run `python -m module arguments` over `data` on stdin in a process of its own; return its stdout.

    Raises `TimeoutError` after `timeout_s` seconds, `Stopped` soon after `stop` is set or `cancel.check` raises it, and
    `ChildProcessError` when the process fails or says more than `output_bytes`.  Whatever it started is killed with it.
    """
    if sys.platform == "win32":
        raise ChildProcessError("processes cannot be confined on Windows; run the workbench on Linux or macOS")
    process = subprocess.Popen(
        [sys.executable, "-B", "-m", module, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={},
        cwd=Path(__file__).parents[2],  # where `-m` finds this package
        start_new_session=True,
    )
    with process:
        try:
            output = _Exchange(process, module, timeout_s, output_bytes, stop).run(data)
        finally:
            _kill_group(process.pid)
    if process.returncode:
        raise ProcessDied(module, process.returncode)
    return output


class _Exchange:
    """Feeds a process and reads it until it has ended, within all bounds."""

    def __init__(
        self, process: subprocess.Popen[bytes], module: str, timeout_s: float, limit: int, stop: threading.Event | None
    ) -> None:
        self._process = process
        self._module = module
        self._timeout_s = timeout_s
        self._deadline = time.monotonic() + timeout_s
        self._limit = limit
        self._stop = stop

    def run(self, data: bytes) -> bytes:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None and stdout is not None  # both are pipes
        output, left = bytearray(), memoryview(data)
        os.set_blocking(stdin.fileno(), False)
        with selectors.DefaultSelector() as selector:
            selector.register(stdin, selectors.EVENT_WRITE)
            selector.register(stdout, selectors.EVENT_READ)
            while selector.get_map():
                for key, _ in selector.select(self._patience()):
                    if key.fileobj is stdout:
                        piece = os.read(stdout.fileno(), _PIECE)
                        output += piece
                        if not piece:
                            selector.unregister(stdout)
                        elif len(output) > self._limit:
                            raise ChildProcessError(f"{self._module} said more than {self._limit / 1e6:g} MB")
                        continue
                    try:
                        left = left[os.write(stdin.fileno(), left[:_PIECE]) :]
                    except BrokenPipeError:  # it does not want the rest
                        left = left[:0]
                    if not left:
                        selector.unregister(stdin)
                        stdin.close()
        while self._process.poll() is None:  # it may close its end and stay
            try:
                self._process.wait(self._patience())
            except subprocess.TimeoutExpired:
                continue
        return bytes(output)

    def _patience(self) -> float:
        """Seconds until it is time to look around again."""
        cancel.check()
        if self._stop is not None and self._stop.is_set():
            raise Stopped(f"{self._module} was stopped")
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError(f"{self._module} took more than {self._timeout_s:g} s")
        return min(left, cancel.ASK_EVERY_S)


def _kill_group(leader: int) -> None:
    try:
        os.killpg(leader, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):  # the latter on macOS, when only zombies are left
        return  # all of it has ended already


def confine(seconds: float, memory: int = PROCESS_MEMORY) -> None:
    """Called by a process set apart before it touches anything: it can only ever have less from here on.

    `seconds` bounds its processor time, so that it also ends when nobody is left to kill it; `memory` is in bytes of
    address space.
    """
    import resource

    os.chdir("/")
    limits = {
        resource.RLIMIT_CPU: int(seconds) + 1,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_NOFILE: 64,
    }
    if sys.platform == "linux":  # macOS refuses to bound the address space
        limits[resource.RLIMIT_AS] = memory
    for limit, value in limits.items():
        resource.setrlimit(limit, (value, value))
