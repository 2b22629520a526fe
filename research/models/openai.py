"""Any server that speaks OpenAI's chat completions: OpenAI, DeepSeek, vLLM, llama.cpp, Ollama and others.

Sources: OpenAI API reference, "Create chat completion" and its streaming events; `reasoning_content` is DeepSeek's
addition, `reasoning` that of Ollama and newer vLLM.
"""

# Why httpx2 and not the `openai` SDK, which stands on it: we would switch off the SDK's retries and pass by its types.
# Best of 25 calls with a history of 200 rounds, on loopback: its typed `create` 125 ms (it validates the whole history
# again each time), a raw post through it 5.0 ms, this 2.0 ms.  The SDK also takes 0.7 s to import against 0.07 s, and
# reads organisation, project and headers from the environment by itself, which is the business of the settings.

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, quote_plus

import msgspec
from msgspec import Struct

from research.errors import ConfigError, ProviderError
from research.registry import provider
from research.text import clip
from research.types import Completion, Delta, Message, Model, RawCall, Request, ToolCall, Usage

if TYPE_CHECKING:
    import httpx2

    from research.workbench import Workbench

OPENAI = "https://api.openai.com/v1"

_LONGEST_WAIT_S = 300.0
_ERROR_BYTES = 64 * 1024
_LISTING_BYTES = 16 * 1024 * 1024

# vLLM aborts, OpenRouter and DeepSeek report their own breakdown: the reply before it is not whole.
_BROKEN = {"abort", "error", "insufficient_system_resource"}
_CUT = {"length", "content_filter"}

# OpenAI and DeepSeek "maximum context length", vLLM "maximum model length", llama.cpp "context size", LM Studio and
# llama-cpp-python "context window".
_OVERFLOW = re.compile(
    r"context[_ ](length|size|window)|maximum (model|sequence) length|prompt is too long|too many input tokens",
    re.IGNORECASE,
)


