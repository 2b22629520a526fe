"""The connection of a client to a model server: server-sent events, and errors with what they mean.

A server's error messages are redacted before anything uses them: servers echo the key that they refuse.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

import msgspec
from msgspec import Struct

from research._util import connections, decoding
from research._util.http import base_url, check_key, retry_after
from research._util.redaction import is_secret, key_pattern, redact_in_logs
from research.errors import ProviderError
from research.text import clip

if TYPE_CHECKING:
    import httpx2

T = TypeVar("T")

_LONGEST_WAIT_S = 300.0
_ERROR_BYTES = 64 * 1024
_LISTING_BYTES = 16 * 1024 * 1024

# OpenAI and DeepSeek "maximum context length", vLLM "maximum model length", llama.cpp "context size", LM Studio and
# llama-cpp-python "context window"; Anthropic "prompt is too long", "exceed context limit", `request_too_large`.
_OVERFLOW = re.compile(
    r"context[_ ](length|size|window|limit)|maximum (model|sequence) length|prompt is too long|too many input tokens|"
    r"request_too_large",
    re.IGNORECASE,
)
_UNSUPPORTED = re.compile(
    r"unsupported|unrecogni[sz]ed|unknown|unexpected|deprecated|unavailable|extra[_ ](inputs|fields|forbidden)|"
    r"not (\w+ )?(support|permit|allow|accept|compatible|available)|may (not|only)",
    re.IGNORECASE,
)
# The status for an error event inside a 200 response, by a part of its type.
_STATUS = {
    "invalid": 400,
    "authentication": 401,
    "billing": 402,
    "permission": 403,
    "not_found": 404,
    "too_large": 413,
    "rate_limit": 429,
    "timeout": 504,
    "overloaded": 529,
}


class RequestRejected(ProviderError):
    """The server rejected the request (400 or 422) before sending any of the reply."""

    def __init__(self, message: str, param: str, server_message: str) -> None:
        super().__init__(message)
        self.param = param
        """The parameter that the server names in a field of the error, else empty."""
        self.server_message = server_message
        """The server's own message, redacted."""

    def unsupported(self, names: Sequence[str]) -> str | None:
        """Return which of these parameters the server does not support; None if the error is about something else.

        A wrong value of a supported parameter counts as something else: omitting it would hide the mistake.
        """
        if not _UNSUPPORTED.search(self.server_message):
            return None
        if self.param:
            root = re.split(r"[.\[]", self.param)[0]
            return root if root in names else None
        found = [(match.start(), name) for name in names if (match := mention(name, self.server_message))]
        return min(found)[1] if found else None


def mention(name: str, text: str) -> re.Match[str] | None:
    """Find the parameter's name in `text` as a whole word; `thinking.type` mentions `thinking`."""
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text)


