"""Measure the cost of the engine itself, beside a loop that posts ready bodies through the OpenAI SDK's client.

    python -m bench.engine [--rounds 10 50 100 200] [--runs 50]

Overhead is the time that is neither the model's nor the tool's.  Both answer immediately, so the rest is the engine's (or
the bare loop's), with every event on disk before anyone sees it.  Throughput is many runs of 20 rounds at once, with a
model of 20 ms and a tool of 10 ms.  The provider (`bench.provider`) is a separate process on the same machine.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

from bench.printing import machine
from research.agent.budget import Meter
from research.agent.context import RunContext
from research.agent.journal import Journal
from research.agent.toolbox import Toolbox
from research.config.settings import load
from research.engine.engine import ThreadEngine
from research.events.events import RunFinished
from research.events.recipe import Recipe
from research.types import Passage, ToolOutput, ToolSpec
from research.workbench.workbench import Workbench

QUESTION = "Which of the surveyed methods holds up best, and on what evidence?"
FOUND = "Lorem ipsum dolor sit amet, consectetur adipisici elit. " * 36
"""The 2,000 characters that the tool returns."""
PARAMETERS: dict[str, Any] = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}
SPEC = ToolSpec("search", "Search the web and return the text of the best results.", PARAMETERS)
CELLS = ("react/full", "react/window", "react/resum", "iter_research/evolving")
LOOP = "the SDK's own loop: typed calls, streamed"
REPEAT = 3
ROUNDS = 300
"""Fewest rounds measured for a short run: a run of ten rounds ends before the machine has settled."""
AT_ONCE = {"rounds": 20, "llm_ms": 20, "tool_ms": 10}


class Search:
    """The search tool of the bench."""

    spec = SPEC
    timeout_s = 30.0

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def __call__(self, query: str) -> ToolOutput:
        if self._seconds:
            time.sleep(self._seconds)
        return ToolOutput("", (Passage(f"http://example.org/{query.replace(' ', '-')}", query, FOUND),))


class Ours:
    """Return the engine over a home folder of its own."""

    def __init__(self, folder: Path, port: int, tool_s: float = 0.0) -> None:
        url = f"http://127.0.0.1:{port}/v1"
        self.bench = Workbench(load(home=folder, openai_base_url=url, openai_api_key="none"))
        self._tool_s = tool_s
        self.engine = ThreadEngine(self.bench.store, self._shared, settings=self.bench.settings)

    def _shared(self, recipe: Recipe, journal: Journal, stop: threading.Event) -> RunContext:
        model = self.bench.model(recipe.model)
        tools = Toolbox([Search(self._tool_s)], stop)
        return RunContext(lambda name: model, tools, meter=Meter(recipe.budget), journal=journal, stop=stop)

    def recipe(self, cell: str, rounds: int) -> Recipe:
        framework, context = cell.split("/")
        options = {"framework.rounds": rounds + 2}
        return self.bench.recipe(
            framework=framework,
            context=context,
            model=f"openai:rounds-{rounds}",
            options=options,
            judge="off",
            novelty=False,
        )

    def run(self, recipe: Recipe) -> tuple[str, float]:
        """Return the id of a run, and the seconds it took."""
        started = time.perf_counter()
        followed = self.engine.start(QUESTION, recipe, here=True)
        last = None
        for event in followed.events():
            last = event
        took = time.perf_counter() - started
        assert isinstance(last, RunFinished), last
        assert last.outcome == "answered", last
        return followed.run_id, took

    def at_once(self, count: int, recipe: Recipe) -> float:
        """Return the seconds that this many runs in the background take."""
        started = time.perf_counter()
        for run_id in [self.engine.start(QUESTION, recipe).run_id for _ in range(count)]:
            self.engine.wait(run_id)
        return time.perf_counter() - started

    def bytes_of(self, run_id: str) -> list[int]:
        """Return the size of the events of each round, in bytes."""
        from research.events.events import Asked, encode

        sizes: list[int] = []
        for event in self.bench.store.events(run_id):
            if isinstance(event, Asked) and event.purpose == "act":
                sizes.append(0)
            if sizes:
                sizes[-1] += len(encode(event))
        return sizes


class Bare:
    """Run a loop without events, parser, citations or limits."""

    def __init__(self, port: int, tool_s: float = 0.0) -> None:
        from openai import AsyncOpenAI

        self._client = AsyncOpenAI(base_url=f"http://127.0.0.1:{port}/v1", api_key="none", max_retries=0, timeout=600)
        self._tool_s = tool_s

    async def run(self, rounds: int) -> None:
        tools = [{"type": "function", "function": {"name": SPEC.name, "parameters": PARAMETERS}}]
        messages: list[dict[str, Any]] = [{"role": "user", "content": QUESTION}]
        while call := await self.called({"model": f"rounds-{rounds}", "messages": messages, "tools": tools}):
            if self._tool_s:
                await asyncio.sleep(self._tool_s)
            messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
            found = json.loads(call["function"]["arguments"])["query"] + FOUND
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": found})

    async def called(self, body: dict[str, Any]) -> dict[str, Any] | None:
        """Return the call of the reply to a request; None if it is the answer."""
        from openai.types.chat import ChatCompletion

        reply = await self._client.post("/chat/completions", body=body, cast_to=ChatCompletion)
        calls = reply.choices[0].message.tool_calls
        return calls[0].to_dict() if calls else None

    async def timed(self, rounds: int, count: int = 1) -> float:
        started = time.perf_counter()
        await asyncio.gather(*(self.run(rounds) for _ in range(count)))
        return time.perf_counter() - started


class Streamed(Bare):
    """The same with the SDK's typed call, and with replies that are watched while they arrive, as ours are."""

    async def called(self, body: dict[str, Any]) -> dict[str, Any] | None:
        call: dict[str, Any] | None = None
        async for chunk in await self._client.chat.completions.create(**body, stream=True):
            for part in chunk.choices[0].delta.tool_calls or () if chunk.choices else ():
                if call is None:
                    call = {"id": part.id, "type": "function", "function": {"name": "", "arguments": ""}}
                for field, text in part.function.to_dict().items() if part.function else ():
                    call["function"][field] += text or ""
        return call


