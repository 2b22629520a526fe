"""Sealed processes that start within milliseconds: each is forked from a warm process, which imports and never reads.

The warm process runs `serve` and gets only short requests; a request's data goes through a pipe to the process forked
for it, which is sealed before it reads a byte. So nothing of one request reaches the next, whatever it does to its
process.
"""

from __future__ import annotations

import atexit
import gc
import os
import selectors
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.machinery import BuiltinImporter, FrozenImporter
from pathlib import Path

import msgspec
from msgspec import Struct

from research._util import cancel, decoding
from research.sandbox import linux
from research.sandbox.process import OUTPUT_BYTES, Exchange, ProcessDied, confine, kill_group

START_S = 60.0
"""Seconds allowed for the imports of a warm process, which no untrusted input delays."""

IDLE_S = 300.0
"""Seconds after which an unused warm process ends."""

_KEPT = 2
"""Most warm processes that wait for work."""

_REQUEST_BYTES = 4096
_FORKED = b"f"
_STATUS_BYTES = 4


class _Request(Struct, frozen=True):
    arguments: tuple[str, ...]
    timeout_s: float


# In the app


class WarmProcesses:
    """Runs the work of one module in sealed processes.  Safe for threads; each call gets a process of its own."""

    def __init__(self, module: str) -> None:
        """`module` calls `serve` when it is run."""
        self._module = module
        self._guard = threading.Lock()
        self._idle: list[_Warm] = []
        if sys.platform != "win32":
            os.register_at_fork(after_in_child=self._forget)
            atexit.register(self.close)

    def run(self, data: bytes, *arguments: str, timeout_s: float, output_bytes: int = OUTPUT_BYTES) -> bytes:
        """Return the result of the module's work on `data`.

        Raises `TimeoutError` after `timeout_s` seconds, `Stopped` soon after `cancel.check` raises it, and
        `ChildProcessError` when the work fails or writes more than `output_bytes`.
        """
        if sys.platform == "win32":
            raise ChildProcessError("processes cannot be confined on Windows; run the workbench on Linux or macOS")
        while True:
            warm = self._take()
            try:
                if not warm.ask(_Request(arguments, timeout_s)):
                    warm.close()  # it has ended, as after `IDLE_S`
                    continue
                output, status = warm.answer(data, timeout_s, output_bytes)
            except BaseException:
                warm.close()
                raise
            self._give_back(warm)
            if status:
                raise ProcessDied(self._module, status)
            return output

    def close(self) -> None:
        """End the warm processes that wait for work."""
        with self._guard:
            idle, self._idle = self._idle, []
        for each in idle:
            each.close()

    def _take(self) -> _Warm:
        with self._guard:
            if self._idle:
                return self._idle.pop()
        return _Warm(self._module)

    def _give_back(self, warm: _Warm) -> None:
        with self._guard:
            if len(self._idle) < _KEPT:
                self._idle.append(warm)
                return
        warm.close()

    def _forget(self) -> None:
        """In a forked child, forget the parent's warm processes."""
        self._guard = threading.Lock()
        self._parents = self._idle  # keep them: a destructor would look for the parent's processes
        for each in self._parents:
            each.leave()
        self._idle = []


