"""A server whose reply has no end, in every dialect: the run's budget ends it, and so does the largest size of a reply."""

from __future__ import annotations

import json
import re
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

import pytest

from research.agent import reply_stream
from research.agent.budget import Meter
from research.agent.context import RunContext
from research.agent.lifecycle import execute
from research.agent.run import Run
from research.agent.toolbox import Toolbox
from research.errors import ProviderError
from research.events import events as e
from research.events.events import Event
from research.events.recipe import Budget, Recipe
from research.models import lines
from research.models.endpoint import Prices
from research.models.ollama import OllamaModel
from research.types import Message, Model, Request
from tests.served import anthropic_model, endpoint_of, openai_model
from tests.sockets import clients
from tests.workers import LONG_S

Dialect = Literal["chat", "responses", "messages", "ollama"]
DIALECTS: tuple[Dialect, ...] = ("chat", "responses", "messages", "ollama")
HEADERS = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
WORD = "word " * 20


def event(**value: Any) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\n\n"


def chat(**delta: Any) -> bytes:
    return event(choices=[{"delta": delta}])


def block(kind: str, field: str) -> tuple[bytes, bytes]:
    """Return the start of a block of Anthropic's, and a piece of it."""
    start = (
        {"type": kind, field: ""} if kind != "tool_use" else {"type": kind, "id": "c", "name": "search", "input": {}}
    )
    piece = {"type": f"{field}_delta", field: WORD}
    return (
        event(type="content_block_start", index=0, content_block=start),
        event(type="content_block_delta", index=0, delta=piece),
    )


def line(**message: Any) -> bytes:
    return json.dumps({"message": message}).encode() + b"\n"


