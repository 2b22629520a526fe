"""Claude by Anthropic's messages API, and whatever else speaks it.

Sources: Anthropic API reference, "Create a message", "Streaming messages", "List models", "Errors"; and its guides to
thinking in tool workflows, preserved thinking, prompt caching, structured outputs and the API versions.
"""

# Over httpx2 and not the `anthropic` SDK for the reasons that research/models/openai.py gives.

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from research import wire
from research.errors import ConfigError, ProviderError
from research.models.anthropic.reply import Event, Reply
from research.models.anthropic.request import THINKING, Block, closed, mark_cached, mark_of, tools_of, turns_of
from research.registry import provider
from research.served import ServedModel
from research.types import Completion, Delta, Model, Request

if TYPE_CHECKING:
    from research.workbench import Workbench

ANTHROPIC = "https://api.anthropic.com"
VERSION = "2026-10-21"
SAMPLING_VERSION = "2023-06-01"
"""The last version of the API that knows `temperature`; of today's models some take it there, none under the next."""

_MOST_TOKENS = 16_384
"""Of a reply, thinking included, where the request does not say: the service demands a number."""
_BUDGET_TOKENS = 8_192
"""For thinking, where the model wants it told."""

_OPTIONAL = ("temperature", "tool_choice", "output_config", "stop_sequences", "thinking")
"""What a request can do without: a model that refuses one of these is asked again without it, and for good."""

_SUFFIX = ":thinking"

_TOO_MANY = re.compile(r"max_tokens: \d+ > (\d+)")
_BAD_SIGNATURE = re.compile(r"signature|bound to a different|expected .{0,3}(redacted_)?thinking", re.IGNORECASE)


class AnthropicModel(ServedModel):
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
    ) -> None:
        """
        `name` is the service's name of the model, e.g. `claude-sonnet-5-5`.  With `:thinking` behind it the model is
        told to think; without, it does as its maker set it, which for the newest models is to think when it helps.
        `base_url` is the root that `/v1/messages` is appended to; None means Anthropic itself.  An empty `api_key` sends
        none.  Raises `ConfigError` for a url or a key that cannot be used.
        """
        model = name.removesuffix(_SUFFIX)
        self._thinks = name.endswith(_SUFFIX)
        # The service and older gateways read the first, newer gateways the second, which today's SDK sends.
        keys = {"X-Api-Key": api_key, "Authorization": f"Bearer {api_key}"} if api_key else {}
        server = wire.Server(
            ANTHROPIC if base_url is None else base_url,
            model=model,
            key=api_key,
            service="ANTHROPIC",
            hint="the root, without /v1",
            headers=keys,
            timeout_s=timeout_s,
        )
        super().__init__(f"anthropic:{name}", model, server, native=native)
        self._most_tokens: int | None = None
        """As far as it has told."""
        self._stale: set[str] = set()
        """Signatures of thinking that it has refused to take back."""

    def list_models(self) -> list[str]:
        """The names this server knows, sorted.  Raises `ProviderError`."""
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
                    raise self._server.reported(data)
                yield from reply.take(event)
        if not reply.stop_reason:
            raise self._server.broken("no stop_reason")
        if reply.stop_reason == "model_context_window_exceeded":
            raise ProviderError(f"too long for {self._model!r}: its context is full", context_overflow=True)
        yield reply.completion(position)

    def _learn(self, refusal: wire.Refusal, body: dict[str, Any]) -> bool:
        # Thinking goes back unchanged, and is refused where it is another model's, or where what stood before it has
        # changed (a window has moved, a tool is gone).  It cannot be told from the outside, and the service asks for
        # such blocks to be left out.  They stay out: what is thought from now on belongs to a history without them.
        sent = {mark_of(block) for turn in body["messages"] for block in turn["content"] if block["type"] in THINKING}
        if sent and _BAD_SIGNATURE.search(refusal.said):
            self._stale |= sent
            return True
        most = _TOO_MANY.search(refusal.said)
        if most and int(most[1]) < body["max_tokens"]:
            self._most_tokens = int(most[1])
            return True
        present = [name for name in _OPTIONAL if name in body]
        if "cache_control" not in self._refused:  # it stands within blocks
            present.append("cache_control")
        refused = refusal.unsupported(present)
        if refused == "thinking":
            refused = body["thinking"]["type"]
        # A schema that the service cannot enforce is as good as none: whoever asked for it judges the reply anyway.
        if refused is None and "output_config" in body and wire.mention("output_config", refusal.said):
            refused = "output_config"
        if refused is None:
            return False
        self._refused.add(refused)
        return True

    def _body(self, request: Request) -> dict[str, Any]:
        turns = turns_of(request.messages, self._stale)
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
        elif request.must_call and tools and (thinking or {}).get("type") != "enabled":  # refuses to be forced
            body["tool_choice"] = {"type": "any"}
        if request.schema is not None:
            body["output_config"] = {"format": {"type": "json_schema", "schema": closed(request.schema)}}
        if stop := [each for each in request.stop if each.strip()]:
            body["stop_sequences"] = stop
        if thinking:
            body["thinking"] = thinking
        elif request.temperature is not None:  # who thinks takes none
            body["temperature"] = request.temperature
        body = {name: value for name, value in body.items() if name not in self._refused}
        if "cache_control" not in self._refused:
            mark_cached(body)
        return body

    def _thinking(self, turns: Sequence[Block], most: int) -> dict[str, Any] | None:
        """How to think, if told to."""
        if not self._thinks:
            return None
        if "adaptive" not in self._refused:
            return {"type": "adaptive", "display": "summarized"}
        # With a budget, a turn that used tools has to begin with the thinking that led to it, or nothing may be thought.
        last: list[Block] = next((turn["content"] for turn in reversed(turns) if turn["role"] == "assistant"), [])
        lost = any(block["type"] == "tool_use" for block in last) and last[0]["type"] not in THINKING
        budget = min(_BUDGET_TOKENS, most // 2)
        if "enabled" in self._refused or lost or budget < 1024:
            return None
        return {"type": "enabled", "budget_tokens": budget}


class _Entry(Struct):
    id: str


class _Page(Struct):
    data: list[_Entry]
    has_more: bool = False
    last_id: str | None = None


@provider("Anthropic")
def anthropic(name: str, workbench: Workbench) -> Model:
    """Claude by Anthropic's messages API; `:thinking` behind the model's name tells it to think."""
    settings = workbench.settings
    if not name.removesuffix(_SUFFIX):
        raise ConfigError("anthropic: name a model after the colon, e.g. anthropic:claude-sonnet-5-5")
    key = settings.anthropic_api_key.get_secret_value() if settings.anthropic_api_key else ""
    if not key and settings.anthropic_base_url is None:
        raise ConfigError(
            f"anthropic:{name} needs ANTHROPIC_API_KEY, or ANTHROPIC_BASE_URL for a server of your own; "
            "set one in the environment, in .env, or on the Settings page"
        )
    return AnthropicModel(name, base_url=settings.anthropic_base_url, api_key=key)


def _is_last(data: str) -> bool:
    """Whether it is the event `message_stop`; within a text its quotes would be escaped."""
    return '"message_stop"' in data
