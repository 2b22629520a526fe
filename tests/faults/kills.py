"""Processes that work on a run and are killed at a chosen point.

`python -m tests.faults.kills` is a warm parent: it imports what a run needs and forks a child for each line on standard
input, so a child starts in milliseconds.  The children are real processes and die by a real SIGKILL: the provider sends
it in the middle of a reply or of a tool call, or the child sends it to itself after an event or during a commit.
"""

from __future__ import annotations

import json
import os
import random
import select
import signal
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import msgspec

from research.agent.context import RunContext
from research.config.settings import load
from research.events.events import Event, decode, encode
from research.events.recipe import Recipe
from research.store.commits import BUFFERED
from research.types import Passage, ToolOutput, ToolSpec
from research.workbench.workbench import Workbench
from tests.fake_openai import Body, FakeOpenAI, FakeReply
from tests.player import QUESTION

ROOT = Path(__file__).parents[2]
FRAMEWORKS = {
    "react": 1, "tool_rounds": 1, "iter_research": 1, "rewoo": 3, "reflexion": 1, "parallel": 3, "supervisor": 2,
}  # fmt: skip
"""How many calls of one kind each framework can have in flight at once."""
LAPS = 3
WHERE = ("event", "stream", "tool", "commit")


class Point(msgspec.Struct, frozen=True):
    """Where a process is killed."""

    where: Literal["event", "stream", "tool", "commit", "never"] = "never"
    n: int = 1
    """Counted from 1 in this process."""
    after: float = 0
    """How far into it: events of the stream, or seconds of the commit."""


NEVER = Point()


class Order(msgspec.Struct, frozen=True):
    """What a child process does."""

    home: str
    base_url: str
    run_id: str
    said: str
    """File that gets each event as soon as it is acknowledged, then the reason if the process ends without being killed."""
    how: Literal["run", "resume", "tend"] = "run"
    framework: str = "react"
    point: Point = NEVER


class Look:
    """A search tool that asks the provider's server, which counts its calls."""

    timeout_s = 60.0
    spec = ToolSpec(
        "search", "Look something up.",
        {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]},
    )  # fmt: skip

    def __init__(self, base_url: str) -> None:
        self._url = base_url.removesuffix("/v1") + Provider.look

    def __call__(self, *args: Any, query: str = "", **arguments: Any) -> ToolOutput:
        with urllib.request.urlopen(f"{self._url}?{urllib.parse.quote(query)}", timeout=60) as answer:
            found = json.load(answer)
        url = f"https://example.org/{urllib.parse.quote(query)}"
        return ToolOutput(passages=(Passage(url, query, found["quote"]),))


class Bench(Workbench):
    """A workbench whose only tool is `Look`, without an encoder."""

    def __init__(self, home: Path, base_url: str) -> None:
        super().__init__(load(home=home))
        self.settings.openai_base_url = base_url

    def _tools(self, recipe: Recipe, stop: threading.Event) -> Iterator[Look]:
        yield Look(self.settings.openai_base_url or "")

    def context_for(self, *args: Any) -> RunContext:
        made = super().context_for(*args)
        made.embedder = None
        return made


class Provider(FakeOpenAI):
    """A provider that counts one process's requests and lookups, and kills it at `point`."""

    look = "/v1/look"
    paths = (*FakeOpenAI.paths, look)

    def __init__(self, play: Callable[[Body], FakeReply], point: Point = NEVER) -> None:
        super().__init__(self._replied)
        self.asked_for = self.looked_up = 0
        self.first: float | None = None
        """Time of the first request, in seconds since the epoch."""
        self.life: Life | None = None
        self._play, self._point, self._counting = play, point, threading.Lock()

    def _replied(self, body: Body) -> FakeReply:
        reply = self._play(body)
        with self._counting:
            self.asked_for += 1
            number, self.first = self.asked_for, self.first or time.time()
        if self._point.where == "stream" and number == self._point.n:
            last = len(list(self.events(reply, body))) - 1
            return replace(reply, gate=self, gate_after=min(int(self._point.after), last))  # type: ignore[arg-type]
        return reply

    def wait(self, timeout_s: float) -> None:
        """Kill the process: the server calls this when it reaches the gate in the middle of a reply."""
        self._end()

    def listed(self, query: str) -> Any:
        with self._counting:
            self.looked_up += 1
            number = self.looked_up
        if self._point.where == "tool" and number == self._point.n:
            self._end()
        return {"quote": f"{urllib.parse.unquote(query)}: Japan has 123,201,945 people."}

    def _end(self) -> None:
        assert self.life is not None
        self.life.kill()


