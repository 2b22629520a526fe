"""Connections that stop reading when the call is cancelled or a response is too large."""

from __future__ import annotations

import time
from math import inf
from ssl import SSLContext
from typing import Any, Final

import httpcore2
import httpx2

from research._util import cancel, egress

MOST_BYTES: Final = 80_000_000
"""Most bytes received for one request, headers included: those can be endless too."""


def watch(transport: httpx2.HTTPTransport) -> None:
    """Watch the connections that a transport opens from now on."""
    pool: Any = transport._pool
    pool._network_backend = _Network(pool._network_backend)


class _Network(httpcore2.NetworkBackend):
    def __init__(self, inner: httpcore2.NetworkBackend) -> None:
        self._inner = inner

    def connect_tcp(self, *arguments: Any, **options: Any) -> httpcore2.NetworkStream:
        return WatchedStream(self._inner.connect_tcp(*arguments, **options))

    def sleep(self, seconds: float) -> None:
        self._inner.sleep(seconds)


class WatchedStream(httpcore2.NetworkStream):
    """A connection that is watched."""

    def __init__(self, inner: httpcore2.NetworkStream, deadline: float = inf) -> None:
        """`deadline`: when every wait ends, by the monotonic clock; a slow trickle of bytes cannot prolong it."""
        self._inner = inner
        self._received = 0
        """Bytes since the last write."""
        self._deadline = self.until = deadline
        """Reading ends then, too; each request resets it."""

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        until = self.until if timeout is None else min(self.until, time.monotonic() + timeout)
        data = _read_before(self._inner, max_bytes, until)
        self._received += len(data)
        if self._received > MOST_BYTES:
            raise httpcore2.ReadError(f"more than {MOST_BYTES // 10**6} MB for one request")
        return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._received, self.until = 0, self._deadline
        egress.count(len(buffer))
        self._inner.write(buffer, self._within(timeout))

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self, ssl_context: SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.NetworkStream:
        inner = self._inner.start_tls(ssl_context, server_hostname, self._within(timeout))
        return WatchedStream(inner, self._deadline)

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)

    def _within(self, timeout: float | None) -> float | None:
        return timeout if self._deadline == inf else remaining(self._deadline)


def _read_before(stream: httpcore2.NetworkStream, max_bytes: int, deadline: float) -> bytes:
    """Read until the deadline, by the monotonic clock, or until the call is cancelled."""
    while True:
        left = remaining(deadline)
        try:
            return stream.read(max_bytes, min(left, cancel.CHECK_EVERY_S))
        except httpcore2.ReadTimeout:
            continue


def remaining(deadline: float) -> float:
    """Return the seconds until then.  Raises `httpcore2.ReadTimeout` if there are none, and `Stopped`."""
    cancel.check()
    seconds = deadline - time.monotonic()
    if seconds <= 0:
        raise httpcore2.ReadTimeout("no time left")
    return seconds
