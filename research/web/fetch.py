"""Fetch one web page safely, whatever its address and its server's response.

`research._util.network` vets the addresses on each hop of a redirect.  Because a response may be slow, endless or a
decompression bomb, time, redirects and unpacked bytes are limited, and an isolated process parses the page.
"""

from __future__ import annotations

import re
import threading
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import PurePosixPath
from typing import Any

import httpcore2
import httpx2
from msgspec import Struct
from msgspec.structs import replace

from research._util import cancel, egress
from research._util.http import retry_after
from research._util.network import AddressRefused, NoSuchHost, VettedNetwork
from research._util.said import say
from research.errors import ToolError
from research.text import clip
from research.web import file_types
from research.web.flow import words
from research.web.isolated import read_isolated
from research.web.readers import MAX_BYTES, SUFFIXES, FileText, Link, UnreadableFile
from research.web.walls import Wall


class FetchPolicy(Struct, frozen=True):
    """Limits of a fetch, and the private hosts that it may contact."""

    total_s: float = 20.0
    """Seconds for all hops together, from resolving the name to the last byte."""
    max_bytes: int = 10_000_000
    """Maximum bytes of the unpacked response."""
    max_pdf_bytes: int = MAX_BYTES
    """The same for a pdf, which is mostly pictures."""
    max_redirects: int = 10
    """Publishers and their sign-in pages need more than five."""
    allow_hosts: tuple[str, ...] = ()
    """Private hosts that the administrator allows, written as in a url: `127.0.0.1:8080`, or `wiki.internal` for its
    ports 80 and 443.  Metadata services of clouds are refused even when they are listed here."""
    links: bool = False
    """Keep links and footnotes in the text (`research/web/linked.py`)."""
    contact: str = ""
    """A mail address or url told to servers, because some refuse readers without one."""


DEFAULT_POLICY = FetchPolicy()


class FetchedPage(Struct, frozen=True):
    """A page that was fetched and read."""

    url: str
    """The url after all redirects."""
    title: str
    """The page's own title, or else its url."""
    text: str
    """Markdown where the page has a structure; never empty."""
    content_type: str
    """Media type without parameters, e.g. `text/html`."""
    links: tuple[Link, ...] = ()
    """Its links to other pages: distinct http(s) urls without fragment."""
    private: bool = False
    """Whether it was fetched from an address that is not public: a host that `FetchPolicy.allow_hosts` names."""
    csl: dict[str, Any] = {}
    """Its own metadata in CSL JSON: type, title, author, issued, container-title, publisher, DOI."""
    notes: tuple[str, ...] = ()
    """What was left out of its text, and why."""


PARSE_S = 30.0
"""Seconds for turning a response into text, in addition to `FetchPolicy.total_s`."""

_HEADERS = {
    "Accept": "text/html, application/xhtml+xml, application/pdf, text/*;q=0.9, */*;q=0.1",
    "Accept-Encoding": "gzip",  # brotli and zstd cannot be unpacked in bounded steps
    "Connection": "close",
}

_SUFFIXES = {
    "application/epub+zip": ".epub",
    "application/json": ".txt",
    "application/pdf": ".pdf",
    "application/rtf": ".rtf",
    "application/vnd.ms-excel": ".xls",
    "application/vnd.oasis.opendocument.presentation": ".odp",
    "application/vnd.oasis.opendocument.spreadsheet": ".ods",
    "application/vnd.oasis.opendocument.text": ".odt",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation": ".pptx",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": ".xlsx",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": ".docx",
    "application/x-ipynb+json": ".ipynb",
    "application/xhtml+xml": ".html",
    "application/xml": ".txt",
    "text/csv": ".csv",
    "text/html": ".html",
    "text/markdown": ".md",
    "text/rtf": ".rtf",
    "text/tab-separated-values": ".tsv",
}
"""The file suffix that selects the reader of a media type; other `text/…`, `…+xml` and `…+json` are read as `.txt`."""

_PORTS = {"http": 80, "https": 443}

NO_HOST = "no host"
"""Error code for a host that does not exist."""
_PDF = b"%PDF-"

_PATIENCE_S = 5.0
"""Longest wait that a busy server may ask for."""
_REFUSAL_PIECES, _SAID = 4, 200
"""Bytes of an error's page to read, and characters of it to quote."""

_NOWHERE, _SAME = "no-such-page-7f3e9a1c", 0.9
"""An address that no page has; the share of its words that makes another page the same."""
_UNPACK_BYTES = 2**16
"""Bytes unpacked at a time."""


