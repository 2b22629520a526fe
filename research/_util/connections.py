"""HTTP connections to model services, shared by all runs of a process and reused between requests."""

from __future__ import annotations

import errno
import re
import socket
import time
from collections import deque
from collections.abc import Iterator
from functools import cache, lru_cache
from ssl import SSLContext
from typing import TYPE_CHECKING, Any

from research.errors import ProviderError

if TYPE_CHECKING:
    import httpx2

    from research._util.watched import WatchedStream

ERROR_BYTES = 64 * 1024
LONG_S = 20.0
"""Seconds after which a failure on the way to a server is probably a timeout."""
_GAVE_UP = {504, 524}
"""Statuses of gateways that gave up waiting for a server, which may go on."""
_BETWEEN = {0, 408, 502, 503, 520, 522}
"""Statuses they may also send then, or for other reasons."""
END_S = 0.25
"""Seconds to wait for the end of the stream after a complete reply."""


@cache
def ssl_context() -> SSLContext:
    """Return the SSL context with the trusted certificates, which are slow to read."""
    import httpx2

    return httpx2.create_ssl_context()


def timeout(seconds: float | None) -> httpx2.Timeout:
    """Return the limits of one request: seconds without a byte (None: any), and at most ten for the connection."""
    import httpx2

    return httpx2.Timeout(seconds, connect=min(seconds or 10, 10))


def late(host: str, error: BaseException, endpoint: str) -> ProviderError:
    """Return the error of a request that timed out; once it is sent, the service may still be working on it."""
    kind = type(error).__name__
    sent = kind == "ReadTimeout"
    hint = f"; if its model is slow, raise timeout_s of endpoint {endpoint!r}" if sent else ""
    return ProviderError(f"{host} timed out ({kind}){hint}", retryable=True, at_work=sent)


def may_go_on(begun: float, status: int = 0) -> bool:
    """Return whether a server may still be working on a request that was sent then and failed just now.

    `status` is the reply's; 0: the connection was lost.
    """
    waited = time.monotonic() - begun > LONG_S
    return status in _GAVE_UP or (waited and status in _BETWEEN)


@lru_cache(maxsize=64)
def client(
    url: str, headers: tuple[tuple[str, str], ...], timeout_s: float | None, allow_hosts: tuple[str, ...] | None = None
) -> httpx2.Client:
    """Return the HTTP client for one service and key, with a base url and headers.  Safe for threads.

    `allow_hosts`: the private hosts that the url may lead to; None: any.
    """
    import httpx2

    made = _pool(allow_hosts)
    made.base_url, made.timeout = httpx2.URL(url), timeout(timeout_s)
    made.headers.update(dict(headers))
    return made


@lru_cache(maxsize=64)
def pool(key: str, allow_hosts: tuple[str, ...] | None = None) -> httpx2.Client:
    """Return the HTTP client shared by all services with this key; keys never share a connection.  Safe for threads.

    `allow_hosts` as in `client`.
    """
    return _pool(allow_hosts)


def _pool(allow_hosts: tuple[str, ...] | None) -> httpx2.Client:
    """Make a client, which opens a connection for each concurrent request and keeps no cookies.

    Budgets and worker settings limit the requests, not a hidden queue here.
    """
    from http.cookiejar import CookieJar, DefaultCookiePolicy

    import httpx2

    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=None, keepalive_expiry=30)
    return httpx2.Client(
        timeout=timeout(120),
        **routes(allow_hosts, limits),
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
        event_hooks={"response": [_shorten_error]},
    )


def routes(allow_hosts: tuple[str, ...] | None, limits: httpx2.Limits) -> dict[str, Any]:
    """Return how a client reaches its hosts, as arguments of `httpx2.Client`; all connections are watched."""
    import httpx2

    from research._util.watched import watch

    usual = transport_to(allow_hosts, limits) or httpx2.HTTPTransport(verify=ssl_context(), limits=limits)
    mounts = proxies(limits) if allow_hosts is None else {}
    for transport in (usual, *mounts.values()):
        if isinstance(transport, httpx2.HTTPTransport):
            watch(transport)
    return {"transport": usual, "mounts": mounts, "trust_env": False}


