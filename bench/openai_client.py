"""Compare our client with the `openai` SDK for one call with a long history, on loopback; prints a Markdown table.

    python -m bench.openai_client [--rounds 200] [--calls 25]

One server answers all calls with the same few events, so the difference is the client's own work.  Wall time of the
fastest call, in ms; the import is that of a fresh process.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from bench.printing import machine, table
from research.models.openai import OpenAIModel
from research.types import Message, Request, ToolCall
from tests.fake_openai import FakeOpenAI, FakeReply


def history(rounds: int) -> tuple[Message, ...]:
    """Return a conversation of this many rounds, each with one native call and an observation of 1,000 characters."""
    messages = [Message("system", "You are a careful research assistant."), Message("user", "What do they say?")]
    for n in range(rounds):
        call = ToolCall(f"call-{n}", "search", {"query": f"chapter {n}"})
        messages += [Message("assistant", "", (call,)), Message("tool", "The bridge held. " * 59, call_id=call.id)]
    return tuple(messages)


def best(call: Callable[[], Any], calls: int) -> float:
    """Return the time of the fastest call, in ms."""
    found = []
    for _ in range(calls):
        started = time.perf_counter()
        call()
        found.append(time.perf_counter() - started)
    return 1000 * min(found)


def import_ms(module: str) -> float:
    """Return the time to import a module in a fresh process, less that of an empty process."""
    return best(lambda: _python(f"import {module}"), 3) - best(lambda: _python("pass"), 3)


def _python(code: str) -> None:
    subprocess.run([sys.executable, "-c", code], check=True)


def main() -> None:
    import httpx2
    import openai

    parser = argparse.ArgumentParser(prog="bench.openai_client", description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--calls", type=int, default=25)
    arguments = parser.parse_args()
    request = Request(history(arguments.rounds))
    with FakeOpenAI(lambda body: FakeReply("It held.")) as server:
        ours = OpenAIModel("fake", base_url=server.base_url, api_key="x")
        sdk = openai.OpenAI(base_url=server.base_url, api_key="x", max_retries=0)

        def by_us() -> None:
            for _ in ours.stream(request):
                pass

        by_us()
        body = server.requests[-1]

        def posted() -> None:
            for _ in sdk.post("/chat/completions", body=body, cast_to=httpx2.Response).iter_lines():
                pass

        def typed() -> None:
            for _ in sdk.chat.completions.create(**body):
                pass

        ways = {"SDK, typed `create`": typed, "SDK, raw `post`": posted, "this client": by_us}
        rows = [[name, f"{best(call, arguments.calls):.1f}"] for name, call in ways.items()]
    rows += [[f"import of `{module}`", f"{import_ms(module):.0f}"] for module in ("openai", "anthropic", "httpx2")]
    print(f"{machine()}\n")
    print(table((f"{arguments.rounds} rounds of history, best of {arguments.calls}", "ms"), rows))


if __name__ == "__main__":
    main()
