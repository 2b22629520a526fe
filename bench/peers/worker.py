"""Run one peer in a process of its own, in the interpreter of its environment: python -m bench.peers.worker DRIVER

The first line of stdin contains what all jobs have in common, each further line a job (`{"rounds": 20, "count": 1}`).
Prints the versions of the packages first, then for each job the seconds it took and the bytes it left on disk.  Needs only
the standard library and the peer.  A driver is `module:function`; the function is an asynchronous context manager that
takes a `Job` and yields a function which does the job once and returns the answer.  Work that a program does only once
(clients, agents, compiled graphs) belongs before the `yield` and is not timed.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import sys
import tempfile
import time
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path


@dataclass
class Job:
    """A run of this many rounds, with one call of `search` in each."""

    url: str
    question: str
    description: str
    """Latency of the tool."""
    found: str
    """Text that the tool returns."""
    tool_s: float
    rounds: int
    folder: Path
    """A folder for files; empty, and removed when the job is done."""
    searches: int = 0

    @property
    def model(self) -> str:
        return f"rounds-{self.rounds}"

    async def search(self, query: str) -> str:
        self.searches += 1
        if self.tool_s:
            await asyncio.sleep(self.tool_s)
        return query + self.found

    def search_in_thread(self, query: str) -> str:
        self.searches += 1
        if self.tool_s:
            time.sleep(self.tool_s)
        return query + self.found


async def main(driver: str, packages: list[str]) -> None:
    module, _, function = driver.partition(":")
    prepared = getattr(importlib.import_module(module), function)
    terms = json.loads(sys.stdin.readline())
    say({name: metadata.version(name) for name in packages})
    for line in sys.stdin:
        asked = json.loads(line)
        with tempfile.TemporaryDirectory() as folder:
            job = Job(**terms, rounds=asked["rounds"], folder=Path(folder))
            async with prepared(job) as run:
                started = time.perf_counter()
                answers = await asyncio.gather(*(run() for _ in range(asked["count"])))
                seconds = time.perf_counter() - started
            kept = sum(path.stat().st_size for path in job.folder.iterdir())
        assert all("42" in answer for answer in answers), answers
        assert job.searches == asked["rounds"] * asked["count"], job.searches
        say({"seconds": seconds, "bytes": kept})


def say(line: dict[str, object]) -> None:
    # Some peers print; the first character marks the lines meant for the bench.
    print("\n" + json.dumps(line), flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2:]))