class Server:
    """A server that streams replies as server-sent events.  Safe to share between threads."""

    def __init__(
        self,
        url: str,
        *,
        model: str,
        key: str,
        service: str,
        hint: str,
        headers: Mapping[str, str],
        timeout_s: float,
        allow_hosts: tuple[str, ...] | None = None,
    ) -> None:
        """
        `service` is the prefix of its settings, e.g. `OPENAI` for OPENAI_API_KEY; `hint` describes valid urls.
        `allow_hosts`: the private hosts that the url may lead to; None: any, because the administrator chose the url.
        A request times out after `timeout_s` seconds without a byte.  Raises `ConfigError` for an invalid url or key.
        """

        self._key_setting, self._url_setting = f"{service}_API_KEY", f"{service}_BASE_URL"
        parsed = base_url(url, self._url_setting)
        check_key(key, self._key_setting)
        self.url = str(parsed)
        self.host = parsed.netloc.decode("ascii")
        self._model = model
        self._hint = hint
        self.secret = key if is_secret(key) else ""
        """The key, if replies must not contain it."""
        self._keeps_open = False
        """Whether the server leaves the response open after a complete reply."""
        self._secret = key_pattern(key)
        redact_in_logs(key)
        self._client = connections.client(self.url, tuple(headers.items()), timeout_s, allow_hosts)

    def events(
        self, path: str, body: object, is_last: Callable[[str], bool], headers: Mapping[str, str] | None = None
    ) -> Generator[str]:
        """Post `body` and yield the data of each event, up to the last one.

        Raises `RequestRejected`, or another `ProviderError`.
        """
        import httpx2

        try:
            with self._client.sse(
                path,
                method="POST",
                content=msgspec.json.encode(body),
                headers={"Content-Type": "application/json", **(headers or {})},
            ) as events:
                self._accept(events.response, "text/event-stream")
                coming = iter(events)
                for event in coming:
                    if event.data:
                        yield event.data
                    if is_last(event.data):
                        self._keeps_open = self._keeps_open or not connections.read_to_end(events.response, coming)
                        return
        except httpx2.RequestError as error:
            raise self._lost(error) from error

    def get(
        self,
        path: str,
        type: type[T],
        params: Mapping[str, str | int] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> T:
        """Get a list from the server.  Raises `ProviderError`."""
        import httpx2

        try:
            with self._client.stream("GET", path, params=params, headers=headers) as response:
                self._accept(response, "application/json")
                return decoding.decode(_read(response, _LISTING_BYTES), type)
        except httpx2.RequestError as error:
            raise self._lost(error) from error
        except (ValueError, RecursionError) as error:
            raise ProviderError(f"{self.url} sent an unreadable list of models: {error}") from error

    def read(self, data: str, type: type[T]) -> T:
        """Decode the data of an event.  Raises `ProviderError`."""
        try:
            return decoding.decode(data, type)
        except (ValueError, RecursionError) as error:
            raise ProviderError(f"{self.host} sent an unreadable event: {error}", retryable=True) from error

    def error_event(self, data: str) -> ProviderError:
        """Return the error for an error event inside a stream."""
        return self._failure(200, _problem(data.encode()), {})

    def ended_early(self, why: str) -> ProviderError:
        """Return the error for a stream that ended before its reply was complete."""
        return ProviderError(f"the reply of {self.host} ended early ({why})", retryable=True)

    def _accept(self, response: httpx2.Response, content_type: str) -> None:
        """Check status and content type; raise the error that the response describes otherwise."""
        if response.is_success and response.headers.get("content-type", "").startswith(content_type):
            return
        problem = _problem(_read(response, _ERROR_BYTES))
        failure = self._failure(response.status_code, problem, response.headers)
        if response.status_code in (400, 422) and not failure.context_overflow:
            raise RequestRejected(
                str(failure), problem.param, self._secret.sub("***", f"{problem.code} {problem.message}")
            )
        raise failure

    def _failure(self, status: int, problem: _Problem, headers: Mapping[str, str]) -> ProviderError:
        """Return the error for a response without a reply, with the server's own message."""
        # Redact before clipping: half a key is a leak too.
        said = clip(" ".join(self._secret.sub("***", problem.message).split()), 300)
        key, url = self._key_setting, self._url_setting
        if status < 400:
            if not problem.given:
                return ProviderError(
                    f"the answer of {self.url} is not a model's reply (status {status}): check {url} ({self._hint}).  "
                    f"It said: {said}"
                )
            status = problem.status
        if status in (401, 403):
            return ProviderError(
                f"{self.host} refused the key ({status}): set {key}, or {url} if the key belongs to another server.  "
                f"It said: {said}"
            )
        if status == 404:
            return ProviderError(
                f"model {self._model!r} or the path was not found at {self.url}: check the model's name and "
                f"{url} ({self._hint}).  It said: {said}"
            )
        if status != 429 and _OVERFLOW.search(f"{problem.code} {problem.kind} {problem.message}"):
            return ProviderError(f"too long for {self._model!r}: {said}", context_overflow=True)
        # A 429 for a used-up quota does not pass with time.
        spent = problem.code == "insufficient_quota" or problem.code.endswith("spend_limit_reached")
        wait_s = retry_after(headers)
        return ProviderError(
            f"{self.host} answered {status}: {said}",
            retryable=not spent and (status in (408, 409, 429) or status >= 500),
            retry_after_s=None if wait_s is None else min(wait_s, _LONGEST_WAIT_S),
        )

    def _lost(self, error: httpx2.RequestError) -> ProviderError:
        """Return the error for a failure below HTTP."""
        import httpx2

        if isinstance(error, httpx2.TimeoutException):
            return ProviderError(f"{self.host} timed out ({type(error).__name__})", retryable=True)
        why = str(error) or type(error).__name__
        if refused := connections.refusal(error):
            return ProviderError(f"{self.url} cannot be used: {refused}; enter another {self._url_setting}")
        if isinstance(error, httpx2.ConnectError | httpx2.ProxyError):
            return ProviderError(
                f"cannot reach {self.url} ({why}): check that the server runs and that {self._url_setting} is correct",
                retryable=True,  # a server that restarts is unreachable for a moment
            )
        return ProviderError(f"the connection to {self.host} was lost ({why})", retryable=True)


def _read(response: httpx2.Response, limit: int) -> bytes:
    """Read the start of the body: stop after the chunk that reaches `limit` bytes."""
    body = bytearray()
    for piece in response.iter_bytes():
        body += piece
        if len(body) >= limit:
            break
    return bytes(body)


class _Problem(Struct):
    """An error as the server describes it."""

    message: str
    code: str = ""
    kind: str = ""
    param: str = ""
    given: bool = True
    """Whether the body is in a known format for errors."""

    @property
    def status(self) -> int:
        """The HTTP status that matches the error, for one inside a 200 response."""
        if self.code.isdecimal() and 400 <= int(self.code) < 600:
            return int(self.code)
        return next((status for part, status in _STATUS.items() if part in self.kind), 500)


def _problem(body: bytes) -> _Problem:
    """Parse an error: nested as by OpenAI and Anthropic, flat as by vLLM, text as by Ollama, or a proxy's page."""
    try:
        value = msgspec.json.decode(body)
    except (ValueError, RecursionError):
        return _Problem(body.decode("utf-8", errors="replace"), given=False)
    given = isinstance(value, dict) and (bool(value.get("error")) or value.get("object") == "error")
    error = (value.get("error") or value) if isinstance(value, dict) else value
    if not isinstance(error, dict):
        return _Problem(str(error), given=given)
    details = error.get("details")
    code = error.get("code") or (details.get("error_code") if isinstance(details, dict) else None)
    return _Problem(
        str(error.get("message") or error),
        str(code or ""),
        str(error.get("type") or ""),
        str(error.get("param") or ""),
        given,
    )
