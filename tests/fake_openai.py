"""A fake OpenAI-compatible server over real HTTP on loopback, with every fault that real servers have shown.

    with FakeOpenAI([FakeReply("Paris"), FakeReply(status=429, headers={"Retry-After": "3"})]) as server:
        model = openai_model("fake", base_url=server.base_url, api_key="")

The script is a list of replies, played in order whatever the request, or a function from the request's body to a reply.
"""

from __future__ import annotations

import json
import socket
import struct
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.workers import LONG_S

Body = dict[str, Any]


@dataclass(frozen=True)
class FakeReply:
    """One response of the server: a reply or a fault."""

    text: str = ""
    calls: Sequence[tuple[str, Any]] = ()
    """Name and arguments; arguments given as a string are sent unchanged, valid or not."""
    reasoning: str = ""
    finish_reason: str | None = "auto"
    """`auto`: `tool_calls` or `stop`.  None: never sent."""
    usage: tuple[int, int] | None = (7, 3)
    """Prompt and completion tokens."""
    cached: tuple[int, int] = (0, 0)
    """The prompt tokens read from the cache, and those written to it."""
    deltas: Sequence[Body] | None = None
    """Send exactly these deltas instead of those made from text, calls and reasoning."""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: Any = None
    """Respond with this body instead: JSON, or text/html if it is a string."""
    error_inside: Any = None
    """Send this as an event after the deltas and end the stream."""
    done: bool = True
    """Whether `[DONE]` ends the stream."""
    end_after: int | None = None
    """End the stream cleanly after this many events."""
    reset_after: int | None = None
    """Reset the connection after this many events; -1: before the headers; -2: after the last event."""
    split: int | None = None
    """Bytes per HTTP chunk; a small number cuts characters in the middle."""
    gate: threading.Event | None = None
    """After `gate_after` events, wait until this is set."""
    gate_after: int = 1
    raw: str | None = None
    """Send exactly this stream."""
    held: threading.Event | None = None
    """After the last event, keep the stream open until this is set."""


Script = Sequence[FakeReply] | Callable[[Body], FakeReply]


class FakeOpenAI:
    """A server that runs inside a `with` block.

    `strict`: respond 400 to a history with an unknown role, an unanswered call or an orphaned result.
    `key`: respond 401 to any other key, echoing the one sent.  `models`: the models listed and served.
    `listing`: the body of `/v1/models` instead.  `refuses`: request parameters that the models do not support.
    """

    paths: tuple[str, ...] = ("/v1/chat/completions", "/v1/models")

    def __init__(
        self,
        script: Script = (),
        *,
        strict: bool = True,
        key: str | None = None,
        models: Sequence[str] = ("fake",),
        listing: Any = None,
        refuses: Sequence[str] = (),
    ) -> None:
        self.requests: list[Body] = []
        """Bodies of the chat requests, in order of arrival."""
        self.authorizations: list[str | None] = []
        """The authorization header of every request."""
        self.headers: list[dict[str, str]] = []
        """The headers of every chat request."""
        self.hung_up = threading.Event()
        """Set when a client disconnected before its reply was written."""
        self.tried: list[Body] = []
        """Bodies of all chat requests, including those that the service's rules rejected."""
        self.sent: list[bytes] = []
        """The raw bytes of these bodies."""
        self.asked: list[str] = []
        """The path of each of these requests."""
        self.streams: list[bytes] = []
        """The bytes of each stream sent."""
        self.connections: set[object] = set()
        """The address of each client connection that made a request."""
        self.strict, self.key, self.models, self.refuses = strict, key, models, refuses
        self.listing = {"object": "list", "data": [{"id": name} for name in models]} if listing is None else listing
        self._script = script
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.fake = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def __enter__(self) -> FakeOpenAI:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def reply_to(self, body: Body) -> FakeReply:
        """Return the script's reply to this request."""
        with self._lock:
            self.requests.append(body)
            n = len(self.requests)
        if callable(self._script):
            return self._script(body)
        if n > len(self._script):
            return _error(400, f"the script of the fake has only {len(self._script)} replies")
        return self._script[n - 1]

    def listed(self, query: str) -> Any:
        """Return the body of `/v1/models`."""
        return self.listing

    def refused(self, headers: Mapping[str, str]) -> FakeReply | None:
        """Return an error if the headers are invalid."""
        sent = headers.get("Authorization")
        self.authorizations.append(sent)
        if self.key is not None and sent != f"Bearer {self.key}":
            return self.error(401, f"Incorrect API key provided: {sent}", "invalid_api_key")
        return None

    def refused_body(self, body: Body, headers: Mapping[str, str]) -> FakeReply | None:
        """Return an error if the request is invalid."""
        if body.get("model") not in self.models:
            return self.error(404, f"The model {body.get('model')!r} does not exist", "model_not_found")
        for name in self.refuses:
            if name in body:
                said = f"Unsupported parameter: '{name}' is not supported with this model."
                return self.error(400, said, "unsupported_parameter", name)
        problem = history_problem(body.get("messages") or ()) if self.strict else None
        return self.error(400, problem) if problem else None

    def error(self, status: int, message: str, code: str | None = None, param: str | None = None) -> FakeReply:
        return _error(status, message, code, param)

    def events(self, reply: FakeReply, body: Body) -> Iterator[str]:
        """Yield the events of a stream as they are sent."""
        for data in _events(reply):
            yield f"data: {data}\n\n"

    def frames(self, reply: FakeReply, body: Body) -> Iterator[bytes]:
        """Yield the pieces of a stream as they are sent."""
        return (event.encode() for event in self.events(reply, body))

    def is_streamed(self, body: Body) -> bool:
        return bool(body.get("stream"))

    @property
    def stream_type(self) -> str:
        """The content type of a stream."""
        return "text/event-stream"

    def whole(self, reply: FakeReply, body: Body) -> Body:
        """Return the body of a reply that is not streamed."""
        return _whole(reply)


