"""Claude, or any other model, through Anthropic's messages API.

May import `models`, `plugins`, `types` and `errors`."""

# Sources: Anthropic API reference, "Create a message", "Streaming messages", "List models", "Errors"; and its guides to
# thinking in tool workflows, preserved thinking, prompt caching, structured outputs and the API versions.
# Uses httpx2 and not the `anthropic` SDK, for the reasons in research/models/openai.py.

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Any

from msgspec import Struct

from research.errors import ConfigError, ProviderError
from research.models import sse
from research.models.anthropic.reply import Event, Reply
from research.models.anthropic.request import (
    THINKING,
    Block,
    close_objects,
    mark_cached,
    thinking_id,
    tools_of,
    turns_of,
)
from research.models.client import ServedModel
from research.models.host import Host
from research.plugins import provider
from research.types import Completion, Delta, Model, Request

ANTHROPIC = "https://api.anthropic.com"
VERSION = "2026-10-21"
SAMPLING_VERSION = "2023-06-01"
"""The last version of the API with `temperature`, which some of today's models still accept."""

_MOST_TOKENS = 16_384
"""Default limit of a reply, thinking included: the service requires a number."""
_BUDGET_TOKENS = 8_192
"""Limit of thinking, for models that require one."""

_OPTIONAL = ("temperature", "tool_choice", "output_config", "stop_sequences", "thinking")
"""Parameters that a request can omit: after a model rejects one, its requests omit it."""

_SUFFIX = ":thinking"

_TOO_MANY = re.compile(r"max_tokens: \d+ > (\d+)")
_BAD_SIGNATURE = re.compile(r"signature|bound to a different|expected .{0,3}(redacted_)?thinking", re.IGNORECASE)


class AnthropicModel(ServedModel):
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
        allow_hosts: tuple[str, ...] | None = None,
    ) -> None:
        """
        `name` is the service's name of the model, e.g. `claude-sonnet-5-5`.  The suffix `:thinking` turns thinking on;
        without it the model's default applies, and the newest models think when it helps.  `base_url` is the root of
        `/v1/messages`; None means Anthropic itself.  An empty `api_key` sends none.  `allow_hosts` as in
        `sse.Server`.  Raises `ConfigError` for an invalid url or key.
        """
        model = name.removesuffix(_SUFFIX)
        self._thinks = name.endswith(_SUFFIX)
        # Anthropic and older gateways read the first header, newer gateways the second, as sent by today's SDK.
        keys = {"X-Api-Key": api_key, "Authorization": f"Bearer {api_key}"} if api_key else {}
        server = sse.Server(
            ANTHROPIC if base_url is None else base_url,
            model=model,
            key=api_key,
            service="ANTHROPIC",
            hint="the root, without /v1",
            headers=keys,
            timeout_s=timeout_s,
            allow_hosts=allow_hosts,
        )
        super().__init__(f"anthropic:{name}", model, server, native=native)
        self._most_tokens: int | None = None
        """The model's own limit, once an error has stated it."""
        self._rejected_thinking: set[str] = set()
        """Signatures of thinking blocks that the service has rejected."""

    def list_models(self) -> list[str]:
        """Return the names of the server's models, sorted.  Raises `ProviderError`."""
        names: set[str] = set()
        params: dict[str, str | int] = {"limit": 1000}
        while True:
            page = self._server.get("v1/models", _Page, params, {"anthropic-version": VERSION})
            new = {entry.id for entry in page.data} - names
            names |= new
            if not page.has_more or not page.last_id or not new:
                return sorted(names)
            params["after_id"] = page.last_id

    def _stream(self, body: dict[str, Any], position: int) -> Iterator[Delta | Completion]:
        reply = Reply()
        version = SAMPLING_VERSION if "temperature" in body else VERSION
        headers = {"anthropic-version": version}
        with closing(self._server.events("v1/messages", body, _is_last, headers)) as events:
            for data in events:
                event = self._server.read(data, Event)
                if event.type == "error":
                    raise self._server.error_event(data)
                yield from reply.take(event)
        if not reply.stop_reason:
            raise self._server.ended_early("no stop_reason")
        if reply.stop_reason == "model_context_window_exceeded":
            raise ProviderError(f"too long for {self._model!r}: its context is full", context_overflow=True)
        yield reply.completion(position)

    def _adapt(self, rejection: sse.RequestRejected, body: dict[str, Any]) -> bool:
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
        if "cache_control" not in self._rejected:  # appears inside blocks, not at the top of the body
            present.append("cache_control")
        refused = rejection.unsupported(present)
        if refused == "thinking":
            refused = body["thinking"]["type"]
        # Without the schema the request still works: the caller validates the reply in any case.
        if refused is None and "output_config" in body and sse.mention("output_config", rejection.server_message):
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
        body: dict[str, Any] = {"model": self._model, "max_tokens": most, "messages": turns, "stream": True}
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
        body = {name: value for name, value in body.items() if name not in self._rejected}
        if "cache_control" not in self._rejected:
            mark_cached(body)
        return body

    def _thinking(self, turns: Sequence[Block], most: int) -> dict[str, Any] | None:
        """Return the `thinking` parameter, or None to omit it."""
        if not self._thinks:
            return None
        if "adaptive" not in self._rejected:
            return {"type": "adaptive", "display": "summarized"}
        # With a budget, a last turn with tool calls must begin with its thinking; if that is missing, thinking is off.
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
    settings = host.settings
    if not name.removesuffix(_SUFFIX):
        raise ConfigError("anthropic: name a model after the colon, e.g. anthropic:claude-sonnet-5-5")
    key = settings.anthropic_api_key.get_secret_value() if settings.anthropic_api_key else ""
    if not key and settings.anthropic_base_url is None:
        raise ConfigError(
            f"anthropic:{name} needs ANTHROPIC_API_KEY, or ANTHROPIC_BASE_URL for your own server; "
            "set one in the environment, in .env, or on the Settings page"
        )
    allowed = settings.allowed_for("anthropic_base_url")
    return AnthropicModel(name, base_url=settings.anthropic_base_url, api_key=key, allow_hosts=allowed)


def _is_last(data: str) -> bool:
    """Return whether the event is `message_stop`; inside a text the quotes would be escaped."""
    return '"message_stop"' in data
