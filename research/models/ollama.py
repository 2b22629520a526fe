"""Ollama by its own API, the only one that lets a request say how much context it needs.

Ollama loads a model with a few thousand tokens of context and cuts longer prompts without a word.  This client asks for the
context that the prompt needs, forbids cutting, and compares what was read with what was sent.

Sources: Ollama's documentation of its API, "Generate a chat completion", "Show model information", "List running models".
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from research.errors import ProviderError
from research.models import tokens
from research.models.chat_request import Form
from research.models.endpoint import Endpoint, Quirks
from research.models.failures import BadGeneration, NoTools
from research.models.ollama_wire import Facts, Listing, Reply, Running, Server, messages_of
from research.models.redacted import redacted
from research.models.usage import believed, unreadable, whole_number
from research.types import Completion, Delta, Request, Usage

LEAST_CONTEXT: Final = 8_192
REPLY_TOKENS: Final = 4_096
"""Room for a reply with its thinking, where the request sets no limit."""
_ASK_AGAIN_S: Final = 5.0
_MARGIN: Final = 1.3
"""Other tokenizers need more tokens than ours."""

_asked_context: dict[tuple[str, str], int] = {}
"""By address and model, the largest context that this process asked for: a smaller one would load the model again."""
_asking = threading.Lock()


class OllamaModel:
    """One model of one Ollama.  Safe to share between threads."""

    def __init__(self, name: str, endpoint: Endpoint) -> None:
        """`name` is Ollama's, such as `qwen3:8b`.  Raises `ConfigError` for an invalid url or key; makes no request yet."""
        self.name = f"{endpoint.name}:{name}"
        self._model = name
        self._endpoint = endpoint
        self._server = Server(endpoint, name)
        self._facts: Facts | None = None
        self._ask_again = 0.0
        """When to ask a silent server again."""
        self._refuses_tools = False
        self._ratio = 1.0
        """Largest ratio so far of Ollama's count of a prompt to ours."""

    @property
    def facts(self) -> Facts:
        """Ollama's details of the model; empty while Ollama is unreachable, which the next request reports."""
        if self._facts is None and time.monotonic() >= self._ask_again:
            try:
                self._facts = self._server.ask("api/show", Facts, {"model": self._model})
            except ProviderError:
                self._ask_again = time.monotonic() + _ASK_AGAIN_S
        return self._facts or Facts()

    @property
    def native(self) -> bool:
        """Whether the model has native tool calls; yes if Ollama does not say."""
        return not self._refuses_tools and (not self.facts.capabilities or "tools" in self.facts.capabilities)

    @property
    def window(self) -> int:
        """Return the tokens of prompt and reply together: the model's, or fewer if the endpoint says so; 0: unknown."""
        known = [each for each in (self._endpoint.window, self.facts.context) if each]
        return min(known, default=0)

    def price(self, usage: Usage) -> float | None:
        """Return the price of a call in US dollars; None for models that Ollama passes on to its own cloud."""
        from research.models.prices import stated_cost

        prices = self._endpoint.prices
        return None if prices is None or self.facts.remote_host else stated_cost(prices, usage)

    def list_models(self) -> list[str]:
        """Return the names of Ollama's models, sorted.  Raises `ProviderError`."""
        return sorted(each.name for each in self._server.ask("api/tags", Listing).models)

    def stream(self, request: Request) -> Iterator[Delta | Completion]:
        """Yield deltas, then one `Completion`.  Raises `ProviderError`, also for a prompt that Ollama would cut."""
        with unreadable(self._server.url):
            yield from redacted(self._stream(request), self._server.secret)

    def _stream(self, request: Request) -> Iterator[Delta | Completion]:
        sent = _count(request, self.name)
        context = self._context(sent, request.max_tokens)
        reply = Reply()
        try:
            for line in self._server.lines(self._body(request, context)):
                yield from reply.take(line)
                if line.done:
                    break
        except BadGeneration as error:  # our parser may read it, or the model is asked again
            yield Completion(error.written, finish_reason="tool_calls")
            return
        except NoTools:
            self._refuses_tools = True
            raise
        if not reply.done:
            raise ProviderError(f"the reply of {self._server.url} ended early (no `done`)", retryable=True)
        completion = believed(reply.completion(len(request.messages)))
        self._check_cut(completion.usage.prompt_tokens if completion.usage else 0, sent, context)
        yield completion

    def _context(self, sent: int, max_tokens: int | None) -> int:
        """Return the context to ask for, at least what this prompt needs.  Raises `ProviderError` if that is too much.

        It grows in powers of two, because each change loads the model again.
        """
        prompt = int(sent * max(_MARGIN, self._ratio * 1.05))
        needed = prompt + (max_tokens or REPLY_TOKENS)
        most, key = self.window, (self._server.url, self._model)
        if most and sent * self._ratio > most - 256:
            raise ProviderError(
                f"too long for {self._model!r}: the prompt has about {int(sent * self._ratio):,} tokens, and its context "
                f"{most:,}",
                context_overflow=True,
            )
        with _asking:
            if key not in _asked_context:
                _asked_context[key] = max(LEAST_CONTEXT, self.facts.num_ctx, self._loaded())
            while _asked_context[key] < needed:
                _asked_context[key] *= 2
            return min(_asked_context[key], most or _asked_context[key])

    def _loaded(self) -> int:
        """Return the context of the loaded model; 0: not loaded, or unknown."""
        try:
            running = self._server.ask("api/ps", Running).models
        except ProviderError:
            return 0
        loaded = (each.context_length for each in running if self._model in (each.name, each.model))
        return max((whole_number(each) or 0 for each in loaded), default=0)

    def _check_cut(self, read: int, sent: int, context: int) -> None:
        """Raise `ProviderError` if Ollama read far less than was sent because it gave less context than requested."""
        if not read:
            return
        self._ratio = max(self._ratio, min(3.0, read / max(1, sent)))
        if sent < 1000 or 2 * read >= sent:
            return
        loaded = self._loaded()
        if 0 < loaded < context:
            raise ProviderError(
                f"too long for {self._model!r} as it is loaded: Ollama read {read:,} of about {sent:,} tokens, because it "
                f"gave a context of {loaded:,} instead of the {context:,} that were asked for. Start Ollama with "
                f"OLLAMA_CONTEXT_LENGTH={context}",
                context_overflow=True,
            )

    def _body(self, request: Request, context: int) -> dict[str, Any]:
        options: dict[str, Any] = {"num_ctx": context}
        if request.temperature is not None and self._endpoint.quirks.temperature:
            options["temperature"] = request.temperature
        if request.seed is not None:
            options["seed"] = request.seed
        if request.stop:
            options["stop"] = list(request.stop)
        if request.max_tokens is not None:
            options["num_predict"] = request.max_tokens
        body: dict[str, Any] = {
            "model": self._model,
            "messages": messages_of(request.messages),
            "stream": True,
            "options": options,
            # Newer versions report an error instead of cutting; older ones ignore both.
            "truncate": False,
            "shift": False,
            **self._endpoint.quirks.body,
        }
        if request.tools:
            body["tools"] = Form(Quirks(), self._server.host).tools(request.tools)
        if request.schema is not None:
            body["format"] = request.schema
        return body


def _count(request: Request, name: str) -> int:
    """Estimate the tokens of a prompt, with the definitions of its tools."""
    tools = msgspec.json.encode(request.tools).decode() if request.tools else ""
    return tokens.count_messages(request.messages, name) + tokens.count(tools, name)