def fetch(url: str, *, policy: FetchPolicy = DEFAULT_POLICY) -> FetchedPage:
    """Fetch a page and return it as text.

    Raises `ToolError` with the url and advice when the url may not be visited, cannot be reached, answers with an
    error, is too slow or too big, or contains no text; `ConfigError` when `policy.allow_hosts` is malformed; `Stopped`
    when the call was cancelled.
    """
    network = VettedNetwork(policy.allow_hosts, policy.total_s)
    here = parse_url(url)
    cookies = httpx2.Cookies()  # publishers redirect in a circle until they see their cookie; forgotten at the end
    waited = False
    for _ in range(policy.max_redirects + 1):
        response = _request(here, network, policy, cookies)
        if response.wait_s is not None and response.wait_s <= _PATIENCE_S and not waited:
            waited = _waited(response.wait_s)
        elif response.location is None:
            if not 200 <= response.status < 300:
                raise _refusal(str(here), response)
            kind, page = _page(str(here), response, links=policy.links)
            onward = parse_url(_encoded(page.refresh), base=here) if page.refresh else here
            if onward == here:
                if page.thin and not page.wall and not network.private and here.path.strip("/"):
                    page = replace(page, wall="same" if _is_anywhere(here, page, network, policy) else "")
                return _content(str(here), kind, page, private=network.private)
            here = onward
        else:
            here = parse_url(_encoded(response.location), base=here)
    raise ToolError(
        say(
            "{url} redirects more than {max_redirects} times; try another source",
            url=url,
            max_redirects=policy.max_redirects,
        ),
        "network",
    )


def _is_anywhere(here: httpx2.URL, page: FileText, network: VettedNetwork, policy: FetchPolicy) -> bool:
    """Return whether the site shows the same page at a made-up address beside it."""
    nowhere = here.join(_NOWHERE)
    try:
        response = _request(nowhere, network, policy, httpx2.Cookies())
        if response.location is not None:
            return parse_url(_encoded(response.location), base=nowhere) == here
        if not 200 <= response.status < 300:
            return False
        _, other = _page(str(nowhere), response)
    except ToolError:
        return False
    of_addresses = {*words(str(here)), *words(str(nowhere))}
    one, two = (Counter(w for w in words(f"{p.title} {p.text}") if w not in of_addresses) for p in (page, other))
    return (one & two).total() >= _SAME * max(one.total(), two.total())


def _waited(seconds: float) -> bool:
    """Wait; return True.  Raises `Stopped` when the call was cancelled."""
    (cancel.current() or threading.Event()).wait(seconds)
    cancel.check()
    return True


def _refusal(url: str, response: _Response) -> ToolError:
    """Return the error for a status, with the page's own words: some say what a reader must do."""
    said, kind = "", response.content_type.lower()
    if response.body.strip() and ("html" in kind or kind.startswith("text/plain")):
        with suppress(UnreadableFile):
            page = read_isolated(response.body, ".html" if "html" in kind else ".txt", "", timeout_s=PARSE_S)
            said = clip(" ".join(f"{page.title} {page.text}".split()), _SAID)
    message = (
        say(
            "{here} answered with status {status} and says: {said!r}; check the address or try another source",
            here=url,
            status=response.status,
            said=said,
        )
        if said
        else say(
            "{here} answered with status {status}; check the address or try another source",
            here=url,
            status=response.status,
        )
    )
    return ToolError(message, f"status {response.status}")


def vet(url: str, *, policy: FetchPolicy = DEFAULT_POLICY) -> tuple[str, bool]:
    """Return the url as `fetch` would visit it, and whether it is on a private host that the administrator allows.

    For services that read pages for us, which cannot reach private hosts.  Makes the checks of `fetch` with the
    same errors, but no request.
    """
    network = VettedNetwork(policy.allow_hosts, policy.total_s)
    target = parse_url(url)
    host, port = target.raw_host.decode("ascii"), target.port or _PORTS[target.scheme]
    with _as_tool_errors(target, policy), egress.sending(host, kinds=("addresses",)):
        network.vetted_addresses(host, port)
    return str(target), network.is_allowed(host, port)


def is_gone(url: str, *, policy: FetchPolicy = DEFAULT_POLICY) -> bool:
    """Return whether a url's host is missing because its public domain has left the DNS."""
    host = parse_url(url).raw_host.decode("ascii")
    with egress.sending(host, kinds=("addresses",)):
        return VettedNetwork(policy.allow_hosts, policy.total_s).has_left_the_dns(host)


class _Response(Struct, frozen=True):
    """One server's response."""

    status: int
    location: str | None = None
    """The target of a redirect; None otherwise."""
    wait_s: float | None = None
    """Seconds after which a busy server wants a retry; None if it does not say."""
    content_type: str = ""
    body: bytes = b""
    """The unpacked body, or its beginning for an error; empty for redirects."""