class _Warm:
    """The app's end of one warm process."""

    def __init__(self, module: str) -> None:
        self._module = module
        self._control, theirs = socket.socketpair()
        self._control.settimeout(cancel.CHECK_EVERY_S)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-B", "-m", module],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={},
                cwd=Path(__file__).parents[2],  # so that `-m` finds this package
                start_new_session=True,
            )
        self._fresh = True
        self._pipes: tuple[int, int] = (-1, -1)

    def ask(self, request: _Request) -> bool:
        """Have a process forked for a request; return False if the warm process is gone."""
        theirs_in, ours_out = os.pipe()
        ours_in, theirs_out = os.pipe()
        self._pipes = ours_out, ours_in
        try:
            socket.send_fds(self._control, [msgspec.json.encode(request)], [theirs_in, theirs_out])
            forked = self._received(len(_FORKED), START_S)
        except (BrokenPipeError, ConnectionResetError):
            forked = b""
        finally:
            os.close(theirs_in)
            os.close(theirs_out)
        if not forked and self._fresh:
            raise ProcessDied(self._module, self._process.wait())
        self._fresh = False
        return bool(forked)

    def answer(self, data: bytes, timeout_s: float, output_bytes: int) -> tuple[bytes, int]:
        """Return the output and exit status of the forked process."""
        ours_out, ours_in = self._pipes
        self._pipes = (-1, -1)
        deadline = time.monotonic() + timeout_s
        with os.fdopen(ours_out, "wb", 0) as stdin, os.fdopen(ours_in, "rb", 0) as stdout:
            output = Exchange(stdin, stdout, self._module, timeout_s, output_bytes).run(data)
        status = self._received(_STATUS_BYTES, max(0.0, deadline - time.monotonic()))
        if not status:
            raise ProcessDied(self._module, self._process.wait())
        return output, int.from_bytes(status, "big", signed=True)

    def close(self) -> None:
        """End the warm process and its forks."""
        for each in self._pipes:
            if each >= 0:
                os.close(each)
        self._pipes = (-1, -1)
        self.leave()
        kill_group(self._process.pid)
        self._process.wait()

    def leave(self) -> None:
        """Close this process's end; the warm process ends once no process has one."""
        self._control.close()

    def _received(self, size: int, timeout_s: float) -> bytes:
        """Return the next message; empty if the warm process has ended.  Raises `Stopped` and `TimeoutError`."""
        deadline = time.monotonic() + timeout_s
        while True:
            cancel.check()
            try:
                return self._control.recv(size)
            except TimeoutError:
                if time.monotonic() > deadline:
                    raise TimeoutError(f"{self._module} took more than {timeout_s:g} s") from None


# In the warm process


def serve(prepare: Callable[..., None], work: Callable[..., bytes]) -> None:
    """Answer requests until the app is gone, or no request came for `IDLE_S` seconds.

    `prepare(*arguments)` imports and opens here what `work(data, *arguments)` will need in a sealed process, where it can
    open nothing.  If the kernel cannot seal, only the limits of `confine` apply.
    """
    control = socket.socket(fileno=os.dup(0))
    control.settimeout(IDLE_S)
    with _child_ends() as ended:
        while True:
            try:
                message, pipes, _, _ = socket.recv_fds(control, _REQUEST_BYTES, 2)
            except TimeoutError:
                return
            if not message:
                return
            request = decoding.decode(message, _Request)
            prepare(*request.arguments)
            gc.freeze()  # a collection would touch, and so copy, all pages that are shared with the child
            child = os.fork()
            if child == 0:
                _work_sealed(pipes, request, work)
            for each in pipes:
                os.close(each)
            control.send(_FORKED)
            status = _status(child, control, ended)
            control.send(status.to_bytes(_STATUS_BYTES, "big", signed=True))


@contextmanager
def _child_ends() -> Iterator[int]:
    """Yield a file that becomes readable when a child process ends."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    os.set_blocking(reading, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(writing)
    yield reading


def _status(child: int, control: socket.socket, ended: int) -> int:
    """Wait for the end of the child and return its status as in `subprocess`; kill it once the app has gone."""
    while True:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return os.waitstatus_to_exitcode(status)
        with selectors.DefaultSelector() as selector:
            selector.register(ended, selectors.EVENT_READ)
            selector.register(control, selectors.EVENT_READ)
            ready = {key.fileobj for key, _ in selector.select()}
        if ended in ready:
            os.read(ended, 512)
        if control in ready:  # the app sends nothing before it has the status, so this is the end of the app
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            sys.exit()


def _work_sealed(pipes: list[int], request: _Request, work: Callable[..., bytes]) -> None:
    """Seal this process, then read, work and answer.  Does not return."""
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for ours, standard in zip(pipes, (0, 1), strict=True):
            os.dup2(ours, standard)
        os.closerange(3, os.sysconf("SC_OPEN_MAX"))
        confine(request.timeout_s)
        try:
            linux.seal()
            sys.meta_path[:] = [BuiltinImporter, FrozenImporter]  # the others would look for files
        except OSError:
            pass  # the limits apply nevertheless; `doctor` reports it
        data = bytearray()
        while piece := os.read(0, 1 << 20):
            data += piece
        left = memoryview(work(bytes(data), *request.arguments))
        while left:
            left = left[os.write(1, left) :]
        os._exit(0)
    finally:
        os._exit(1)
