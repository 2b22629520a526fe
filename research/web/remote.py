"""HTTP requests to search services, bounded in time and size, with error messages that say what to do."""

from __future__ import annotations

import html
import re
import zlib
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from research._util import cancel, decoding, egress
from research._util.connections import offline, refusal, routes
from research._util.http import base_url, check_key, retry_after
from research._util.redaction import key_pattern, redact_in_logs
from research.errors import ToolError
from research.text import clip
from research.web.throttling import SYSTEM, AttemptError, Clock, rate_limit_of, unreachable

if TYPE_CHECKING:
    import httpx2
    from lxml.etree import _Element

T = TypeVar("T")

MAX_BYTES = 4_000_000
"""Largest response, unpacked; real ones have less than a tenth of it."""
WAIT_S = 10.0
"""Seconds without a byte until the request times out."""
_MESSAGE_CHARS = 200
"""Characters of a service's own error message."""
_AGENT = "ResearchWorkbench/0.1"


class ErrorResponse(Struct, frozen=True):
    """A response without results."""

    status: int
    message: str
    """The service's own message, redacted and short."""
    headers: Mapping[str, str]


Explain = Callable[[ErrorResponse], AttemptError | None]
"""Interprets a service's own error responses; returns None for the usual ones."""


def _nothing_special(response: ErrorResponse) -> AttemptError | None:
    return None


class Setting(NamedTuple):
    """The value of a setting."""

    value: str = ""
    name: str = ""
    """Name of the setting in errors; empty: the user cannot change it."""


UNSET = Setting()


