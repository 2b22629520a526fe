"""pydantic-ai: an `Agent` with one tool."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.usage import UsageLimits

from bench.peers.worker import Job


@asynccontextmanager
async def plain(job: Job) -> AsyncIterator[Callable[[], Awaitable[str]]]:
    model = OpenAIChatModel(job.model, provider=OpenAIProvider(base_url=job.url, api_key="none"))
    agent = Agent(model, name="agent")

    async def search(query: str) -> str:
        return await job.search(query)

    search.__doc__ = job.description
    agent.tool_plain(search)

    async def run() -> str:
        return (await agent.run(job.question, usage_limits=UsageLimits(request_limit=None))).output

    yield run
