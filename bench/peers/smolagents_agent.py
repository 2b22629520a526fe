"""smolagents: a `ToolCallingAgent`, which blocks, so each run has its own thread."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager

from smolagents import OpenAIModel, Tool, ToolCallingAgent

from bench.peers.worker import Job


@asynccontextmanager
async def plain(job: Job) -> AsyncIterator[Callable[[], Awaitable[str]]]:
    class Search(Tool):
        name = "search"
        description = job.description
        inputs = {"query": {"type": "string", "description": "query"}}
        output_type = "string"

        def forward(self, query: str) -> str:
            return job.search_in_thread(query)

    model = OpenAIModel(model_id=job.model, api_base=job.url, api_key="none")

    def run_once() -> str:
        agent = ToolCallingAgent(tools=[Search()], model=model, max_steps=job.rounds + 5, verbosity_level=0)
        return str(agent.run(job.question))

    with ThreadPoolExecutor(64) as threads:

        async def run() -> str:
            return await asyncio.get_running_loop().run_in_executor(threads, run_once)

        yield run
