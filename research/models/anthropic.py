"""Claude, or any other model, through Anthropic's messages API."""

# Sources: Anthropic API reference, "Create a message", "Streaming messages", "List models", "Errors"; and its guides to
# thinking in tool workflows, preserved thinking, prompt caching, structured outputs and the API versions.

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Any

from msgspec import Struct

from research.errors import ConfigError, ProviderError
from research.models import endpoint
from research.models.anthropic_reply import Event, Reply
from research.models.anthropic_request import (
    THINKING,
    Block,
    close_objects,
    mark_cached,
    thinking_id,
    tools_of,
    turns_of,
)
from research.models.client import ServedModel
from research.models.endpoint import Endpoint
from research.models.failures import RequestRejected, mention
from research.models.host import Host
from research.models.service import Service
from research.plugins import provider
from research.types import Completion, Delta, Model, Request

VERSION = "2026-10-21"
SAMPLING_VERSION = "2023-06-01"
"""The last version of the API with `temperature`, which some of today's models still accept."""
_PLATFORM_VERSIONS = {"bedrock": "bedrock-2023-05-31", "vertex": "vertex-2023-10-16"}
"""The same for platforms that read the version from the body."""

_MOST_TOKENS = 16_384
"""Default limit of a reply, thinking included: the service requires a number."""
_BUDGET_TOKENS = 8_192
"""Limit of thinking, for models that require one."""

_OPTIONAL = ("temperature", "tool_choice", "output_config", "stop_sequences", "thinking")
"""Parameters that a request can omit: after a model rejects one, its requests omit it."""

_SUFFIX = ":thinking"

_TOO_MANY = re.compile(r"max_tokens: \d{1,12} > ([1-9]\d{0,11})\b")
_BAD_SIGNATURE = re.compile(r"signature|bound to a different|expected .{0,3}(redacted_)?thinking", re.IGNORECASE)


