"""Decide which network addresses may be visited, and connect to no others.

A url may come from a model, from a page it read, or from a user of a shared server. It must not lead to this
machine, to the private network around it, or to a cloud's metadata service.  So this module resolves a host name,
checks every address of it, and connects to a checked address: what the name resolves to a moment later does not matter.
"""

from __future__ import annotations

import ipaddress
import queue
import socket
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from ssl import SSLContext
from urllib.parse import urlsplit

import httpcore2
import httpx2

from research._util import cancel
from research._util.said import say
from research._util.watched import WatchedStream, remaining
from research.errors import ConfigError, ToolError

_RESOLVER = Path("/etc/resolv.conf")
_PORT = 443
"""A port for looking up a name; any port will do."""
CONNECT_S = 15.0
"""Seconds for resolving a name and connecting, where the caller sets no limit."""


class AddressRefused(httpcore2.ConnectError):
    """The host has an address that may not be contacted; a retry cannot help."""


class NoSuchHost(httpcore2.ConnectError):
    """The DNS says that a host does not exist; a DNS failure or time-out raises something else."""


class VettedNetwork(httpcore2.NetworkBackend):
    """Connects only to addresses that it has checked, and ends every wait at one deadline for the whole fetch."""

    def __init__(self, allow_hosts: Iterable[str], total_s: float) -> None:
        """`allow_hosts`: as in `FetchPolicy`; `total_s`: seconds from now to the deadline."""
        self._tcp = httpcore2.SyncBackend()
        self._allowed = {place for entry in allow_hosts for place in _host_ports(entry)}
        self._deadline = time.monotonic() + total_s
        self.private = False
        """Whether the last connection leads to an address that is not public."""

    def vetted_addresses(self, host: str, port: int) -> list[str]:
        """Return the addresses of a host.  Raises `ToolError` when any of them may not be visited.

        Raises `httpcore2.NetworkError` and `httpcore2.TimeoutException` when the name does not resolve.
        """
        addresses = _resolve(host, port, self._deadline)
        for address in addresses:
            _check_address(host, address, allowed=self.is_allowed(host, port))
        return addresses

    def is_allowed(self, host: str, port: int) -> bool:
        """Return whether the administrator allows this private host."""
        return (host, port) in self._allowed

    def has_left_the_dns(self, host: str) -> bool:
        """Return whether a missing host has a public domain that does not exist either.

        Intranet hosts are mostly below a domain that exists, or that this machine or the administrator names.
        """
        domain = _public_domain(host)
        near = (*_own_names(), *(name for name, _ in self._allowed))
        if not domain or domain in map(_public_domain, near):
            return False
        try:
            _resolve(domain, _PORT, self._deadline)
        except NoSuchHost:
            return True
        except (httpcore2.ConnectError, httpcore2.TimeoutException):
            return False
        return False

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.NetworkStream:
        return WatchedStream(self.connect(host, port, local_address, socket_options), self._deadline)

    def connect(
        self,
        host: str,
        port: int,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.NetworkStream:
        """Connect before the deadline; reading and writing have none.  Raises as `vetted_addresses` does."""
        addresses = self.vetted_addresses(host, port)
        for left in range(len(addresses), 0, -1):
            try:
                # The address: the name might resolve to another one by now.
                stream = self._tcp.connect_tcp(
                    addresses[-left], port, remaining(self._deadline) / left, local_address, socket_options
                )
                self.private = not is_public(addresses[-left])
                return stream
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout):
                if left == 1:
                    raise
        raise httpcore2.ConnectError(say("{host} has no address", host=host))


class _PooledNetwork(httpcore2.NetworkBackend):
    """Vets the name for each new connection; reused connections were vetted when opened."""

    def __init__(self, allow_hosts: Iterable[str]) -> None:
        self._allow_hosts = tuple(allow_hosts)

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.NetworkStream:
        network = VettedNetwork(self._allow_hosts, CONNECT_S if timeout is None else timeout)
        try:
            return network.connect(host, port, local_address, socket_options)
        except ToolError as error:
            raise AddressRefused(str(error).removesuffix("; try another source")) from error


def vetted_transport(allow_hosts: Iterable[str], limits: httpx2.Limits, trusted: SSLContext) -> httpx2.HTTPTransport:
    """Return a transport for `httpx2.Client` that connects to vetted addresses only.

    With its own transport, a client ignores the environment's proxies.
    """
    transport = httpx2.HTTPTransport(verify=trusted)
    transport._pool = httpcore2.ConnectionPool(
        ssl_context=trusted,
        max_connections=limits.max_connections,
        max_keepalive_connections=limits.max_keepalive_connections,
        keepalive_expiry=limits.keepalive_expiry,
        network_backend=_PooledNetwork(allow_hosts),
    )
    return transport


