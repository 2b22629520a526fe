"""One page from the web, without letting its address or its answer do harm.

The address may come from a model, which may have it from a page: it must not lead to this machine, to the private
network around it, or to a cloud's metadata.  So a host name is resolved here, every address it has is judged, and
the connection goes to a judged address, anew on each hop of a redirect.  The answer may be slow, endless or a bomb:
time, redirects and unpacked bytes are bounded, and the page is parsed in a process that can be killed.
"""

from __future__ import annotations

import ipaddress
import queue
import re
import socket
import threading
import time
import zlib
from collections.abc import Iterable, Iterator
from ssl import SSLContext
from typing import Any
from urllib.parse import urlsplit

import httpcore2
import httpx2
from msgspec import Struct

from research.errors import ConfigError, ToolError
from research.readers import UnreadableFile, read_apart


class FetchPolicy(Struct, frozen=True):
    """What a fetch may cost, and which private hosts it may reach."""

    total_s: float = 20.0
    """Seconds for all hops together, from resolving the name to the last byte."""
    max_bytes: int = 10_000_000
    """Bytes of the answer, unpacked."""
    max_redirects: int = 5
    allow_hosts: tuple[str, ...] = ()
    """Private hosts that the administrator names, as a url spells them: `127.0.0.1:8080`, or `wiki.internal` for
    its ports 80 and 443.  What serves a cloud's metadata is never reached."""


DEFAULT_POLICY = FetchPolicy()


class FetchedPage(Struct, frozen=True):
    """A page as it was read."""

    url: str
    """Where the redirects ended."""
    title: str
    """The page's own, or else its url."""
    text: str
    """Markdown where the page has a structure; never empty."""
    content_type: str
    """Media type without parameters, e.g. `text/html`."""


PARSE_S = 30.0
"""Seconds for turning an answer into text, on top of `FetchPolicy.total_s`."""

_HEADERS = (
    ("User-Agent", "Mozilla/5.0 (compatible; ResearchWorkbench/0.1)"),
    ("Accept", "text/html, application/xhtml+xml, application/pdf, text/*;q=0.9, */*;q=0.1"),
    ("Accept-Encoding", "gzip"),  # brotli and zstd cannot be unpacked in bounded steps
    ("Connection", "close"),
)

_SUFFIXES = {
    "application/json": ".txt",
    "application/pdf": ".pdf",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": ".docx",
    "application/xhtml+xml": ".html",
    "application/xml": ".txt",
    "text/html": ".html",
    "text/markdown": ".md",
}
"""How to read a media type; any other `text/...`, `...+xml` or `...+json` is plain text."""

_UNPACK_BYTES = 2**16
"""Bytes unpacked at a time."""


def fetch(url: str, *, policy: FetchPolicy = DEFAULT_POLICY) -> FetchedPage:
    """Get a page and read it as text.

    Raises `ToolError` with the url and a way out when it may not be visited, cannot be reached, answers with an
    error, is too slow or too big, or holds nothing to read; `ConfigError` when `policy.allow_hosts` is malformed.
    """
    network = _VettedNetwork(policy)
    here = _parsed(url)
    for _ in range(policy.max_redirects + 1):
        answer = _get(here, network, policy)
        if answer.location is None:
            return _page(str(here), answer)
        here = _parsed(answer.location, base=here)
    raise ToolError(f"{url} redirects more than {policy.max_redirects} times; try another source")


class _Answer(Struct, frozen=True):
    location: str | None = None
    """Where to look instead."""
    content_type: str = ""
    body: bytes = b""


def _parsed(text: str, base: httpx2.URL | None = None) -> httpx2.URL:
    """The url that `text` means, relative to `base`, or `ToolError`."""
    # Parsers differ on these, and what one checks is not what another then visits.
    if any(character in " \\" or not character.isprintable() for character in text):
        raise ToolError(f"{text!r} is not a url: it has white space, a backslash or a control character in it")
    try:
        url = httpx2.URL(text) if base is None else base.join(text)
    except httpx2.InvalidURL as error:
        raise ToolError(f"{text!r} is not a url: {error}") from error
    if url.scheme not in ("http", "https") or not url.host:
        raise ToolError(f"{text!r} cannot be visited: only http:// and https:// urls with a host can")
    if re.match("([^/?#:]+:)?//[^/?#]*@", text):
        raise ToolError(f"{text!r} cannot be visited: it has a user name in it; leave out everything up to the @")
    if url.port is not None and not 0 < url.port < 2**16:
        raise ToolError(f"{text!r} is not a url: a port is a number from 1 to 65535")
    return url


