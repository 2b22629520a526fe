"""Processes that take turns from the queue, and helpers that wait for them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

from research.config.settings import Settings, variable
from research.store import Store

ROOT = Path(__file__).parents[1]
LONG_S = 300.0
"""After this time, a condition will never become true."""


def until(true: Callable[[], object], within_s: float = LONG_S) -> None:
    """Wait until the condition is true."""
    end = time.monotonic() + within_s
    while not true():
        assert time.monotonic() < end, "the condition did not become true in time"
        time.sleep(0.05)


def heard(store: Store, run_id: str) -> None:
    """Wait until the process that drives the run has looked for requests: it sends a heartbeat before each look."""
    seen: set[float] = set()

    def often() -> bool:
        seen.add(store.run(run_id).heartbeat)
        return len(seen) == 4

    until(often)


def address(log: Path, server: subprocess.Popen[Any]) -> str:
    """Wait until a server of the pages has written its address to its log, and return it."""

    def told() -> re.Match[str] | None:
        return re.search(r"URL: (http://localhost:\d+)\s", log.read_text("utf-8", "replace"))

    until(lambda: told() or server.poll() is not None)
    found = told()
    assert found, f"exit status {server.poll()}: {log.read_text('utf-8', 'replace')[-3000:]}"
    return found[1]


def environment(settings: Settings, **more: str) -> dict[str, str]:
    """Return the environment of a process with these settings."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "HOME", "WORKBENCH_JUDGE") if name in os.environ}
    told = {variable(field): str(getattr(settings, field)) for field in ("engine", "runs_at_once", "runs_per_user")}
    if settings.database_url is not None:
        told["DATABASE_URL"] = settings.database_url.get_secret_value()
    return {**kept, **told, "WORKBENCH_HOME": str(settings.root), "PYTHONPATH": str(ROOT), **more}


class Listener:
    """A process that takes turns, reports them, and holds each until `let_go`; it is killed at the end."""

    def __init__(self, settings: Settings, runs: int = 8) -> None:
        self._heard: deque[tuple[str, str, str]] = deque()
        self._at_work: list[tuple[str, str]] = []
        self._news = threading.Condition()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.workers", str(runs)], env=environment(settings), cwd=ROOT,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1,
        )  # fmt: skip

    def __enter__(self) -> Listener:
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "ready\n"
        self._thread = threading.Thread(target=self._hear, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        self._thread.join()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()

    def _hear(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            what, user, run = line.rstrip("\n").split(" ")
            with self._news:
                (self._at_work.append if what == "taken" else self._at_work.remove)((user, run))
                self._heard.append((what, user, run))
                self._news.notify_all()

    def _next(self, what: str) -> tuple[str, str]:
        with self._news:
            found: list[tuple[str, str, str]] = []

            def there() -> bool:
                found[:] = [each for each in self._heard if each[0] == what]
                return bool(found)

            assert self._news.wait_for(there, LONG_S), "the condition did not become true in time"
            self._heard.remove(found[0])
            return found[0][1:]

    def taken(self) -> tuple[str, str]:
        """Return user and run of the next turn it takes."""
        return self._next("taken")

    def ended(self) -> tuple[str, str]:
        """Return user and run of the next turn it ends."""
        return self._next("ended")

    def held(self) -> list[tuple[str, str]]:
        """Return user and run of each turn it holds."""
        with self._news:
            return list(self._at_work)

    def let_go(self) -> None:
        """Let it end one of its turns."""
        assert self._process.stdin is not None
        print(file=self._process.stdin, flush=True)


def _listen(runs: int) -> None:
    from research.config.settings import load
    from research.engine.queue import listen

    go, saying = threading.Semaphore(0), threading.Lock()

    def say(*words: str) -> None:
        with saying:
            sys.stdout.write(" ".join(words) + "\n")
            sys.stdout.flush()

    def take(user: str, run: str) -> None:
        say("taken", user, run)
        go.acquire()
        say("ended", user, run)

    listen(load(), runs, take)
    say("ready")
    for _ in sys.stdin:
        go.release()


if __name__ == "__main__":
    _listen(int(sys.argv[1]))
