"""The wire format of Ollama's own API, and the connection to one server."""

from __future__ import annotations

import codecs
import re
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec
from msgspec import Struct

from research._util import connections, decoding, egress
from research._util.http import base_url, check_key, tidied
from research._util.redaction import is_secret, key_pattern, redact_in_logs
from research.errors import ProviderError
from research.models import assembly
from research.models.endpoint import Endpoint
from research.models.failures import BadGeneration, NoTools, lost, problem_in
from research.models.heard import unseen
from research.models.lines import bounded, lines
from research.models.lines import counted as counted_lines
from research.models.usage import counted, whole_number
from research.text import clip
from research.types import Completion, Delta, Message, Usage

if TYPE_CHECKING:
    import httpx2

T = TypeVar("T")

OLLAMA: Final = "http://localhost:11434"
_PATH: Final = re.compile(r"(?<!/)/+(?:v1|api)(?:/+(?:chat(?:/completions)?|generate|tags|models))?\Z")
"""Paths of requests, which users copy with the address."""
ASK_S: Final = 10.0
"""Seconds for an answer that no model has to compute: a run waits for it whatever its budget."""
_BODY_BYTES: Final = 16 * 1024 * 1024
_OVERFLOW: Final = re.compile(r"context (length|size|window)|exceeds the available context", re.IGNORECASE)


class Server:
    """One Ollama.  Safe to share between threads."""

    def __init__(self, endpoint: Endpoint, model: str) -> None:
        """Raises `ConfigError` for an invalid url or key."""
        url = _PATH.sub("", tidied(endpoint.base_url or OLLAMA).rstrip("/"))
        parsed = base_url(url, endpoint.url_name)
        self.url, self.host = str(parsed), parsed.netloc.decode("ascii")
        check_key(endpoint.secret, endpoint.key_name)
        redact_in_logs(endpoint.secret)
        self.secret = endpoint.secret if is_secret(endpoint.secret) else ""
        self._endpoint = endpoint
        self._model = model
        bearer = {"Authorization": f"Bearer {endpoint.secret}"} if endpoint.secret else {}
        self._headers = {**endpoint.headers, **bearer}

    def _client(self) -> httpx2.Client:
        return connections.client(
            self.url, tuple(self._headers.items()), self._endpoint.wait_s, self._endpoint.allow_hosts
        )

    def _sending(self) -> AbstractContextManager[None]:
        return egress.sending(self.host, near=self._endpoint.near)

    def lines(self, body: dict[str, Any]) -> Iterator[Line]:
        """Post a chat request and yield its lines.  Raises `ProviderError`."""
        import httpx2

        begun = time.monotonic()
        try:
            with self._sending(), self._client().stream("POST", "api/chat", json=body) as response:
                if not response.is_success:
                    failure = self._failure(
                        response.status_code, connections.read_start(response, connections.ERROR_BYTES, ASK_S)
                    )
                    failure.at_work = connections.may_go_on(begun, response.status_code)
                    raise failure
                texts = codecs.iterdecode(bounded(response.iter_bytes(), "Ollama"), "utf-8-sig", "replace")
                for text in counted_lines(filter(str.strip, lines(texts, "Ollama")), "Ollama"):
                    if text.strip() in ("[DONE]", "data: [DONE]"):
                        continue
                    line = self._decoded(text.strip().removeprefix("data:").encode(), Line)
                    if line.error:
                        raise self._failure(500, msgspec.json.encode({"error": line.error}))
                    yield line
        except httpx2.RequestError as error:
            raise lost(error, self._endpoint, self.url, begun) from error

    def ask(self, path: str, kind: type[T], posted: dict[str, Any] | None = None) -> T:
        """Get the path, or post to it, and return the answer.  Raises `ProviderError`."""
        import httpx2

        method, timeout = "POST" if posted else "GET", connections.timeout(ASK_S)
        try:
            with self._sending(), self._client().stream(method, path, json=posted, timeout=timeout) as response:
                body = connections.read_start(response, _BODY_BYTES, ASK_S)
                if not response.is_success:
                    raise self._failure(response.status_code, body)
                return self._decoded(body, kind)
        except httpx2.RequestError as error:
            raise lost(error, self._endpoint, self.url) from error

    def _decoded(self, body: bytes, kind: type[T]) -> T:
        try:
            return decoding.decode(body, kind)
        except (ValueError, RecursionError) as error:
            came = self._said(body.decode(errors="replace"))
            raise ProviderError(
                f"endpoint {self._endpoint.name!r}: expected Ollama's JSON from {self.url}, got {came!r} ({error})"
            ) from error

    def _said(self, text: str) -> str:
        return clip(" ".join(key_pattern(self._endpoint.secret).sub("***", text).split()), 300)

    def _failure(self, status: int, body: bytes) -> ProviderError:
        problem = problem_in(body)
        said = self._said(problem.message)
        lower = said.lower()
        if problem.of_the_model:
            return BadGeneration(f"{self._model!r} wrote a call that Ollama cannot read: {said}", problem.written)
        if "does not support tools" in lower:
            return NoTools(
                f"{self._model!r} at {self.url} cannot be offered tools: choose the protocol `tagged`.  It said: {said}"
            )
        if _OVERFLOW.search(said):
            return ProviderError(f"too long for {self._model!r}: {said}", context_overflow=True)
        if status == 404:
            return ProviderError(
                f"model {self._model!r} was not found at {self.url}: `ollama pull {self._model}` fetches it.  "
                f"It said: {said}"
            )
        if "more system memory" in lower:
            return ProviderError(
                f"{self._model!r} with the context that this run needs does not fit into memory: give endpoint "
                f"{self._endpoint.name!r} a smaller context, or choose a smaller model.  It said: {said}"
            )
        if status in (401, 403):
            return ProviderError(
                f"{self.url} refused the key ({status}): set {self._endpoint.key_name}.  It said: {said}"
            )
        return ProviderError(f"{self.url} answered {status}: {said}", retryable=status in (408, 429) or status >= 500)


