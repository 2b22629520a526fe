"""Interpret a model service's refusals and failures for the run."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from research._util import connections
from research._util.http import is_nearby, retry_after
from research.errors import ProviderError
from research.models.endpoint import Endpoint
from research.text import clip

_LONGEST_WAIT_S = 300.0

# OpenAI and DeepSeek "maximum context length", vLLM "maximum model length", llama.cpp "context size", LM Studio and
# llama-cpp-python "context window"; Anthropic "prompt is too long", "exceed context limit", `request_too_large`.
_OVERFLOW = re.compile(
    r"context[_ ](length|size|window|limit)|maximum (model|sequence) length|prompt is too long|too many input tokens|"
    r"request_too_large",
    re.IGNORECASE,
)
_TOO_LARGE = re.compile(r"request too large", re.IGNORECASE)
"""In a 429: the single request exceeds what a minute allows, so waiting cannot help."""
_UNSUPPORTED = re.compile(
    r"unsupported|unrecogni[sz]ed|unknown|unexpected|deprecated|unavailable|extra[_ ](inputs|fields|forbidden)|"
    r"not (\w+ )?(support|permit|allow|accept|compatible|available)|may (not|only)|only \S+ is (allowed|supported)",
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
    "throttling": 429,
    "validation": 400,
    "accessDenied": 403,
    "unavailable": 503,
}
_TOOLS = r"(?:tools?|functions?)\b(?:[ _-]?(?:use|usage|call(?:s|ing)?|choice))?"
_NOT = r"(?:\bno\b|not\b|n't\b|never\b|cannot\b|without\b|un(?:supported|available|able|recogni[sz]ed|known))"
_ABLE = r"(?:support|enabled?|available|allow|implement|permitted|accept|capab|unsupported|unavailable|disabled)"
_NO_TOOLS = re.compile(
    rf"{_TOOLS}.{{0,40}}(?:{_NOT}.{{0,20}}{_ABLE}|unsupported|unavailable|disabled)"
    rf"|(?:{_NOT}.{{0,60}}{_ABLE}\w*|unsupported|unrecogni[sz]ed|unknown)\W{{0,3}}(?:\w+\W{{1,3}}){{0,6}}{_TOOLS}"
    r"|--enable-auto-tool-choice|--jinja",
    re.IGNORECASE,
)
"""What servers say if the model, or the way they were started, does not support tool calls."""
_ADVICE = (
    (r"--enable-auto-tool-choice", "start vLLM with --enable-auto-tool-choice and --tool-call-parser"),
    (r"--jinja", "start llama.cpp's server with --jinja"),
)
"""What to do about a server without tools, by its message."""
_SAYING = ("message", "msg", "detail", "details", "errors", "error_description", "reason", "title", "base_resp")
"""Endings of names of fields that state the problem, in order of preference."""
_TAG = re.compile(r"<[^<>]*>")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]+")
_KEY = re.compile(
    r"\bapi[ _-]?key\b.{0,60}\b(not valid|invalid|incorrect|wrong|expired|missing|required|unknown)|"
    r"\b(invalid|incorrect|wrong|expired|missing|unknown)\b.{0,30}\bapi[ _-]?key\b|API_KEY_INVALID",
    re.IGNORECASE,
)
"""A key refused with 400."""
_FILTERED = re.compile(r"content_filter|content_policy|moderation|flagged", re.IGNORECASE)


def lost(error: BaseException, endpoint: Endpoint, url: str, begun: float | None = None) -> ProviderError:
    """Return the error for a request to the url, sent at `begun`, that failed below HTTP; None: one that no model answers."""
    import httpx2

    host = urlsplit(url).netloc
    if connections.offline(error) and not is_nearby(url):
        if not endpoint.base_url:  # the service's own address is right
            return ProviderError(
                f"no answer from {host}: check that this machine is connected to the internet", retryable=True
            )
        return ProviderError(
            f"no answer from {host}: check that this machine is connected to the internet, and that {endpoint.url_name} "
            "is correct",
            retryable=True,
        )
    if isinstance(error, httpx2.TimeoutException):
        return connections.late(host, error, endpoint.name)
    why, at_work = connections.cause(error), begun is not None and connections.may_go_on(begun)
    if refused := connections.refusal(error):
        return ProviderError(f"{url} cannot be used: {refused}; change {endpoint.url_name}")
    if isinstance(error, httpx2.UnsupportedProtocol):
        return ProviderError(f"cannot reach {url}: {why}")
    if isinstance(error, httpx2.ConnectError | httpx2.ProxyError):
        return ProviderError(
            f"cannot reach {url} ({why}): check that the server runs and that {endpoint.url_name} is correct",
            retryable=True,  # a restarting server is unreachable for a moment
        )
    return ProviderError(f"the connection to {host} was lost ({why})", retryable=True, at_work=at_work)


class RequestRejected(ProviderError):
    """The service rejected the request (400 or 422) before sending any of the reply."""

    def __init__(self, message: str, param: str, server_message: str, *, no_tools: bool = False) -> None:
        super().__init__(message)
        self.no_tools = no_tools
        """Whether it was rejected because it offers tools."""
        self.param = param
        """The parameter that the service names in a field of the error, else empty."""
        self.server_message = server_message
        """The service's own message, redacted."""

    def unsupported(self, names: Sequence[str]) -> str | None:
        """Return which of these parameters the service does not support; None if the error is about something else.

        A wrong value of a supported parameter counts as something else: omitting it would hide the mistake.
        """
        if not _UNSUPPORTED.search(self.server_message):
            return None
        if self.param:
            root = re.split(r"[.\[]", self.param)[0]
            return root if root in names else None
        found = [(match.start(), name) for name in names if (match := mention(name, self.server_message))]
        return min(found)[1] if found else None


