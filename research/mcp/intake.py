"""Read a server program's output: whole lines of bounded length, in linear time, in the loop shared by all servers."""

from __future__ import annotations

import codecs
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, Final

import anyio
from anyio.streams.text import TextReceiveStream

LONGEST: Final = 10_000_000
"""Bytes of one message."""
UNASKED: Final = 20_000_000
"""Bytes that a server may write after the last request to it."""
MESSAGES: Final = 50_000
"""Messages it may write after that: each takes the loop 20 µs or more."""


class Intake:
    """How much a server has written since the last request."""

    def __init__(self, close: Callable[[], None] = lambda: None) -> None:
        """`close` ends the session, whose library would otherwise keep reading and discarding."""
        self._close = close
        self.line = 0
        """Bytes of the unfinished message."""
        self.since_asked = self.messages = 0
        self.problem = ""
        """Why nothing more is read."""

    def asked(self) -> None:
        """Reset the count: a request is sent."""
        self.since_asked = self.messages = 0

    def take(self, piece: bytes) -> None:
        """Count a piece. If it is too much, raises `anyio.BrokenResourceError`, which ends the session."""
        end = piece.rfind(b"\n")
        self.line = len(piece) - end - 1 if end >= 0 else self.line + len(piece)
        self.since_asked += len(piece)
        self.messages += piece.count(b"\n")
        if self.line > LONGEST:
            self.problem = f"it sent a message longer than {LONGEST // 10**6} MB"
        elif self.since_asked > LONGEST + UNASKED:
            self.problem = f"it sent more than {(LONGEST + UNASKED) // 10**6} MB after the last request"
        elif self.messages > MESSAGES:
            self.problem = f"it sent more than {MESSAGES:,} messages after the last request"
        if self.problem:
            self._close()
            raise anyio.BrokenResourceError


current: ContextVar[Intake | None] = ContextVar("intake of the session", default=None)


class Lines(TextReceiveStream):
    """Stands for the stream of the library's stdio client: it yields whole lines, and counts what it reads."""

    def __init__(self, transport_stream: Any, encoding: str = "utf-8", errors: str = "strict") -> None:
        super().__init__(transport_stream, encoding, errors)
        self._intake = current.get() or Intake()
        self._decode = codecs.getincrementaldecoder(encoding)(errors)
        self._begun: list[bytes] = []

    async def receive(self) -> str:
        """Return the completed lines."""
        while True:
            piece = await self.transport_stream.receive()
            self._intake.take(piece)
            whole, newline, rest = piece.rpartition(b"\n")
            if not newline:
                self._begun.append(piece)
                continue
            lines = b"".join([*self._begun, whole, newline])
            self._begun = [rest] if rest else []
            return self._decode.decode(lines)


def install() -> None:
    """Make the library's stdio client read through `Lines`."""
    from mcp.client import stdio

    stdio.TextReceiveStream = Lines  # type: ignore[attr-defined]
