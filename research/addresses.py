"""Which network addresses may be visited, and connections that go to no others.

An address may come from a model, which may have it from a page: it must not lead to this machine, to the private
network around it, or to a cloud's metadata.  So a host name is resolved here, every address it has is judged, and the
connection goes to a judged address: what the name means a moment later does not matter.
"""

from __future__ import annotations

import ipaddress
import queue
import socket
import threading
import time
from collections.abc import Iterable, Iterator
from ssl import SSLContext
from typing import Any
from urllib.parse import urlsplit

import httpcore2

from research import cancel
from research.errors import ConfigError, ToolError


class VettedNetwork(httpcore2.NetworkBackend):
    """Connects to judged addresses only, and lets nothing take longer than the whole fetch may."""

    def __init__(self, allow_hosts: Iterable[str], total_s: float) -> None:
        """`allow_hosts` as in `FetchPolicy`; the time runs from now."""
        self._tcp = httpcore2.SyncBackend()
        self._named = {place for entry in allow_hosts for place in _places(entry)}
        self._deadline = time.monotonic() + total_s

    def vetted(self, host: str, port: int) -> list[str]:
        """The addresses of a host.  Raises `ToolError` when one of them may not be visited.

        Raises `httpcore2.NetworkError` and `httpcore2.TimeoutException` when it does not resolve.
        """
        addresses = _resolved(host, port, self._deadline)
        for address in addresses:
            _judge(host, address, named=self.names(host, port))
        return addresses

    def names(self, host: str, port: int) -> bool:
        """Whether the administrator allows this private host."""
        return (host, port) in self._named

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.NetworkStream:
        addresses = self.vetted(host, port)
        for left in range(len(addresses), 0, -1):
            try:
                # The address, not the name, which might mean another address by now.
                stream = self._tcp.connect_tcp(
                    addresses[-left], port, _remaining(self._deadline) / left, local_address, socket_options
                )
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout):
                if left == 1:
                    raise
            else:
                return _TimedStream(stream, self._deadline)
        raise httpcore2.ConnectError(f"{host} has no address")


class _TimedStream(httpcore2.NetworkStream):
    """A connection on which each wait is cut to what is left of the whole time: a trickle does not prolong it.

    A read is left early when nobody waits for it any more, see `research.cancel`.
    """

    def __init__(self, stream: httpcore2.NetworkStream, deadline: float) -> None:
        self._stream = stream
        self._deadline = deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        while True:
            left = _remaining(self._deadline)
            try:
                return self._stream.read(max_bytes, min(left, cancel.ASK_EVERY_S))
            except httpcore2.ReadTimeout:
                continue

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, _remaining(self._deadline))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.NetworkStream:
        stream = self._stream.start_tls(ssl_context, server_hostname, _remaining(self._deadline))
        return _TimedStream(stream, self._deadline)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


def _remaining(deadline: float) -> float:
    cancel.check()
    seconds = deadline - time.monotonic()
    if seconds <= 0:
        raise httpcore2.ReadTimeout("no time left")
    return seconds


def _resolved(host: str, port: int, deadline: float) -> list[str]:
    """The addresses of a host, in the system's order of preference, without repetition."""
    answers: queue.SimpleQueue[list[str] | OSError | UnicodeError] = queue.SimpleQueue()

    def resolve() -> None:
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:  # UnicodeError: a label is empty or too long
            answers.put(error)
        else:
            answers.put(list(dict.fromkeys(str(address[0]) for *_, address in found)))

    # In a thread, because the system's resolver takes as long as it likes.
    threading.Thread(target=resolve, daemon=True).start()
    while True:
        try:
            answer = answers.get(timeout=min(_remaining(deadline), cancel.ASK_EVERY_S))
            break
        except queue.Empty:
            continue
    if isinstance(answer, list):
        return answer
    raise httpcore2.ConnectError(f"{host} does not resolve: {answer}") from answer


def _networks(text: str) -> tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...]:
    return tuple(ipaddress.ip_network(word) for word in text.split())


_NEVER = (
    *_networks("0.0.0.0/8 224.0.0.0/4 240.0.0.0/4 ff00::/8"),  # this host, multicast, reserved and broadcast
    *_networks("169.254.0.0/16 fe80::/10 fec0::/10"),  # link-local (most clouds' metadata), site-local
    *_networks("fd00:ec2::/32 fd20:ce::/32"),  # metadata: AWS, Google
    *_networks("168.63.129.16 100.100.100.200 192.0.0.192"),  # metadata: Azure, Alibaba, Oracle
    # IPv6 addresses that stand for an IPv4 address: mapped, compatible, translated, NAT64, 6to4, Teredo
    *_networks("::ffff:0:0/96 ::/96 ::ffff:0:0:0/96 64:ff9b::/96 64:ff9b:1::/48 2002::/16 2001::/32"),
    *_networks("192.88.99.0/24"),  # relays of 6to4
)
"""Refused also where the administrator allows a host."""

_PUBLIC_IPV6 = ipaddress.ip_network("2000::/3")

_NOT_PUBLIC = _networks("100.64.0.0/10 192.0.0.0/24 198.18.0.0/15 2001::/23 3fff::/20")
"""Shared, for protocols, benchmarks and documentation: not all are known to `is_global` of every Python."""

_LOOPBACK_IPV6 = ipaddress.ip_address("::1")


def _judge(host: str, text: str, *, named: bool) -> None:
    """Raise `ToolError` when `host` may not be visited at the address that `text` spells."""
    address = ipaddress.ip_address(text)
    if address != _LOOPBACK_IPV6 and any(address in network for network in _NEVER):
        raise ToolError(f"{host} cannot be visited: {address} is reserved; try another source")
    public = (
        address.is_global
        and (address.version == 4 or address in _PUBLIC_IPV6)
        and not any(address in network for network in _NOT_PUBLIC)
    )
    if not public and not named:
        raise ToolError(
            f"{host} cannot be visited: {address} is in a private network, and no administrator allowed that host "
            "and port; try another source"
        )


def _places(entry: str) -> Iterator[tuple[str, int]]:
    """The hosts and ports that an entry of `FetchPolicy.allow_hosts` stands for."""
    try:
        parts = urlsplit(f"//{entry}")
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise ConfigError(f"allow_hosts: {entry!r} is not a host: {error}") from error
    if not host or parts.netloc != entry or parts.username is not None:
        raise ConfigError(f"allow_hosts: {entry!r} is not a host; write `wiki.internal` or `127.0.0.1:8080`")
    for each in (80, 443) if port is None else (port,):
        yield host, each
