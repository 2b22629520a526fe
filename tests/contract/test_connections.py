"""Connections to a model server are reused, because opening one takes longer than most other work of a request."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import pytest

from research._util import connections
from research.types import Completion, Message, Model, Request
from tests.fake_anthropic import FakeAnthropic
from tests.fake_openai import FakeOpenAI, FakeReply
from tests.served import anthropic_model, openai_model
from tests.workers import LONG_S

ASK = Request((Message("user", "What is the capital of France?"),), max_tokens=100)
SERVERS = [FakeOpenAI, FakeAnthropic]


def model_of(server: FakeOpenAI) -> Model:
    if isinstance(server, FakeAnthropic):
        return anthropic_model("fake", api_key="", base_url=server.base_url)
    return openai_model("fake", api_key="", base_url=server.base_url)


def said(model: Model) -> str:
    *_, last = model.stream(ASK)
    assert isinstance(last, Completion)
    return last.text


@pytest.mark.parametrize("kind", SERVERS)
def test_one_connection_serves_many_requests(kind: type[FakeOpenAI]) -> None:
    words = ["Paris", '[DONE] "message_stop" and on', "Nice"]
    with kind([FakeReply(text) for text in words]) as server:
        model = model_of(server)
        assert [said(model) for _ in range(3)] == words
        assert len(server.connections) == 1


@pytest.mark.parametrize("kind", SERVERS)
def test_clients_share_the_connections_to_a_server(kind: type[FakeOpenAI]) -> None:
    with kind([FakeReply("Paris"), FakeReply("Nice")]) as server:
        assert [said(model_of(server)) for _ in range(2)] == ["Paris", "Nice"]
        assert len(server.connections) == 1


def test_clients_with_different_keys_do_not_share_connections() -> None:
    with FakeOpenAI([FakeReply("Paris"), FakeReply("Nice")]) as server:
        for key in ("one", "two"):
            said(openai_model("fake", api_key=key, base_url=server.base_url))
        assert len(server.connections) == 2


@pytest.mark.parametrize("kind", SERVERS)
def test_a_complete_reply_is_returned_although_the_server_keeps_it_open(kind: type[FakeOpenAI]) -> None:
    held = threading.Event()
    with kind([FakeReply("Paris", held=held), FakeReply("Lyon", held=held), FakeReply("Nice", held=held)]) as server:
        model = model_of(server)
        assert [said(model) for _ in range(3)] == ["Paris", "Lyon", "Nice"]
        assert not held.is_set()
        assert len(server.connections) == 3
        held.set()


@pytest.mark.parametrize("kind", SERVERS)
def test_a_complete_reply_counts_although_its_connection_is_reset(kind: type[FakeOpenAI]) -> None:
    with kind([FakeReply("Paris", reset_after=-2), FakeReply("Lyon")]) as server:
        model = model_of(server)
        assert [said(model), said(model)] == ["Paris", "Lyon"]


class Reading:
    """A fake reply on a connection: its rest can be read once `go` is set; `is_closed` if it was read completely."""

    def __init__(self, connection: socket.socket, *, is_closed: bool = False) -> None:
        self.is_closed = is_closed
        self.extensions = {"network_stream": self}
        self.begun, self.go = threading.Event(), threading.Event()
        self._connection = connection

    def get_extra_info(self, name: str) -> socket.socket:
        return self._connection

    def rest(self) -> Iterator[Any]:
        self.begun.set()
        assert self.go.wait(LONG_S)
        yield from ()


def ended(reading: Reading) -> bool:
    return connections.read_to_end(reading, reading.rest())  # type: ignore[arg-type]


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    with ExitStack() as stack:
        ours, theirs = socket.socketpair()
        yield stack.enter_context(ours), stack.enter_context(theirs)


def test_the_next_reader_of_a_connection_may_start_before_the_previous_one_returns(
    pair: tuple[socket.socket, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "END_S", 5.0)
    first, second = Reading(pair[0]), Reading(pair[0])
    with ThreadPoolExecutor(2) as pool:
        both = []
        for each in (first, second):
            both.append(pool.submit(ended, each))
            assert each.begun.wait(LONG_S)
        for each, done in zip((first, second), both, strict=True):
            each.go.set()
            assert done.result(30)


def test_a_reader_that_is_late_to_return_does_not_close_the_next_readers_connection(
    pair: tuple[socket.socket, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A busy machine may delay a reader that has already read everything."""
    monkeypatch.setattr(connections, "END_S", 0.01)
    other, far = socket.socketpair()
    slow, stuck = Reading(pair[0], is_closed=True), Reading(other)
    with other, far, ThreadPoolExecutor(2) as pool:
        first = pool.submit(ended, slow)
        assert slow.begun.wait(LONG_S)
        second = pool.submit(ended, stuck)
        assert far.recv(1) == b""  # closed, so both readers were checked
        pair[0].sendall(b"more")
        assert pair[1].recv(4) == b"more"
        slow.go.set()
        stuck.go.set()
        assert (first.result(30), second.result(30)) == (True, False)
