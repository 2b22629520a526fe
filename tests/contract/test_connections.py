"""Connections to a model server are reused, because opening one takes longer than most other work of a request."""

from __future__ import annotations

import threading

import httpcore2
import pytest

from research._util.watched import WatchedStream
from research.types import Completion, Message, Model, Request
from tests.fake_anthropic import FakeAnthropic
from tests.fake_openai import FakeOpenAI, FakeReply
from tests.served import anthropic_model, openai_model

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


class Bytes(httpcore2.NetworkStream):
    """A connection that always has a byte to read."""

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return b"x"

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        pass


def test_a_new_request_of_a_connection_is_not_bound_by_the_end_of_the_reply_before() -> None:
    stream = WatchedStream(Bytes())
    stream.until = 0.0
    with pytest.raises(httpcore2.ReadTimeout):
        stream.read(1)
    stream.write(b"a request")
    assert stream.read(1) == b"x"
