"""A connection to a model's server serves one request after the other; making one costs more than most of the rest."""

from __future__ import annotations

import threading

import pytest

from research.models.anthropic import AnthropicModel
from research.models.openai import OpenAIModel
from research.types import Completion, Message, Model, Request
from tests.fake_anthropic import FakeAnthropic
from tests.fake_openai import FakeOpenAI, FakeReply

ASK = Request((Message("user", "What is the capital of France?"),), max_tokens=100)
SERVERS = [FakeOpenAI, FakeAnthropic]


def model_of(server: FakeOpenAI) -> Model:
    if isinstance(server, FakeAnthropic):
        return AnthropicModel("fake", api_key="", base_url=server.base_url)
    return OpenAIModel("fake", api_key="", base_url=server.base_url)


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
def test_runs_share_the_connections_of_a_service(kind: type[FakeOpenAI]) -> None:
    with kind([FakeReply("Paris"), FakeReply("Nice")]) as server:
        assert [said(model_of(server)) for _ in range(2)] == ["Paris", "Nice"]
        assert len(server.connections) == 1


def test_whoever_has_another_key_has_connections_of_his_own() -> None:
    with FakeOpenAI([FakeReply("Paris"), FakeReply("Nice")]) as server:
        for key in ("one", "two"):
            said(OpenAIModel("fake", api_key=key, base_url=server.base_url))
        assert len(server.connections) == 2


@pytest.mark.parametrize("kind", SERVERS)
def test_a_server_that_keeps_a_complete_reply_open_is_not_waited_for(kind: type[FakeOpenAI]) -> None:
    held = threading.Event()
    with kind([FakeReply("Paris", held=held), FakeReply("Lyon", held=held), FakeReply("Nice", held=held)]) as server:
        model = model_of(server)
        assert [said(model) for _ in range(3)] == ["Paris", "Lyon", "Nice"]
        assert not held.is_set()
        assert len(server.connections) == 3
        held.set()


@pytest.mark.parametrize("kind", SERVERS)
def test_a_complete_reply_counts_whatever_happens_to_its_connection(kind: type[FakeOpenAI]) -> None:
    with kind([FakeReply("Paris", reset_after=-2), FakeReply("Lyon")]) as server:
        model = model_of(server)
        assert [said(model), said(model)] == ["Paris", "Lyon"]
