"""A model file on this machine, run by llama.cpp in this process: no server, no key, no network.

Replies are constrained by a grammar (`research.models.llama.form`), so that even a model of 135 million parameters
writes valid calls.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from research._util import decoding
from research.errors import ConfigError, ProviderError
from research.models.chat_reply import Chunk, Reply
from research.models.failures import problem_in
from research.models.host import Host
from research.models.llama import form
from research.models.llama.loaded import grammar_of, load
from research.plugins import provider
from research.text import clip
from research.types import Completion, Delta, Model, Request, Usage

CONTEXT = 8192
"""Default size of the context window in tokens; less if the model was trained on less."""


class GgufModel:
    """One model file.  Safe to share between threads.  Closing the iterator that `stream` returns ends the reply."""

    native = True

    def __init__(self, path: Path, *, context: int = CONTEXT) -> None:
        """Load the file, once for all models of that path.  Raises `ConfigError` if that fails."""
        self.name = f"gguf:{path}"
        self._loaded = load(path, context)
        self._longest = self._loaded.context // 8

    @property
    def window(self) -> int:
        """Size of the context window in tokens, shared by prompt and reply."""
        return self._loaded.context

    def price(self, usage: Usage) -> float:
        """Return 0: a local model costs nothing."""
        return 0.0

    def stream(self, request: Request) -> Iterator[Delta | Completion]:
        """Yield deltas, then one `Completion`.

        In a conversation with tool calls, the thought is streamed as reasoning and the answer as text, and a reply has
        at most one call.  A reply has at most `max_tokens`, by default an eighth of the context.  Raises
        `ProviderError`.
        """
        longest = min(request.max_tokens or self._longest, self._loaded.context)
        reply = Reply(self.name)
        formal = form.FormReply(len(request.messages)) if form.applies(request) else None
        for piece in self._loaded.chat(self._body(request, longest)):
            chunk = decoding.decode(piece, Chunk)
            if chunk.error:
                raise _failure(piece)
            for delta in reply.take(chunk):
                yield from formal.take(delta.text) if formal else (delta,)
        whole = reply.completion(len(request.messages))
        if not whole.finish_reason:
            raise ProviderError(f"{self.name}: the reply ended early", retryable=True)
        if whole.finish_reason == "length" and whole.usage and whole.usage.completion_tokens < longest:
            raise ProviderError(f"{self.name}: prompt and reply fill the context", context_overflow=True)
        yield formal.completion(whole.finish_reason, whole.usage) if formal else whole

    def _body(self, request: Request, longest: int) -> dict[str, Any]:
        body: dict[str, Any] = {
            "messages": form.messages_of(request, self._loaded.defuse),
            "max_tokens": longest,
            "stream_options": {"include_usage": True},
        }
        if request.stop:
            body["stop"] = request.stop
        if request.temperature is not None:
            body["temperature"] = request.temperature
        if request.seed is not None:
            body["seed"] = request.seed
        # The character limit is twice the token limit, so that a reply completes its form before it runs out of tokens,
        # even if all digits, which take a token each.
        if schema := form.schema_of(request, answer=2 * longest):
            body["grammar"] = grammar_of(schema)
            # The grammar does not constrain separate reasoning, and the form has a field for the thought.
            body |= {"reasoning_format": "none", "chat_template_kwargs": {"enable_thinking": False}}
        return body


def _failure(answer: bytes) -> ProviderError:
    problem = problem_in(answer)
    # The error type means that the prompt is too long; the text, that the reply reached the end of the context.
    long = problem.kind == "exceed_context_size_error" or "context size" in problem.message.lower()
    return ProviderError(f"llama.cpp: {clip(problem.message, 300)}", context_overflow=long)


@provider("Model file (GGUF)", local=True, file=True)
def gguf(name: str, host: Host) -> Model:
    """A model file on this machine, run by llama.cpp: type its path as the model, e.g. gguf:~/models/qwen3-4b.gguf."""
    if not name:
        raise ConfigError("gguf: name a model file after the colon, e.g. gguf:~/models/qwen3-4b.gguf")
    return GgufModel(Path(name), context=host.settings.gguf_context)
