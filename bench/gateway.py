"""Measure what the gateway adds to a call: the same requests straight to a provider, and through the gateway.

    python -m bench.gateway [--calls N]

The provider is a fake on loopback.  Calls of both kinds alternate, so that both meet the same machine.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import httpx2

from bench.printing import table
from tests.fake_openai import Body, FakeOpenAI, FakeReply

LONG = "The population of Japan is falling. " * 2_800
"""About 100 KB."""
CASES: dict[str, Body] = {
    "plain": {},
    "plain, 100 KB of messages": {"long": True},
    "streamed, 30 pieces": {"stream": True},
}


ROUNDS = 10
"""Requests of one conversation."""


def body(case: Body, number: int) -> bytes:
    """Return the body of one request; a conversation has `ROUNDS` of them."""
    conversation, turn = divmod(number, ROUNDS)
    messages = [{"role": "user", "content": f"{conversation}: How many people live in Japan?"}]
    for n in range(turn):
        messages += [{"role": "assistant", "content": f"Reply {n}."}, {"role": "user", "content": f"And then, {n}?"}]
    if case.get("long"):
        messages = [{"role": "system", "content": LONG}, *messages]
    return json.dumps(
        {"model": "fake", "messages": messages, **({"stream": True} if case.get("stream") else {})}
    ).encode()


def seconds(client: httpx2.Client, url: str, content: bytes) -> float:
    """Return how long a call takes until its end has arrived."""
    start = time.perf_counter()
    response = client.post(url, content=content, headers={"content-type": "application/json"})
    taken = time.perf_counter() - start
    assert response.status_code == 200, response.text
    return taken


def cpu_seconds(pid: int) -> float:
    """Return the processor time that a process has taken."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(direct: str, through: str, case: Body, calls: int, pid: int) -> dict[str, float]:
    """Return the medians of both ways, median and 95th percentile of the difference of neighbours, and the gateway's
    processor time for a call; all in ms."""
    before = cpu_seconds(pid)
    with httpx2.Client(timeout=30) as one, httpx2.Client(timeout=30) as other:
        pairs = [
            (seconds(one, direct, body(case, n)), seconds(other, through, body(case, n))) for n in range(calls + 20)
        ][20:]
    added = [1000 * (b - a) for a, b in pairs]
    return {
        "direct": 1000 * median(a for a, _ in pairs),
        "through": 1000 * median(b for _, b in pairs),
        "added": median(added),
        "p95": quantiles(added, n=20)[-1],
        "cpu": 1000 * (cpu_seconds(pid) - before) / (calls + 20),
    }


def lines(figures: Mapping[str, Sequence[float]]) -> str:
    """Return the table: by call, the medians of both ways, and median and 95th percentile of the difference, in ms."""
    head = ["call", "direct, ms", "through the gateway, ms", "added, median", "added, 95th percentile"]
    return table(head, [[name, *(f"{value:.1f}" for value in row)] for name, row in figures.items()])


def main() -> None:
    """Print a table, and the gateway's own processor time."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=200)
    calls = parser.parse_args().calls
    with (
        FakeOpenAI(lambda _: FakeReply("Japan has 123 million people. " * 4)) as provider,
        tempfile.TemporaryDirectory() as home,
    ):
        environment: Any = {**os.environ, "OPENAI_BASE_URL": provider.base_url, "OPENAI_API_KEY": "sk-bench-0123456789"}
        command = [sys.executable, "-m", "research", "gateway", "--port", "0", "--home", home, "--idle", "600"]
        gateway = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
        assert gateway.stderr is not None
        through = gateway.stderr.readline().split()[-1]
        path = "/chat/completions"
        try:
            found = {
                name: measure(provider.base_url + path, through + path, case, calls, gateway.pid)
                for name, case in CASES.items()
            }
        finally:
            gateway.kill()
            gateway.wait()
    print(lines({name: [row["direct"], row["through"], row["added"], row["p95"]] for name, row in found.items()}))
    own = ", ".join(f"{row['cpu']:.1f}" for row in found.values())
    print(f"processor time of the gateway for each call, ms: {own}")


if __name__ == "__main__":
    main()
