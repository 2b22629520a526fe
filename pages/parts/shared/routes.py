"""The API next to the pages: `/api/health`."""

from __future__ import annotations

import time
from typing import Final

import anyio
import anyio.to_thread
import msgspec
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from research.config import users
from research.config.settings import load
from research.errors import WorkbenchError
from research.workbench import health
from research.workbench.workbench import Workbench

FRESH_S: Final = 1.0
"""More frequent requests get the same answer, so that anyone may poll it cheaply."""
LONGEST_S: Final = 2.0
"""A store that takes longer counts as unavailable."""
FIRST_S: Final = 20.0
"""The first check also imports and opens everything."""
_SILENT: Final = {
    "status": "degraded",
    "checks": {"store": {"status": "degraded", "text": "the store does not answer"}},
}


class Probe:
    """Checks the workbench of this server and those of its users; opened once, read-only."""

    def __init__(self) -> None:
        self._turn = anyio.CapacityLimiter(1)
        self._benches: dict[str, Workbench] = {}
        self._last: tuple[float, tuple[int, object]] | None = None

    async def answer(self, request: Request) -> JSONResponse:
        status, body = 503, _SILENT
        with anyio.move_on_after(LONGEST_S if self._last else FIRST_S):
            status, body = await anyio.to_thread.run_sync(self._look, abandon_on_cancel=True, limiter=self._turn)
        return JSONResponse(body, status, {"Cache-Control": "no-store"})

    def _look(self) -> tuple[int, dict[str, object]]:
        if self._last and time.monotonic() - self._last[0] < FRESH_S:
            return self._last[1]
        try:
            first, *others = self._open()
            found = health.check(first, others)
            body = msgspec.to_builtins(found)
            answer = (200 if body.pop("serving") else 503, body)
        except WorkbenchError:  # the error text contains paths, which only users of the page may see
            wrong = {"status": "degraded", "text": "the workbench cannot be opened; the page says why"}
            answer = (503, {"status": "degraded", "checks": {"store": wrong}})
        self._last = (time.monotonic(), answer)
        return answer

    def _open(self) -> list[Workbench]:
        if "" not in self._benches:
            self._benches[""] = Workbench(load())
        settings = self._benches[""].settings
        for user in users.known_users(settings):
            if user not in self._benches:
                self._benches[user] = Workbench(users.settings_for(settings, user))
        return list(self._benches.values())


def routes() -> list[Route]:
    return [Route("/api/health", Probe().answer)]