class Silent(FakeOpenAI):
    """A server whose model calls a tool, and writes no second reply before the block ends."""

    def __init__(self, answer: str = "") -> None:
        super().__init__(self._reply)
        self.waits = threading.Event()
        """Set when a second reply has been requested."""
        self.replied = threading.Event()
        """Set when a second reply is written after all, which took minutes: something waited for it."""
        self._over = threading.Event()
        self._answer = answer

    def __exit__(self, *error: object) -> None:
        self._over.set()
        super().__exit__(*error)

    def _reply(self, body: Body) -> FakeReply:
        if all(message["role"] != "tool" for message in body["messages"]):
            return FakeReply("", [("search", {"query": "Japan population"})])
        self.waits.set()
        if not self._over.wait(LONG_S / 2):
            self.replied.set()
        return FakeReply(self._answer)


def history_problem(messages: Sequence[Body]) -> str | None:
    """Return why a strict service rejects a conversation, or None."""
    unanswered: set[str] = set()
    for message in messages:
        role = message.get("role")
        if role not in ("system", "developer", "user", "assistant", "tool"):
            return f"unknown role {role!r}"
        if role == "tool":
            if message.get("tool_call_id") not in unanswered:
                return f"a tool result without its call: {message.get('tool_call_id')!r}"
            unanswered.remove(message["tool_call_id"])
        elif unanswered:
            return f"tool calls without results: {sorted(unanswered)}"
        unanswered.update(call["id"] for call in message.get("tool_calls") or ())
    return f"tool calls without results: {sorted(unanswered)}" if unanswered else None