class Life:
    """One process that works on a run."""

    def __init__(self, order: Order, pid: int) -> None:
        self.order, self.started = order, time.time()
        self._pid = pid

    def kill(self) -> None:
        """Send SIGKILL and wait until the process is gone."""
        os.kill(self._pid, signal.SIGKILL)
        self.over()

    def over(self, timeout_s: float = 120) -> None:
        """Wait until the process is gone."""
        try:
            handle = os.pidfd_open(self._pid)
        except ProcessLookupError:
            return
        try:
            assert select.select([handle], [], [], timeout_s)[0], (
                f"the process is still running after {timeout_s:.0f} s"
            )
        finally:
            os.close(handle)

    @property
    def said(self) -> tuple[list[Event], str]:
        """Return the acknowledged events, and why the process ended; the reason is empty if it was killed."""
        path = Path(self.order.said)
        lines = (
            path.read_text(encoding="utf-8").split("\n")[:-1] if path.exists() else []
        )  # the last line may be incomplete
        events = [decode(line) for line in lines if line.startswith("{")]
        return events, next((line for line in lines if not line.startswith("{")), "")


class Warm:
    """The warm parent."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process, self._lock = process, threading.Lock()

    def __call__(self, order: Order, provider: Provider | None = None) -> Life:
        """Start a child with this order; `provider` kills it."""
        assert self._process.stdin is not None and self._process.stdout is not None
        with self._lock:
            self._process.stdin.write(msgspec.json.encode(order).decode() + "\n")
            self._process.stdin.flush()
            life = Life(order, int(self._process.stdout.readline()))
        if provider is not None:
            provider.life = life
        return life


@contextmanager
def warmed() -> Iterator[Warm]:
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "HOME") if name in os.environ}
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.faults.kills"], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env={**kept, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1", "WORKBENCH_JUDGE": "off"},
    )  # fmt: skip
    try:
        yield Warm(process)
    finally:
        process.communicate(timeout=120)


def anywhere(random_: random.Random, events: int, *, early: bool = False) -> Point:
    """Return a random point in a process that would append `events` events; `early`: while it resumes the run."""
    where = random_.choice(WHERE)
    most = 2 if early else max(2, events // 4)
    if where == "event":
        return Point(where, random_.randint(1, 3 if early else max(3, events - 2)))
    if where == "stream":
        return Point(where, random_.randint(1, 1 if early else most), random_.randint(0, 40))
    if where == "tool":
        return Point(where, random_.randint(1, 1 if early else 2))
    return Point(where, random_.randint(1, 2 if early else max(3, events // 2)), random_.uniform(0, 0.004))


def committed(events: Sequence[Event]) -> list[Event]:
    """Return the events whose commit the appender waited for."""
    return [event for event in events if not isinstance(event, BUFFERED)]


# -- in the warm parent and its children -------------------------------------------------------------------------------


@dataclass
class _Watch:
    """Kills this process during its n-th commit."""

    point: Point
    commits: int = 0

    def traced(self, statement: str) -> None:
        self.commits += statement.startswith("COMMIT")
        if statement.startswith("COMMIT") and self.commits == self.point.n:
            threading.Thread(target=self._soon, daemon=True).start()

    def _soon(self) -> None:
        time.sleep(self.point.after)
        _die()


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _live(order: Order) -> None:
    said = os.open(order.said, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    bench = Bench(Path(order.home), order.base_url)
    if order.point.where == "commit":
        bench.store._db.conn.set_trace_callback(_Watch(order.point).traced)
    if order.how == "tend":
        bench.engine.reclaimer.watch()
        os.write(said, b"tends\n")
        threading.Event().wait(120)
        return
    if order.how == "run":
        options = {"framework.n": 3} if order.framework == "parallel" else {}
        recipe = bench.recipe(framework=order.framework, model="openai:fake", tools=["search"], options=options)
        events = bench.engine.start(QUESTION, recipe, order.run_id, here=True).events()
    else:
        events = bench.engine.resume(order.run_id, here=True).events()
    for number, event in enumerate(events, 1):
        os.write(said, encode(event) + b"\n")
        if order.point.where == "event" and number == order.point.n:
            _die()
    os.write(said, b"over\n")


def _main() -> None:
    import concurrent.futures.thread  # noqa: F401 - load what a run needs before forking
    import sqlite3  # noqa: F401

    import filelock  # noqa: F401
    import httpx2  # noqa: F401
    import sqlite_utils.migrations  # noqa: F401

    import research.models.openai  # noqa: F401
    from research import plugins

    for kind in (plugins.framework, plugins.context, plugins.provider):
        kind.all()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel reaps the children
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            status, order = 1, msgspec.json.decode(line, type=Order)
            try:
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                os.close(0)
                os.close(1)
                _live(order)
                status = 0
            except BaseException as error:  # noqa: BLE001 - the test reads it from the file
                with Path(order.said).open("a", encoding="utf-8") as file:
                    file.write(f"{type(error).__name__}: {error}".replace("\n", " ") + "\n")
            finally:
                os._exit(status)
        os.write(1, b"%d\n" % pid)


if __name__ == "__main__":
    _main()
