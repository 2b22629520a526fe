"""The optional parameters of a request, and models that refuse some of them."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from research.errors import ProviderError
from research.models.endpoint import Quirks
from research.models.families import wants_marks
from research.models.openai import OpenAIModel
from research.types import Completion, Message, Request, ToolSpec, Usage
from tests.fake_openai import FakeOpenAI, FakeReply
from tests.served import openai_model

SEARCH = ToolSpec("search", "Searches.", {"type": "object", "properties": {"query": {"type": "string"}}})
ASK = Request((Message("user", "What is the capital of France?"),), tools=(SEARCH,))
SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": False}
FULL = msgspec.structs.replace(
    ASK, temperature=0.5, seed=7, stop=("END",), max_tokens=50, must_call=True, schema=SCHEMA
)  # fmt: skip


def model_of(server: FakeOpenAI) -> OpenAIModel:
    return openai_model("fake", base_url=server.base_url, api_key="")


def play(model: OpenAIModel, request: Request = ASK) -> Completion:
    *_, last = model.stream(request)
    assert isinstance(last, Completion)
    return last


def refusal(message: str, param: str | None = None, status: int = 400) -> FakeReply:
    return FakeReply(
        status=status, body={"error": {"message": message, "type": "invalid_request_error", "param": param}}
    )


def test_a_forced_call_and_a_schema_are_sent() -> None:
    with FakeOpenAI([FakeReply("{}")]) as server:
        play(model_of(server), FULL)
    sent = server.requests[0]
    assert sent["tool_choice"] == "required"
    form = {"name": "reply", "schema": SCHEMA, "strict": True}
    assert sent["response_format"] == {"type": "json_schema", "json_schema": form}


def test_no_call_is_forced_if_no_tool_is_offered() -> None:
    with FakeOpenAI([FakeReply("a")]) as server:
        play(model_of(server), msgspec.structs.replace(ASK, tools=(), must_call=True))
    assert "tool_choice" not in server.requests[0]


@pytest.mark.parametrize(
    ("schema", "strict"),
    [
        (SCHEMA, True),
        ({**SCHEMA, "required": []}, False),
        ({**SCHEMA, "additionalProperties": True}, False),
        ({**SCHEMA, "properties": {"a": {"type": "array", "items": {"type": "object"}}}}, False),
        ({**SCHEMA, "properties": {"a": {"anyOf": [SCHEMA, {"type": "null"}]}}}, True),
        ({"type": "object", "additionalProperties": {"type": "string"}}, False),
    ],
)
def test_only_a_closed_schema_is_sent_as_strict(schema: dict[str, Any], strict: bool) -> None:
    with FakeOpenAI([FakeReply("{}")]) as server:
        play(model_of(server), msgspec.structs.replace(ASK, schema=schema))
    assert server.requests[0]["response_format"]["json_schema"]["strict"] is strict


def test_cached_tokens_are_counted() -> None:
    with FakeOpenAI([FakeReply("a", usage=(100, 5), cached=(64, 32))]) as server:
        assert play(model_of(server)).usage == Usage(100, 5, cache_read_tokens=64, cache_write_tokens=32)


def test_a_refusal_has_finish_reason_content_filter() -> None:
    with FakeOpenAI([FakeReply(deltas=[{"refusal": "I can't"}, {"refusal": " help."}])]) as server:
        completion = play(model_of(server))
    assert (completion.text, completion.finish_reason) == ("I can't help.", "content_filter")


@pytest.mark.parametrize("name", ["temperature", "seed", "stop", "response_format", "tool_choice", "stream_options"])
def test_a_refused_parameter_is_omitted_from_then_on(name: str) -> None:
    with FakeOpenAI([FakeReply("a"), FakeReply("b")], refuses=[name]) as server:
        model = model_of(server)
        assert play(model, FULL).text == "a"
        assert play(model, FULL).text == "b"
    assert [name in body for body in server.tried] == [True, False, False]
    assert set(server.tried[0]) - set(server.tried[1]) == {name}


@pytest.mark.parametrize(
    ("refuses", "left"),
    [(["max_tokens"], "max_completion_tokens"), (["max_tokens", "max_completion_tokens"], None)],
)
def test_a_refused_max_tokens_is_sent_as_max_completion_tokens(refuses: list[str], left: str | None) -> None:
    with FakeOpenAI([FakeReply("a"), FakeReply("b")], refuses=refuses) as server:
        model = model_of(server)
        play(model, FULL)
        play(model, FULL)
    limits = [{name for name in body if name.startswith("max_")} for body in server.requests]
    assert limits == [{left} if left else set()] * 2
    assert len(server.tried) == 2 + len(refuses)


def test_reasoning_is_turned_off_if_the_model_cannot_combine_it_with_tools() -> None:
    said = ("Function tools with reasoning_effort are not supported for fake in /v1/chat/completions. To use function "
            "tools, use /v1/responses or set reasoning_effort to 'none'.")  # fmt: skip
    with FakeOpenAI([refusal(said, "reasoning_effort"), FakeReply("a"), FakeReply("b"), FakeReply("c")]) as server:
        model = model_of(server)
        play(model)
        play(model)
        play(model, msgspec.structs.replace(ASK, tools=()))
    assert [body.get("reasoning_effort") for body in server.tried] == [None, "none", "none", None]


def test_a_server_that_also_refuses_that_is_asked_only_once_more() -> None:
    said = "reasoning_effort is not supported"
    with FakeOpenAI([refusal(said)] * 3) as server, pytest.raises(ProviderError, match=said):
        play(model_of(server))
    assert len(server.tried) == 2


@pytest.mark.parametrize(
    ("said", "param", "status"),
    [
        ("Unsupported value: 'temperature' does not support 0.5 with this model.", "temperature", 400),
        ("Unsupported parameter: 'temperature' is not supported with this model.", None, 400),
        ("[{'loc': ['body', 'temperature'], 'msg': 'Extra inputs are not permitted'}]", None, 422),
    ],
)
def test_refusals_are_recognized_in_the_words_of_several_servers(said: str, param: str | None, status: int) -> None:
    with FakeOpenAI([refusal(said, param, status), FakeReply("a")]) as server:
        assert play(model_of(server), FULL).text == "a"
    assert "temperature" not in server.tried[1]
    assert "stop" in server.tried[1]


@pytest.mark.parametrize(
    ("said", "param"),
    [
        ("Invalid 'temperature': decimal above maximum value. Expected a value <= 2.", "temperature"),
        ("Unsupported parameter: 'messages[1].name'; temperature is fine.", "messages[1].name"),
        ("Unknown something.", None),
        ("max_tokens is too large: 50. This model supports at most 16 completion tokens.", "max_tokens"),
    ],
)
def test_an_invalid_value_is_reported_and_not_omitted(said: str, param: str | None) -> None:
    with FakeOpenAI([refusal(said, param), FakeReply("never")]) as server, pytest.raises(ProviderError):
        play(model_of(server), FULL)
    assert len(server.tried) == 1


def test_a_schema_that_the_server_cannot_enforce_is_omitted() -> None:
    said = "Invalid schema for response_format 'reply': In context=(), 'required' is required to be supplied."
    with FakeOpenAI([refusal(said, "response_format"), FakeReply("{}")]) as server:
        assert play(model_of(server), FULL).text == "{}"
    assert "response_format" not in server.tried[1]


def test_nothing_is_sent_again_once_text_was_streamed() -> None:
    inside = {
        "error": {"message": "temperature is not supported", "type": "invalid_request_error", "param": "temperature"}
    }
    with FakeOpenAI([FakeReply("Par", error_inside=inside), FakeReply("b")]) as server:
        with pytest.raises(ProviderError):
            play(model_of(server), FULL)
        assert len(server.tried) == 1


def test_an_error_does_not_contain_the_key() -> None:
    key = "sk-0123456789"
    with FakeOpenAI([refusal(f"temperature: not supported for {key}"), refusal(f"stop: bad {key}")]) as server:
        model = openai_model("fake", base_url=server.base_url, api_key=key)
        with pytest.raises(ProviderError) as caught:
            play(model, FULL)
    assert key not in f"{caught.value} {vars(caught.value)}"


TALK = Request(
    (Message("system", "Be brief."), Message("user", "One?"), Message("assistant", "1"), Message("user", "Two?"))
)


@pytest.mark.parametrize(("quirk", "marked"), [("marks", 3), ("auto", 0), ("off", 0)])
def test_parts_of_a_prompt_are_marked_for_the_cache_where_the_endpoint_says_so(quirk: Any, marked: int) -> None:
    with FakeOpenAI([FakeReply("2")]) as server:
        play(openai_model("fake", base_url=server.base_url, quirks=Quirks(prompt_cache=quirk)), TALK)
    parts = [
        part for each in server.requests[0]["messages"] if isinstance(each["content"], list) for part in each["content"]
    ]
    assert [part["cache_control"] for part in parts] == [{"type": "ephemeral"}] * marked
    assert [part["text"] for part in parts] == ["Be brief.", "One?", "Two?"][:marked]


def test_claude_at_openrouter_is_sent_marks_and_a_service_that_refuses_them_is_not() -> None:
    assert wants_marks("openrouter.ai", "anthropic/claude-sonnet-5") and not wants_marks("openrouter.ai", "x-ai/grok")
    with FakeOpenAI(
        [refusal("messages.0.content.0.cache_control: Extra inputs are not permitted"), FakeReply("2")]
    ) as server:
        play(openai_model("fake", base_url=server.base_url, quirks=Quirks(prompt_cache="marks")), TALK)
    assert "cache_control" not in json.dumps(server.requests[1])
