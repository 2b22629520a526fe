"""Any server that speaks OpenAI's chat completions: OpenAI, DeepSeek, vLLM, llama.cpp, Ollama and others.

Sources: OpenAI API reference, "Create chat completion" and its streaming events; `reasoning_content` is DeepSeek's
addition, `reasoning` that of Ollama and newer vLLM.
"""

# Uses httpx2 and not the `openai` SDK, whose retries and types we would bypass.  Best of 25 calls with a history of 200
# rounds, on loopback: the SDK's typed `create` takes 125 ms (it validates the whole history each time), a raw post
# through the SDK 5.0 ms, this client 2.0 ms.  The SDK takes 0.7 s to import, httpx2 0.07 s.  The SDK also reads
# organisation, project and headers from the environment, which only our settings may do.

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import msgspec
from msgspec import Struct

from research.errors import ConfigError
from research.models import assembly, sse
from research.models.client import ServedModel
from research.models.host import Host
from research.plugins import provider
from research.types import Completion, Delta, Message, Model, Request, Usage

OPENAI = "https://api.openai.com/v1"

# Finish reasons of failures in vLLM, OpenRouter and DeepSeek: the reply is incomplete.
_BROKEN = {"abort", "error", "insufficient_system_resource"}

_DONE = "[DONE]"

# Parameters that a request can omit.  After a model rejects one, its requests omit it.
# A list of what each model accepts would go stale: OpenAI's reasoning models reject `temperature` and `stop`.
_OPTIONAL = (
    "temperature",
    "stop",
    "max_tokens",
    "max_completion_tokens",
    "response_format",
    "tool_choice",
    "stream_options",
)


class OpenAIModel(ServedModel):
    """One model of one server.

    Safe to share between threads.  Closing the iterator that `stream` returns closes the connection.
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
        allow_hosts: tuple[str, ...] | None = None,
    ) -> None:
        """
        `name` is the server's name of the model, e.g. `gpt-5-mini`.  `base_url` None means OpenAI itself.  An empty
        `api_key` sends none, as most local servers expect.  A request times out after `timeout_s` seconds without a byte.
        `send_reasoning` sends past reasoning back with its message: DeepSeek's thinking mode rejects turns with tool
        calls without it, its older models reject it.  `allow_hosts` as in `sse.Server`.  Raises `ConfigError` for an
        invalid url or key.
        """
        server = sse.Server(
            OPENAI if base_url is None else base_url,
            model=name,
            key=api_key,
            service="OPENAI",
            hint="most end in /v1",
            headers={"Authorization": f"Bearer {api_key}"} if api_key else {},
            timeout_s=timeout_s,
            allow_hosts=allow_hosts,
        )
        super().__init__(f"openai:{name}", name, server, native=native)
        self._send_reasoning = send_reasoning
        # OpenAI's newer models reject `max_tokens`; other servers do not know its successor.
        limits = ["max_tokens", "max_completion_tokens"]
        self._limits = limits[::-1] if self._server.host == "api.openai.com" else limits

    def list_models(self) -> list[str]:
        """Return the names of the server's models, sorted.  Raises `ProviderError`."""
        return sorted(entry.id for entry in self._server.get("models", _Listing).data or ())

    def _stream(self, body: dict[str, Any], position: int) -> Iterator[Delta | Completion]:
        reply = _Reply()
        with closing(self._server.events("chat/completions", body, _DONE.__eq__)) as events:
            for data in events:
                if data == _DONE:
                    continue
                chunk = self._server.read(data, _Chunk)
                if chunk.error or chunk.object == "error":
                    raise self._server.error_event(data)
                yield from reply.take(chunk)
        # A reply is complete when it has a finish reason; some servers forget to send `[DONE]`.
        if not reply.finish_reason or reply.finish_reason in _BROKEN:
            raise self._server.ended_early(reply.finish_reason or "no finish_reason")
        yield reply.completion(position)

    def _adapt(self, rejection: sse.RequestRejected, body: dict[str, Any]) -> bool:
        refused = rejection.unsupported([name for name in _OPTIONAL if name in body])
        # From GPT-5.6 on, this endpoint rejects tools together with reasoning, and reasoning is on by default.
        words = f"{rejection.param} {rejection.server_message}"
        if "tools" in body and "reasoning_effort" not in body and sse.mention("reasoning_effort", words):
            refused = "reasoning_effort"
        # Without the schema the request still works: the caller validates the reply in any case.
        if refused is None and "response_format" in body and sse.mention("response_format", words):
            refused = "response_format"
        if refused is None:
            return False
        self._rejected.add(refused)
        return True

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
            if request.must_call:
                body["tool_choice"] = "required"
        if request.schema is not None:
            form = {"name": "reply", "schema": request.schema, "strict": _is_closed(request.schema)}
            body["response_format"] = {"type": "json_schema", "json_schema": form}
        if request.stop:
            body["stop"] = request.stop
        if request.temperature is not None:
            body["temperature"] = request.temperature
        limit = next((name for name in self._limits if name not in self._rejected), None)
        if request.max_tokens is not None and limit:
            body[limit] = request.max_tokens
        body = {name: value for name, value in body.items() if name not in self._rejected}
        if "tools" in body and "reasoning_effort" in self._rejected:
            body["reasoning_effort"] = "none"
        return body

    def _message(self, message: Message) -> dict[str, Any]:
        # `message.blocks` belongs to another provider's format and is not sent.
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
            sent["reasoning_content"] = message.reasoning or ""  # required with calls, even if empty
        return sent


