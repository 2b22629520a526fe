"""OpenAI's Responses API: which models use it, what goes back, and how its failures are told."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import SecretStr

from research.errors import ProviderError
from research.models.endpoint import Endpoint
from research.models.families import api_of
from research.models.served import model_of
from research.types import Completion, Delta, Message, Model, Request, ToolCall, ToolSpec
from tests.conformance.servers import Behaviour, Responses
from tests.fake_openai import Body, FakeReply

TOOL = ToolSpec("search", "Search.", {"type": "object", "properties": {"query": {"type": "string"}}})
ASK = Request((Message("system", "Be brief."), Message("user", "Who leads France?")), tools=(TOOL,))


@pytest.mark.parametrize(
    ("host", "model", "api"),
    [
        ("api.openai.com", "gpt-5-mini", "chat"),
        ("api.openai.com", "gpt-5.4-mini", "responses"),
        ("api.openai.com", "gpt-5-codex", "responses"),
        ("api.openai.com", "o3-deep-research", "responses"),
        ("api.x.ai", "grok-5", "responses"),
        ("localhost:8000", "gpt-5.4-mini", "chat"),
    ],
)
def test_the_api_is_chosen_by_host_and_family(host: str, model: str, api: str) -> None:
    assert api_of(host, model) == api


def served(*replies: FakeReply) -> Responses:
    server = Responses(replies)
    server.play(Behaviour(id="-", service="openai", what=""))
    return server


def model(server: Responses, **fields: Any) -> Model:
    given = Endpoint(
        name="mine", kind="openai", base_url=server.base_url, key=SecretStr("x"), api="responses", **fields
    )
    return model_of(given, "fake")


def last(pieces: list[Delta | Completion]) -> Completion:
    assert isinstance(pieces[-1], Completion)
    return pieces[-1]


def history(done: Completion, call_id: str = "main-1-1") -> Request:
    """Return the next request: the reply with ids of the run, and a result."""
    calls = tuple(ToolCall(call_id, call.name, call.arguments) for call in done.calls)
    said = Message("assistant", done.text, calls, blocks=done.blocks)
    return Request((*ASK.messages, said, Message("tool", "Macron", call_id=call_id)), tools=(TOOL,))


def kinds(body: Body) -> list[str]:
    return [item.get("type", item.get("role")) for item in body["input"]]


def test_all_items_go_back_in_their_order_with_the_ids_of_the_run() -> None:
    with served(FakeReply("Let me see.", [("search", {"query": "France"})]), FakeReply("Macron.")) as server:
        client = model(server)
        pieces = list(client.stream(ASK))
        done = last(pieces)
        assert last(list(client.stream(history(done)))).text == "Macron."
    assert [piece.text for piece in pieces if isinstance(piece, Delta)] == ["Let me see."]
    assert (done.calls[0].arguments, done.finish_reason) == ({"query": "France"}, "tool_calls")
    assert done.usage is not None
    assert (done.usage.prompt_tokens, done.usage.cache_read_tokens) == (9, 4)
    body = server.tried[1]
    assert kinds(body) == ["system", "user", "reasoning", "message", "function_call", "function_call_output"]
    assert body["input"][2]["encrypted_content"] == "secret-1"
    assert body["input"][4]["call_id"] == body["input"][5]["call_id"] == "main-1-1"
    assert body["tools"][0]["name"] == "search"
    assert body["store"] is False


def test_reasoning_whose_call_is_gone_does_not_go_back() -> None:
    with served(FakeReply("", [("search", {"query": "France"})]), FakeReply("Macron.")) as server:
        client = model(server)
        done = last(list(client.stream(ASK)))
        changed = Message("assistant", "I searched.", blocks=done.blocks)
        again = Request((*ASK.messages, changed, Message("user", "And now?")))
        assert last(list(client.stream(again))).text == "Macron."
    assert kinds(server.tried[1]) == ["system", "user", "message", "user"]


def test_reasoning_that_the_service_no_longer_reads_is_left_out() -> None:
    said = {"error": {"message": "The encrypted content of item rs_1 could not be verified.", "code": "invalid"}}
    with served(
        FakeReply("", [("search", {"query": "F"})]), FakeReply(status=400, body=said), FakeReply("M.")
    ) as server:
        client = model(server)
        assert last(list(client.stream(history(last(list(client.stream(ASK))))))).text == "M."
    assert ["reasoning" in kinds(body) for body in server.tried] == [False, True, False]


def test_a_response_that_failed_is_the_error_it_names() -> None:
    failed = FakeReply(error_inside={"code": "rate_limit_exceeded", "message": "slow down"})
    with served(failed) as server, pytest.raises(ProviderError, match="429: slow down") as caught:
        list(model(server).stream(ASK))
    assert caught.value.retryable


def test_a_call_of_an_incomplete_response_does_not_run() -> None:
    with served(FakeReply("", [("search", "{}")], finish_reason="length")) as server:
        done = last(list(model(server).stream(ASK)))
    assert (done.calls, done.raw_calls, done.finish_reason) == ((), (), "length")


def test_a_server_without_this_api_is_told_by_its_address() -> None:
    with served() as server:
        server.paths = ("/v1/other",)
        with pytest.raises(ProviderError, match="was not found at"):
            list(model(server).stream(ASK))