def parse_url(text: str, base: httpx2.URL | None = None) -> httpx2.URL:
    """Return `text` as a url, relative to `base`.  Raises `ToolError` for a url that may not be visited."""
    # Parsers disagree about these characters, so the host checked could differ from the host visited.
    if any(character in " \\" or not character.isprintable() for character in text):
        raise ToolError(
            say("{text!r} is not a url: it contains white space, a backslash or a control character", text=text),
            "refused",
        )
    try:
        url = httpx2.URL(text) if base is None else base.join(text)
    except httpx2.InvalidURL as error:
        raise ToolError(say("{text!r} is not a url: {error}", text=text, error=error), "refused") from error
    if url.scheme not in ("http", "https") or not url.host:
        raise ToolError(
            say("{text!r} cannot be visited: only http:// and https:// urls with a host can", text=text), "refused"
        )
    if re.match("([^/?#:]+:)?//[^/?#]*@", text):
        raise ToolError(
            say("{text!r} cannot be visited: it contains a user name; leave out everything up to the @", text=text),
            "refused",
        )
    if url.port is not None and not 0 < url.port < 2**16:
        raise ToolError(say("{text!r} is not a url: a port is a number from 1 to 65535", text=text), "refused")
    return url.copy_with(fragment=None)  # browsers do not send it, so a reading service must not get it either


def _encoded(location: str) -> str:
    """Return the target of a redirect as browsers read it: without white space around it, and spaces encoded.

    A backslash stays, and is refused.
    """
    return location.strip(" \t\r\n").replace(" ", "%20")


def absolute_links(url: str, page: FileText) -> tuple[Link, ...]:
    """Return the page's links that can be visited, as distinct absolute urls.  `url` is the address of the page."""
    found: dict[str, str] = {}
    try:
        base = parse_url(page.base, base=httpx2.URL(url)) if page.base else httpx2.URL(url)
    except ToolError:
        base = httpx2.URL(url)
    for link in page.links:
        try:
            target = str(parse_url(link.url.strip(), base=base))
        except ToolError:
            continue
        if target != url:
            found.setdefault(target, link.text)
    return tuple(Link(text, target) for target, text in found.items())


def _request(url: httpx2.URL, network: VettedNetwork, policy: FetchPolicy, cookies: httpx2.Cookies) -> _Response:
    """Make one request within the limits of the policy; cookies go back to the host that set them.

    Raises `ToolError`, and `Stopped` as `fetch` does.
    """
    target = httpcore2.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path)
    request = httpx2.Request("GET", url)
    cookies.set_cookie_header(request)
    agent = "; ".join(filter(None, ("compatible", "ResearchWorkbench/0.1", policy.contact)))
    headers = {"Host": url.netloc.decode("ascii"), "User-Agent": f"Mozilla/5.0 ({agent})", **_HEADERS}
    if "cookie" in request.headers:
        headers["Cookie"] = request.headers["cookie"]
    with (
        _as_tool_errors(url, policy),
        egress.sending(url.netloc.decode("ascii"), near=_is_own(url, network), kinds=("addresses",)),
        httpcore2.HTTPConnection(target.origin, network_backend=network) as connection,
        connection.stream("GET", target, headers=list(headers.items())) as response,
    ):
        cookies.extract_cookies(httpx2.Response(response.status, headers=response.headers, request=request))
        return _read(str(url), response, policy)


def _is_own(url: httpx2.URL, network: VettedNetwork) -> bool:
    """Return whether the administrator allows this private host, which makes it a source of the user's own."""
    return network.is_allowed(url.raw_host.decode("ascii"), url.port or _PORTS[url.scheme])


@contextmanager
def _as_tool_errors(url: httpx2.URL, policy: FetchPolicy) -> Iterator[None]:
    """Turn errors of the network and of decompression into `ToolError` with advice for the model."""
    try:
        yield
    except httpcore2.TimeoutException as error:
        raise ToolError(
            say("{url} took more than {total_s:g} s; try another source", url=url, total_s=policy.total_s), "timeout"
        ) from error
    except (httpcore2.NetworkError, httpcore2.ProtocolError) as error:
        raise ToolError(
            say("{url} cannot be read ({error}); check the address or try another source", url=url, error=error),
            _code(error),
        ) from error
    except zlib.error as error:
        raise ToolError(
            say("{url} cannot be unpacked ({error}); try another source", url=url, error=error), "unreadable"
        ) from error


def _code(error: Exception) -> str:
    match error:
        case AddressRefused():
            return "refused"
        case NoSuchHost():
            return NO_HOST
        case _:
            return "network"