class AnthropicModel(ServedModel):
    """One model of one server.

    Safe to share between threads.  Closing the iterator that `stream` returns closes the connection.
    """

    def __init__(self, name: str, endpoint: Endpoint, *, native: bool = True) -> None:
        """
        `name` is the service's name of the model, e.g. `claude-sonnet-5-5`.  The suffix `:thinking` turns thinking on;
        without it the model's default applies, and the newest models think when it helps.  The endpoint's address is
        the root of `/v1/messages`.  Raises `ConfigError` for an invalid url or key.
        """
        model = name.removesuffix(_SUFFIX)
        self._thinks = name.endswith(_SUFFIX)
        service = Service(
            endpoint,
            model=model,
            hint="the root, without /v1",
        )
        super().__init__(f"{endpoint.name}:{name}", model, service, endpoint, native=native)
        self._most_tokens: int | None = None
        """The model's own limit, once an error has stated it."""
        self._rejected_thinking: set[str] = set()
        """Signatures of thinking blocks that the service has rejected."""

    def list_models(self) -> list[str]:
        """Return the names of the server's models, sorted.  Raises `ProviderError`."""
        if self._endpoint.kind != "anthropic":
            raise ProviderError(f"{self._service.host} does not list its models: enter a name")
        names: set[str] = set()
        params: dict[str, str | int] = {"limit": 1000}
        while True:
            page = self._service.get("v1/models", _Page, params, {"anthropic-version": VERSION})
            new = {entry.id for entry in page.data} - names
            names |= new
            if not page.has_more or not page.last_id or not new:
                return sorted(names)
            params["after_id"] = page.last_id

    def _stream(self, body: dict[str, Any], position: int) -> Iterator[Delta | Completion]:
        reply = Reply()
        version = SAMPLING_VERSION if "temperature" in body else VERSION
        # Bedrock and Vertex have their own version, which the SDK sends.
        headers = {"anthropic-version": version} if self._endpoint.kind == "anthropic" else {}
        data = ""
        with closing(self._service.events("/v1/messages", body, _is_last, headers, whole="content")) as events:
            for data in events:
                event = self._service.read(data, Event)
                if event.type == "error" or event.error:
                    raise self._service.error_event(data, body)
                yield from reply.take(event)
        if not reply.stop_reason:
            raise self._service.ended_early("no stop_reason", data)
        if reply.stop_reason == "model_context_window_exceeded":
            raise ProviderError(f"too long for {self._model!r}: its context is full", context_overflow=True)
        yield reply.completion(position)

    def _adapt(self, rejection: RequestRejected, body: dict[str, Any]) -> bool:
        # The service rejects thinking blocks of another model, and those whose preceding history has changed (a window
        # has moved, a tool is gone), and asks clients to omit them.  A client cannot predict which.  Omitted blocks stay
        # omitted, because later thinking depends on a history without them.
        sent = {
            thinking_id(block) for turn in body["messages"] for block in turn["content"] if block["type"] in THINKING
        }
        if sent and _BAD_SIGNATURE.search(rejection.server_message):
            self._rejected_thinking |= sent
            return True
        most = _TOO_MANY.search(rejection.server_message)
        if most and int(most[1]) < body["max_tokens"]:
            self._most_tokens = int(most[1])
            return True
        present = [name for name in _OPTIONAL if name in body]
        if "cache_control" not in self._rejected:  # belongs inside blocks, not at the top of the body
            present.append("cache_control")
        refused = rejection.unsupported(present)
        if refused == "thinking":
            refused = body["thinking"]["type"]
        # Without the schema the request still works: the caller validates the reply in any case.
        if refused is None and "output_config" in body and mention("output_config", rejection.server_message):
            refused = "output_config"
        if refused is None:
            return False
        self._rejected.add(refused)
        return True

    def _body(self, request: Request) -> dict[str, Any]:
        turns = turns_of(request.messages, self._rejected_thinking)
        most = request.max_tokens or _MOST_TOKENS
        most = min(most, self._most_tokens or most)
        thinking = self._thinking(turns, most)
        body: dict[str, Any] = {"model": self._model, "max_tokens": most, "messages": turns}
        if self._endpoint.quirks.streams:
            body["stream"] = True
        if rules := [each.content for each in request.messages if each.role == "system" and each.content.strip()]:
            body["system"] = [{"type": "text", "text": "\n\n".join(rules)}]
        if tools := tools_of(request):
            body["tools"] = tools
        if not request.tools and tools:
            body["tool_choice"] = {"type": "none"}
        elif request.must_call and tools and (thinking or {}).get("type") != "enabled":  # cannot be combined
            body["tool_choice"] = {"type": "any"}
        if request.schema is not None:
            body["output_config"] = {"format": {"type": "json_schema", "schema": close_objects(request.schema)}}
        if stop := [each for each in request.stop if each.strip()]:
            body["stop_sequences"] = stop
        if thinking:
            body["thinking"] = thinking
        elif request.temperature is not None:  # not accepted together with thinking
            body["temperature"] = request.temperature
        body = {
            name: value for name, value in (body | self._endpoint.quirks.body).items() if name not in self._rejected
        }
        if "temperature" in body and self._endpoint.kind in _PLATFORM_VERSIONS:
            body["anthropic_version"] = _PLATFORM_VERSIONS[self._endpoint.kind]
        if "cache_control" not in self._rejected and self._endpoint.quirks.prompt_cache != "off":
            mark_cached(body)
        return body

    def _thinking(self, turns: Sequence[Block], most: int) -> dict[str, Any] | None:
        """Return the `thinking` parameter, or None to omit it."""
        if not self._thinks:
            return None
        if "adaptive" not in self._rejected:
            return {"type": "adaptive", "display": "summarized"}
        # With a budget, a last turn with tool calls must begin with its thinking; without it, thinking is off.
        last: list[Block] = next((turn["content"] for turn in reversed(turns) if turn["role"] == "assistant"), [])
        lost = any(block["type"] == "tool_use" for block in last) and last[0]["type"] not in THINKING
        budget = min(_BUDGET_TOKENS, most // 2)
        if "enabled" in self._rejected or lost or budget < 1024:
            return None
        return {"type": "enabled", "budget_tokens": budget}


class _Entry(Struct):
    id: str


class _Page(Struct):
    data: list[_Entry]
    has_more: bool = False
    last_id: str | None = None


@provider("Anthropic")
def anthropic(name: str, host: Host) -> Model:
    """Claude by Anthropic's messages API; the suffix `:thinking` of the model's name turns on thinking."""
    if not name.removesuffix(_SUFFIX):
        raise ConfigError("anthropic: name a model after the colon, e.g. anthropic:claude-sonnet-5-5")
    return AnthropicModel(name, endpoint.by_settings(host.settings, "anthropic", name))


def _is_last(data: str) -> bool:
    """Return whether the event is `message_stop`; inside a text the quotes would be escaped."""
    return '"message_stop"' in data
