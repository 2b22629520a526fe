"""An answer on its way from the endpoint to the agent: it is received in full even if the agent hangs up."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from typing import Any

Headers = list[tuple[str, str]]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


class Flow:
    """The pieces of an answer.  One event loop fills and reads it."""

    def __init__(self) -> None:
        self.status = 0
        """0 before the answer begins."""
        self.headers: Headers = []
        self.pieces: list[bytes] = []
        self.done = False
        """Whether it is complete or lost."""
        self.lost = False
        """Whether it broke off after its start."""
        self.readers = 0
        """Agents waiting for it."""
        self._changed = asyncio.Event()

    def begin(self, status: int, headers: Headers) -> None:
        """Set status and headers."""
        self.status, self.headers = status, headers
        self._tell()

    def push(self, piece: bytes) -> None:
        """Add bytes."""
        if piece:
            self.pieces.append(piece)
            self._tell()

    def end(self) -> None:
        """Mark the answer as complete."""
        self.done = True
        self._tell()

    def cut(self) -> None:
        """Mark the answer as broken off."""
        self.lost = not self.done
        self.end()

    def whole(self, status: int, headers: Headers, body: bytes) -> None:
        """Set the whole answer at once."""
        self.begin(status, headers)
        self.push(body)
        self.end()

    def _tell(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    async def deliver(self, receive: Receive, send: Send, *, streamed: bool) -> bool:
        """Send the answer to an agent; return whether it got all of it."""
        gone = asyncio.create_task(_hung_up(receive))
        gone.add_done_callback(lambda _: self._tell())
        self.readers += 1
        try:
            return await self._deliver(gone, send, streamed)
        finally:
            self.readers -= 1
            gone.cancel()
            with suppress(asyncio.CancelledError):
                await gone

    async def _deliver(self, gone: asyncio.Task[None], send: Send, streamed: bool) -> bool:
        while not (self.done or (streamed and self.status)):
            if await self._wait(gone):
                return False
        if self.lost and not self.status:
            return False
        headers = self.headers
        if self.done and not self.lost:
            headers = [*headers, ("content-length", str(sum(map(len, self.pieces))))]
        await send(_start(self.status, headers))
        sent = 0
        while True:
            body = b"".join(self.pieces[sent:])
            sent, over = len(self.pieces), self.done
            if over and self.lost:
                return False  # the server closes the connection, which tells the agent that the end is missing
            if body or over:
                await send({"type": "http.response.body", "body": body, "more_body": not over})
            if over:
                return not gone.done()
            if sent == len(self.pieces) and not self.done and await self._wait(gone):
                return False

    async def _wait(self, gone: asyncio.Task[None]) -> bool:
        """Wait for a change; return whether the agent hung up."""
        if not gone.done():
            await self._changed.wait()
        return gone.done()


async def _hung_up(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _start(status: int, headers: Headers) -> MutableMapping[str, Any]:
    encoded = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]
    return {"type": "http.response.start", "status": status, "headers": encoded}