def _read(url: str, response: httpcore2.Response, policy: FetchPolicy) -> _Response:
    headers = {name.lower(): value.decode("utf-8", "replace") for name, value in response.headers}
    if response.status in (301, 302, 303, 307, 308) and b"location" in headers:
        return _Response(response.status, location=headers[b"location"])
    pieces: Iterable[bytes] = response.iter_stream()
    match headers.get(b"content-encoding", "").lower():
        case "" | "identity":
            pass
        case "gzip" | "x-gzip" | "deflate":
            pieces = _unpacked(pieces)
        case encoding:
            raise ToolError(
                say(
                    "{url} is compressed as {encoding!r}, which was not requested; try another source",
                    url=url,
                    encoding=encoding[:80],
                ),
                "unreadable",
            )
    kind = headers.get(b"content-type", "")
    if not 200 <= response.status < 300:
        said = b"".join(islice(pieces, _REFUSAL_PIECES))
        named = {name.decode("ascii", "replace"): value for name, value in headers.items()}
        wait_s = retry_after(named) if response.status in (429, 503) else None
        return _Response(response.status, wait_s=wait_s, content_type=kind, body=said)
    body, limit = bytearray(), policy.max_bytes
    for piece in pieces:
        body += piece
        if body.startswith(_PDF):
            limit = max(limit, policy.max_pdf_bytes)
        if len(body) > limit:
            raise ToolError(
                say(
                    "{url} is bigger than {value:g} MB; try a smaller page of the site",
                    url=url,
                    value=limit / 1000000.0,
                ),
                "unreadable",
            )
    return _Response(response.status, content_type=kind, body=bytes(body))


def _unpacked(packed: Iterable[bytes]) -> Iterator[bytes]:
    """Decompress gzip or zlib in steps of bounded size.  Raises `zlib.error`, also when the data is incomplete."""
    unpacker = zlib.decompressobj(zlib.MAX_WBITS | 32)  # 32: accept either header
    for piece in packed:
        while piece:
            if unpacker.eof:  # gzip allows several streams in a row, and padding
                piece = piece.lstrip(b"\0")
                if not piece:
                    break
                unpacker = zlib.decompressobj(zlib.MAX_WBITS | 32)
            yield unpacker.decompress(piece, _UNPACK_BYTES)
            piece = unpacker.unconsumed_tail or unpacker.unused_data
    yield unpacker.flush()
    if not unpacker.eof:
        raise zlib.error("the data is incomplete")


def _page(url: str, response: _Response, *, links: bool = False) -> tuple[str, FileText]:
    """Return a response's media type, and the part of it to read."""
    kind, _, parameters = response.content_type.lower().partition(";")
    kind = kind.strip() or "text/html"
    suffix = _SUFFIXES.get(kind, ".txt" if kind.startswith("text/") or kind.endswith(("+xml", "+json")) else "")
    if kind == "application/octet-stream":
        suffix = PurePosixPath(httpx2.URL(url).path).suffix
    suffix = file_types.kind(response.body, suffix)  # servers often declare another type
    if suffix == ".pdf":
        kind = "application/pdf"
    if suffix not in SUFFIXES:
        shown = kind if re.fullmatch(r"[\w.+-]{1,99}/[\w.+-]{1,99}", kind) else "of an invalid media type"
        raise ToolError(
            say("{url} is {shown}, which cannot be read as text; try another source", url=url, shown=shown),
            "unreadable",
        )
    charset = re.search(r"charset=[\"']?([^\s\"';]{1,40})", parameters)
    try:
        page = read_isolated(
            response.body,
            suffix,
            url,
            served=(charset[1] if charset else "", httpx2.URL(url).host),
            timeout_s=PARSE_S,
            links=links,
        )
    except UnreadableFile as error:
        raise ToolError(say("{error}; try another source", error=error), "unreadable") from error
    return kind, page


def _content(url: str, kind: str, page: FileText, *, private: bool) -> FetchedPage:
    """Return a page.  Raises `ToolError` for one shown before the content, which must not be cited."""
    if page.wall:
        raise ToolError(_told(page.wall, url), "unreadable")
    links = absolute_links(url, page)
    return FetchedPage(url, page.title, page.text, kind, links, private, page.csl, page.notes)


def _told(wall: Wall, url: str) -> str:
    """Return the message for the model on a page that is not a source."""
    match wall:
        case "robot":
            return say("{url} asks whether its reader is a robot, and shows nothing else; try another source", url=url)
        case "parked":
            return say("{url} only offers its own name for sale; try another source", url=url)
        case "same":
            return say(
                "{url} shows what its site shows at any address, so it is no page of its own: it may be missing, or not "
                "be shown to readers here; check the address or try another source",
                url=url,
            )
        case "missing":
            return say("{url} says that there is no such page; check the address or try another source", url=url)
        case "consent":
            return say("{url} asks for consent to cookies, and shows nothing else; try another source", url=url)
        case "members":
            return say("{url} asks its reader to sign in, and shows nothing else; try another source", url=url)
        case _:
            return say("{url} shows its content only with JavaScript; try another source", url=url)
