"""langgraph: the ReAct agent of `langchain.agents`, with and without its SQLite checkpointer."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from langchain.agents import create_agent
from langchain_core.tools import StructuredTool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from bench.peers.worker import Job


def prepared(job: Job, saver: AsyncSqliteSaver | None = None) -> Callable[[], Awaitable[str]]:
    async def search(query: str) -> str:
        return await job.search(query)

    tool = StructuredTool.from_function(coroutine=search, name="search", description=job.description)
    model = ChatOpenAI(model=job.model, base_url=job.url, api_key="none", max_retries=0, use_responses_api=False)
    agent = create_agent(model, [tool], checkpointer=saver)

    async def run() -> str:
        config: Any = {"recursion_limit": 4 * job.rounds + 20, "configurable": {"thread_id": uuid.uuid4().hex}}
        return (await agent.ainvoke({"messages": [("user", job.question)]}, config))["messages"][-1].content

    return run


@asynccontextmanager
async def plain(job: Job) -> AsyncIterator[Callable[[], Awaitable[str]]]:
    yield prepared(job)


@asynccontextmanager
async def saved(job: Job) -> AsyncIterator[Callable[[], Awaitable[str]]]:
    async with AsyncSqliteSaver.from_conn_string(str(job.folder / "checkpoints.sqlite")) as saver:
        await saver.setup()
        yield prepared(job, saver)