class OpenAIModel:
    """One model of one server.

    Safe to share between threads.  Closing the iterator that `stream` returns hangs up.
    """

    def __init__(
        self,
        name: str,
        *,
        base_url: str | None,
        api_key: str,
        native: bool = True,
        timeout_s: float = 120,
        send_reasoning: bool = False,
    ) -> None:
        """
        `name` is the server's name of the model, e.g. `gpt-5-mini`.  `base_url` None means OpenAI itself; an empty
        `api_key` sends none, as for most local servers.  `timeout_s`: seconds without a byte until the server counts as
        gone.  `send_reasoning`: give past reasoning back with its message (DeepSeek's thinking mode refuses tool
        turns without it, its older models refuse it).  Raises `ConfigError` for a url or a key that cannot be used.
        """
        import httpx2

        url = _base_url(OPENAI if base_url is None else base_url)
        if not (api_key.isascii() and api_key.isprintable()) or " " in api_key:
            raise ConfigError("OPENAI_API_KEY contains white space or a character outside ASCII: copy it again")
        self.name = f"openai:{name}"
        self.native = native
        self._model = name
        self._send_reasoning = send_reasoning
        self._url = str(url)
        self._host = url.netloc.decode("ascii")
        # OpenAI's newer models refuse `max_tokens`; other servers do not know its successor.
        self._limit = "max_completion_tokens" if url.host == "api.openai.com" else "max_tokens"
        self._secret = _disguises(api_key)
        self._client = httpx2.Client(
            base_url=url,
            headers={"Authorization": f"Bearer {api_key}"} if api_key else None,
            timeout=httpx2.Timeout(timeout_s, connect=min(timeout_s, 10)),
        )

    def stream(self, request: Request) -> Iterator[Delta | Completion]:
        """Yield deltas, then one `Completion`.

        `raw_calls` holds every call as it came, for the parser.  Calls whose arguments are not a JSON object are left
        out of `calls`; `finish_reason` then reads `bad_tool_call:NAME: WHY`.  Under `length` and `content_filter`, an
        unfinished call is just left out.  Raises `ProviderError`; a reply that broke off is never completed.
        """
        import httpx2

        reply = _Reply(position=len(request.messages))
        try:
            with self._client.sse(
                "chat/completions",
                method="POST",
                content=msgspec.json.encode(self._body(request)),
                headers={"Content-Type": "application/json"},
            ) as events:
                self._accept(events.response, "text/event-stream")
                for event in events:
                    if event.data == "[DONE]":
                        break  # some servers keep the connection open after it
                    if event.data:
                        yield from reply.take(self._chunk(event.data))
        except httpx2.RequestError as error:
            raise self._lost(error) from error
        # The reason ends a reply, `[DONE]` only the transport: servers forget it.
        if not reply.finish_reason or reply.finish_reason in _BROKEN:
            why = reply.finish_reason or "no finish_reason"
            raise ProviderError(f"the reply of {self._host} broke off ({why})", retryable=True)
        yield reply.completion()

    def list_models(self) -> list[str]:
        """The names this server knows, sorted.  Raises `ProviderError`."""
        import httpx2

        try:
            with self._client.stream("GET", "models") as response:
                self._accept(response, "application/json")
                listing = msgspec.json.decode(_read(response, _LISTING_BYTES), type=_Listing)
        except httpx2.RequestError as error:
            raise self._lost(error) from error
        except (ValueError, RecursionError) as error:
            raise ProviderError(f"{self._url} gave a list of models that cannot be read: {error}") from error
        return sorted(entry.id for entry in listing.data or ())

    def _body(self, request: Request) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self._model,
            "messages": [self._message(message) for message in request.messages],
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if request.tools:
            body["tools"] = [
                {
                    "type": "function",
                    "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
                }
                for tool in request.tools
            ]
        if request.stop:
            body["stop"] = request.stop
        if request.temperature is not None:
            body["temperature"] = request.temperature
        if request.max_tokens is not None:
            body[self._limit] = request.max_tokens
        return body

    def _message(self, message: Message) -> dict[str, Any]:
        sent: dict[str, Any] = {"role": message.role, "content": message.content}
        if message.calls:
            sent["tool_calls"] = [
                {
                    "id": call.id,
                    "type": "function",
                    "function": {"name": call.name, "arguments": msgspec.json.encode(call.arguments).decode()},
                }
                for call in message.calls
            ]
        if message.call_id is not None:
            sent["tool_call_id"] = message.call_id
        if self._send_reasoning and (message.calls or message.reasoning is not None):
            sent["reasoning_content"] = message.reasoning or ""  # a turn with calls needs the field, even if empty
        return sent

    def _chunk(self, data: str) -> _Chunk:
        try:
            chunk = msgspec.json.decode(data, type=_Chunk)
        except (ValueError, RecursionError) as error:
            raise ProviderError(f"{self._host} sent an event that cannot be read: {error}", retryable=True) from error
        if chunk.error or chunk.object == "error":
            raise self._refusal(200, data.encode(), {})
        return chunk

    def _accept(self, response: httpx2.Response, content_type: str) -> None:
        """Return if the response is what was asked for, else raise what it says instead."""
        if not response.is_success or not response.headers.get("content-type", "").startswith(content_type):
            raise self._refusal(response.status_code, _read(response, _ERROR_BYTES), response.headers)

    def _refusal(self, status: int, body: bytes, headers: Mapping[str, str]) -> ProviderError:
        """What a response means that is not a reply, by the server's own words as far as they are known."""
        problem = _problem(body)
        # Masked before it is clipped: half a key is a leak too.
        said = clip(" ".join(self._secret.sub("***", problem.message).split()), 300)
        if status < 400:
            if not problem.given:
                return ProviderError(
                    f"{self._url} answered {status} with something that is no reply; check OPENAI_BASE_URL "
                    f"(most end in /v1).  It said: {said}"
                )
            status = problem.status
        if status in (401, 403):
            return ProviderError(
                f"{self._host} refused the key ({status}): set OPENAI_API_KEY, or OPENAI_BASE_URL if the key belongs "
                f"to another server.  It said: {said}"
            )
        if status == 404:
            return ProviderError(
                f"model {self._model!r} or the path was not found at {self._url}: check the model's name and "
                f"OPENAI_BASE_URL (most end in /v1).  It said: {said}"
            )
        if status != 429 and _OVERFLOW.search(f"{problem.code} {problem.kind} {problem.message}"):
            return ProviderError(f"too long for {self._model!r}: {said}", context_overflow=True)
        spent = problem.code == "insufficient_quota"  # a 429 that no waiting mends
        return ProviderError(
            f"{self._host} answered {status}: {said}",
            retryable=not spent and (status in (408, 409, 429) or status >= 500),
            retry_after_s=_retry_after(headers),
        )

    def _lost(self, error: httpx2.RequestError) -> ProviderError:
        """What a failure below HTTP means."""
        import httpx2

        if isinstance(error, httpx2.TimeoutException):
            return ProviderError(f"{self._host} did not answer in time ({type(error).__name__})", retryable=True)
        why = str(error) or type(error).__name__
        if isinstance(error, httpx2.ConnectError | httpx2.ProxyError):
            return ProviderError(
                f"cannot reach {self._url} ({why}): check that the server runs and that OPENAI_BASE_URL is right"
            )
        return ProviderError(f"the connection to {self._host} was lost ({why})", retryable=True)


