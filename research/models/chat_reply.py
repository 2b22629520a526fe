"""Read replies of OpenAI's chat completions, streamed or whole.

Sources: OpenAI API reference, "Create chat completion" and its streaming events; `reasoning_content` is DeepSeek's
addition, `reasoning` that of Ollama and newer vLLM, `reasoning_details` OpenRouter's, `extra_content` Google's.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from research._util import decoding
from research.models import assembly
from research.models.chat_request import DETAILS, EXTRA
from research.models.heard import unseen
from research.models.usage import counted
from research.types import Completion, Delta, Usage

T = TypeVar("T")

REASONING = "reasoning_content"

BROKEN = {"abort", "error", "insufficient_system_resource"}
"""Finish reasons of failures in vLLM, OpenRouter and DeepSeek: the reply is incomplete."""
_UNREADABLE = {"malformed_function_call", "unexpected_tool_call"}
"""Gemini's finish reasons for a call that it could not write: the text may be part of it."""

_GROWS = frozenset({"text", "summary", "data", "signature"})
"""Fields of reasoning details that arrive in pieces."""


class _Function(Struct):
    name: str | None = None
    arguments: str | dict[str, Any] | None = None
    """A fragment of the JSON; Ollama and some gateways send the object itself."""
    parameters: str | dict[str, Any] | None = None
    """Another name for `arguments`."""


class _Fragment(_Function):
    index: int | str | None = None
    id: str | int | None = None
    function: _Function | None = None
    """Gateways also write its fields next to it."""
    extra_content: dict[str, Any] | None = None


class _Said(Struct):
    """A delta, or the message of a whole reply."""

    content: str | list[Any] | dict[str, Any] | None = None
    refusal: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    reasoning_details: list[dict[str, Any]] | None = None
    tool_calls: list[_Fragment] | _Fragment | None = None
    function_call: _Function | None = None
    """A call in OpenAI's format before parallel calls."""


class _Choice(Struct):
    delta: _Said | None = None
    message: _Said | None = None
    text: str | None = None
    """The reply of the pre-chat API."""
    finish_reason: Any = None
    native_finish_reason: str | None = None

    @property
    def said(self) -> _Said | None:
        return self.delta or self.message or (_Said(self.text) if self.text else None)

    @property
    def reason(self) -> str:
        """Why the reply ended, if it did; a value other than text counts as an end."""
        reason = self.finish_reason
        return reason if isinstance(reason, str) else "stop" if reason else ""


class _PromptDetails(Struct):
    cached_tokens: Any = None
    cache_write_tokens: Any = None


class _Usage(Struct):
    prompt_tokens: Any = None
    completion_tokens: Any = None
    prompt_tokens_details: _PromptDetails | None = None
    prompt_cache_hit_tokens: Any = None
    """DeepSeek's name for `cached_tokens`."""


class Chunk(Struct):
    """One event of a stream, or a whole reply."""

    choices: list[_Choice] | _Choice | None = None
    usage: Any = None
    """`_Usage`; anything else a server writes there is not about the reply."""
    error: Any = None
    object: str | None = None
    message: Any = None
    detail: Any = None
    """The message of an error without `error`."""


class _Call(assembly.Call):
    extra: dict[str, Any] | None = None

    @property
    def complete(self) -> bool:
        """Whether its arguments are a complete object."""
        if not self.arguments.rstrip().endswith("}"):
            return False
        try:
            return isinstance(msgspec.json.decode(self.arguments), dict)
        except (ValueError, RecursionError):
            return False


