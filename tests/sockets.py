"""Sockets of the test's own."""

from __future__ import annotations

import socket
from collections.abc import Iterator


def clients(listener: socket.socket) -> Iterator[socket.socket]:
    """Yield the connections that a socket accepts until it is closed."""
    while True:
        try:
            client, _ = listener.accept()
        except OSError:
            return
        yield client
