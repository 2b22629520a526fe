"""Connections whose reads end when the call is cancelled, and that receive no more than a response may have."""

from __future__ import annotations

import time
from collections.abc import Iterable
from math import inf
from ssl import SSLContext
from typing import Any, Final

import httpcore2
import httpx2

from research._util import egress
from research._util.network import read_before

MOST_BYTES: Final = 80_000_000
"""Bytes that are received for one request, with its headers: a server may send those, too, without end."""


def watch(transport: httpx2.HTTPTransport) -> None:
    """Let the connections that a transport opens from now on be watched."""
    pool: Any = transport._pool
    pool._network_backend = _Network(pool._network_backend)


class _Network(httpcore2.NetworkBackend):
    def __init__(self, inner: httpcore2.NetworkBackend) -> None:
        self._inner = inner

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.NetworkStream:
        return _Stream(self._inner.connect_tcp(host, port, timeout, local_address, socket_options))

    def sleep(self, seconds: float) -> None:
        self._inner.sleep(seconds)


class _Stream(httpcore2.NetworkStream):
    def __init__(self, inner: httpcore2.NetworkStream) -> None:
        self._inner = inner
        self._received = 0
        """Bytes since the last write."""

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        data = read_before(self._inner, max_bytes, inf if timeout is None else time.monotonic() + timeout)
        self._received += len(data)
        if self._received > MOST_BYTES:
            raise httpcore2.ReadError(f"more than {MOST_BYTES // 10**6} MB for one request")
        return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._received = 0
        egress.count(len(buffer))
        self._inner.write(buffer, timeout)

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self, ssl_context: SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.NetworkStream:
        return _Stream(self._inner.start_tls(ssl_context, server_hostname, timeout))

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)