class _Function(Struct):
    name: str | None = None
    arguments: str | dict[str, Any] | None = None
    """Fragments of JSON; Ollama and some gateways send the object itself."""


class _Fragment(Struct):
    index: int | None = None
    id: str | None = None
    function: _Function = msgspec.field(default_factory=_Function)


class _Delta(Struct):
    content: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    tool_calls: list[_Fragment] | None = None


class _Choice(Struct):
    delta: _Delta | None = None
    finish_reason: str | None = None


class _Usage(Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class _Chunk(Struct):
    """One event of a stream."""

    choices: list[_Choice] | None = None
    usage: _Usage | None = None
    error: Any = None
    object: str | None = None


class _Entry(Struct):
    id: str


class _Listing(Struct):
    data: list[_Entry] | None


class _Call(Struct):
    """A tool call while its fragments arrive."""

    id: str = ""
    name: str = ""
    arguments: str = ""


class _Reply:
    """A reply while it arrives."""

    def __init__(self, position: int) -> None:
        self.finish_reason = ""
        self._position = position
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._calls: list[_Call] = []
        self._open: dict[int | None, _Call] = {}
        self._usage: Usage | None = None

    def take(self, chunk: _Chunk) -> Iterator[Delta]:
        if chunk.usage and chunk.usage.prompt_tokens is not None:
            self._usage = Usage(chunk.usage.prompt_tokens, chunk.usage.completion_tokens or 0)
        for choice in chunk.choices or ():
            delta = choice.delta or _Delta()
            if thought := delta.reasoning_content or delta.reasoning:
                self._reasoning.append(thought)
                yield Delta(thought, kind="reasoning")
            if delta.content:
                self._text.append(delta.content)
                yield Delta(delta.content)
            for fragment in delta.tool_calls or ():
                self._add(fragment)
            self.finish_reason = choice.finish_reason or self.finish_reason

    def _add(self, fragment: _Fragment) -> None:
        call, function = self._open.get(fragment.index), fragment.function
        # Ollama has sent parallel calls all with index 0, or without an index: a new id, or a name, begins a new call.
        other = call is not None and call.id and fragment.id and fragment.id != call.id
        if call is None or other or (fragment.index is None and function.name and not fragment.id):
            call = self._open[fragment.index] = _Call()
            self._calls.append(call)
        call.id = call.id or fragment.id or ""
        call.name = call.name or function.name or ""
        if isinstance(function.arguments, dict):
            call.arguments += msgspec.json.encode(function.arguments).decode()
        else:
            call.arguments += function.arguments or ""

    def completion(self) -> Completion:
        calls, bad = [], []
        for i, call in enumerate(self._calls):
            if self.finish_reason in _CUT and not call.arguments:
                continue  # cut off before its arguments began
            try:
                calls.append(ToolCall(call.id or f"call_{self._position}_{i}", call.name, _arguments(call)))
            except ValueError as error:
                bad.append(f"{call.name}: {error}")
        reason = self.finish_reason
        if bad and reason not in _CUT:
            reason = "bad_tool_call:" + "; ".join(bad)
        raw = tuple(
            RawCall(call.id or f"call_{self._position}_{i}", call.name, call.arguments)
            for i, call in enumerate(self._calls)
        )
        return Completion("".join(self._text), tuple(calls), "".join(self._reasoning), reason, self._usage, raw)


def _arguments(call: _Call) -> dict[str, Any]:
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


def _base_url(text: str) -> httpx2.URL:
    """`text` as a base url.  Raises `ConfigError`."""
    import httpx2

    shown = text.rpartition("@")[2].partition("?")[0]  # without what may be a password or a key
    accepted = "accepted: http://HOST[:PORT][/PATH] or https://…, without user, query and fragment"
    try:
        url = httpx2.URL(text.rstrip("/"))
        url.host.encode("idna")  # what a look-up does, and raises from its depths
    except (httpx2.InvalidURL, UnicodeError) as error:
        raise ConfigError(f"OPENAI_BASE_URL {shown!r} is not a url; {accepted}") from error
    if url.scheme not in ("http", "https") or not url.host or url.userinfo or url.query or url.fragment:
        raise ConfigError(f"OPENAI_BASE_URL {shown!r} cannot be used; {accepted}")
    return url


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
    given: bool = True
    """Whether the body says that it is an error."""

    @property
    def status(self) -> int:
        """The status that would go with it, where it came inside a 200."""
        if self.code.isdecimal() and 400 <= int(self.code) < 600:
            return int(self.code)
        return 400 if "invalid" in self.kind else 500


def _problem(body: bytes) -> _Problem:
    """The error in a body: OpenAI's nested form, vLLM's flat one, Ollama's plain text, or whatever a proxy wrote."""
    try:
        value = msgspec.json.decode(body)
    except (ValueError, RecursionError):
        return _Problem(body.decode("utf-8", errors="replace"), given=False)
    given = isinstance(value, dict) and (bool(value.get("error")) or value.get("object") == "error")
    error = (value.get("error") or value) if isinstance(value, dict) else value
    if not isinstance(error, dict):
        return _Problem(str(error), given=given)
    return _Problem(
        str(error.get("message") or error), str(error.get("code") or ""), str(error.get("type") or ""), given
    )


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait, from the header's number or date, at most 300; None if absent or senseless."""
    value = headers.get("retry-after", "")
    try:
        seconds = float(value)
    except ValueError:
        try:
            # By the server's own clock where it tells it: ours may be off.
            now = parsedate_to_datetime(headers["date"]) if "date" in headers else datetime.now(UTC)
            seconds = (parsedate_to_datetime(value) - now).total_seconds()
        except (ValueError, TypeError):  # not a date, or one without a time zone
            return None
    return min(seconds, _LONGEST_WAIT_S) if seconds >= 0 else None


def _disguises(key: str) -> re.Pattern[str]:
    """Matches a key as servers echo it: plain, percent-encoded, or within base64 at any of its three alignments."""
    forms = {key, quote(key, safe=""), quote_plus(key)}
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        for shift in range(3):
            # Only the digits that depend on no byte around the key.
            size = shift + len(key)
            digits = encode(b"\0" * shift + key.encode()).decode()
            forms.add(digits[(shift * 8 + 5) // 6 : size * 8 // 6])
    # Shorter ones are the dummies of local servers ("x"), and would match everywhere.
    long = sorted((form for form in forms if len(form) >= 4), key=len, reverse=True)
    return re.compile("|".join(map(re.escape, long)) or r"(?!)", re.IGNORECASE)


@provider("OpenAI-compatible")
def openai(name: str, workbench: Workbench) -> Model:
    """Any server that speaks OpenAI's chat completions: OpenAI, Ollama, vLLM, llama.cpp, DeepSeek, and more."""
    settings = workbench.settings
    if not name:
        raise ConfigError("openai: name a model after the colon, e.g. openai:gpt-5-mini")
    key = settings.openai_api_key.get_secret_value() if settings.openai_api_key else ""
    if not key and settings.openai_base_url is None:
        raise ConfigError(
            f"openai:{name} needs OPENAI_API_KEY, or OPENAI_BASE_URL for a server of your own "
            "(e.g. http://localhost:11434/v1 for Ollama); set one in the environment or in .env"
        )
    return OpenAIModel(
        name, base_url=settings.openai_base_url, api_key=key, send_reasoning=settings.openai_send_reasoning
    )
