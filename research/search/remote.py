"""One request to a search service: bounded in time and size, with each failure in words that say what to do."""

from __future__ import annotations

import html
import re
import zlib
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from msgspec import Struct

from research import cancel, decoding
from research.connections import trusted
from research.errors import ToolError
from research.http import base_url, check_key, retry_after
from research.redaction import disguises, hide_in_logs
from research.search.pace import SYSTEM, Clock, Trouble, shared
from research.text import clip

if TYPE_CHECKING:
    import httpx2

T = TypeVar("T")

MAX_BYTES = 4_000_000
"""Of an answer, unpacked; real ones have less than a tenth of it."""
WAIT_S = 10.0
"""Seconds without a byte until the service counts as gone."""
_SAID = 200
"""Characters of what a service says of an error."""
_AGENT = "ResearchWorkbench/0.1"


class Refusal(Struct, frozen=True):
    """An answer that holds no results."""

    status: int
    said: str
    """The service's own words, masked and short."""
    headers: Mapping[str, str]


Explain = Callable[[Refusal], Trouble | None]
"""What a service's own way of refusing means; None for the usual."""


def _nothing_special(refusal: Refusal) -> Trouble | None:
    return None


class Remote:
    """A service over HTTP.

    `url_setting` and `key_setting` name what the user can change.  The key is masked in whatever the service sends
    back.  Requests of the whole process are at least `interval_s` apart.  Raises `ConfigError` for a url or a key that
    cannot be used.
    """

    def __init__(
        self,
        name: str,
        url: str,
        *,
        key: str = "",
        url_setting: str = "",
        key_setting: str = "",
        interval_s: float = 1.0,
        clock: Clock = SYSTEM,
    ) -> None:
        self.name = name
        self.key = key
        self.url = str(base_url(url, url_setting)).rstrip("/")
        check_key(key, key_setting)
        self._url_setting = url_setting
        self._key_setting = key_setting
        self._secret = disguises(key)
        if key:
            hide_in_logs(key)
        self.pace = shared(name, self.url, interval_s, clock)

    def json(
        self,
        kind: type[T],
        method: str,
        path: str,
        *,
        params: Mapping[str, str | int] | None = None,
        body: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        explain: Explain = _nothing_special,
    ) -> T:
        """The answer as a `kind`.  Raises `ToolError`."""
        sending = {"params": params, "json": body, "headers": headers}
        read: Callable[[bytes], T] = partial(decoding.decode, kind=kind)
        return self._ask(read, method, path, "application/json", explain, sending)

    def xml(self, read: Callable[[bytes], T], path: str, params: Mapping[str, str | int]) -> T:
        """What `read` makes of the answer; it raises `ValueError` for one that cannot be read.  Raises `ToolError`."""
        return self._ask(read, "GET", path, "application/atom+xml", _nothing_special, {"params": params})

    def mask(self, text: str) -> str:
        """The text without the key, however it is written."""
        return self._secret.sub("***", text)

    def failure(self, message: str) -> ToolError:
        """The error with that message, masked and short."""
        return ToolError(clip(self.mask(message), 3 * _SAID))

    def _ask(
        self, read: Callable[[bytes], T], method: str, path: str, media: str, explain: Explain, sending: dict[str, Any]
    ) -> T:
        def attempt(seconds: float) -> T:
            body = self._exchange(method, path, media, explain, sending, seconds)
            try:
                return read(body)
            except (ValueError, RecursionError) as error:
                raise self._unreadable(self.mask(str(error))) from error

        return self.pace.run(attempt)

    def _exchange(
        self, method: str, path: str, media: str, explain: Explain, sending: dict[str, Any], seconds: float
    ) -> bytes:
        import httpx2

        deadline = self.pace.clock.now() + seconds
        headers = {"Accept": media, "Accept-Encoding": "gzip", "User-Agent": _AGENT, **(sending.get("headers") or {})}
        try:
            with (
                # Redirects would carry the key to whoever they name.
                httpx2.Client(timeout=min(WAIT_S, seconds), follow_redirects=False, verify=trusted()) as client,
                client.stream(method, self.url + path, **{**sending, "headers": headers}) as response,
            ):
                body = self._body(response, deadline)
        except httpx2.TimeoutException as error:
            raise Trouble(f"{self.name} did not answer in time", retry=True) from error
        except httpx2.ConnectError as error:
            hint = f" and that {self._url_setting} is right" if self._url_setting else ""
            raise Trouble(
                f"{self.name} cannot be reached ({error}): check that this machine is online{hint}"
            ) from error
        except httpx2.RequestError as error:
            why = self.mask(str(error)) or type(error).__name__
            raise Trouble(f"the connection to {self.name} was lost ({why})", retry=True) from error
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if response.status_code != 200 or kind not in (media, *_ALIASES[media]):
            raise self._refused(Refusal(response.status_code, self._said(body), response.headers), kind, explain)
        return body

    def _body(self, response: httpx2.Response, deadline: float) -> bytes:
        packed = bytearray()
        for piece in response.iter_raw():
            cancel.check()
            packed += piece
            self._check_size(len(packed))
            if self.pace.clock.now() > deadline:
                raise Trouble(f"{self.name} answers too slowly", retry=True)
        match response.headers.get("content-encoding", "").lower():
            case "" | "identity":
                return bytes(packed)
            case "gzip" | "x-gzip":
                try:  # in one bounded step: a kilobyte can unpack to a gigabyte
                    body = zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(packed, MAX_BYTES + 1)
                except zlib.error as error:
                    raise self._unreadable(str(error)) from error
                self._check_size(len(body))
                return body
            case encoding:
                raise self._unreadable(f"it is packed as {clip(encoding, 40)!r}, which was not asked for")

    def _check_size(self, size: int) -> None:
        if size > MAX_BYTES:
            raise self._unreadable(f"it has more than {MAX_BYTES / 1e6:g} MB")

    def _refused(self, refusal: Refusal, kind: str, explain: Explain) -> Trouble:
        special = explain(refusal)
        if special is not None:
            return special
        name, said = self.name, f". It said: {refusal.said}" if refusal.said else ""
        match refusal.status:
            case 200:
                return self._unreadable(f"it is {clip(kind, 60) or 'of no stated type'}{said}")
            case 401 | 403 if self._key_setting:
                what = "refused the key" if self.key else "wants a key"
                return Trouble(f"{name} {what} ({refusal.status}): set {self._key_setting}{said}")
            case 202 | 429:
                return Trouble(
                    f"{name} gets too many requests ({refusal.status}){self._share()}{said}",
                    retry=True,
                    after_s=retry_after(refusal.headers),
                )
            case status if status >= 500 or status == 408:
                return Trouble(
                    f"{name} is out of order ({status}){said}", retry=True, after_s=retry_after(refusal.headers)
                )
            case 400 | 413 | 414 | 422:
                return Trouble(f"{name} does not accept the query ({refusal.status}); write it simpler{said}")
            case status:
                hint = f": check {self._url_setting}" if self._url_setting else ""
                return Trouble(f"{name} answered {status}{hint}{said}")

    def _share(self) -> str:
        """A way out for those who share a service's allowance with everybody."""
        return f"; a key of your own in {self._key_setting} helps" if self._key_setting and not self.key else ""

    def _unreadable(self, why: str) -> Trouble:
        hint = f"; check {self._url_setting}" if self._url_setting else ""
        return Trouble(f"{self.name} sent an answer that cannot be read: {clip(why, 2 * _SAID)}{hint}")

    def _said(self, body: bytes) -> str:
        text = _message(body)
        plain = " ".join(html.unescape(re.sub(r"(?s)<(script|style)\b.*?</\1>|<[^>]*>", " ", text)).split())
        return clip(self.mask(plain), _SAID)  # masked before it is clipped: half a key is a leak too


_ALIASES = {
    "application/json": ("text/json",),
    "application/atom+xml": ("application/xml", "text/xml"),
}


def _message(body: bytes) -> str:
    """The words in an error's body: JSON in one of the usual forms, or whatever it is."""
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
