"""A gateway in a thread of the test process, and what its agents send."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn

from research.config.settings import load
from research.events.events import Event
from research.servers.gateway_app import Gateway, Options, listening
from research.workbench.workbench import Workbench
from tests.workers import LONG_S

TOOL = {"name": "search", "description": "Search.", "parameters": {"type": "object", "properties": {}}}


class Serving:
    """A gateway that serves, and its workbench."""

    def __init__(self, bench: Workbench, port: int) -> None:
        self.bench = bench
        self.url = f"http://127.0.0.1:{port}"

    def runs(self) -> list[str]:
        """The ids of the runs, oldest first."""
        return [row.id for row in reversed(self.bench.store.runs())]

    def events(self, run_id: str) -> list[Event]:
        return self.bench.store.events(run_id)


@contextmanager
def serving(home: Any, **options: Any) -> Iterator[Serving]:
    """Serve a gateway for the block; at its end the runs whose agents are done have ended."""
    bench = Workbench(load(home=home))
    chosen = Options(port=0, **options)
    with listening(chosen) as listener:
        config = uvicorn.Config(Gateway(bench, chosen).app(), log_level="critical", access_log=False, ws="none")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        try:
            yield Serving(bench, listener.getsockname()[1])
        finally:
            server.should_exit = True
            thread.join(LONG_S)


class Sent:
    """The hash of each body that an SDK sends: a hook for its HTTP client."""

    def __init__(self) -> None:
        self.hashes: list[str] = []

    def __call__(self, request: Any) -> None:
        self.hashes.append(digest(request.read()))


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
