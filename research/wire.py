"""What the clients of model servers share: one server over HTTP, how it fails, and calls put together from fragments.

A server's words are masked before anybody sees them: services echo the key that they refuse.
"""

from __future__ import annotations

import base64
import logging
import re
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache
from html.entities import html5
from socket import SHUT_RDWR
from ssl import SSLContext
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from msgspec import Struct

from research.errors import ConfigError, ProviderError
from research.text import clip
from research.types import Completion, RawCall, ToolCall, Usage

if TYPE_CHECKING:
    import httpx2

T = TypeVar("T")

CUT = {"length", "content_filter"}
"""Reasons to end under which the last call may be unfinished."""

_LONGEST_WAIT_S = 300.0
_END_S = 0.25
"""How long the end of a complete reply is waited for."""
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


@cache
def trusted() -> SSLContext:
    """The certificates that are trusted: reading them takes longer than most answers."""
    import httpx2

    return httpx2.create_ssl_context()


@cache
def _readers() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(8, thread_name_prefix="wire")


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
        import httpx2

        self._key_setting, self._url_setting = f"{service}_API_KEY", f"{service}_BASE_URL"
        parsed = base_url(url, self._url_setting)
        if not (key.isascii() and key.isprintable()) or " " in key:
            raise ConfigError(f"{self._key_setting} contains white space or a character outside ASCII: copy it again")
        self.url = str(parsed)
        self.host = parsed.netloc.decode("ascii")
        self._model = model
        self._hint = hint
        self._keeps_open = False
        """Whether it does not end a reply that is complete."""
        self._secret = disguises(key)
        hide_in_logs(key)
        self._client = httpx2.Client(
            base_url=parsed, headers=headers, timeout=httpx2.Timeout(timeout_s, connect=min(timeout_s, 10)),
            verify=trusted(),
        )  # fmt: skip

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
                        self._finish(events.response, coming)
                        return
        except httpx2.RequestError as error:
            raise self._lost(error) from error

    def _finish(self, response: httpx2.Response, rest: Iterator[object]) -> None:
        """Read on to the end of a reply that is complete, so that its connection serves the next request too.

        Some servers keep it open: after a moment it is given up, and for good.
        """
        if self._keeps_open:
            return
        reading = _readers().submit(deque, rest, 0)
        if wait([reading], _END_S).not_done and not reading.cancel():
            self._keeps_open = True
            # Closing a socket does not wake up who reads from it.
            response.extensions["network_stream"].get_extra_info("socket").shutdown(SHUT_RDWR)
            wait([reading])

    def get(
        self, path: str, type: type[T], params: Mapping[str, str | int] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> T:  # fmt: skip
        """What the server lists.  Raises `ProviderError`."""
        import httpx2

        try:
            with self._client.stream("GET", path, params=params, headers=headers) as response:
                self._accept(response, "application/json")
                return msgspec.json.decode(_read(response, _LISTING_BYTES), type=type)
        except httpx2.RequestError as error:
            raise self._lost(error) from error
        except (ValueError, RecursionError) as error:
            raise ProviderError(f"{self.url} gave a list of models that cannot be read: {error}") from error

    def read(self, data: str, type: type[T]) -> T:
        """An event.  Raises `ProviderError`."""
        try:
            return msgspec.json.decode(data, type=type)
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
                f"cannot reach {self.url} ({why}): check that the server runs and that {self._url_setting} is right"
            )
        return ProviderError(f"the connection to {self.host} was lost ({why})", retryable=True)


class Call(Struct):
    """A tool call while its fragments arrive."""

    id: str = ""
    name: str = ""
    arguments: str = ""


def completion(
    text: str, calls: Sequence[Call], reasoning: str, reason: str, usage: Usage | None,
    *, position: int, blocks: tuple[dict[str, Any], ...] = (),
) -> Completion:  # fmt: skip
    """A reply that has ended.

    `raw_calls` holds every call as it came, for the parser.  Calls whose arguments are not a JSON object are left out of
    `calls`; `finish_reason` then reads `bad_tool_call:NAME: WHY`.  Under `length` and `content_filter`, an unfinished call
    is just left out.  `position`, the number of messages before, makes ids for calls that came without.
    """
    ids = [call.id or f"call_{position}_{i}" for i, call in enumerate(calls)]
    good, bad = [], []
    for call_id, call in zip(ids, calls, strict=True):
        if reason in CUT and not call.arguments:
            continue  # cut off before its arguments began
        try:
            good.append(ToolCall(call_id, call.name, _arguments(call)))
        except ValueError as error:
            bad.append(f"{call.name}: {error}")
    if bad and reason not in CUT:
        reason = "bad_tool_call:" + "; ".join(bad)
    raw = tuple(RawCall(call_id, call.name, call.arguments) for call_id, call in zip(ids, calls, strict=True))
    return Completion(text, tuple(good), reasoning, reason, usage, raw, blocks)