def _error(status: int, message: str, code: str | None = None, param: str | None = None) -> FakeReply:
    kind = "invalid_request_error" if status < 500 else "server_error"
    return FakeReply(status=status, body={"error": {"message": message, "type": kind, "param": param, "code": code}})


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False  # a handler may wait at its gate
    fake: FakeOpenAI

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError):  # a disconnected client is expected
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def do_GET(self) -> None:
        if refused := self._refused():
            self._send(refused, {})
        else:
            self._json(200, self.server.fake.listed(self.path.partition("?")[2]))

    def do_POST(self) -> None:
        fake = self.server.fake
        data = self.rfile.read(int(self.headers["Content-Length"]))
        body = json.loads(data)
        fake.sent.append(data)
        fake.asked.append(self.path)
        fake.headers.append(dict(self.headers.items()))
        fake.tried.append(body)
        fake.connections.add(self.client_address)
        refused = self._refused() or fake.refused_body(body, self.headers)
        try:
            self._send(refused or fake.reply_to(body), body)
        except ConnectionError:
            fake.hung_up.set()
            self.close_connection = True

    def _refused(self) -> FakeReply | None:
        fake = self.server.fake
        if self.path.partition("?")[0] not in fake.paths:
            return fake.error(404, f"no such path: {self.path}")
        return fake.refused(self.headers)

    def _send(self, reply: FakeReply, body: Body) -> None:
        if reply.reset_after == -1:
            self._reset()
        elif reply.body is not None or reply.status != 200:
            self._json(reply.status, reply.body, reply.headers)
        elif self.server.fake.is_streamed(body):
            self._stream(reply, body)
        else:
            self._json(200, self.server.fake.whole(reply, body), reply.headers)

    def _json(self, status: int, body: Any, headers: dict[str, str] | None = None) -> None:
        data = body.encode() if isinstance(body, str) else json.dumps(body, ensure_ascii=False).encode()
        kind = "text/html" if isinstance(body, str) else "application/json"
        self._head(status, {"Content-Type": kind, "Content-Length": str(len(data)), **(headers or {})})
        self.wfile.write(data)

    def _stream(self, reply: FakeReply, body: Body) -> None:
        self._head(200, {"Content-Type": self.server.fake.stream_type, "Transfer-Encoding": "chunked", **reply.headers})
        written = bytearray()
        events = self.server.fake.frames(reply, body) if reply.raw is None else iter([reply.raw.encode()])
        for n, data in enumerate(events):
            if n == reply.reset_after:
                return self._reset()
            if n == reply.end_after:
                break
            if n == reply.gate_after and reply.gate is not None:
                reply.gate.wait(LONG_S)
            written += data
            size = reply.split or len(data)
            for start in range(0, len(data), size):
                piece = data[start : start + size]
                self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
        self.server.fake.streams.append(bytes(written))
        if reply.held is not None:
            reply.held.wait(LONG_S)
        if reply.reset_after == -2:
            return self._reset()
        self.wfile.write(b"0\r\n\r\n")
        return None

    def _head(self, status: int, headers: dict[str, str]) -> None:
        self.send_response_only(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def _reset(self) -> None:
        # Closing with a linger time of 0 sends RST instead of FIN.
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()
        self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:
        pass


def _finish(reply: FakeReply) -> str | None:
    return ("tool_calls" if reply.calls else "stop") if reply.finish_reason == "auto" else reply.finish_reason


def _calls(reply: FakeReply) -> list[Body]:
    return [
        {
            "id": f"fake_{i}",
            "type": "function",
            "function": {"name": name, "arguments": given if isinstance(given, str) else json.dumps(given)},
        }
        for i, (name, given) in enumerate(reply.calls)
    ]


def _usage(reply: FakeReply) -> Body | None:
    if reply.usage is None:
        return None
    prompt, completion = reply.usage
    usage: Body = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
    if any(reply.cached):
        usage["prompt_tokens_details"] = {"cached_tokens": reply.cached[0], "cache_write_tokens": reply.cached[1]}
    return usage


def _whole(reply: FakeReply) -> Body:
    message = {"role": "assistant", "content": reply.text, "tool_calls": _calls(reply) or None}
    if reply.reasoning:
        message["reasoning_content"] = reply.reasoning
    choice = {"index": 0, "message": message, "finish_reason": _finish(reply)}
    return {"id": "fake", "object": "chat.completion", "choices": [choice], "usage": _usage(reply)}


def _deltas(reply: FakeReply) -> Iterator[Body]:
    """Yield deltas as OpenAI does: role first, a few characters each, id and name only with a call's first fragment."""
    yield {"role": "assistant", "content": ""}
    for piece in _pieces(reply.reasoning):
        yield {"reasoning_content": piece}
    for piece in _pieces(reply.text):
        yield {"content": piece}
    for i, call in enumerate(_calls(reply)):
        arguments = call["function"]["arguments"]
        yield {"tool_calls": [{**call, "index": i, "function": {"name": call["function"]["name"], "arguments": ""}}]}
        for piece in _pieces(arguments):
            yield {"tool_calls": [{"index": i, "function": {"arguments": piece}}]}


def _events(reply: FakeReply) -> Iterator[str]:
    """Yield the `data` of each event."""
    for delta in reply.deltas if reply.deltas is not None else _deltas(reply):
        yield _chunk([{"index": 0, "delta": delta, "finish_reason": None}])
    if reply.error_inside is not None:
        yield json.dumps(reply.error_inside)
        return
    if _finish(reply) is not None:
        yield _chunk([{"index": 0, "delta": {}, "finish_reason": _finish(reply)}])
    if reply.usage is not None:
        yield _chunk([], usage=_usage(reply))
    if reply.done:
        yield "[DONE]"


def _chunk(choices: list[Body], **more: Any) -> str:
    chunk = {"id": "fake", "object": "chat.completion.chunk", "model": "fake", "choices": choices, **more}
    return json.dumps(chunk, ensure_ascii=False)


def _pieces(text: str, size: int = 4) -> Iterator[str]:
    for start in range(0, len(text), size):
        yield text[start : start + size]


def does_the_job(body: Body) -> FakeReply:
    """Open the box, then the safe, then answer with its word; and read the second line of a long prompt."""
    if "tools" not in body:
        word = body["messages"][0]["content"].splitlines()[1].removeprefix("The password is ")
        return FakeReply(deltas=[{"content": each} for each in (word, *" one" * 300)])
    results = [message["content"] for message in body["messages"] if message["role"] == "tool"]
    if not results:
        return FakeReply(calls=[("open_box", {"colour": "red"})])
    last = results[-1].rstrip(".").rpartition(" ")[2]
    return FakeReply(calls=[("open_safe", {"code": last})]) if len(results) == 1 else FakeReply(f"The word is {last}.")
