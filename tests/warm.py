"""Processes of the command line that start warm: they skip a second of imports and of testing the sandbox.

`python -m tests.warm FD` does that once, and forks a child for each message on a socket.  A child is a real process: it
has its own environment, folder, threads and output, and dies by real signals.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

ROOT = Path(__file__).parents[1]
_LONGEST = 1 << 20
_COMMAND = "import sys; from research.cli.main import main; sys.exit(main())"


class Process:
    """A running command, with what the tests use of `subprocess.Popen`."""

    def __init__(self, stdout: IO[str], stderr: IO[str], state: IO[str]) -> None:
        self.stdout, self.stderr = stdout, stderr
        self.returncode: int | None = None
        self._state = state
        self.pid = int(state.readline())

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def poll(self) -> int | None:
        return self.returncode if self.returncode is not None or not _ready(self._state, 0) else self.wait()

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            assert _ready(self._state, timeout), f"the process has not ended after {timeout} s"
            with self._state:
                self.returncode = int(self._state.readline())
        return self.returncode

    def communicate(self) -> tuple[str, str]:
        """Return the rest of both outputs when the process has ended."""
        with ThreadPoolExecutor(2) as pool, self.stdout, self.stderr:
            said, errors = pool.map(lambda output: output.read(), (self.stdout, self.stderr))
        self.wait()
        return said, errors


class Warm:
    """The parent of warm processes."""

    def __init__(self) -> None:
        self._link, theirs = socket.socketpair()
        with theirs:
            self._parent = subprocess.Popen(
                [sys.executable, "-m", "tests.warm", str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
            )

    def start(
        self,
        words: Sequence[str],
        *,
        cwd: Path,
        environment: Mapping[str, str],
        code: str = _COMMAND,
        stderr: IO[str] | None = None,
    ) -> Process:
        """Start the command line with these words; `code` is run instead of it, and `stderr` is a file for its errors."""
        pipes = [os.pipe() for _ in range(3)]
        order = {"words": list(words), "cwd": str(cwd), "environment": dict(environment), "code": code}
        theirs = [theirs for _, theirs in pipes]
        if stderr is not None:
            os.dup2(stderr.fileno(), theirs[1])
        socket.send_fds(self._link, [json.dumps(order).encode()], theirs)
        for each in theirs:
            os.close(each)
        return Process(*(os.fdopen(ours, encoding="utf-8") for ours, _ in pipes))

    def run(
        self, words: Sequence[str], *, cwd: Path, environment: Mapping[str, str], code: str = _COMMAND
    ) -> subprocess.CompletedProcess[str]:
        process = self.start(words, cwd=cwd, environment=environment, code=code)
        said, errors = process.communicate()
        return subprocess.CompletedProcess(list(words), process.wait(), said, errors)

    def close(self) -> None:
        self._link.close()
        self._parent.wait()


def _ready(state: IO[str], within_s: float | None) -> bool:
    return bool(select.select([state], [], [], within_s)[0])


def _load() -> None:
    """Do what every run does first, as long as it starts no thread and registers no plug-in."""
    import dbos  # noqa: F401
    import filelock  # noqa: F401
    import httpx2  # noqa: F401
    import jsonschema  # noqa: F401

    import research.agent.toolbox
    import research.cli.main
    import research.cli.watch
    import research.exports.progress
    import research.models.openai
    import research.search.web
    import research.store.sqlite
    import research.workbench.workbench  # noqa: F401
    from research.models.extractive import ExtractiveModel
    from research.sandbox import interpreter
    from research.store.database import new_migrations
    from research.types import Message, Request

    interpreter.state()
    new_migrations("")
    list(ExtractiveModel().stream(Request([Message("user", "What is the population of Japan?")])))
    assert threading.active_count() == 1, "a fork would lose the other threads"


def _main(link: socket.socket) -> None:
    """Fork for each message; the fork forks again, so that it can report how its child ends."""
    _load()
    while True:
        message, files, *_ = socket.recv_fds(link, _LONGEST, 3)
        if not message:
            break
        if not os.fork():
            link.close()
            _report(json.loads(message), *files)
        for file in files:
            os.close(file)
    with suppress(ChildProcessError):
        while True:
            os.wait()


def _report(order: dict[str, Any], stdout: int, stderr: int, state: int) -> None:
    child = os.fork()
    if not child:
        os.close(state)
        os.dup2(stdout, 1)
        os.dup2(stderr, 2)
        os.close(stdout)
        os.close(stderr)
        os.chdir(order["cwd"])
        os.environ.clear()
        os.environ.update(order["environment"])
        sys.argv = ["-c", *order["words"]]
        exec(order["code"], {"__name__": "__main__"})
        sys.exit()
    os.write(state, b"%d\n" % child)
    for file in (stdout, stderr):
        os.close(file)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    os.write(state, b"%d\n" % status)
    os._exit(0)


if __name__ == "__main__":
    _main(socket.socket(fileno=int(sys.argv[1])))