class NoTools(ProviderError):
    """The service refused a request because it offers tools; without them it may accept it."""


class BadGeneration(ProviderError):
    """The service could not parse the call that the model wrote; `written` is what it wrote."""

    def __init__(self, message: str, written: str) -> None:
        super().__init__(message, retryable=True)
        self.written = written


def mention(name: str, text: str) -> re.Match[str] | None:
    """Find the parameter's name in `text` as a whole word; `thinking.type` mentions `thinking`."""
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text)


class Problem(Struct):
    """An error as the service describes it."""

    message: str
    code: str = ""
    kind: str = ""
    param: str = ""
    given: bool = True
    """Whether the body is in a known format for errors."""
    written: str = ""
    """The model's output that the service could not parse."""

    @property
    def of_the_model(self) -> bool:
        """Whether the service blames the model's output."""
        return bool(self.written) or self.code == "tool_use_failed"

    @property
    def status(self) -> int:
        """The HTTP status for an error inside a 200 response."""
        if re.fullmatch(r"[45][0-9]{2}", self.code):
            return int(self.code)
        named = f"{self.kind} {self.code}"
        return next((status for part, status in _STATUS.items() if part in named), 500)

    @property
    def words(self) -> str:
        """All texts that name the error."""
        return f"{self.code} {self.kind} {self.message}"


def problem_in(body: bytes) -> Problem:
    """Parse an error: nested (OpenAI, Anthropic), in a list (Gemini), flat (vLLM), text (Ollama), or a proxy's page."""
    try:
        value = msgspec.json.decode(body)
    except (ValueError, RecursionError):
        return Problem(body.decode("utf-8", errors="replace"), given=False)
    while isinstance(value, list) and value:
        value = value[0]
    given = isinstance(value, dict) and (bool(value.get("error")) or value.get("object") == "error")
    error = (value.get("error") or value) if isinstance(value, dict) else value
    message = _words(error)
    if not isinstance(error, dict):
        return Problem(message, given=given, written=_unparsed(message))
    details, meta = error.get("details"), error.get("metadata")
    code = error.get("code") or (details.get("error_code") if isinstance(details, dict) else None)
    if isinstance(meta, dict) and meta.get("raw"):  # OpenRouter puts the host's message there
        message += f" ({meta['raw']})"
    return Problem(
        message,
        str(code or error.get("status") or ""),
        str(error.get("type") or ""),
        str(error.get("param") or ""),
        given,
        str(error.get("failed_generation") or "") or _unparsed(message),
    )