class Remote:
    """A service over HTTP.

    The key is redacted in everything the service returns.  Requests of this process are at least `interval_s` apart.
    `allow_hosts`: the private hosts that the url may lead to; None: any, because the administrator chose the url.
    Raises `ConfigError` for an invalid url or key.
    """

    def __init__(
        self,
        name: str,
        url: Setting,
        key: Setting = UNSET,
        *,
        interval_s: float = 1.0,
        clock: Clock = SYSTEM,
        allow_hosts: tuple[str, ...] | None = None,
    ) -> None:
        self.name = name
        self.key, self._key_setting = key
        self.url, self._url_setting = str(base_url(*url)).rstrip("/"), url.name
        check_key(*key)
        self._allow_hosts = allow_hosts
        self._secret = key_pattern(self.key)
        if self.key:
            redact_in_logs(self.key)
        self.rate_limit = rate_limit_of(name, self.url, interval_s, clock)

    def json(
        self,
        kind: type[T],
        path: str,
        *,
        params: Mapping[str, str | int] | None = None,
        body: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        explain: Explain = _nothing_special,
    ) -> T:
        """Send a GET request, or POST a `body`, and decode the JSON response as a `kind`.  Raises `ToolError`."""
        method = "GET" if body is None else "POST"
        sending = {"params": params, "json": body, "headers": headers}
        read: Callable[[bytes], T] = partial(decoding.decode, kind=kind)
        return self._ask(read, method, path, "application/json", explain, sending)

    def xml(self, read: Callable[[_Element], T], path: str, params: Mapping[str, str | int]) -> T:
        """Send a GET request and return `read` of the XML response's root; `read` may raise `ValueError`.

        Raises `ToolError`.
        """

        def parsed(body: bytes) -> T:
            return read(_root(body))

        return self._ask(parsed, "GET", path, "application/atom+xml", _nothing_special, {"params": params})

    def mask(self, text: str) -> str:
        """Redact the key in the text, in every encoding it may have."""
        return self._secret.sub("***", text)

    def failure(self, message: str) -> ToolError:
        """Return an error with that message, redacted and shortened."""
        return ToolError(clip(self.mask(message), 3 * _MESSAGE_CHARS))

    def _ask(
        self, read: Callable[[bytes], T], method: str, path: str, media: str, explain: Explain, sending: dict[str, Any]
    ) -> T:
        def attempt(seconds: float) -> T:
            body = self._exchange(method, path, media, explain, sending, seconds)
            try:
                return read(body)
            except (ValueError, RecursionError) as error:
                raise self._unreadable(self.mask(str(error))) from error

        return self.rate_limit.run(attempt)

    def _exchange(
        self, method: str, path: str, media: str, explain: Explain, sending: dict[str, Any], seconds: float
    ) -> bytes:
        import httpx2

        deadline = self.rate_limit.clock.now() + seconds
        headers = {"Accept": media, "Accept-Encoding": "gzip", "User-Agent": _AGENT, **(sending.get("headers") or {})}
        try:
            with (
                egress.sending(urlsplit(self.url).netloc, kinds=("search words",)),
                # A redirect would send the key to another host.
                httpx2.Client(
                    timeout=min(WAIT_S, seconds),
                    follow_redirects=False,
                    **routes(self._allow_hosts, httpx2.Limits()),
                ) as client,
                client.stream(method, self.url + path, **{**sending, "headers": headers}) as response,
            ):
                body = self._body(response, deadline)
        except httpx2.TimeoutException as error:
            raise AttemptError(f"{self.name} timed out", retry=True) from error
        except httpx2.ConnectError as error:
            if why := refusal(error):
                raise AttemptError(f"{self.name} cannot be used: {why}; change {self._url_setting}") from error
            raise unreachable(self.name, self._url_setting, offline=offline(error)) from error
        except httpx2.RequestError as error:
            why = self.mask(str(error)) or type(error).__name__
            raise AttemptError(f"the connection to {self.name} was lost ({why})", retry=True) from error
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if response.status_code != 200 or kind not in (media, *_ALIASES[media]):
            error_response = ErrorResponse(response.status_code, self._message(body), response.headers)
            raise self._error(error_response, kind, explain)
        return body

    def _body(self, response: httpx2.Response, deadline: float) -> bytes:
        packed = bytearray()
        for piece in response.iter_raw():
            cancel.check()
            packed += piece
            self._check_size(len(packed))
            if self.rate_limit.clock.now() > deadline:
                raise AttemptError(f"{self.name} responds too slowly", retry=True)
        match response.headers.get("content-encoding", "").lower():
            case "" | "identity":
                return bytes(packed)
            case "gzip" | "x-gzip":
                try:  # with a size limit: a kilobyte can unpack to a gigabyte
                    body = zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(packed, MAX_BYTES + 1)
                except zlib.error as error:
                    raise self._unreadable(str(error)) from error
                self._check_size(len(body))
                return body
            case encoding:
                raise self._unreadable(f"its encoding is {clip(encoding, 40)!r}; only gzip was requested")

    def _check_size(self, size: int) -> None:
        if size > MAX_BYTES:
            raise self._unreadable(f"it is larger than {MAX_BYTES / 1e6:g} MB")

    def _error(self, response: ErrorResponse, kind: str, explain: Explain) -> AttemptError:
        special = explain(response)
        if special is not None:
            return special
        name, said = self.name, f". It said: {response.message}" if response.message else ""
        match response.status:
            case 200:
                return self._unreadable(f"its content type is {clip(kind, 60) or 'missing'}{said}")
            case 401 | 403 if self._key_setting:
                what = "refused the key" if self.key else "requires a key"
                return AttemptError(f"{name} {what} ({response.status}): set {self._key_setting}{said}")
            case 202 | 429:
                return AttemptError(
                    f"{name} reports too many requests ({response.status}){self._own_key_hint()}{said}",
                    retry=True,
                    after_s=retry_after(response.headers),
                )
            case status if status >= 500 or status == 408:
                return AttemptError(
                    f"{name} failed with status {status}{said}", retry=True, after_s=retry_after(response.headers)
                )
            case 400 | 413 | 414 | 422:
                return AttemptError(f"{name} rejected the query ({response.status}); simplify it{said}")
            case status:
                hint = f": check {self._url_setting}" if self._url_setting else ""
                return AttemptError(f"{name} answered {status}{hint}{said}")

    def _own_key_hint(self) -> str:
        """Suggest a key to users without one, who share the service's allowance."""
        return f"; set {self._key_setting} for a limit of your own" if self._key_setting and not self.key else ""

    def _unreadable(self, why: str) -> AttemptError:
        hint = f"; check {self._url_setting}" if self._url_setting else ""
        return AttemptError(f"{self.name} sent an unreadable response: {clip(why, 2 * _MESSAGE_CHARS)}{hint}")

    def _message(self, body: bytes) -> str:
        text = _error_text(body)
        plain = " ".join(html.unescape(re.sub(r"(?s)<(script|style)\b.*?(?:</\1>|\Z)|<[^<>]*>", " ", text)).split())
        return clip(self.mask(plain), _MESSAGE_CHARS)  # redact before clipping: half a key is a leak too


_ALIASES = {
    "application/json": ("text/json",),
    "application/atom+xml": ("application/xml", "text/xml"),
}


def _error_text(body: bytes) -> str:
    """Return the message in an error's body: JSON in one of the usual forms, or any text."""
    try:
        value = msgspec.json.decode(body)
    except (ValueError, RecursionError):
        return body[:20_000].decode("utf-8", "replace")
    while isinstance(value, dict):
        inner = next((value[name] for name in ("message", "detail", "error") if value.get(name)), None)
        if inner is None:
            break
        value = inner
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _root(body: bytes) -> _Element:
    """Return the root of XML, without resolving anything outside it.  Raises `ValueError`."""
    from lxml import etree

    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
    try:
        return etree.fromstring(body, parser)
    except etree.XMLSyntaxError as error:
        raise ValueError(str(error)) from error
