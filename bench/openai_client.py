"""Compare our client with the `openai` SDK for one call with a long history, on loopback; prints a Markdown table.

    python -m bench.openai_client [--rounds 200] [--calls 25]

One server answers all calls with the same few events, so the difference is the client's own work: the time of the
fastest call, and the processor time of the calling thread, which hardly depends on what else the machine does.  The
import is that of a fresh process.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import msgspec

from bench.printing import machine, table
from research.types import Message, Request, ToolCall
from tests.fake_openai import FakeOpenAI, FakeReply
from tests.served import openai_model


def history(rounds: int) -> tuple[Message, ...]:
    """Return a conversation of this many rounds, each with one native call and an observation of 1,000 characters."""
    messages = [Message("system", "You are a careful research assistant."), Message("user", "What do they say?")]
    for n in range(rounds):
        call = ToolCall(f"call-{n}", "search", {"query": f"chapter {n}"})
        messages += [Message("assistant", "", (call,)), Message("tool", "The bridge held. " * 59, call_id=call.id)]
    return tuple(messages)


def best(call: Callable[[], Any], calls: int, clock: Callable[[], float] = time.perf_counter) -> float:
    """Return the time of the fastest call, in ms."""
    found = []
    for _ in range(calls):
        started = clock()
        call()
        found.append(clock() - started)
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
        ours = openai_model("fake", base_url=server.base_url, api_key="x")
        http = httpx2.Client(base_url=server.base_url, headers={"Content-Type": "application/json"})
        sdk = openai.OpenAI(base_url=server.base_url, api_key="x", max_retries=0)

        def by_us() -> None:
            for _ in ours.stream(request):
                pass

        by_us()
        body = server.requests[-1]

        def posted() -> None:
            with http.sse("/chat/completions", method="POST", content=msgspec.json.encode(body)) as events:
                for event in events:
                    if event.data != "[DONE]":
                        msgspec.json.decode(event.data)

        def typed() -> None:
            for _ in sdk.chat.completions.create(**body):
                pass

        ways = {"SDK, typed `create`": typed, "this client, carried by the SDK": by_us, "httpx2 alone": posted}
        rows = [
            [name, f"{best(call, arguments.calls):.1f}", f"{best(call, arguments.calls, time.thread_time):.1f}"]
            for name, call in ways.items()
        ]
    rows += [[f"import of `{module}`", f"{import_ms(module):.0f}", ""] for module in ("openai", "anthropic", "httpx2")]
    print(f"{machine()}\n")
    print(table((f"{arguments.rounds} rounds of history, best of {arguments.calls}", "ms", "ms of the thread"), rows))


if __name__ == "__main__":
    main()
