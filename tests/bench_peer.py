"""Peers for `bench.peers.worker`: one queries the model server itself, one answers without searching."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx2

from bench.peers.worker import Job

TOOLS = [{"type": "function", "function": {"name": "search", "parameters": {"type": "object"}}}]


@asynccontextmanager
async def prepared(job: Job) -> AsyncIterator[Callable[[], Awaitable[str]]]:
    async def run() -> str:
        messages: list[Any] = [{"role": "user", "content": job.question}]
        while True:
            body = {"model": job.model, "messages": messages, "tools": TOOLS}
            reply = (await client.post(f"{job.url}/chat/completions", json=body)).json()["choices"][0]["message"]
            if "tool_calls" not in reply:
                return str(reply["content"])
            (call,) = reply["tool_calls"]
            found = await job.search(json.loads(call["function"]["arguments"])["query"])
            messages += [reply, {"role": "tool", "tool_call_id": call["id"], "content": found}]

    (job.folder / "state").write_text("kept")
    async with httpx2.AsyncClient() as client:
        yield run


@asynccontextmanager
async def lazy(job: Job) -> AsyncIterator[Callable[[], Awaitable[str]]]:
    async def run() -> str:
        return "42, without having searched"

    yield run
