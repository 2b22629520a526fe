"""A model that plays a script, for tests, demos, and trying a new framework without a provider.

A script is a file of JSON lines, one reply per line; every key is optional:

    {"text": "Let me look.", "calls": [{"name": "search", "arguments": {"query": "x"}}], "reasoning": "…",
     "finish_reason": "stop", "delay_s": 0, "error": "429", "purpose": "act", "agent": "main"}

A request plays the first unplayed line that matches its `purpose` and `agent`; a line without these keys matches every
request.  A line with an `error` counts as played, so a retry plays the next one.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from research._util import decoding
from research.errors import ConfigError, ProviderError
from research.models.host import Host
from research.plugins import provider
from research.types import Completion, Delta, Model, Request, ToolCall, Usage

_DELTA = 12


class ScriptCall(Struct, frozen=True, forbid_unknown_fields=True):
    """A tool call of a scripted reply."""

    name: str
    arguments: dict[str, Any] = {}


class ScriptLine(Struct, frozen=True, forbid_unknown_fields=True):
    """One scripted reply."""

    text: str = ""
    calls: tuple[ScriptCall, ...] = ()
    """Native calls; calls of the tagged protocol belong in `text`."""
    reasoning: str = ""
    finish_reason: str = "stop"
    delay_s: Annotated[float, Meta(ge=0)] = 0.0
    """Seconds before the reply begins."""
    error: Literal["429", "500", "reset", "truncated"] | None = None
    """The error to raise instead of replying; `truncated` raises it after half of the text."""
    purpose: str | None = None
    """Match only requests with this purpose."""
    agent: str | None = None
    """Match only requests of this agent."""


class ScriptedModel:
    """Plays its lines once, in order.  Safe to share between threads."""

    def __init__(self, lines: Sequence[ScriptLine], name: str = "scripted", native: bool | None = None) -> None:
        """With `native` None, the model uses native calls if any line has `calls`."""
        self.name = name
        self.native = any(line.calls for line in lines) if native is None else native
        self._remaining = dict(enumerate(lines, start=1))
        self._lock = threading.Lock()

    @classmethod
    def from_file(cls, path: str | Path) -> ScriptedModel:
        """Read a script in UTF-8; blank lines are skipped.  Raises `ConfigError` with the file and the line."""
        try:
            script = Path(path).read_text("utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"the script {path} cannot be read: {error}") from error
        # Not `splitlines`: JSON strings may contain an unescaped U+2028.
        lines = [_line(f"{path}:{n}", text) for n, text in enumerate(script.split("\n"), start=1) if text.strip()]
        if not lines:
            raise ConfigError(f"the script {path} is empty; each line must be a JSON object with {_accepted()}")
        return cls(lines, f"scripted:{path}")

    def price(self, usage: Usage) -> float:
        """Return 0: a script costs nothing."""
        return 0.0

    def take(self, purpose: str, agent: str) -> tuple[int, ScriptLine]:
        """Remove the next line for this purpose and agent; return its line number, from 1, and the line.

        Raises `ProviderError` if none is left.
        """
        with self._lock:
            for n, line in self._remaining.items():
                if line.purpose in (None, purpose) and line.agent in (None, agent):
                    del self._remaining[n]
                    return n, line
        raise ProviderError(f"the script has no line left for purpose {purpose!r}, agent {agent!r} ({self.name})")

    def stream(self, request: Request) -> Iterator[Delta | Completion]:
        """Yield the line's reasoning and text in small deltas, then its completion.  Raises `ProviderError`."""
        n, line = self.take(request.purpose, request.agent)
        time.sleep(line.delay_s)
        match line.error:
            case "429":
                raise ProviderError("the script answered 429", retryable=True, retry_after_s=0)
            case "500":
                raise ProviderError("the script answered 500", retryable=True)
            case "reset":
                raise ProviderError("the script reset the connection", retryable=True)
        for piece in _pieces(line.reasoning):
            yield Delta(piece, kind="reasoning")
        if line.error == "truncated":
            for piece in _pieces(line.text[: (len(line.text) + 1) // 2]):
                yield Delta(piece)
            raise ProviderError("the script ended in the middle of a reply", retryable=True)
        for piece in _pieces(line.text):
            yield Delta(piece)
        calls = (ToolCall(f"call_{n}_{i}", call.name, call.arguments) for i, call in enumerate(line.calls))
        usage = Usage(
            prompt_tokens=sum(len(message.content) for message in request.messages) // 4,
            completion_tokens=len(line.text) // 4,
            estimated=True,
            cost_usd=0.0,
        )
        yield Completion(line.text, tuple(calls), line.reasoning, line.finish_reason, usage)


def _pieces(text: str) -> Iterator[str]:
    for start in range(0, len(text), _DELTA):
        yield text[start : start + _DELTA]


def _line(place: str, text: str) -> ScriptLine:
    try:
        return decoding.decode(text, ScriptLine)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ConfigError(f"{place}: {error}; each line must be a JSON object with {_accepted()}") from error


def _accepted() -> str:
    return "any of " + ", ".join(ScriptLine.__struct_fields__) + '; error is "429", "500", "reset" or "truncated"'


@provider("Script", local=True, file=True, written_by="script")
def scripted(path: str, host: Host) -> Model:
    """Replies written in a file of JSON lines."""
    return ScriptedModel.from_file(path)