class Reply:
    """Collects a reply from the events of its stream."""

    def __init__(self, host: str) -> None:
        self.finish_reason = ""
        self.reasoning_name = ""
        self._host = host
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._details: list[dict[str, Any]] = []
        self._refused = False
        self._unreadable = False
        self._calls: list[_Call] = []
        self._open: dict[int | str | None, _Call] = {}
        self._usage: Usage | None = None

    def take(self, chunk: Chunk) -> Iterator[Delta]:
        if chunk.usage:
            self._usage = _usage(chunk.usage) or self._usage
        for choice in _each(chunk.choices):
            if said := choice.said:
                yield from self._add_words(said)
                for fragment in _each(said.tool_calls):
                    unseen(self._add_call(fragment, fragment.function or fragment))
                if said.function_call:
                    unseen(self._add_call(_Fragment(), said.function_call))
                assembly.check_number(self._calls, self._host)
            self.finish_reason = choice.reason or self.finish_reason
            reasons = {choice.reason.lower(), (choice.native_finish_reason or "").lower()}
            self._unreadable = self._unreadable or bool(reasons & _UNREADABLE)

    def _add_words(self, said: _Said) -> Iterator[Delta]:
        content, thought = said.content, said.reasoning_content or said.reasoning or ""
        content = [content] if isinstance(content, dict) else content
        if isinstance(content, list):  # Mistral sends its thinking as parts of the content
            thought += "".join(_words(part.get("thinking")) for part in content if isinstance(part, dict))
            content = "".join(_words(part) for part in content)
        for part in said.reasoning_details or ():
            self._add_detail(part)
            unseen(str(part.get("data") or part.get("signature") or ""))
            if not thought:
                thought = str(part.get("text") or part.get("summary") or "")
        if thought:
            if said.reasoning_content or said.reasoning:
                self.reasoning_name = REASONING if said.reasoning_content else "reasoning"
            self._reasoning.append(thought)
            yield Delta(thought, kind="reasoning")
        if words := content or said.refusal:
            self._refused = self._refused or not content
            self._text.append(words)
            yield Delta(words)

    def _add_detail(self, part: dict[str, Any]) -> None:
        """Join the pieces of a part by index; the whole must be sent back unchanged."""
        last = self._details[-1] if self._details else None
        if last is None or part.get("index") is None or part.get("index") != last.get("index"):
            self._details.append({key: [value] if key in _GROWS else value for key, value in part.items()})
            return
        for key, value in part.items():
            if key in _GROWS and isinstance(value, str):
                last.setdefault(key, []).append(value)
            else:
                last[key] = [value] if key in _GROWS else value

    def _add_call(self, fragment: _Fragment, function: _Function) -> str:
        """Add a fragment to its call; return what it adds to the arguments."""
        call, given = self._open.get(fragment.index), function.arguments or function.parameters
        # Ollama and Gemini have sent parallel calls with index 0 for all, or without an index: a new id starts a call,
        # as does a name if the call is complete or has another name.
        other = call is not None and call.id and fragment.id and str(fragment.id) != call.id
        again = call is not None and call.name and function.name and (function.name != call.name or call.complete)
        if call is None or other or again:
            nameless = not (fragment.id or function.name) and (fragment.index is None or not given)
            if nameless and self._calls:
                call = self._calls[-1]  # part of the last call, such as its signature
            else:
                call = self._open[fragment.index] = _Call()
                self._calls.append(call)
        call.id = call.id or str(fragment.id or "")
        call.name = call.name or function.name or ""
        call.extra = fragment.extra_content or call.extra
        added = given if isinstance(given, str) else msgspec.json.encode(given).decode() if given else ""
        call.parts.append(added)
        return added

    def completion(self, position: int) -> Completion:
        # OpenAI ends a refusal with `stop`, although its text is the reason for the refusal and not an answer.
        reason = "content_filter" if self._refused else self.finish_reason
        if self._unreadable and not self._calls:
            reason = "bad_tool_call:the call could not be written"
        blocks: list[dict[str, Any]] = [
            {"type": EXTRA, "host": self._host, "name": call.name, "value": call.extra}
            for call in self._calls
            if call.extra
        ]
        if self._details:
            details = [
                {key: _joined(value) if key in _GROWS else value for key, value in part.items()}
                for part in self._details
            ]
            blocks.append({"type": DETAILS, "host": self._host, "value": details})
        text = "" if self._unreadable else "".join(self._text)
        said = Completion(text, (), "".join(self._reasoning), reason, self._usage, blocks=tuple(blocks))
        return assembly.with_calls(said, self._calls, position)


def _usage(value: Any) -> Usage | None:
    found = decoding.loosely(value, _Usage)
    if found is None or found.prompt_tokens is None:
        return None
    details = found.prompt_tokens_details or _PromptDetails()
    read = details.cached_tokens or found.prompt_cache_hit_tokens
    return counted(found.prompt_tokens, found.completion_tokens, read, details.cache_write_tokens)


def _joined(pieces: list[Any]) -> Any:
    """Return a field that came in pieces as a whole."""
    return "".join(pieces) if all(isinstance(piece, str) for piece in pieces) else pieces[-1]


def _words(part: Any) -> str:
    """Return the text of a part of the content."""
    if isinstance(part, list):
        return "".join(map(_words, part))
    if isinstance(part, dict):
        return _words(part.get("text") or part.get("value"))
    return part if isinstance(part, str) else ""


def _each(found: list[T] | T | None) -> list[T]:
    """Return a list unchanged, a single item as a list of one: gateways forget the list."""
    return found if isinstance(found, list) else [] if found is None else [found]