ENDLESS: dict[Dialect, dict[str, tuple[bytes, bytes]]] = {
    "chat": {
        "text": (b"", chat(content=WORD)),
        "reasoning": (b"", chat(reasoning_content=WORD)),
        "details": (b"", chat(reasoning_details=[{"index": 0, "data": WORD}])),
        "arguments": (
            chat(tool_calls=[{"index": 0, "id": "c", "function": {"name": "search", "arguments": "{"}}]),
            chat(tool_calls=[{"index": 0, "function": {"arguments": WORD}}]),
        ),
    },
    "responses": {
        "text": (b"", event(type="response.output_text.delta", delta=WORD)),
        "reasoning": (b"", event(type="response.reasoning_summary_text.delta", delta=WORD)),
        "arguments": (b"", event(type="response.function_call_arguments.delta", delta=WORD)),
    },
    "messages": {
        "text": block("text", "text"),
        "reasoning": block("thinking", "thinking"),
        "signature": (block("thinking", "thinking")[0], block("thinking", "signature")[1]),
        "arguments": (
            block("tool_use", "input")[0],
            event(type="content_block_delta", index=0, delta={"type": "input_json_delta", "partial_json": WORD}),
        ),
    },
    "ollama": {"text": (b"", line(content=WORD)), "reasoning": (b"", line(thinking=WORD))},
}
CALLS: dict[Dialect, bytes] = {
    "chat": chat(tool_calls=[{"id": "c@", "function": {"name": "search", "arguments": "{}"}}]),
    "responses": event(
        type="response.output_item.done", item={"type": "function_call", "call_id": "c@", "name": "search"}
    ),
    "messages": event(
        type="content_block_start", index=-7, content_block={"type": "tool_use", "id": "c@", "name": "s"}
    ),
    "ollama": line(tool_calls=[{"function": {"name": "search", "arguments": {}}}]),
}
SILENT = {
    "comments": (HEADERS, b": keep-alive\n\n"),
    "comments without a blank line": (HEADERS, b": keep-alive\n"),
    "a line": (HEADERS + b"data: {", b"x" * 100),
    "space": (HEADERS, b" "),
    "pings": (HEADERS, event(type="ping")),
    "a body": (HEADERS.replace(b"text/event-stream", b"application/json") + b'{"choices": [', b"{},"),
    "headers": (HEADERS.removesuffix(b"\r\n"), b"X-More: 1\r\n"),
    "early responses": (b"", b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"),
}


@contextmanager
def serving(
    head: bytes, piece: bytes, *, pause_s: float = 0.0, before: bytes = HEADERS
) -> Iterator[tuple[str, threading.Event]]:
    """Serve this without end to each client; yield the address, and an event that is set when a client has gone."""
    listener, gone = socket.create_server(("127.0.0.1", 0)), threading.Event()

    def serve(client: socket.socket) -> None:
        number = 0
        with client:
            try:
                if re.match(rb"\S+ \S*/api/(show|ps) ", client.recv(65536)):
                    client.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                    return
                client.sendall(before + head)
                while True:
                    number += 1
                    client.sendall(piece.replace(b"@", str(number).encode()).replace(b"-7", str(number).encode()))
                    if pause_s:
                        time.sleep(pause_s)
            except OSError:
                gone.set()

    def accept() -> None:
        for client in clients(listener):
            threading.Thread(target=serve, args=(client,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    with listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", gone


def model_at(dialect: Dialect, url: str, **fields: Any) -> Model:
    match dialect:
        case "messages":
            return anthropic_model(base_url=url, **fields)
        case "ollama":
            return OllamaModel("fake", endpoint_of("ollama", base_url=url, **fields))
        case _:
            return openai_model(base_url=url, api=dialect, **fields)


def run_of(model: Model, **budget: Any) -> tuple[list[Event], e.RunFinished]:
    """Return the events of a run with this model and budget, and its end."""
    recipe = Recipe(framework="react", context="full", judge="off", budget=Budget(**budget))
    context = RunContext(lambda name: model, Toolbox([]), meter=Meter(recipe.budget))
    events = list(execute(Run("How high is Mount Fuji?", recipe, context), "261122-120000-abcd"))
    last = events[-1]
    assert isinstance(last, e.RunFinished), last
    return events, last


def cases() -> Iterator[Any]:
    for dialect, forms in ENDLESS.items():
        for form in forms:
            yield pytest.param(dialect, form, id=f"{dialect}-{form}")


@pytest.mark.parametrize(("dialect", "form"), list(cases()))
def test_a_budget_of_tokens_ends_a_reply_without_end(
    dialect: Dialect, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reply_stream, "LAST_ANSWER_TOKENS", 2_000)
    head, piece = ENDLESS[dialect][form]
    with serving(head, piece, pause_s=0.001) as (url, gone):
        events, end = run_of(model_at(dialect, url), tokens=1_000)
        assert gone.wait(LONG_S)
    assert end.outcome == "tokens"
    cut = [event for event in events if isinstance(event, e.Rejected)]
    assert cut and all("cut off" in event.problem for event in cut)
    shown = sum(len(event.text) for event in events if isinstance(event, e.Streamed))
    assert shown < 8 * (1_000 + 2_000)
    if form == "text":
        assert "word word" in cut[0].text


@pytest.mark.parametrize("form", SILENT)
def test_a_budget_of_time_ends_whatever_is_no_reply(form: str) -> None:
    before, piece = SILENT[form]
    with serving(b"", piece, before=before, pause_s=0.0005) as (url, gone):
        _, end = run_of(model_at("chat", url), seconds=0.3)
        if form != "headers":  # which end after 100 kB
            assert end.outcome == "time"
        assert end.seconds < LONG_S
        assert gone.wait(LONG_S)


def test_the_words_of_an_answer_that_was_cut_are_the_answer() -> None:
    with serving(b"", chat(content="Mount Fuji is 3,776 m high. "), pause_s=0.01) as (url, _):
        events, end = run_of(model_at("chat", url), seconds=0.3)
    assert end.outcome == "time"
    assert "Mount Fuji is 3,776 m high." in end.report
    assert "the budget of the run was spent" in end.report
    assert sum(isinstance(event, e.Asked) for event in events) == 1


def test_a_budget_of_money_ends_a_reply_without_end() -> None:
    prices = Prices(input=0.0, output=1_000.0)
    with serving(b"", chat(content=WORD), pause_s=0.001) as (url, _):
        _, end = run_of(model_at("chat", url, prices=prices), usd=0.5)
    assert end.outcome == "cost"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_reply_has_only_so_many_calls(dialect: Dialect) -> None:
    with serving(b"", CALLS[dialect]) as (url, _):
        events, _ = run_of(model_at(dialect, url))
    failed = [event for event in events if isinstance(event, e.RunFailed)]
    assert failed and "more than 1,000 calls" in failed[0].error


@pytest.mark.parametrize("form", ["comments", "a line", "comments without a blank line", "a body", "pings"])
def test_without_a_budget_a_reply_has_a_largest_size(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "LONGEST", 200_000)
    monkeypatch.setattr(lines, "MOST", 5_000)
    monkeypatch.setattr("research.models.lines.MOST_BYTES", 500_000)
    before, piece = SILENT[form]
    with serving(b"", piece * 50, before=before) as (url, gone):
        with pytest.raises(ProviderError, match=r"longer than|more than"):
            list(model_at("chat", url).stream(Request((Message("user", "?"),))))
        assert gone.wait(LONG_S)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_without_a_budget_words_have_a_largest_size(dialect: Dialect, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reply_stream, "LONGEST_REPLY", 50_000)
    head, piece = ENDLESS[dialect]["text"]
    with serving(head, piece) as (url, _):
        events, _ = run_of(model_at(dialect, url))
    assert any("longer than" in event.error for event in events if isinstance(event, e.RunFailed))


@pytest.mark.parametrize("wait", ["250", "1e300", "Thu, 01 Jan 2099 00:00:00 GMT"])
def test_a_wait_that_a_server_asks_for_does_not_outlive_the_budget(wait: str) -> None:
    busy = f"HTTP/1.1 429 Too Many\r\nRetry-After: {wait}\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{{}}"
    with serving(b"", b"", before=busy.encode(), pause_s=1) as (url, _):
        _, end = run_of(model_at("chat", url), seconds=5)
    assert end.outcome == "time"
    assert end.seconds < 4


def test_reading_takes_time_that_grows_with_the_bytes_and_not_faster() -> None:
    def seconds(count: int) -> float:
        started = time.process_time()
        list(lines.lines(["x"] * count + ["\n"], "here"))
        return time.process_time() - started

    assert min(seconds(80_000) for _ in range(3)) < 40 * min(seconds(10_000) for _ in range(3))