def _words(error: Any) -> str:
    """Return an error's message: its text, the first text in its parts, or all of it."""
    if isinstance(error, str):
        return error
    if isinstance(error, list) and len(error) == 1 and "loc" not in error[0]:  # the field that says what it is about
        return _words(error[0])
    if isinstance(error, dict):
        found = (value for part in _SAYING for key, value in error.items() if key.lower().endswith(part) and value)
        if (said := next(found, None)) is not None:
            return _words(said)
    return msgspec.json.encode(error).decode()


def _unparsed(message: str) -> str:
    """Return the model's output that Ollama quotes when it cannot parse it."""
    return message.partition("error parsing tool call: raw='")[2].rpartition("', err=")[0]


class Judge(Struct, frozen=True):
    """Turns failures of a model's service into errors that say what to do."""

    endpoint: Endpoint
    url: str
    host: str
    model: str
    hint: str
    """Describes valid urls."""
    secret: re.Pattern[str]

    def quoted(self, text: str) -> str:
        """Return the beginning of what the service said, without the key."""
        # Redact before clipping: half a key is a leak too.
        return clip(" ".join(_CONTROL.sub(" ", self.secret.sub("***", text)).split()), 300) or "nothing"

    def refused(self, status: int, problem: Problem, headers: Mapping[str, str], *, tools: bool) -> ProviderError:
        """Return the error for a response without a reply; `tools`: whether the request offered tools."""
        failure = self.failure(status, problem, headers, tools=tools)
        if problem.of_the_model:
            return BadGeneration(str(failure), self.secret.sub("***", problem.written))
        if status in (400, 422) and not failure.context_overflow:
            said = self.secret.sub("***", f"{problem.code} {problem.message}")
            return RequestRejected(str(failure), problem.param, said, no_tools=isinstance(failure, NoTools))
        return failure

    def failure(
        self, status: int, problem: Problem, headers: Mapping[str, str], *, tools: bool = False
    ) -> ProviderError:
        """Return the error with the service's own message, for a response or for an event inside one."""
        said = self.quoted(_TAG.sub(" ", problem.message) if problem.message.lstrip()[:1] == "<" else problem.message)
        if place := urlsplit(headers.get("location", "")).netloc:
            said = f"a redirect to {place}"
        if status < 400:
            if not problem.given:
                url = self.endpoint.url_name
                return ProviderError(
                    f"the answer of {self.url} is not a model's reply (status {status}): check {url} ({self.hint}).  "
                    f"It said: {said}"
                )
            status = problem.status
        if tools and status not in (401, 403, 429) and _NO_TOOLS.search(problem.words):
            advice = next((f"{what}, or " for sign, what in _ADVICE if sign in problem.message), "")
            return NoTools(
                f"{self.model!r} at {self.host} cannot be offered tools ({status}): {advice}choose the protocol `tagged`.  "
                f"It said: {said}"
            )
        if _FILTERED.search(problem.words) and status in (400, 403):
            return ProviderError(f"the content filter of {self.host} refused the request ({status}): {said}")
        if status in (401, 403) or (status == 400 and _KEY.search(problem.words)):
            key, url = self.endpoint.key_name, self.endpoint.url_name
            return ProviderError(
                f"{self.host} refused the key ({status}): set {key}, or {url} if the key belongs to another server.  "
                f"It said: {said}"
            )
        if status == 404:
            return ProviderError(
                f"model {self.model!r} or the path was not found at {self.url}: check the model's name and "
                f"{self.endpoint.url_name} ({self.hint}).  It said: {said}"
            )
        sign = _OVERFLOW if status != 429 else _TOO_LARGE
        if status == 413 or sign.search(problem.words):
            return ProviderError(f"too long for {self.model!r}: {said}", context_overflow=True)
        return self._temporary(status, problem, headers, said)

    def _temporary(self, status: int, problem: Problem, headers: Mapping[str, str], said: str) -> ProviderError:
        # Waiting does not help after a 429 for a used-up quota.
        spent = problem.code == "insufficient_quota" or problem.code.endswith("spend_limit_reached")
        spent = spent or headers.get("x-should-retry") == "false"
        wait_s = retry_after(headers)
        return ProviderError(
            f"{self.host} answered {status}: {said}",
            retryable=not spent and (status in (408, 409, 429) or status >= 500),
            retry_after_s=None if wait_s is None else min(wait_s, _LONGEST_WAIT_S),
        )
