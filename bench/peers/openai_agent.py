"""openai-agents: an `Agent` with one function tool, over chat completions, without tracing."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from agents import Agent, OpenAIChatCompletionsModel, Runner, function_tool, set_tracing_disabled
from openai import AsyncOpenAI

from bench.peers.worker import Job


@asynccontextmanager
async def plain(job: Job) -> AsyncIterator[Callable[[], Awaitable[str]]]:
    set_tracing_disabled(True)

    @function_tool(description_override=job.description)
    async def search(query: str) -> str:
        return await job.search(query)

    client = AsyncOpenAI(base_url=job.url, api_key="none", max_retries=0)
    agent = Agent(name="agent", tools=[search], model=OpenAIChatCompletionsModel(job.model, client))

    async def run() -> str:
        return (await Runner.run(agent, job.question, max_turns=job.rounds + 5)).final_output

    yield run