def _get(url: httpx2.URL, network: _VettedNetwork, policy: FetchPolicy) -> _Answer:
    """One hop."""
    target = httpcore2.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path)
    headers = [("Host", url.netloc.decode("ascii")), *_HEADERS]
    try:
        with (
            httpcore2.HTTPConnection(target.origin, network_backend=network) as connection,
            connection.stream("GET", target, headers=headers) as response,
        ):
            return _read(str(url), response, policy)
    except httpcore2.TimeoutException as error:
        raise ToolError(f"{url} took more than {policy.total_s:g} s; try another source") from error
    except (httpcore2.NetworkError, httpcore2.ProtocolError) as error:
        raise ToolError(f"{url} cannot be read ({error}); check the address or try another source") from error
    except zlib.error as error:
        raise ToolError(f"{url} cannot be unpacked ({error}); try another source") from error


def _read(url: str, response: httpcore2.Response, policy: FetchPolicy) -> _Answer:
    headers = {name.lower(): value.decode("utf-8", "replace") for name, value in response.headers}
    if response.status in (301, 302, 303, 307, 308) and b"location" in headers:
        return _Answer(location=headers[b"location"])
    if not 200 <= response.status < 300:
        raise ToolError(f"{url} answers with status {response.status}; check the address or try another source")
    pieces: Iterable[bytes] = response.iter_stream()
    match headers.get(b"content-encoding", "").lower():
        case "" | "identity":
            pass
        case "gzip" | "x-gzip" | "deflate":
            pieces = _unpacked(pieces)
        case encoding:
            raise ToolError(f"{url} is packed as {encoding!r}, which was not asked for; try another source")
    body = bytearray()
    for piece in pieces:
        body += piece
        if len(body) > policy.max_bytes:
            raise ToolError(f"{url} is bigger than {policy.max_bytes / 1e6:g} MB; try a smaller page of the site")
    return _Answer(content_type=headers.get(b"content-type", ""), body=bytes(body))


def _unpacked(packed: Iterable[bytes]) -> Iterator[bytes]:
    """Undo gzip or zlib in bounded steps.  Raises `zlib.error`, also when the end is missing."""
    unpacker = zlib.decompressobj(zlib.MAX_WBITS | 32)  # 32: take either header
    for piece in packed:
        while piece:
            if unpacker.eof:  # gzip allows one stream after another, and padding
                piece = piece.lstrip(b"\0")
                if not piece:
                    break
                unpacker = zlib.decompressobj(zlib.MAX_WBITS | 32)
            yield unpacker.decompress(piece, _UNPACK_BYTES)
            piece = unpacker.unconsumed_tail or unpacker.unused_data
    yield unpacker.flush()
    if not unpacker.eof:
        raise zlib.error("it ends too early")


def _page(url: str, answer: _Answer) -> FetchedPage:
    kind, _, parameters = answer.content_type.lower().partition(";")
    kind = kind.strip() or "text/html"
    if answer.body.startswith(b"%PDF-"):  # often served as something else
        kind = "application/pdf"
    suffix = _SUFFIXES.get(kind)
    if suffix is None and (kind.startswith("text/") or kind.endswith(("+xml", "+json"))):
        suffix = ".txt"
    if suffix is None:
        raise ToolError(f"{url} is {kind}, which cannot be read as text; try another source")
    body = answer.body
    charset = re.search(r"charset=[\"']?([^\s\"';]+)", parameters)
    if charset and suffix in (".html", ".txt", ".md"):
        body = _as_utf8(body, charset[1])
    try:
        page = read_apart(body, suffix, url, timeout_s=PARSE_S)
    except UnreadableFile as error:
        raise ToolError(f"{error}; try another source") from error
    return FetchedPage(url, page.title, page.text, kind)


def _as_utf8(body: bytes, charset: str) -> bytes:
    try:
        return body.decode(charset, "replace").encode("utf-8", "replace")
    except (LookupError, UnicodeError):
        return body  # no such charset: the page may still say it better itself


class _VettedNetwork(httpcore2.NetworkBackend):
    """Connects to judged addresses only, and lets nothing take longer than the whole fetch may."""

    def __init__(self, policy: FetchPolicy) -> None:
        self._tcp = httpcore2.SyncBackend()
        self._named = {place for entry in policy.allow_hosts for place in _places(entry)}
        self._deadline = time.monotonic() + policy.total_s

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.NetworkStream:
        addresses = _resolved(host, port, self._deadline)
        for address in addresses:
            _judge(host, address, named=(host, port) in self._named)
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
    """A connection on which each wait is cut to what is left of the whole time: a trickle does not prolong it."""

    def __init__(self, stream: httpcore2.NetworkStream, deadline: float) -> None:
        self._stream = stream
        self._deadline = deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, _remaining(self._deadline))

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
    try:
        answer = answers.get(timeout=_remaining(deadline))
    except queue.Empty:
        raise httpcore2.ConnectTimeout(f"{host} does not resolve in time") from None
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
