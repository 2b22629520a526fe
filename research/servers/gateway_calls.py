"""One call through the gateway: recorded and sent on; its answer is recorded and passed back."""

from __future__ import annotations

import asyncio
import time
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from typing import Final

import msgspec
from msgspec import Struct

from research.errors import ProviderError
from research.events.events import Returned
from research.servers.gateway_flow import Flow
from research.servers.gateway_replay import RecordedUpstream
from research.servers.gateway_replies import EventStream, Reader
from research.servers.gateway_requests import Asking, error_body
from research.servers.gateway_runs import Call
from research.servers.gateway_upstream import MOST_BYTES, HttpAnswer, HttpUpstream, recorded_headers
from research.text import clip, estimate_tokens
from research.types import Completion, Delta, Usage

SHOWN_S: Final = 0.05
"""Seconds of a stream collected into one event."""
END_S: Final = 0.25
"""Seconds to wait for a stream's end after its last event."""
JSON: Final = [("content-type", "application/json")]


class Errand(Struct, frozen=True, kw_only=True):
    """Where and how a request is sent."""

    upstream: HttpUpstream | RecordedUpstream
    model: str
    """The endpoint's name of the model."""
    path: str
    query: str
    headers: Iterable[tuple[str, str]]
    turn: Callable[[], Awaitable[None]]
    """Waits for the endpoint's rate limit."""


async def carry(call: Call, asking: Asking, errand: Errand) -> None:
    """Perform a recorded request; the answer goes into the call's flow."""
    flow = call.flow
    assert flow is not None
    call.run.at_work += 1
    try:
        if isinstance(errand.upstream, RecordedUpstream):
            _replay(call, asking, flow, errand.upstream)
        else:
            await errand.turn()
            sent = errand.upstream.sent("POST", errand.path, errand.query, errand.headers, asking.raw, errand.model)
            async with sent as answer:
                await _Passing(call, asking, errand, errand.upstream).take(answer)
    except ProviderError as error:
        call.run.fail(call, str(error))
        if flow.status:
            flow.cut()
        else:
            replayed = isinstance(errand.upstream, RecordedUpstream)
            kind, status = ("recorded_request_differs", 422) if replayed else ("upstream_unreachable", 502)
            flow.whole(status, JSON, error_body(asking.api, kind, str(error)))
    finally:
        call.run.at_work -= 1
        if not flow.done:  # unforeseen error: the agent must not wait forever
            flow.cut()


def _replay(call: Call, asking: Asking, flow: Flow, upstream: RecordedUpstream) -> None:
    returned = upstream.answer(asking)
    reader = Reader(asking.api, "")
    _read_all(reader, returned)
    _record(call, asking, returned, reader, None)
    flow.whole(returned.status, list(returned.headers.items()), returned.body)


def _read_all(reader: Reader, returned: Returned) -> None:
    if returned.headers.get("content-type", "").startswith("text/event-stream"):
        for data, _ in EventStream().take(_decoded(returned.body, returned.headers.get("content-encoding", ""))):
            reader.event(data)
    else:
        reader.whole(_decoded(returned.body, returned.headers.get("content-encoding", "")))


def _decoded(body: bytes, encoding: str) -> bytes:
    """Decompress a body; one that cannot be read is unchanged, and its reply is noted as unreadable."""
    if encoding not in ("gzip", "deflate"):
        return body
    try:
        unpacker = zlib.decompressobj(47 if encoding == "gzip" else 15)
        found = unpacker.decompress(body, MOST_BYTES)
        return body if unpacker.unconsumed_tail else found
    except zlib.error:
        return body


def _record(
    call: Call, asking: Asking, returned: Returned, reader: Reader, price: Callable[[Usage], float | None] | None
) -> None:
    completion = reader.completion(len(asking.messages))
    usage = completion.usage or _estimated(asking, completion)
    cost = price(usage) if price else 0.0
    usage = msgspec.structs.replace(usage, cost_usd=cost)
    call.run.answer(call, returned, completion, usage, response=reader.response_id, problem=reader.problem)


def _estimated(asking: Asking, completion: Completion) -> Usage:
    prompt = sum(estimate_tokens(message.content) for message in asking.messages)
    return Usage(prompt, estimate_tokens(completion.text), estimated=True)


class _Passing:
    """An answer in transit: pieces pass at once, but its end waits until all of it is recorded."""

    def __init__(self, call: Call, asking: Asking, errand: Errand, upstream: HttpUpstream) -> None:
        assert call.flow is not None
        self._call, self._asking, self._errand, self._flow = call, asking, errand, call.flow
        self._upstream = upstream
        self._reader = Reader(asking.api, upstream.host)

    async def take(self, answer: HttpAnswer) -> None:
        headers = {name.lower(): value for name, value in answer.headers}
        if answer.status >= 400:
            body = self._upstream.clean(await answer.whole(), answer.status)
            returned = Returned(ask=0, status=answer.status, body=body, headers=recorded_headers(answer.headers))
            said = clip(body.decode("utf-8", "replace"), 300)
            self._call.run.fail(self._call, f"{self._upstream.name} answered {answer.status}: {said}", returned)
            self._flow.whole(answer.status, answer.headers, body)
            return
        streamed = headers.get("content-type", "").startswith("text/event-stream")
        plain = headers.get("content-encoding", "identity") == "identity"
        if streamed and plain:
            self._flow.begin(answer.status, answer.headers)
            body, sent = await self._stream(answer.pieces())
        else:
            body, sent = self._upstream.clean(await answer.whole(), answer.status), 0
            self._flow.begin(answer.status, answer.headers)
        returned = Returned(ask=0, status=answer.status, body=body, headers=recorded_headers(answer.headers))
        if not (streamed and plain):
            _read_all(self._reader, returned)
        model = self._errand.model
        _record(self._call, self._asking, returned, self._reader, lambda usage: self._upstream.price(model, usage))
        self._flow.push(body[sent:])
        self._flow.end()

    async def _stream(self, pieces: AsyncIterator[bytes]) -> tuple[bytes, int]:
        """Pass a stream on; return it, and how much was passed."""
        events, parts, at, sent = EventStream(), [], 0, 0
        held = over = False
        deltas: list[Delta] = []
        shown = time.monotonic()
        while (piece := await _next(pieces, END_S if over else None)) is not None:
            parts.append(piece)
            cut = at + len(piece)
            for data, begin in events.take(piece):
                new, last = self._reader.event(data)
                deltas += new
                if last and not held:
                    held, cut = True, max(begin, at)
                over = over or self._reader.over
            if sent == at:  # nothing is held back so far
                self._flow.push(piece[: cut - at])
                sent = cut
            at += len(piece)
            if time.monotonic() - shown > SHOWN_S:
                self._call.run.stream(self._call, deltas)
                deltas, shown = [], time.monotonic()
        return b"".join(parts), sent


async def _next(pieces: AsyncIterator[bytes], timeout_s: float | None) -> bytes | None:
    """Return the next piece; None at the end, or when none comes in time."""
    try:
        return await asyncio.wait_for(anext(pieces), timeout_s)
    except (StopAsyncIteration, TimeoutError):
        return None
