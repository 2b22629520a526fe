"""Any server that speaks OpenAI's APIs: OpenAI, Azure, DeepSeek, vLLM, llama.cpp, Ollama and others."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from typing import Any, Final

import msgspec
from msgspec import UNSET, Struct, UnsetType

from research.errors import ConfigError, ProviderError
from research.models import chat_reply, chat_request, endpoint, responses
from research.models.client import ServedModel
from research.models.endpoint import Endpoint
from research.models.failures import RequestRejected, mention
from research.models.families import api_of
from research.models.host import Host
from research.models.service import Service
from research.plugins import provider
from research.types import Completion, Delta, Model, Request

WANT_REASONING = frozenset({"api.deepseek.com", "api.moonshot.ai", "api.moonshot.cn", "api.z.ai"})
"""Hosts whose documentation asks for past reasoning in tool rounds; others that want it say so when it is missing."""

_DONE = "[DONE]"

# Parameters that a request can omit.  After a model rejects one, its requests omit it.
# A list of what each model accepts would go stale: OpenAI's reasoning models reject `temperature` and `stop`.
_OPTIONAL = (
    "temperature",
    "seed",
    "stop",
    "max_tokens",
    "max_completion_tokens",
    "max_output_tokens",
    "response_format",
    "text",
    "tool_choice",
    "stream_options",
)
_SCHEMAS = ("response_format", "text")
"""Without the schema a request still works: the caller validates the reply in any case."""

_LESSONS: Final[tuple[tuple[str, dict[str, Any]], ...]] = (
    (r"tool.?call.{0,60}length of 9|invalid_function_call.*\bid\b|\b3280\b", {"call_ids": "nine"}),
    (r"invalid_request_message_order|\b3230\b|role '?user'? after role '?tool'?", {"user_after_tool": False}),
    (r"(tools|function).{0,200}(unknown name|\$schema|additionalProperties|exclusiveM|propertyNames|\$ref\b)"
     r"|unknown name.{0,200}(tools|function)", {"schemas": "subset"}),
    (r"thought_signature", {"signature_filler": "skip_thought_signature_validator"}),
    (r"system message must be|system role.{0,30}(first|beginning)", {"later_system": False}),
    (r"enable_thinking.{0,30}must be set to false", {"body": {"enable_thinking": False}}),
    (r"cache_control", {"prompt_cache": "off"}),
    (r"content.{0,40}(non-?empty|must not be empty|min_length)", {"empty_content": "null"}),
)  # fmt: skip
"""Refusals that each teach a quirk of the service; endpoints of a preset know theirs from the start."""

_FOREIGN_REASONING = re.compile(r"encrypted[ _]content|reasoning|item .{0,80}not (found|persisted)", re.IGNORECASE)


class OpenAIModel(ServedModel):
    """One model of one server.

    Safe to share between threads.  Closing the iterator that `stream` returns closes the connection.
    """

    def __init__(self, name: str, endpoint: Endpoint, *, native: bool = True) -> None:
        """`name` is the server's name of the model, e.g. `gpt-5-mini`.  Raises `ConfigError` for an invalid url or key."""
        service = Service(endpoint, model=name, hint="most end in /v1")
        super().__init__(f"{endpoint.name}:{name}", name, service, endpoint, native=native)
        self._api = api_of(service.host, name) if endpoint.api == "auto" else endpoint.api
        self._quirks = endpoint.quirks
        learn = self._quirks.reasoning == "learn"
        self._send_reasoning = self._quirks.reasoning == "send" or (learn and service.host in WANT_REASONING)
        self._reasoning_name = chat_reply.REASONING
        """The field in which the server sends and receives reasoning."""
        self._reasoning_learned = self._quirks.reasoning == "never"
        """Whether a refusal has changed `_send_reasoning`; happens once."""
        self._rejected_items: set[str] = set()
        """Reasoning items that the service has rejected."""
        # OpenAI's newer models reject `max_tokens`; other servers do not know its successor.
        limits = ["max_tokens", "max_completion_tokens"]
        newer = service.host == "api.openai.com" or self._quirks.token_limit == limits[1]
        self._limits = limits[::-1] if newer else limits

    def list_models(self) -> list[str]:
        """Return the names of the server's models, sorted.  Raises `ProviderError`."""
        kind: Any = list[_Entry] | _Listing
        listed: list[_Entry] | _Listing = self._service.get("models", kind)
        entries = listed if isinstance(listed, list) else listed.models if listed.data is UNSET else listed.data
        names = {entry if isinstance(entry, str) else entry.id or entry.name or entry.model for entry in entries or ()}
        if entries is UNSET or None in names:
            raise ProviderError(f"{self._service.url} sent an unreadable list of models: they have no names")
        # Gemini lists its models with a prefix that requests do not need.
        return sorted(name.removeprefix("models/") for name in names if name)

    def _stream(self, body: dict[str, Any], position: int) -> Iterator[Delta | Completion]:
        yield from self._stream_chat(body, position) if "messages" in body else self._stream_items(body, position)

    def _stream_chat(self, body: dict[str, Any], position: int) -> Iterator[Delta | Completion]:
        reply, data = chat_reply.Reply(self._service.host), ""
        with closing(self._service.events("/chat/completions", body, _DONE.__eq__, whole="choices")) as events:
            for data in events:
                if data == _DONE:
                    continue
                chunk = self._service.read(data, chat_reply.Chunk)
                if chunk.error or chunk.object == "error":
                    raise self._service.error_event(data, body)
                if chunk.choices is None and (chunk.message or chunk.detail):
                    raise self._service.error_event(f'{{"error":{data}}}', body)
                yield from reply.take(chunk)
        self._reasoning_name = reply.reasoning_name or self._reasoning_name
        # A reply is complete when it has a finish reason; some servers forget to send `[DONE]`.
        if not reply.finish_reason or reply.finish_reason in chat_reply.BROKEN:
            raise self._service.ended_early(reply.finish_reason or "no finish_reason", data)
        yield reply.completion(position)

    def _stream_items(self, body: dict[str, Any], position: int) -> Iterator[Delta | Completion]:
        reply, data = responses.Reply(self._service.host), ""
        with closing(self._service.events("/responses", body, _is_end, whole="output")) as events:
            for data in events:
                event = self._service.read(data, responses.Event)
                if event.type == "error":
                    raise self._service.error_event(f'{{"error":{data}}}', body)
                if event.type:
                    yield from reply.take(event)
                else:
                    yield from reply.take_whole(self._service.read(data, responses.Whole))
        ended = reply.ended
        if ended and ended.error:
            raise self._service.error_event(msgspec.json.encode({"error": ended.error}).decode(), body)
        if ended is None or ended.status not in ("completed", "incomplete"):
            raise self._service.ended_early((ended and ended.status) or "no response.completed", data)
        yield reply.completion(position)

    def _adapt(self, rejection: RequestRejected, body: dict[str, Any]) -> bool:
        words = f"{rejection.param} {rejection.server_message}"
        if self._learn_reasoning(words, body) or self._learn_quirk(words):
            return True
        refused = rejection.unsupported([name for name in (*_OPTIONAL, *self._quirks.body) if name in body])
        # From GPT-5.6 on, this endpoint rejects tools together with reasoning, and reasoning is on by default.
        if "tools" in body and "reasoning_effort" not in body and mention("reasoning_effort", words):
            refused = "reasoning_effort"
        if refused is None:
            refused = next((name for name in _SCHEMAS if name in body and mention(name, words)), None)
        if refused is None or (refused == "tool_choice" and refused not in body):
            return False
        self._rejected.add(refused)
        return True

    def _learn_reasoning(self, words: str, body: dict[str, Any]) -> bool:
        """Send past reasoning from now on, or no longer, after a refusal that names it; return whether that changed.

        Services word it in many ways, so the opposite of what was refused is tried.
        """
        if "input" in body:
            sent = responses.sent_reasoning(body)
            if sent and _FOREIGN_REASONING.search(words):
                self._rejected_items |= sent
                return True
            return False
        if self._reasoning_learned or not mention(self._reasoning_name, words):
            return False
        self._reasoning_learned = True
        self._send_reasoning = not self._send_reasoning
        return any(message["role"] == "assistant" for message in body["messages"])

    def _learn_quirk(self, words: str) -> bool:
        for sign, quirk in _LESSONS:
            new = any(getattr(self._quirks, name) != value for name, value in quirk.items())
            if new and re.search(sign, words, re.IGNORECASE):
                self._quirks = msgspec.structs.replace(self._quirks, **quirk)
                return True
        return False

    def _body(self, request: Request) -> dict[str, Any]:
        if self._api == "responses":
            body = responses.body_of(request, self._model, self._quirks, self._service.host, self._rejected_items)
        else:
            reasoning = self._reasoning_name if self._send_reasoning else ""
            form = chat_request.Form(self._quirks, self._service.host, reasoning)
            limit = next((name for name in self._limits if name not in self._rejected), None)
            body = chat_request.body_of(request, form, self._model, limit)
        body = {name: value for name, value in body.items() if name not in self._rejected}
        if "tools" in body and "reasoning_effort" in self._rejected and self._api == "chat":
            body["reasoning_effort"] = "none"
        return body


class _Model(Struct):
    """A model of a list; other servers' lists name the same things differently."""

    id: str | None = None
    name: str | None = None
    model: str | None = None


_Entry = str | _Model


class _Listing(Struct):
    data: list[_Entry] | None | UnsetType = UNSET
    models: list[_Entry] | None | UnsetType = UNSET


def _is_end(data: str) -> bool:
    """Return whether the event ends a response; inside a text the quotes would be escaped."""
    return any(end in data for end in ('"response.completed"', '"response.incomplete"', '"response.failed"'))


@provider("OpenAI-compatible")
def openai(name: str, host: Host) -> Model:
    """Any server that speaks OpenAI's chat completions: OpenAI, Ollama, vLLM, llama.cpp, DeepSeek, and more."""
    if not name:
        raise ConfigError("openai: name a model after the colon, e.g. openai:gpt-5-mini")
    return OpenAIModel(name, endpoint.by_settings(host.settings, "openai", name))