def _resolve(host: str, port: int, deadline: float) -> list[str]:
    """Return the distinct addresses of a host, in the system's order of preference."""
    answers: queue.SimpleQueue[list[str] | OSError | UnicodeError] = queue.SimpleQueue()

    def resolve() -> None:
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:  # UnicodeError: a label is empty or too long
            answers.put(error)
        else:
            answers.put(list(dict.fromkeys(str(address[0]) for *_, address in found)))

    # In a thread, because the system's resolver has no time-out.
    threading.Thread(target=resolve, daemon=True).start()
    while True:
        try:
            answer = answers.get(timeout=min(remaining(deadline), cancel.CHECK_EVERY_S))
            break
        except queue.Empty:
            continue
    if isinstance(answer, list):
        return answer
    missing = isinstance(answer, socket.gaierror) and answer.errno == socket.EAI_NONAME
    raise (NoSuchHost if missing else httpcore2.ConnectError)(say("{host} does not resolve", host=host)) from answer


def _public_domain(host: str) -> str:
    """Return the domain below a public suffix that a host belongs to; empty if it is known only inside a network."""
    from tld import get_tld

    found = get_tld(host, fix_protocol=True, fail_silently=True, as_object=True, search_private=False)
    if found is None or isinstance(found, str) or found.fld == found.tld:
        return ""
    # On the list, although no public server answers for them (RFC 7686, RFC 8375).
    return "" if found.tld.rpartition(".")[2] in ("arpa", "onion") else found.fld


def _own_names() -> list[str]:
    """Return the name of this machine, and the domains that its resolver adds to short names."""
    names = [socket.gethostname()]
    if _RESOLVER.exists():  # not on Windows
        lines = map(str.split, _RESOLVER.read_text(encoding="utf-8", errors="replace").splitlines())
        names += [name for line in lines if line[:1] in (["search"], ["domain"]) for name in line[1:]]
    return names


def _networks(text: str) -> tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...]:
    return tuple(ipaddress.ip_network(word) for word in text.split())


_NEVER = (
    *_networks("0.0.0.0/8 224.0.0.0/4 240.0.0.0/4 ff00::/8"),  # this host, multicast, reserved and broadcast
    *_networks("169.254.0.0/16 fe80::/10 fec0::/10"),  # link-local (most clouds' metadata), site-local
    *_networks("fd00:ec2::/32 fd20:ce::/32"),  # metadata: AWS, Google
    *_networks("168.63.129.16 100.100.100.200 192.0.0.192"),  # metadata: Azure, Alibaba, Oracle
    # IPv6 addresses that contain an IPv4 address: mapped, compatible, translated, NAT64, 6to4, Teredo
    *_networks("::ffff:0:0/96 ::/96 ::ffff:0:0:0/96 64:ff9b::/96 64:ff9b:1::/48 2002::/16 2001::/32"),
    *_networks("192.88.99.0/24"),  # relays of 6to4
)
"""Refused even for a host that the administrator allows."""

_PUBLIC_IPV6 = ipaddress.ip_network("2000::/3")

_NOT_PUBLIC = _networks("100.64.0.0/10 192.0.0.0/24 198.18.0.0/15 2001::/23 3fff::/20")
"""Networks for shared use, protocols, benchmarks and documentation: `is_global` misses some in some Pythons."""

_LOOPBACK_IPV6 = ipaddress.ip_address("::1")


def is_public(text: str) -> bool:
    """Return whether an address is on the internet, not on this machine or a private network."""
    address = ipaddress.ip_address(text)
    return (
        address.is_global
        and (address.version == 4 or address in _PUBLIC_IPV6)
        and not any(address in network for network in (*_NEVER, *_NOT_PUBLIC))
    )


def _check_address(host: str, text: str, *, allowed: bool) -> None:
    """Raise `ToolError` when `host` may not be visited at the address `text`.

    `allowed`: whether the administrator allows this private host and port.
    """
    address = ipaddress.ip_address(text)
    if address != _LOOPBACK_IPV6 and any(address in network for network in _NEVER):
        raise ToolError(
            say("{host} cannot be visited: {address} is reserved; try another source", host=host, address=address),
            "refused",
        )
    if not allowed and not is_public(text):
        raise ToolError(
            say(
                "{host} cannot be visited: {address} is in a private network, and the administrator has not allowed that "
                "host and port; try another source",
                host=host,
                address=address,
            ),
            "refused",
        )


def _host_ports(entry: str) -> Iterator[tuple[str, int]]:
    """Yield the host and ports that an entry of `FetchPolicy.allow_hosts` names."""
    try:
        parts = urlsplit(f"//{entry}")
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise ConfigError(f"allow_hosts: {entry!r} is not a host: {error}") from error
    if not host or parts.netloc != entry or parts.username is not None:
        raise ConfigError(f"allow_hosts: {entry!r} is not a host; write `wiki.internal` or `127.0.0.1:8080`")
    for each in (80, 443) if port is None else (port,):
        yield host, each
