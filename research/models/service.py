"""A model service as a client sees it: events of a reply, lists, and errors with their meaning.

The official SDKs carry the requests (`sdk`).  A service's error messages are redacted before anything uses them: services
echo the key that they refuse.
"""

from __future__ import annotations

import codecs
import json
import re
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from research._util import connections, decoding, egress
from research._util.http import base_url, check_key
from research._util.redaction import is_secret, key_pattern, redact_in_logs
from research.errors import ProviderError
from research.models import aws_frames, lines, sdk
from research.models.endpoint import Endpoint
from research.models.failures import Judge, lost, problem_in

if TYPE_CHECKING:
    import httpx2

T = TypeVar("T")

_STREAM = "text/event-stream"
_FRAMES = "application/vnd.amazon.eventstream"
_EVENT = re.compile(r"\s*(?:data|event|id|retry)?:")
_TOLD_AT = 6
"""Characters that distinguish an event stream from JSON."""
_SPACE = re.compile(r"(?:\s|data:|\[DONE\])*+")
_LISTING_BYTES = 16 * 1024 * 1024


class Service:
    """The service of one model.  Safe to share between threads."""

    def __init__(self, endpoint: Endpoint, *, model: str, hint: str) -> None:
        """`hint` describes valid urls.  Raises `ConfigError` for an invalid url or key."""
        parsed = base_url(sdk.address(endpoint), endpoint.url_name)
        key = endpoint.secret
        check_key(key, endpoint.key_name)
        self.url = str(parsed)
        self.host = parsed.netloc.decode("ascii")
        self.secret = key if is_secret(key) else ""
        """The key, if replies must not contain it."""
        self._keeps_open = False
        """Whether the service leaves the response open after a complete reply."""
        self._endpoint = endpoint
        self._judge = Judge(endpoint, self.url, self.host, model, hint, key_pattern(key))
        redact_in_logs(key)
        sdk.preload(endpoint)

    @cached_property
    def _carrier(self) -> sdk.Carrier:
        return sdk.Carrier(self._endpoint, self.url)

    @cached_property
    def _failures(self) -> sdk.Failures:
        return sdk.Failures(self._endpoint)

    def events(
        self,
        path: str,
        body: dict[str, Any],
        is_last: Callable[[str], bool],
        headers: Mapping[str, str] | None = None,
        *,
        whole: str,
    ) -> Generator[str]:
        """Post `body` and yield the data of each event, up to the last one.

        An unstreamed reply is yielded as one object, with the field `whole`.
        Raises `RequestRejected`, or another `ProviderError`.
        """
        with self._sent(lambda: self._carrier.post(path, body, headers or {}), tools="tools" in body) as response:
            coming = lines.counted(self._coming(response, whole), self.host)
            for data in coming:
                yield data
                if is_last(data):
                    self._keeps_open = self._keeps_open or not connections.read_to_end(response, coming)
                    return

    def get(
        self,
        path: str,
        type: type[T],
        params: Mapping[str, str | int] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> T:
        """Get a list from the service.  Raises `ProviderError`."""
        with self._sent(lambda: self._carrier.get(path, params or {}, headers or {})) as response:
            body = connections.read_start(response, _LISTING_BYTES, sdk.LIST_S).removeprefix(codecs.BOM_UTF8)
            if not body.lstrip().startswith((b"{", b"[")):
                raise _NoReply(response, body)
        try:
            return decoding.decode(body, type)
        except (ValueError, RecursionError) as error:
            raise ProviderError(f"{self.url} sent an unreadable list of models: {error}") from error

    def read(self, data: str, type: type[T]) -> T:
        """Decode the data of an event.  Raises `ProviderError`."""
        try:
            return decoding.decode(data, type)
        except (ValueError, RecursionError) as error:
            came = self._judge.quoted(data)
            raise ProviderError(f"{self.host} sent an unreadable event ({error}): {came}", retryable=True) from error

    def error_event(self, data: str, body: dict[str, Any]) -> ProviderError:
        """Return the error for an error event inside the reply to a request with this body."""
        return self._judge.refused(200, problem_in(data.encode()), {}, tools="tools" in body)

    def ended_early(self, why: str, last: str) -> ProviderError:
        """Return the error for a stream that ended before its reply was complete, after this event."""
        came = f"its last event was {self._judge.quoted(last)}" if last else "it held no event"
        return ProviderError(f"the reply of {self.host} ended early ({why}); {came}", retryable=True)

    @contextmanager
    def _sent(self, send: Callable[[], httpx2.Response], *, tools: bool = False) -> Iterator[httpx2.Response]:
        """Send a request, and close its response in the end.  Raises `ProviderError`, also for failures inside."""
        import httpx2

        begun = time.monotonic()
        try:
            with egress.sending(self.host, near=self._endpoint.near):
                response = send()
                try:
                    yield response
                finally:
                    response.close()
        except (self._failures.status, _NoReply) as error:
            answer, said = error.response, error.said if isinstance(error, _NoReply) else error.response.content
            failure = self._judge.refused(answer.status_code, problem_in(said), answer.headers, tools=tools)
            failure.at_work = connections.may_go_on(begun, answer.status_code)
            # Without the SDK's error, which quotes the service, perhaps a key.
            raise failure from None
        except self._failures.connection as error:
            raise lost(error.__cause__ or error, self._endpoint, self.url, begun) from error
        except httpx2.RequestError as error:
            raise lost(error, self._endpoint, self.url, begun) from error

    def _coming(self, response: httpx2.Response, whole: str) -> Iterator[str]:
        """Yield the data of each event.  The body tells whether it is a stream: gateways send wrong content types."""
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind == _FRAMES:
            yield from aws_frames.events(self._bounded(response))
            return
        texts = codecs.iterdecode(self._bounded(response), "utf-8-sig", "replace")
        start = ""
        while len(start) < _TOLD_AT and (text := next(texts, "")):
            start = (start + text).lstrip()
        if _EVENT.match(start) or (kind == _STREAM and not start.startswith(("{", "[", "<"))):
            for data in self._carrier.events(chain([start], texts), self.host):
                yield from _separate(data)
        else:
            text = "".join(self._whole(start, texts))
            values = _values(text)
            if not values or not all(isinstance(value, dict) and whole in value for value in values):
                raise _NoReply(response, text.encode())
            yield from (msgspec.json.encode(value).decode() for value in values)

    def _whole(self, start: str, texts: Iterator[str]) -> Iterator[str]:
        received = 0
        for text in chain([start], texts):
            received += len(text)
            if received > lines.LONGEST:
                raise lines.too_long(self.host)
            yield text

    def _bounded(self, response: httpx2.Response) -> Iterator[bytes]:
        return lines.bounded(response.iter_bytes(), self.host)


class _NoReply(Exception):
    """A response of status 200 that is not a reply."""

    def __init__(self, response: httpx2.Response, said: bytes) -> None:
        self.response = response
        self.said = said


def _separate(data: str) -> Iterator[str]:
    """Yield the data of an event, or of several if a server forgets the blank lines between them."""
    lines = [line.strip().removeprefix("data:").strip() for line in data.split("\n")]
    if all(line.startswith("{") or line in ("", "[DONE]") for line in lines) and len(lines) > 1:
        yield from filter(None, lines)
    elif data.startswith("[") and (values := _values(data)):
        yield from (msgspec.json.encode(value).decode() for value in values)
    else:
        yield data.removeprefix("data:").strip()


def _values(body: str) -> list[Any]:
    """Return the JSON values of a body, an array's one by one; none if it contains anything else."""
    values: list[Any] = []
    decoder, at = json.JSONDecoder(), 0
    try:
        while at < len(body):
            match = _SPACE.match(body, at)
            at = match.end() if match else at
            if at < len(body):
                value, at = decoder.raw_decode(body, at)
                values += value if isinstance(value, list) else [value]
    except (ValueError, RecursionError):
        return []
    return values