def _is_closed(schema: object) -> bool:
    """Return whether every object in a schema requires all its properties and allows no others.

    OpenAI's strict mode accepts only such schemas.
    """
    if isinstance(schema, list):
        return all(map(_is_closed, schema))
    if not isinstance(schema, dict):
        return True
    properties = schema.get("properties")
    if schema.get("type") == "object" or isinstance(properties, dict):
        named = set(properties) if isinstance(properties, dict) else set()
        if schema.get("additionalProperties") is not False or set(schema.get("required") or ()) != named:
            return False
    return all(map(_is_closed, schema.values()))


class _Function(Struct):
    name: str | None = None
    arguments: str | dict[str, Any] | None = None
    """A fragment of the JSON; Ollama and some gateways send the object itself."""


class _Fragment(Struct):
    index: int | None = None
    id: str | None = None
    function: _Function = msgspec.field(default_factory=_Function)


class _Delta(Struct):
    content: str | None = None
    refusal: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    tool_calls: list[_Fragment] | None = None


class _Choice(Struct):
    delta: _Delta | None = None
    finish_reason: str | None = None


class _PromptDetails(Struct):
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None


class _Usage(Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: _PromptDetails | None = None
    prompt_cache_hit_tokens: int | None = None
    """DeepSeek's name for `cached_tokens`."""


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


class _Reply:
    """Collects a reply from the events of its stream."""

    def __init__(self) -> None:
        self.finish_reason = ""
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._refused = False
        self._calls: list[assembly.Call] = []
        self._open: dict[int | None, assembly.Call] = {}
        self._usage: Usage | None = None

    def take(self, chunk: _Chunk) -> Iterator[Delta]:
        if chunk.usage and chunk.usage.prompt_tokens is not None:
            details = chunk.usage.prompt_tokens_details or _PromptDetails()
            self._usage = Usage(
                chunk.usage.prompt_tokens,
                chunk.usage.completion_tokens or 0,
                cache_read_tokens=details.cached_tokens or chunk.usage.prompt_cache_hit_tokens or 0,
                cache_write_tokens=details.cache_write_tokens or 0,
            )
        for choice in chunk.choices or ():
            delta = choice.delta or _Delta()
            if thought := delta.reasoning_content or delta.reasoning:
                self._reasoning.append(thought)
                yield Delta(thought, kind="reasoning")
            if said := delta.content or delta.refusal:
                self._refused = self._refused or not delta.content
                self._text.append(said)
                yield Delta(said)
            for fragment in delta.tool_calls or ():
                self._add(fragment)
            self.finish_reason = choice.finish_reason or self.finish_reason

    def _add(self, fragment: _Fragment) -> None:
        call, function = self._open.get(fragment.index), fragment.function
        # Ollama has sent parallel calls with index 0 for all, or without an index: a new id, or a name, starts a call.
        other = call is not None and call.id and fragment.id and fragment.id != call.id
        if call is None or other or (fragment.index is None and function.name and not fragment.id):
            call = self._open[fragment.index] = assembly.Call()
            self._calls.append(call)
        call.id = call.id or fragment.id or ""
        call.name = call.name or function.name or ""
        if isinstance(function.arguments, dict):
            call.arguments += msgspec.json.encode(function.arguments).decode()
        else:
            call.arguments += function.arguments or ""

    def completion(self, position: int) -> Completion:
        # OpenAI ends a refusal with `stop`, although its text is the reason for the refusal and not an answer.
        reason = "content_filter" if self._refused else self.finish_reason
        text, reasoning = "".join(self._text), "".join(self._reasoning)
        return assembly.completion(text, self._calls, reasoning, reason, self._usage, position=position)


@provider("OpenAI-compatible")
def openai(name: str, host: Host) -> Model:
    """Any server that speaks OpenAI's chat completions: OpenAI, Ollama, vLLM, llama.cpp, DeepSeek, and more."""
    settings = host.settings
    if not name:
        raise ConfigError("openai: name a model after the colon, e.g. openai:gpt-5-mini")
    key = settings.openai_api_key.get_secret_value() if settings.openai_api_key else ""
    if not key and settings.openai_base_url is None:
        raise ConfigError(
            f"openai:{name} needs OPENAI_API_KEY, or OPENAI_BASE_URL for a server of your own "
            "(e.g. http://localhost:11434/v1 for Ollama); set one in the environment, in .env, or on the Settings page"
        )
    return OpenAIModel(
        name,
        base_url=settings.openai_base_url,
        api_key=key,
        send_reasoning=settings.openai_send_reasoning,
        allow_hosts=settings.allowed_for("openai_base_url"),
    )
