"""A run that the gateway records, on its page: while its agent works, and at its end."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from pathlib import Path

import msgspec
from streamlit.testing.v1 import AppTest

from research.config.settings import load
from research.events.events import Event, Returned
from research.servers.gateway_requests import read
from research.servers.gateway_runs import RecordedRun
from research.store import RunRow
from research.types import Completion, ToolCall, Usage
from research.workbench.workbench import Workbench

Visit = Callable[..., AppTest]
QUESTION = "How many people live in Japan?"
PAGE = "Japan has 123 million people."
URL = "https://example.org/japan"


def recorded(*replies: Completion) -> list[Event]:
    """Return the events of an agent that visits a page for each reply but the last."""
    events: list[Event] = []
    run = RecordedRun("theirs", events.extend, named=True)
    messages: list[dict[str, object]] = [{"role": "user", "content": QUESTION}]
    for n, reply in enumerate(replies):
        asking = read("chat", msgspec.json.encode({"model": "extractive", "messages": messages}))
        if not n:
            run.start(asking, "extractive")
        call = run.ask(asking, "extractive")
        run.answer(call, Returned(ask=0, status=200, body=b"{}"), reply, Usage(7, 3), response="", problem="")
        calls = [
            {"id": each.id, "function": {"name": each.name, "arguments": msgspec.json.encode(each.arguments).decode()}}
            for each in reply.calls
        ]
        messages.append({"role": "assistant", "content": reply.text, "tool_calls": calls})
        messages += [{"role": "tool", "tool_call_id": each.id, "content": PAGE} for each in reply.calls]
    return events


def test_a_recorded_run_is_live_and_then_shows_what_its_report_cites(visit: Visit, home: Path) -> None:
    bench = Workbench(load(home=home))
    look = Completion("I look.", (ToolCall("a", "visit", {"url": URL}),))
    done = Completion(f"Japan has 123 million people [1].\n\n[1] {URL}")
    events = recorded(look, done)
    started = events[0]
    bench.store.create(RunRow("theirs", QUESTION, started.recipe), events[:6])  # type: ignore[union-attr]
    bench.store._db.execute("UPDATE runs SET beat = beat + 3600")  # the app takes a run without heartbeats over
    app = visit(home, run="theirs")
    assert not app.exception
    shown = "\n".join(element.value for element in app.markdown)
    assert QUESTION in shown or QUESTION in "\n".join(each.value for each in [*app.title, *app.header])

    bench.store.append(events[6:])
    bench.store.set_queued("theirs")
    deque(bench.engine.resume("theirs", here=True).events(), 0)
    app = visit(home, run="theirs")
    assert not app.exception
    shown = "\n".join(element.value for element in app.markdown)
    assert "123 million people" in shown
    assert "**1 of 1** citations checked, **1** confirmed" in shown
