"""What the clients of model servers share: one server over HTTP, and what its failures mean.

A server's words are masked before anybody sees them: services echo the key that they refuse.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

import msgspec
from msgspec import Struct

from research import connections, decoding
from research.errors import ProviderError
from research.http import base_url, check_key, retry_after
from research.redaction import disguises, hide_in_logs
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
# What a kind of error means that came inside a 200 and has no status of its own, by a part of its name.
_STATUS = {
    "invalid": 400, "authentication": 401, "billing": 402, "permission": 403, "not_found": 404, "too_large": 413,
    "rate_limit": 429, "timeout": 504, "overloaded": 529,
}  # fmt: skip


class Refusal(ProviderError):
    """A request that the server does not take as it stands (400, 422), refused before any of the reply."""

    def __init__(self, message: str, param: str, said: str) -> None:
        super().__init__(message)
        self.param = param
        """The part of the request the server names, if it does so apart from its words."""
        self.said = said
        """Its words, masked."""

    def unsupported(self, names: Sequence[str]) -> str | None:
        """Which of these parameters the server does not know or take; None: it complains of something else.

        A wrong value of a known parameter is something else: leaving it out would hide the mistake.
        """
        if not _UNSUPPORTED.search(self.said):
            return None
        if self.param:
            root = re.split(r"[.\[]", self.param)[0]
            return root if root in names else None
        found = [(match.start(), name) for name in names if (match := mention(name, self.said))]
        return min(found)[1] if found else None


def mention(name: str, text: str) -> re.Match[str] | None:
    """Where `text` speaks of the parameter; `thinking.type` speaks of `thinking`."""
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text)


class Server:
    """One server that gives replies as server-sent events.

    Safe to share between threads.
    """

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
    ) -> None:
        """
        `service` begins the names of its settings, e.g. `OPENAI` for OPENAI_API_KEY; `hint` says what their urls look
        like.  `timeout_s`: seconds without a byte until the server counts as gone.  Raises `ConfigError` for a url or a
        key that cannot be used.
        """

        self._key_setting, self._url_setting = f"{service}_API_KEY", f"{service}_BASE_URL"
        parsed = base_url(url, self._url_setting)
        check_key(key, self._key_setting)
        self.url = str(parsed)
        self.host = parsed.netloc.decode("ascii")
        self._model = model
        self._hint = hint
        self._keeps_open = False
        """Whether it does not end a reply that is complete."""
        self._secret = disguises(key)
        hide_in_logs(key)
        self._client = connections.client(self.url, tuple(headers.items()), timeout_s)

    def events(
        self, path: str, body: object, is_last: Callable[[str], bool], headers: Mapping[str, str] | None = None
    ) -> Generator[str]:
        """The data of each event of the reply, up to the last one.  Raises `Refusal`, `ProviderError`."""
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
                        self._keeps_open = self._keeps_open or not connections.ended(events.response, coming)
                        return
        except httpx2.RequestError as error:
            raise self._lost(error) from error

    def get(
        self, path: str, type: type[T], params: Mapping[str, str | int] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> T:  # fmt: skip
        """What the server lists.  Raises `ProviderError`."""
        import httpx2

        try:
            with self._client.stream("GET", path, params=params, headers=headers) as response:
                self._accept(response, "application/json")
                return decoding.decode(_read(response, _LISTING_BYTES), type)
        except httpx2.RequestError as error:
            raise self._lost(error) from error
        except (ValueError, RecursionError) as error:
            raise ProviderError(f"{self.url} gave a list of models that cannot be read: {error}") from error

    def read(self, data: str, type: type[T]) -> T:
        """An event.  Raises `ProviderError`."""
        try:
            return decoding.decode(data, type)
        except (ValueError, RecursionError) as error:
            raise ProviderError(f"{self.host} sent an event that cannot be read: {error}", retryable=True) from error

    def reported(self, data: str) -> ProviderError:
        """What an error event inside a stream means."""
        return self._failure(200, _problem(data.encode()), {})

    def broken(self, why: str) -> ProviderError:
        """The stream ended before the reply did."""
        return ProviderError(f"the reply of {self.host} broke off ({why})", retryable=True)

    def _accept(self, response: httpx2.Response, content_type: str) -> None:
        """Return if the response is what was asked for, else raise what it says instead."""
        if response.is_success and response.headers.get("content-type", "").startswith(content_type):
            return
        problem = _problem(_read(response, _ERROR_BYTES))
        failure = self._failure(response.status_code, problem, response.headers)
        if response.status_code in (400, 422) and not failure.context_overflow:
            raise Refusal(str(failure), problem.param, self._secret.sub("***", f"{problem.code} {problem.message}"))
        raise failure

    def _failure(self, status: int, problem: _Problem, headers: Mapping[str, str]) -> ProviderError:
        """What a response means that is not a reply, by the server's own words as far as they are known."""
        # Masked before it is clipped: half a key is a leak too.
        said = clip(" ".join(self._secret.sub("***", problem.message).split()), 300)
        key, url = self._key_setting, self._url_setting
        if status < 400:
            if not problem.given:
                return ProviderError(
                    f"{self.url} answered {status} with something that is no reply; check {url} "
                    f"({self._hint}).  It said: {said}"
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
        # A 429 that no waiting mends.
        spent = problem.code == "insufficient_quota" or problem.code.endswith("spend_limit_reached")
        wait_s = retry_after(headers)
        return ProviderError(
            f"{self.host} answered {status}: {said}",
            retryable=not spent and (status in (408, 409, 429) or status >= 500),
            retry_after_s=None if wait_s is None else min(wait_s, _LONGEST_WAIT_S),
        )

    def _lost(self, error: httpx2.RequestError) -> ProviderError:
        """What a failure below HTTP means."""
        import httpx2

        if isinstance(error, httpx2.TimeoutException):
            return ProviderError(f"{self.host} did not answer in time ({type(error).__name__})", retryable=True)
        why = str(error) or type(error).__name__
        if isinstance(error, httpx2.ConnectError | httpx2.ProxyError):
            return ProviderError(
                f"cannot reach {self.url} ({why}): check that the server runs and that {self._url_setting} is right",
                retryable=True,  # a server that starts anew is away for a moment
            )
        return ProviderError(f"the connection to {self.host} was lost ({why})", retryable=True)


def _read(response: httpx2.Response, limit: int) -> bytes:
    """The body's first bytes, at least `limit` of them if there are as many."""
    body = bytearray()
    for piece in response.iter_bytes():
        body += piece
        if len(body) >= limit:
            break
    return bytes(body)


class _Problem(Struct):
    """A server's error in its own words."""

    message: str
    code: str = ""
    kind: str = ""
    param: str = ""
    given: bool = True
    """Whether the body says that it is an error."""

    @property
    def status(self) -> int:
        """The status that would go with it, where it came inside a 200."""
        if self.code.isdecimal() and 400 <= int(self.code) < 600:
            return int(self.code)
        return next((status for part, status in _STATUS.items() if part in self.kind), 500)


def _problem(body: bytes) -> _Problem:
    """The error in a body: the nested form of OpenAI and Anthropic, vLLM's flat one, Ollama's text, or a proxy's page."""
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