def _arguments(call: Call) -> dict[str, Any]:
    """The arguments of a finished call.  Raises `ValueError` with a reason the model can act on."""
    text = call.arguments
    if not call.name:
        raise ValueError(f"the call names no tool: {clip(text, 200)}")
    if not text.strip():
        return {}  # how servers write a call without arguments
    try:
        arguments = msgspec.json.decode(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"the arguments are not JSON ({error}): {clip(text, 200)}") from error
    if not isinstance(arguments, dict):
        raise ValueError(f"the arguments are not a JSON object: {clip(text, 200)}")
    return arguments


def base_url(text: str, setting: str) -> httpx2.URL:
    """`text` as a base url.  Raises `ConfigError` that names the setting."""
    import httpx2

    shown = text.rpartition("@")[2].partition("?")[0]  # without what may be a password or a key
    accepted = "accepted: http://HOST[:PORT][/PATH] or https://…, without user, query and fragment"
    try:
        url = httpx2.URL(text.rstrip("/"))
        url.host.encode("idna")  # what a look-up does, and raises from its depths
    except (httpx2.InvalidURL, UnicodeError):
        raise ConfigError(f"{setting} {shown!r} is not a url; {accepted}") from None  # its words may quote a password
    if url.scheme not in ("http", "https") or not url.host or url.userinfo or url.query or url.fragment:
        raise ConfigError(f"{setting} {shown!r} cannot be used; {accepted}")
    return url


@cache
def disguises(key: str) -> re.Pattern[str]:
    """Matches a key as servers echo it: plain, in hex, or within base64 at any of its three alignments.

    Each character of it may be percent-encoded, escaped or an entity of HTML, and lines may be broken anywhere.
    """
    data = key.encode("utf-8", "surrogatepass")
    forms = {data.hex()} if len(key) >= 4 else set()
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        for shift in range(3):
            # Only the digits that depend on no byte around the key.
            size = shift + len(data)
            digits = encode(b"\0" * shift + data).decode()
            forms.add(digits[(shift * 8 + 5) // 6 : size * 8 // 6])
    # Shorter ones are the dummies of local servers ("x"), and would match everywhere.
    long = sorted((form for form in forms if len(form) >= 4), key=len, reverse=True)
    broken = r"\s{0,40}" if "\\" in key else r"(?:\s|\\{1,4}[nr]){0,40}"  # also as JSON writes it
    patterns = [broken.join(each if each.isalnum() else _written(each) for each in form) for form in long]
    if len(key) >= 4:
        patterns.append(broken.join(map(_written, key)))
    return re.compile("|".join(patterns) or r"(?!)", re.IGNORECASE)


@cache
def _written(character: str) -> str:
    """A pattern of one character as JSON, a url and HTML may write it."""
    data, units = character.encode("utf-8", "surrogatepass"), character.encode("utf-16-be", "surrogatepass")
    forms = [re.escape(character), "".join(f"%(?:25){{0,3}}{byte:02x}" for byte in data)]
    if not character.isalnum() or not character.isascii():
        forms += [
            rf"\\{{1,4}}{re.escape(character)}",
            "".join(rf"\\{{1,4}}u{units[at : at + 2].hex()}" for at in range(0, len(units), 2)),
            rf"&\#0{{0,5}}{ord(character)};",
            rf"&\#x0{{0,5}}{ord(character):x};",
            *(f"&{name}" for name, value in html5.items() if value == character and name.endswith(";")),
            *(["\\+"] if character == " " else []),
        ]
    return f"(?:{'|'.join(forms)})"


@cache
def hide_in_logs(key: str) -> None:
    """Mask a key in what the HTTP clients log: every url, and at the finest level the headers of answers."""
    secret = disguises(key)

    def mask(record: logging.LogRecord) -> bool:
        record.msg, record.args = secret.sub("***", record.getMessage()), ()
        return True

    for name in ("httpx2", "httpcore2.http11", "httpcore2.http2"):
        logging.getLogger(name).addFilter(mask)


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


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait, from the header's number or date; None if absent or senseless.  However long: callers cap it."""
    value = headers.get("retry-after", "").strip()
    try:
        seconds = float(value)
    except ValueError:
        try:
            # By the server's own clock where it tells it: ours may be off.
            now = parsedate_to_datetime(headers["date"]) if "date" in headers else datetime.now(UTC)
            seconds = (parsedate_to_datetime(value) - now).total_seconds()
        except (ValueError, TypeError, OverflowError):  # not a date, or one without a time zone
            return None
    return seconds if seconds >= 0 else None
