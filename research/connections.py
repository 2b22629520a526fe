"""Connections to model services: shared by all runs of a process, and kept for the next request."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache, lru_cache
from socket import SHUT_RDWR
from ssl import SSLContext
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import httpx2

END_S = 0.25
"""How long the end of a complete reply is waited for."""


@cache
def trusted() -> SSLContext:
    """The certificates that are trusted: reading them takes longer than most answers."""
    import httpx2

    return httpx2.create_ssl_context()


@lru_cache(maxsize=64)
def client(url: str, headers: tuple[tuple[str, str], ...], timeout_s: float) -> httpx2.Client:
    """The client of one service with one key.  Safe for threads.

    As many connections as there are requests at once: what limits these is the budget of a run and the settings of the
    workers, never a queue that nobody sees.
    """
    import httpx2

    return httpx2.Client(
        base_url=url, headers=dict(headers), timeout=httpx2.Timeout(timeout_s, connect=min(timeout_s, 10)),
        limits=httpx2.Limits(max_connections=None, max_keepalive_connections=None, keepalive_expiry=30), verify=trusted(),
    )  # fmt: skip


def ended(response: httpx2.Response, rest: Iterator[object]) -> bool:
    """Read on to the end of a reply that is complete, so that its connection serves the next request too.

    False: the server keeps it open.  After a moment it was hung up.
    """
    import httpx2

    # The reply is whole; only its connection may be lost.
    with _LATE.watching(response) as late, suppress(httpx2.RequestError):
        deque(rest, 0)
    return not late.is_set()


class _Late:
    """Hangs up on replies that do not end: nothing else calls away who reads from a socket.

    One thread for all of them, while there are any; one for each would cost more than the reading.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # By reader: where one has just read to the end, the next already reads a reply of the same connection.
        self._read: dict[threading.Event, tuple[float, httpx2.Response]] = {}
        self._thread: threading.Thread | None = None

    @contextmanager
    def watching(self, response: httpx2.Response) -> Iterator[threading.Event]:
        """Hang up when this takes too long; the event says that it did."""
        late = threading.Event()
        with self._lock:
            if self._thread is None:
                thread = threading.Thread(target=self._watch, name="replies-that-end", daemon=True)
                thread.start()  # it waits for the lock, and finds something to do
                self._thread = thread
            self._read[late] = time.monotonic() + END_S, response
        try:
            yield late
        finally:
            with self._lock:
                del self._read[late]

    def _watch(self) -> None:
        while True:
            time.sleep(END_S / 2)
            with self._lock:
                if not self._read:
                    self._thread = None
                    return
                now = time.monotonic()
                for late, (until, response) in self._read.items():
                    # One that is closed was read to its end: its connection may be somebody else's by now.
                    if now > until and not late.is_set() and not response.is_closed:
                        late.set()
                        connection = response.extensions["network_stream"].get_extra_info("socket")
                        # Closing a socket does not wake up who reads from it.
                        with suppress(OSError):  # the server was quicker
                            connection.shutdown(SHUT_RDWR)


_LATE = _Late()