def proxies(limits: httpx2.Limits) -> dict[str, httpx2.BaseTransport | None]:
    """Return the transport for each pattern of addresses, from the proxies of the environment; None: directly.

    This machine is always reached directly.  A proxy that cannot be used fails when a request needs it, and says why.
    """
    import httpx2
    from httpx2._utils import get_environment_proxies

    class Unusable(httpx2.BaseTransport):
        def __init__(self, why: str) -> None:
            self._why = why

        def handle_request(self, request: httpx2.Request) -> httpx2.Response:
            raise httpx2.UnsupportedProtocol(self._why, request=request)

    class Through(httpx2.HTTPTransport):
        """Names the variable of the proxy that cannot be reached."""

        def __init__(self, proxy: str, named: str) -> None:
            super().__init__(verify=ssl_context(), limits=limits, proxy=httpx2.Proxy(proxy))
            self._named = named

        def handle_request(self, request: httpx2.Request) -> httpx2.Response:
            try:
                return super().handle_request(request)
            except (httpx2.ConnectError, httpx2.ProxyError) as error:
                raise type(error)(f"{error}, through {self._named}", request=request) from error

    found: dict[str, httpx2.BaseTransport | None] = {}
    for pattern, proxy in get_environment_proxies().items():
        if proxy is None:
            found[pattern] = None
            continue
        proxy = proxy.strip()
        shown = proxy.rpartition("@")[2]
        if proxy.startswith("socks://"):  # the spelling of desktops
            proxy = f"socks5{proxy.removeprefix('socks')}"
        variable = f"{pattern.removesuffix('://').upper()}_PROXY"
        try:
            found[pattern] = Through(proxy, f"{variable} ({shown})")
        except ImportError:
            why = f"{variable} ({shown}) is a SOCKS proxy, which needs: pip install socksio; or unset {variable}"
            found[pattern] = Unusable(why)
        except (ValueError, httpx2.InvalidURL):
            found[pattern] = Unusable(f"{variable} ({shown}) is no proxy that can be used: correct it, or unset it")
    here = ("all://localhost", "all://127.0.0.1", "all://[::1]")
    return {**found, **dict.fromkeys(here)} if found else {}


def _shorten_error(response: httpx2.Response) -> None:
    """End the body of an error after `ERROR_BYTES`: the SDKs read all of it, and it may be endless."""
    import httpx2

    class Start(httpx2.SyncByteStream):
        def __init__(self, whole: httpx2.SyncByteStream) -> None:
            self._whole = whole

        def __iter__(self) -> Iterator[bytes]:
            received = 0
            for piece in self._whole:
                yield piece
                received += len(piece)
                if received >= ERROR_BYTES:
                    return

        def close(self) -> None:
            self._whole.close()

    if response.is_error and isinstance(response.stream, httpx2.SyncByteStream):
        response.stream = Start(response.stream)


def transport_to(
    allow_hosts: tuple[str, ...] | None, limits: httpx2.Limits | None = None
) -> httpx2.HTTPTransport | None:
    """Return a transport that reaches only public addresses and these private hosts; None (the usual one) for None."""
    if allow_hosts is None:
        return None
    import httpx2

    from research._util.network import vetted_transport

    return vetted_transport(allow_hosts, limits or httpx2.Limits(), ssl_context())


def offline(error: BaseException) -> bool:
    """Return whether a connection failed as all do without the internet: no name service, no route or no answer.

    False for one through a proxy, which has causes of its own.
    """
    import httpx2

    if isinstance(error.__cause__, httpx2.TransportError):
        return False
    below: BaseException | None = error
    while below is not None:
        no_route = isinstance(below, OSError) and below.errno in (errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN)
        if no_route or isinstance(below, socket.gaierror | httpx2.ConnectTimeout):
            return True
        below = below.__cause__ or below.__context__
    return False


def cause(error: BaseException) -> str:
    """Return what went wrong below HTTP, without the errno."""
    return re.sub(r"\[Errno -?\d+\] ", "", str(error)) or type(error).__name__


def refusal(error: BaseException) -> str:
    """Return why the network refused the address; empty for any other error."""
    from research._util.network import AddressRefused

    return str(error) if isinstance(error.__cause__, AddressRefused) else ""


def read_start(response: httpx2.Response, limit: int, seconds: float) -> bytes:
    """Read the start of a body: stop after the chunk that reaches `limit` bytes, or when the time is over."""
    body, until = bytearray(), time.monotonic() + seconds
    for piece in response.iter_bytes():
        body += piece
        if len(body) >= limit or time.monotonic() > until:
            break
    return bytes(body)


def read_to_end(response: httpx2.Response, rest: Iterator[object]) -> bool:
    """Read the rest of a complete reply, so that its connection can be reused.

    Returns False when the server did not end the stream within `END_S`; the connection is then closed.
    """
    import httpx2

    stream: WatchedStream = response.extensions["network_stream"]
    stream.until = time.monotonic() + END_S
    try:
        deque(rest, 0)
    except httpx2.ReadTimeout:
        return False
    except httpx2.RequestError:  # the reply is complete; only the connection is lost
        pass
    return True