@contextmanager
def provider(latency_ms: float = 0.0) -> Iterator[int]:
    """Start a server and return its port."""
    command = [sys.executable, "-m", "bench.provider", "--latency-ms", str(latency_ms)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.terminate()


def overhead(rounds: list[int], repeat: int = REPEAT) -> Iterator[str]:
    """Return the lines of a table: milliseconds a round, by the number of rounds."""
    with tempfile.TemporaryDirectory() as folder, provider() as port, asyncio.Runner() as runner:
        ours, loops = Ours(Path(folder), port), {"bare": Bare(port), "streamed": Streamed(port)}
        ours.run(ours.recipe("react/full", 5))
        for loop in loops.values():
            runner.run(loop.timed(5))
        found: dict[str, dict[int, list[float]]] = {name: {n: [] for n in rounds} for name in (*loops, *CELLS)}
        for n in rounds:
            for _ in range(max(repeat, ROUNDS // n)):
                for name, loop in loops.items():
                    found[name][n].append(runner.run(loop.timed(n)) / n)
                for cell in CELLS:
                    found[cell][n].append(ours.run(ours.recipe(cell, n))[1] / n)
        best = {name: {n: 1_000 * min(each) for n, each in row.items()} for name, row in found.items()}
        yield "| ms a round | " + " | ".join(f"{n} rounds" for n in rounds) + " |"
        yield "|---|" + "---:|" * len(rounds)
        yield "| posting ready bodies through the SDK | " + " | ".join(f"{best['bare'][n]:.1f}" for n in rounds) + " |"
        for name, title in {"streamed": LOOP, **{cell: cell.replace("/", " / ") for cell in CELLS}}.items():
            figures = (f"{best[name][n]:.1f} ({best[name][n] / best['bare'][n]:.1f} x)" for n in rounds)
            yield f"| {title} | " + " | ".join(figures) + " |"
        sizes = ours.bytes_of(ours.run(ours.recipe("react/full", max(rounds)))[0])
        early, late = statistics.mean(sizes[5:10]), statistics.mean(sizes[-7:-2])
        yield f"\nEvents of a round: {early:,.0f} bytes about round 10, {late:,.0f} about round {max(rounds)}."


def throughput(count: int, repeat: int = REPEAT) -> Iterator[str]:
    n, llm_ms, tool_ms = AT_ONCE["rounds"], AT_ONCE["llm_ms"], AT_ONCE["tool_ms"]
    with tempfile.TemporaryDirectory() as folder, provider(llm_ms) as port, asyncio.Runner() as runner:
        ours, bare = Ours(Path(folder), port, tool_ms / 1_000), Bare(port, tool_ms / 1_000)
        recipe = ours.recipe("react/full", n)
        ours.at_once(4, recipe)
        runner.run(bare.timed(n, 4))
        seconds = {"ours": list[float](), "bare": list[float]()}
        for _ in range(repeat):
            seconds["bare"].append(runner.run(bare.timed(n, count)))
            seconds["ours"].append(ours.at_once(count, recipe))
        rate = {name: count / min(each) for name, each in seconds.items()}
        yield (
            f"{count} runs of {n} rounds at once ({llm_ms} ms model, {tool_ms} ms tool): {rate['ours']:.1f} runs/s with every "
            f"event on disk; the bare loop {rate['bare']:.1f}, {rate['bare'] / rate['ours']:.1f} x."
        )


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.engine", description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, nargs="+", default=[10, 50, 100, 200])
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--repeat", type=int, default=REPEAT)
    arguments = parser.parse_args()
    print(f"{machine()}\n")
    for line in chain(throughput(arguments.runs, arguments.repeat), [""], overhead(arguments.rounds, arguments.repeat)):
        print(line, flush=True)


if __name__ == "__main__":
    main()
