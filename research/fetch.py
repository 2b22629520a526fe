"""One page from the web, without letting its address or its answer do harm.

Addresses are judged in `research.addresses`, anew on each hop of a redirect.  The answer may be slow, endless or a
bomb: time, redirects and unpacked bytes are bounded, and the page is parsed in a process that can be killed.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import httpcore2
import httpx2
from msgspec import Struct

from research.addresses import VettedNetwork
from research.errors import ToolError
from research.readers import FileText, Link, UnreadableFile, read_apart


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
    links: tuple[Link, ...] = ()
    """Where it leads: http(s) urls, each once, without fragment and not to itself."""
    csl: dict[str, Any] = {}
    """What it tells of itself, as CSL JSON names it: type, title, author, issued, container-title, publisher, DOI."""


PARSE_S = 30.0
"""Seconds for turning an answer into text, on top of `FetchPolicy.total_s`."""

_HEADERS = {
    "User-Agent": "Mozilla/5.0 (compatible; ResearchWorkbench/0.1)",
    "Accept": "text/html, application/xhtml+xml, application/pdf, text/*;q=0.9, */*;q=0.1",
    "Accept-Encoding": "gzip",  # brotli and zstd cannot be unpacked in bounded steps
    "Connection": "close",
}

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

_PORTS = {"http": 80, "https": 443}

_UNPACK_BYTES = 2**16
"""Bytes unpacked at a time."""


def fetch(url: str, *, policy: FetchPolicy = DEFAULT_POLICY) -> FetchedPage:
    """Get a page and read it as text.

    Raises `ToolError` with the url and a way out when it may not be visited, cannot be reached, answers with an
    error, is too slow or too big, or holds nothing to read; `ConfigError` when `policy.allow_hosts` is malformed;
    `Stopped` when nobody waits for it any more.
    """
    network = VettedNetwork(policy.allow_hosts, policy.total_s)
    here = parsed(url)
    for _ in range(policy.max_redirects + 1):
        answer = exchange(here, network, policy)
        if answer.location is None:
            if not 200 <= answer.status < 300:
                raise ToolError(f"{here} answers with status {answer.status}; check the address or try another source")
            return _page(str(here), answer)
        here = parsed(answer.location, base=here)
    raise ToolError(f"{url} redirects more than {policy.max_redirects} times; try another source")


def vet(url: str, *, policy: FetchPolicy = DEFAULT_POLICY) -> tuple[str, bool]:
    """The url as it would be visited, for a service that reads pages in our place; and whether it is on a private host
    that the administrator allows, which no service can reach.

    Judged as for `fetch`, with the same errors, and without a request.
    """
    network = VettedNetwork(policy.allow_hosts, policy.total_s)
    target = parsed(url)
    host, port = target.raw_host.decode("ascii"), target.port or _PORTS[target.scheme]
    with _told(target, policy):
        network.vetted(host, port)
    return str(target), network.names(host, port)


class Answer(Struct, frozen=True):
    """What a server said."""

    status: int
    location: str | None = None
    """Where to look instead."""
    content_type: str = ""
    body: bytes = b""
    """Unpacked; empty for a redirect, and for an error."""


def parsed(text: str, base: httpx2.URL | None = None) -> httpx2.URL:
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
    return url.copy_with(fragment=None)  # is not sent to a site, and must not be to a service that reads for us


def absolute(url: str, page: FileText) -> tuple[Link, ...]:
    """The links of a page at that url that can be visited, each url once."""
    found: dict[str, str] = {}
    try:
        base = parsed(page.base, base=httpx2.URL(url)) if page.base else httpx2.URL(url)
    except ToolError:
        base = httpx2.URL(url)
    for link in page.links:
        try:
            target = str(parsed(link.url.strip(), base=base))
        except ToolError:
            continue
        if target != url:
            found.setdefault(target, link.text)
    return tuple(Link(text, target) for target, text in found.items())


def exchange(
    url: httpx2.URL,
    network: VettedNetwork,
    policy: FetchPolicy,
    *,
    method: str = "GET",
    headers: Mapping[str, str] | None = None,
    content: bytes | None = None,
) -> Answer:
    """One request and its answer, within the bounds of the policy.  Raises `ToolError`, and `Stopped` as `fetch` does."""
    target = httpcore2.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path)
    sent = {"Host": url.netloc.decode("ascii"), **_HEADERS, **(headers or {})}
    if content is not None:
        sent["Content-Length"] = str(len(content))
    with (
        _told(url, policy),
        httpcore2.HTTPConnection(target.origin, network_backend=network) as connection,
        connection.stream(method, target, headers=list(sent.items()), content=content) as response,
    ):
        return _read(str(url), response, policy)


@contextmanager
def _told(url: httpx2.URL, policy: FetchPolicy) -> Iterator[None]:
    """What goes wrong on the way, in words for the model."""
    try:
        yield
    except httpcore2.TimeoutException as error:
        raise ToolError(f"{url} took more than {policy.total_s:g} s; try another source") from error
    except (httpcore2.NetworkError, httpcore2.ProtocolError) as error:
        raise ToolError(f"{url} cannot be read ({error}); check the address or try another source") from error
    except zlib.error as error:
        raise ToolError(f"{url} cannot be unpacked ({error}); try another source") from error


def _read(url: str, response: httpcore2.Response, policy: FetchPolicy) -> Answer:
    headers = {name.lower(): value.decode("utf-8", "replace") for name, value in response.headers}
    if response.status in (301, 302, 303, 307, 308) and b"location" in headers:
        return Answer(response.status, location=headers[b"location"])
    if not 200 <= response.status < 300:
        return Answer(response.status)
    pieces: Iterable[bytes] = response.iter_stream()
    match headers.get(b"content-encoding", "").lower():
        case "" | "identity":
            pass
        case "gzip" | "x-gzip" | "deflate":
            pieces = _unpacked(pieces)
        case encoding:
            raise ToolError(f"{url} is packed as {encoding[:80]!r}, which was not asked for; try another source")
    body = bytearray()
    for piece in pieces:
        body += piece
        if len(body) > policy.max_bytes:
            raise ToolError(f"{url} is bigger than {policy.max_bytes / 1e6:g} MB; try a smaller page of the site")
    return Answer(response.status, content_type=headers.get(b"content-type", ""), body=bytes(body))


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


def _page(url: str, answer: Answer) -> FetchedPage:
    kind, _, parameters = answer.content_type.lower().partition(";")
    kind = kind.strip() or "text/html"
    if answer.body.startswith(b"%PDF-"):  # often served as something else
        kind = "application/pdf"
    suffix = _SUFFIXES.get(kind)
    if suffix is None and (kind.startswith("text/") or kind.endswith(("+xml", "+json"))):
        suffix = ".txt"
    if suffix is None:
        known = kind if re.fullmatch(r"[\w.+-]{1,99}/[\w.+-]{1,99}", kind) else "of no proper media type"
        raise ToolError(f"{url} is {known}, which cannot be read as text; try another source")
    body = answer.body
    charset = re.search(r"charset=[\"']?([^\s\"';]+)", parameters)
    if charset and suffix in (".html", ".txt", ".md"):
        body = _as_utf8(body, charset[1])
    try:
        page = read_apart(body, suffix, url, timeout_s=PARSE_S)
    except UnreadableFile as error:
        raise ToolError(f"{error}; try another source") from error
    return FetchedPage(url, page.title, page.text, kind, absolute(url, page), page.csl)


def _as_utf8(body: bytes, charset: str) -> bytes:
    try:
        return body.decode(charset, "replace").encode("utf-8", "replace")
    except (LookupError, UnicodeError):
        return body  # no such charset: the page may still say it better itself
