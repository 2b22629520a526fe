"""A model file on this machine, run by llama.cpp in this process: no server, no key, no network.

Calls are constrained (`research.llama.form`): a model of 135 million parameters writes valid ones, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from research.errors import ConfigError, ProviderError
from research.llama import form
from research.llama.loaded import grammar_of, load
from research.registry import provider
from research.types import Completion, Delta, Model, Request, Usage

if TYPE_CHECKING:
    from research.workbench import Workbench

CONTEXT = 8192
"""Tokens of prompt and reply together, or fewer where the model was trained on fewer."""


class GgufModel:
    """One model file.  Safe to share between threads; closing the iterator that `stream` returns ends the reply."""

    native = True

    def __init__(self, path: Path, *, context: int = CONTEXT) -> None:
        """Loads the file, once for all models of that path.  Raises `ConfigError` for one that cannot be used."""
        self.name = f"gguf:{path}"
        self._loaded = load(path, context)
        self._longest = self._loaded.context // 8

    @property
    def window(self) -> int:
        """Tokens of prompt and reply together."""
        return self._loaded.context

    def price(self, usage: Usage) -> float:
        """Nothing."""
        return 0.0

    def stream(self, request: Request) -> Iterator[Delta | Completion]:
        """Yield deltas, then one `Completion`.

        Where tools are called, the thought streams as reasoning and the answer as text; there is at most one call.  A
        reply has at most `max_tokens`, or else an eighth of the context.  Raises `ProviderError`.
        """
        longest = min(request.max_tokens or self._longest, self._loaded.context)
        reply = form.Written(len(request.messages)) if form.applies(request) else form.Plain()
        finish_reason, usage = "", None
        for chunk in self._loaded.chat(self._body(request, longest)):
            if chunk.usage is not None:
                usage = Usage(
                    chunk.usage.prompt_tokens,
                    chunk.usage.completion_tokens,
                    cache_read_tokens=chunk.usage.prompt_tokens_details.cached_tokens,
                )
            for choice in chunk.choices:
                yield from reply.take(choice.delta.content or "", choice.delta.reasoning_content or "")
                finish_reason = choice.finish_reason or finish_reason
        if not finish_reason:
            raise ProviderError(f"{self.name}: the reply broke off", retryable=True)
        if finish_reason == "length" and usage is not None and usage.completion_tokens < longest:
            raise ProviderError(f"{self.name}: prompt and reply fill the context", context_overflow=True)
        yield reply.completion(finish_reason, usage)

    def _body(self, request: Request, longest: int) -> dict[str, Any]:
        body: dict[str, Any] = {
            "messages": form.messages_of(request, self._loaded.harmless),
            "max_tokens": longest,
            "stream_options": {"include_usage": True},
        }
        if request.stop:
            body["stop"] = request.stop
        if request.temperature is not None:
            body["temperature"] = request.temperature
        # Twice as many characters as tokens: so a reply ends as the form wants it, before the tokens do; also the call
        # of a model that writes nothing but digits, which are a token each.
        if schema := form.schema_of(request, answer=2 * longest):
            body["grammar"] = grammar_of(schema)
            # The form has its own place for a thought; text that is thought aside would not be held to it.
            body |= {"reasoning_format": "none", "chat_template_kwargs": {"enable_thinking": False}}
        return body


@provider("Model file (GGUF)")
def gguf(name: str, workbench: Workbench) -> Model:
    """A model file on this machine, e.g. gguf:~/models/qwen3-4b.gguf; llama.cpp runs it here."""
    if not name:
        raise ConfigError("gguf: name a model file after the colon, e.g. gguf:~/models/qwen3-4b.gguf")
    return GgufModel(Path(name), context=workbench.settings.gguf_context)