class Facts(Struct):
    """What `api/show` says of a model."""

    model_info: dict[str, Any] = {}
    capabilities: list[str] = []
    parameters: str = ""
    remote_host: str = ""

    @property
    def context(self) -> int:
        """The context that the model was trained with; 0: unknown."""
        found = (value for name, value in self.model_info.items() if name.endswith(".context_length"))
        return next((number for value in found if (number := whole_number(value))), 0)

    @property
    def num_ctx(self) -> int:
        """The context that the model's file sets; 0: none."""
        for line in self.parameters.splitlines():
            name, _, value = line.strip().partition(" ")
            if name == "num_ctx":
                return whole_number(value.strip()) or 0
        return 0


class _Tagged(Struct):
    name: str = ""
    model: str = ""
    context_length: Any = None


class Listing(Struct):
    models: list[_Tagged] = []


class Running(Struct):
    models: list[_Tagged] = []


class _Function(Struct):
    name: str | None = None
    arguments: dict[str, Any] | str | None = None


class _Call(Struct):
    function: _Function = msgspec.field(default_factory=_Function)
    id: str | None = None


class _Said(Struct):
    content: str | None = None
    thinking: str | None = None
    tool_calls: list[_Call] | None = None


class Line(Struct):
    """One line of a reply."""

    message: _Said = msgspec.field(default_factory=_Said)
    done: bool = False
    done_reason: str = ""
    prompt_eval_count: Any = None
    eval_count: Any = None
    error: Any = None


class Reply:
    """Collects a reply from its lines."""

    def __init__(self) -> None:
        self.done = False
        self.usage: Usage | None = None
        self._reason = ""
        self._text: list[str] = []
        self._thinking: list[str] = []
        self._calls: list[assembly.Call] = []

    def take(self, line: Line) -> Iterator[Delta]:
        said = line.message
        if said.thinking:
            self._thinking.append(said.thinking)
            yield Delta(said.thinking, kind="reasoning")
        if said.content:
            self._text.append(said.content)
            yield Delta(said.content)
        for call in said.tool_calls or ():
            given = call.function.arguments
            text = given if isinstance(given, str) else msgspec.json.encode(given or {}).decode()
            self._calls.append(assembly.Call(call.id or "", call.function.name or "", [text]))
            assembly.check_number(self._calls, "Ollama")
            unseen(text)
        if line.done:
            self.done, self._reason = True, line.done_reason
            self.usage = counted(line.prompt_eval_count or None, line.eval_count)

    def completion(self, position: int) -> Completion:
        reason = "length" if self._reason == "length" else "tool_calls" if self._calls else "stop"
        said = Completion("".join(self._text), (), "".join(self._thinking), reason, self.usage)
        return assembly.with_calls(said, self._calls, position)


def messages_of(messages: tuple[Message, ...]) -> list[dict[str, Any]]:
    """Return the conversation as Ollama expects it: arguments are objects, and results name their tool."""
    names = {call.id: call.name for message in messages for call in message.calls}
    found = []
    for message in messages:
        sent: dict[str, Any] = {"role": message.role, "content": message.content}
        if message.reasoning:
            sent["thinking"] = message.reasoning
        if message.calls:
            sent["tool_calls"] = [
                {"id": call.id, "function": {"name": call.name, "arguments": call.arguments}} for call in message.calls
            ]
        if message.call_id is not None:
            sent |= {"tool_name": names.get(message.call_id, ""), "tool_call_id": message.call_id}
        found.append(sent)
    return found
