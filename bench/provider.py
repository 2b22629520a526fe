"""A model server of almost no cost, which answers by the length of the conversation; the other benches run it.

    python -m bench.provider --latency-ms 20

Prints its port, then serves the OpenAI chat API, streaming or not.  If tools are offered, it calls `search` as often as the
model's name says (`rounds-20`), then answers, as a call of `final_answer` if that tool is offered.  It summarises when
asked to, and makes one answer of several candidates.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
from typing import Any

import msgspec
from msgspec import Struct

_LENGTH = re.compile(rb"content-length:\s*(\d+)", re.I)
_LAP = re.compile(rb"lap (\d+)")
REPORT = "What was found so far, in some words. "
ANSWER = "The best method of the survey is the 42nd, on the evidence of lorem ipsum dolor [1]."


class Body(Struct):
    model: str
    tools: list[msgspec.Raw] = []
    stream: bool = False


class Served(asyncio.Protocol):
    """One connection, kept open for many requests."""

    def __init__(self, latency_s: float) -> None:
        self._latency_s = latency_s
        self._read = bytearray()

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._read += data
        head = self._read.find(b"\r\n\r\n")
        length = _LENGTH.search(self._read[:head]) if head >= 0 else None
        if length is None or len(self._read) < head + 4 + int(length[1]):
            return
        body = bytes(self._read[head + 4 : head + 4 + int(length[1])])
        del self._read[: head + 4 + int(length[1])]
        reply = answer(body)
        if self._latency_s:
            asyncio.get_running_loop().call_later(self._latency_s, self._transport.write, reply)
        else:
            self._transport.write(reply)


def answer(raw: bytes) -> bytes:
    """Return the whole response to a request."""
    body = msgspec.json.decode(raw, type=Body)
    enough = int(body.model.rpartition("-")[2])
    lap = max(map(int, _LAP.findall(raw)), default=0)
    delta: dict[str, Any] = {"role": "assistant", "content": f"Up to lap {lap}. {REPORT * 20}"}
    report = f"<report>{REPORT}Up to lap {lap} [1].</report>" if b"<report>" in raw else ""
    if body.tools and lap < enough:
        call = {"name": "search", "arguments": json.dumps({"query": f"lap {lap + 1}"})}
        calls = [{"index": 0, "id": f"call_{lap + 1}", "type": "function", "function": call}]
        delta = {"role": "assistant", "content": report or None, "tool_calls": calls}
    elif any(b'"final_answer"' in tool for tool in map(bytes, body.tools)):  # smolagents ends by a call
        call = {"name": "final_answer", "arguments": json.dumps({"answer": ANSWER})}
        calls = [{"index": 0, "id": "call_end", "type": "function", "function": call}]
        delta = {"role": "assistant", "content": None, "tool_calls": calls}
    elif body.tools or lap >= enough or b"<candidate" in raw:
        delta["content"] = report + ANSWER
    finish = "tool_calls" if "tool_calls" in delta else "stop"
    usage = {"prompt_tokens": len(raw) // 4, "completion_tokens": 20, "total_tokens": len(raw) // 4 + 20}
    common = {"id": "c", "created": 1, "model": body.model}
    if not body.stream:
        message = {"index": 0, "message": delta, "finish_reason": finish}
        for each in delta.get("tool_calls", ()):
            del each["index"]
        data = json.dumps({**common, "object": "chat.completion", "choices": [message], "usage": usage}).encode()
        head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(data)}\r\n\r\n"
        return head.encode() + data
    chunks: list[dict[str, Any]] = [
        {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]},
        {"choices": [], "usage": usage},
    ]
    lines = [json.dumps({**common, "object": "chat.completion.chunk", **chunk}) for chunk in chunks]
    data = "".join(f"data: {line}\n\n" for line in [*lines, "[DONE]"]).encode()
    head = f"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {len(data)}\r\n\r\n"
    return head.encode() + data


async def serve(latency_s: float) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Served(latency_s), "127.0.0.1", 0, backlog=256)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.provider", description=__doc__.splitlines()[0])
    parser.add_argument("--latency-ms", type=float, default=0.0)
    asyncio.run(serve(parser.parse_args().latency_ms / 1_000))


if __name__ == "__main__":
    main()
