"""The Anthropic client against a fake server: replies, requests, caching, thinking, errors, models and prices."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from research.config.settings import load
from research.errors import ConfigError, ProviderError
from research.models.anthropic import AnthropicModel
from research.types import Completion, Delta, Message, Model, Request, ToolCall, ToolSpec, Usage
from research.workbench.workbench import Workbench
from tests.fake_anthropic import FakeAnthropic, error_body
from tests.fake_openai import FakeOpenAI, FakeReply, Script
from tests.served import anthropic_model, openai_model

ASK = Request((Message("user", "What is the capital of France?"),))
SEARCH = ToolSpec("search", "Searches.", {"type": "object", "properties": {"query": {"type": "string"}}})
LOOP = Request((Message("system", "Be brief."), Message("user", "How big?")), tools=(SEARCH,))


def model_of(server: FakeAnthropic, api_key: str = "", name: str = "fake", **options: Any) -> AnthropicModel:
    return anthropic_model(name, base_url=server.base_url, api_key=api_key, **options)


def play(model: Model, request: Request = ASK) -> tuple[list[Delta], Completion]:
    *deltas, last = model.stream(request)
    assert isinstance(last, Completion)
    return [delta for delta in deltas if isinstance(delta, Delta)], last


def complete(*replies: FakeReply, request: Request = ASK, **options: Any) -> Completion:
    with FakeAnthropic(replies) as server:
        return play(model_of(server, **options), request)[1]


def failure(script: Script, request: Request = ASK, **options: Any) -> ProviderError:
    """Return the error of one request, which may follow deltas but not a completion."""
    seen: list[Delta | Completion] = []
    with FakeAnthropic(script) as server, pytest.raises(ProviderError) as caught:
        seen.extend(model_of(server, **options).stream(request))
    assert not [item for item in seen if isinstance(item, Completion)]
    return caught.value


def turn(completion: Completion, *results: str) -> tuple[Message, ...]:
    """Return the messages of a round in the native protocol: the reply, then its results."""
    said = Message("assistant", completion.text, completion.calls, None, completion.reasoning, completion.blocks)
    return said, *(Message("tool", text, call_id=call.id) for call, text in zip(completion.calls, results, strict=True))


def after(request: Request, *messages: Message, **changes: Any) -> Request:
    return msgspec.structs.replace(request, messages=request.messages + messages, **changes)


def marked(body: dict[str, Any]) -> int:
    """Return the number of cache breakpoints."""
    return json.dumps(body).count("cache_control")


def without_marks(value: Any) -> Any:
    if isinstance(value, list):
        return [without_marks(each) for each in value]
    if isinstance(value, dict):
        return {key: without_marks(each) for key, each in value.items() if key != "cache_control"}
    return value


class TestReplies:
    @pytest.mark.parametrize(
        ("reason", "ours"),
        [("end_turn", "stop"), ("stop_sequence", "stop"), ("max_tokens", "length"), ("refusal", "content_filter"),
         ("pause_turn", "length"), ("tool_use", "tool_calls"), ("something_new", "something_new")],
    )  # fmt: skip
    def test_stop_reasons_are_translated(self, reason: str, ours: str) -> None:
        assert complete(FakeReply("I", finish_reason=reason)).finish_reason == ours

    def test_calls_with_one_index_stay_apart(self) -> None:
        starts = [
            {"type": "content_block_start", "index": "0", "content_block": {"type": "tool_use", "id": query, "name": "search",
                                                                            "input": json.dumps({"query": query})}}
            for query in "ab"
        ]  # fmt: skip
        calls = complete(FakeReply(deltas=starts, finish_reason="tool_use")).calls
        assert [call.arguments for call in calls] == [{"query": "a"}, {"query": "b"}]

    def test_texts_and_counts_of_another_type_are_read_or_passed_over(self) -> None:
        odd = [
            {"type": "message_start", "message": {"usage": {"input_tokens": "70", "output_tokens": "many"}}},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": None}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Paris"}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": None}},
            {"type": "message_delta", "delta": {}, "usage": "none"},
        ]
        assert complete(FakeReply(deltas=odd)).text == "Paris"

    def test_a_flat_error_inside_a_stream_is_told(self) -> None:
        flat = 'event: error\ndata: {"message": "Busy", "code": 529}\n\n'
        assert "answered 529: Busy" in str(failure([FakeReply(raw=flat)]))

    def test_unknown_kinds_of_events_blocks_and_deltas_are_ignored(self) -> None:
        odd = [
            {"type": "billing_note", "index": 3, "text": "?"},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "hologram", "data": "?"}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "hologram_delta", "data": "?"}},
            {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": "Par"}},
            {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "is"}},
            {"type": "content_block_delta", "index": 1, "delta": {"type": "citations_delta", "citation": {}}},
        ]
        deltas, completion = [], None
        with FakeAnthropic([FakeReply(deltas=odd)]) as server:
            deltas, completion = play(model_of(server))
        assert completion.text == "Paris" == "".join(delta.text for delta in deltas)
        assert completion.blocks == ()


class TestRequests:
    def test_a_full_request_is_sent_in_the_providers_format(self) -> None:
        calls = (ToolCall("c1", "search", {"query": "Größe"}), ToolCall("c2", "search", {"query": "n"}))
        request = Request(
            (
                Message("system", "Be brief."),
                Message("user", "How big?"),
                Message("assistant", "Looking.", calls, reasoning="thoughts nobody signed"),
                Message("tool", "1.2 m", call_id="c1"),
                Message("tool", "", call_id="c2"),
                Message("user", "Hint: answer."),
            ),
            tools=(SEARCH,),
            stop=("<tool_response>", "\n"),
            temperature=0.0,
            max_tokens=50,
        )
        with FakeAnthropic([FakeReply("1.2 m")]) as server:
            play(model_of(server), request)
        assert without_marks(server.bodies[0]) == {
            "model": "fake",
            "max_tokens": 50,
            "system": [{"type": "text", "text": "Be brief."}],
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "How big?"}]},
                {
                    "role": "assistant",
                    "content": [
                        {"type": "text", "text": "Looking."},
                        {"type": "tool_use", "id": "c1", "name": "search", "input": {"query": "Größe"}},
                        {"type": "tool_use", "id": "c2", "name": "search", "input": {"query": "n"}},
                    ],
                },
                {
                    "role": "user",
                    "content": [
                        {"type": "tool_result", "tool_use_id": "c1", "content": "1.2 m"},
                        {"type": "tool_result", "tool_use_id": "c2"},
                        {"type": "text", "text": "Hint: answer."},
                    ],
                },
            ],
            "tools": [{"name": "search", "description": "Searches.", "input_schema": SEARCH.parameters}],
            "stop_sequences": ["<tool_response>"],
            "temperature": 0.0,
            "stream": True,
        }

    def test_parameters_that_are_not_set_are_not_sent(self) -> None:
        with FakeAnthropic([FakeReply("a")]) as server:
            play(model_of(server))
        assert server.bodies[0] == {
            "model": "fake", "max_tokens": 16384, "stream": True,
            "messages": [{"role": "user", "content": [{"type": "text", "text": ASK.messages[0].content}]}],
        }  # fmt: skip

    def test_messages_of_one_role_are_merged_and_empty_ones_dropped(self) -> None:
        messages = (
            Message("user", "a"), Message("user", "b"), Message("assistant", " \n"), Message("user", "c"),
            Message("assistant", "d"), Message("assistant", "e"), Message("user", "f"), Message("system", "late"),
            Message("system", "\n"),
        )  # fmt: skip
        with FakeAnthropic([FakeReply("x")]) as server:
            play(model_of(server), Request(messages))
        body = server.bodies[0]
        assert [[block["text"] for block in each["content"]] for each in body["messages"]] == [
            ["a", "b", "c"], ["d", "e"], ["f"],
        ]  # fmt: skip
        assert without_marks(body["system"]) == [{"type": "text", "text": "late"}]

    def test_tool_results_are_sent_before_text(self) -> None:
        call = ToolCall("c1", "search", {})
        messages = (Message("user", "a"), Message("assistant", "", (call,)), Message("user", "hint"),
                    Message("tool", "r", call_id="c1"))  # fmt: skip
        with FakeAnthropic([FakeReply("x")]) as server:
            play(model_of(server), Request(messages, tools=(SEARCH,)))
        assert [block["type"] for block in server.bodies[0]["messages"][-1]["content"]] == ["tool_result", "text"]

    def test_tools_of_earlier_calls_are_defined_even_if_none_is_offered(self) -> None:
        with FakeAnthropic([FakeReply(calls=[("search", {})]), FakeReply("done")]) as server:
            model = model_of(server)
            first = play(model, LOOP)[1]
            assert play(model, after(LOOP, *turn(first, "r"), tools=()))[1].text == "done"
        assert [tool["name"] for tool in server.bodies[1]["tools"]] == ["search"]
        assert server.bodies[1]["tool_choice"] == {"type": "none"}

    def test_the_api_version_is_the_newest_that_supports_the_request(self) -> None:
        with FakeAnthropic([FakeReply("a"), FakeReply("b")]) as server:
            play(model_of(server))
            play(model_of(server), msgspec.structs.replace(ASK, temperature=0.5))
        assert server.versions == ["2026-10-21", "2023-06-01"]
        assert server.bodies[1]["temperature"] == 0.5

    def test_a_schema_and_a_forced_call_are_sent(self) -> None:
        schema = {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "object"}}}}
        with FakeAnthropic([FakeReply("{}"), FakeReply(calls=[("search", {})])]) as server:
            play(model_of(server), msgspec.structs.replace(ASK, schema=schema))
            play(model_of(server), msgspec.structs.replace(LOOP, must_call=True))
        closed = {"type": "object", "additionalProperties": False}
        assert server.bodies[0]["output_config"] == {
            "format": {
                "type": "json_schema",
                "schema": {**closed, "properties": {"a": {"type": "array", "items": closed}}},
            }
        }
        assert server.bodies[1]["tool_choice"] == {"type": "any"}
        assert "additionalProperties" not in schema


class TestCache:
    def test_each_round_reads_the_cache_that_the_previous_round_wrote(self) -> None:
        """Even if a round made more calls than the service looks back over (20 blocks)."""
        calls = [("search", {"query": f"{n}"}) for n in range(25)]
        usages = []
        with FakeAnthropic([FakeReply(calls=calls, reasoning="hm") for _ in range(4)], caching=True) as server:
            model, request = model_of(server), LOOP
            for _ in range(4):
                completion = play(model, request)[1]
                assert completion.usage is not None
                usages.append(completion.usage)
                request = after(request, *turn(msgspec.structs.replace(completion), *["result"] * 25))
                request = _renamed(request)
        assert usages[0].cache_read_tokens == 0 < usages[0].cache_write_tokens
        for before, now in zip(usages, usages[1:], strict=False):
            assert now.cache_read_tokens == before.cache_read_tokens + before.cache_write_tokens
        assert max(map(marked, server.bodies)) == 3

    def test_a_single_question_is_not_cached(self) -> None:
        with FakeAnthropic([FakeReply("a")]) as server:
            play(model_of(server), Request((Message("system", "s"), Message("user", "long text"))))
        assert marked(server.bodies[0]) == 1


def _renamed(request: Request) -> Request:
    """Return the request with call ids that are unique within the run, as a run assigns them."""
    names: dict[str, str] = {}
    messages = []
    for n, message in enumerate(request.messages):
        if message.calls and message.calls[0].id.startswith("toolu"):
            names = {call.id: f"r{n}-{i}" for i, call in enumerate(message.calls)}
            calls = tuple(msgspec.structs.replace(call, id=names[call.id]) for call in message.calls)
            message = msgspec.structs.replace(message, calls=calls)
        elif message.call_id in names:
            message = msgspec.structs.replace(message, call_id=names[message.call_id])
        messages.append(message)
    return msgspec.structs.replace(request, messages=tuple(messages))


class TestThinking:
    def test_thinking_is_sent_back_unchanged_before_its_text_and_calls(self) -> None:
        thought = FakeReply("I look.", reasoning="Where? Größe", calls=[("search", {})])
        with FakeAnthropic([thought, FakeReply("done")], bound=True) as server:
            model = model_of(server)
            first = play(model, LOOP)[1]
            play(model, after(LOOP, *turn(first, "r")))
        sent = server.bodies[1]["messages"][1]["content"]
        assert [block["type"] for block in sent] == ["thinking", "text", "tool_use"]
        assert sent[0] == first.blocks[0] == {
            "type": "thinking", "thinking": "Where? Größe", "signature": first.blocks[0]["signature"],
        }  # fmt: skip

    def test_redacted_thinking_and_text_between_thinking_keep_their_order(self) -> None:
        def stream(body: dict[str, Any]) -> FakeReply:
            if len(server.bodies) > 1:
                return FakeReply("done")
            raw = server.bodies[0]
            server._signed["sealed"] = ""
            blocks = [
                {"type": "redacted_thinking", "data": "sealed"},
                {"type": "text", "text": "First. "},
                {"type": "thinking", "thinking": "more", "signature": server.sign("more", raw)},
                {"type": "text", "text": "Second."},
                {"type": "tool_use", "id": "toolu_1", "name": "search", "input": {"query": "q"}},
            ]
            starts = [{"type": "content_block_start", "index": n, "content_block": b} for n, b in enumerate(blocks)]
            return FakeReply(deltas=starts, finish_reason="tool_use")

        with FakeAnthropic(stream) as server:
            model = model_of(server)
            first = play(model, LOOP)[1]
            assert first.text == "First. Second."
            assert first.calls == (ToolCall("toolu_1", "search", {"query": "q"}),)
            play(model, after(LOOP, *turn(first, "r")))
        sent = server.bodies[1]["messages"][1]["content"]
        assert [block.get("text", block["type"]) for block in sent] == [
            "redacted_thinking", "First. ", "thinking", "Second.", "tool_use",
        ]  # fmt: skip

    def test_thinking_is_never_sent_to_another_provider(self) -> None:
        blocks = ({"type": "thinking", "thinking": "hm", "signature": "sealed"},)
        with FakeOpenAI([FakeReply("a")]) as server:
            model = openai_model("fake", base_url=server.base_url, api_key="", send_reasoning=True)
            play(model, Request((Message("assistant", "b", blocks=blocks), Message("user", "c"))))
        assert b"sealed" not in server.sent[0]

    def test_blocks_of_other_providers_are_not_sent(self) -> None:
        blocks = ({"type": "encrypted_reasoning", "id": "rs_1"}, {"kind": "gemini", "thought_signature": "x"})
        with FakeAnthropic([FakeReply("a")]) as server:
            play(model_of(server), after(ASK, Message("assistant", "b", blocks=blocks), Message("user", "c")))
        assert server.bodies[0]["messages"][1]["content"] == [{"type": "text", "text": "b"}]

    def test_refused_thinking_of_another_model_is_omitted_from_then_on(self) -> None:
        blocks = ({"type": "thinking", "thinking": "hm", "signature": "of another model"},)
        past = Message("assistant", "b", (ToolCall("c", "search", {}),), blocks=blocks)
        request = after(LOOP, past, Message("tool", "r", call_id="c"))
        replies = [FakeReply(calls=[("search", {})], reasoning="mine"), FakeReply("done")]
        with FakeAnthropic(replies, bound=True) as server:
            model = model_of(server)
            first = play(model, request)[1]
            assert play(model, after(request, *turn(first, "r")))[1].text == "done"
        kinds = [[b["type"] for t in body["messages"] for b in t["content"]] for body in server.bodies]
        assert [each.count("thinking") for each in kinds] == [1, 0, 1], "its own thinking was dropped"
        assert len(server.requests) == 2

    def test_a_changed_history_costs_one_more_request(self) -> None:
        replies = [FakeReply(calls=[("search", {})], reasoning="hm"), FakeReply("done")]
        with FakeAnthropic(replies, bound=True) as server:
            model = model_of(server)
            first = play(model, LOOP)[1]
            changed = Request((Message("system", "Other."), *LOOP.messages[1:], *turn(first, "r")), tools=(SEARCH,))
            assert play(model, changed)[1].text == "done"
        assert len(server.bodies) == 3

    def test_a_signature_error_is_not_retried_if_no_thinking_was_sent(self) -> None:
        with FakeAnthropic([FakeReply(status=400, body=error_body(400, "Invalid `signature`"))] * 3) as server:
            with pytest.raises(ProviderError, match="signature"):
                play(model_of(server))
            assert len(server.bodies) == 1

    def test_a_model_name_that_ends_in_thinking_requests_it(self) -> None:
        request = msgspec.structs.replace(LOOP, temperature=0.3, must_call=True)
        with FakeAnthropic([FakeReply("a")]) as server:
            model = model_of(server, name="fake:thinking")
            play(model, request)
        body = server.bodies[0]
        assert model.name == "anthropic:fake:thinking"
        assert body["model"] == "fake"
        assert body["thinking"] == {"type": "adaptive", "display": "summarized"}
        assert body["tool_choice"] == {"type": "any"}
        assert "temperature" not in body

    def test_a_model_that_only_supports_budgets_gets_one_and_no_forced_call(self) -> None:
        replies = [FakeReply(calls=[("search", {})], reasoning="hm"), FakeReply("b"), FakeReply("c")]
        with FakeAnthropic(replies, modes=["enabled"]) as server:
            model = model_of(server, name="fake:thinking")
            first = play(model, msgspec.structs.replace(LOOP, must_call=True))[1]
            play(model, after(LOOP, *turn(first, "r")))
            # The thinking of a tool turn is lost, so thinking stays off until the turn is over.
            play(model, after(LOOP, *turn(msgspec.structs.replace(first, blocks=()), "r")))
        assert [body.get("thinking", {}).get("type") for body in server.bodies] == [
            "adaptive",
            "enabled",
            "enabled",
            None,
        ]
        assert server.bodies[1]["thinking"]["budget_tokens"] == 8192 < server.bodies[1]["max_tokens"]
        assert "tool_choice" not in server.bodies[1]

    def test_a_model_without_thinking_answers_without_it(self) -> None:
        with FakeAnthropic([FakeReply("a")], modes=[]) as server:
            assert play(model_of(server, name="fake:thinking"))[1].text == "a"
        assert [body.get("thinking", {}).get("type") for body in server.bodies] == ["adaptive", "enabled", None]


class TestUnsupportedParameters:
    @pytest.mark.parametrize("name", ["temperature", "stop_sequences", "output_config", "tool_choice"])
    def test_a_refused_parameter_is_omitted_from_then_on(self, name: str) -> None:
        request = msgspec.structs.replace(
            LOOP, temperature=0.5, stop=("END",), schema={"type": "object"}, must_call=True
        )
        with FakeAnthropic([FakeReply("a"), FakeReply("b")], refuses=[name]) as server:
            model = model_of(server)
            assert play(model, request)[1].text == "a"
            assert play(model, request)[1].text == "b"
        assert [name in body for body in server.bodies] == [True, False, False]
        assert set(server.bodies[0]) - set(server.bodies[1]) == {name}

    def test_cache_control_is_omitted_if_a_gateway_refuses_it(self) -> None:
        said = "system.0.cache_control: Extra inputs are not permitted"
        with FakeAnthropic(
            [FakeReply(status=400, body=error_body(400, said)), FakeReply("a"), FakeReply("b")]
        ) as server:
            model = model_of(server)
            play(model, LOOP)
            play(model, LOOP)
        assert list(map(marked, server.bodies)) == [2, 0, 0]

    def test_several_refused_parameters_are_omitted_one_by_one(self) -> None:
        request = msgspec.structs.replace(LOOP, temperature=0.5, stop=("END",))
        with FakeAnthropic([FakeReply("a")], refuses=["stop_sequences", "temperature"]) as server:
            assert play(model_of(server), request)[1].text == "a"
        assert len(server.bodies) == 3

    @pytest.mark.parametrize(
        "said",
        [
            "temperature: Extra inputs are not permitted",
            "`temperature` is deprecated for this model.",
            "`temperature` may only be set to 1 when thinking is enabled or in adaptive mode.",
        ],
    )
    def test_refusals_are_recognized_in_the_services_own_words(self, said: str) -> None:
        replies = [FakeReply(status=400, body=error_body(400, said)), FakeReply("a")]
        with FakeAnthropic(replies) as server:
            assert play(model_of(server), msgspec.structs.replace(ASK, temperature=0.5))[1].text == "a"
        assert "temperature" not in server.bodies[1]

    @pytest.mark.parametrize(
        "said",
        [
            "temperature: Input should be less than or equal to 1",
            "messages.0: unexpected value",
            "`temperament` is not supported",
            "tool_choice is not supported",  # was not sent
        ],
    )
    def test_an_invalid_value_is_reported_and_not_omitted(self, said: str) -> None:
        error = failure(
            [FakeReply(status=400, body=error_body(400, said)), FakeReply("never")],
            msgspec.structs.replace(ASK, temperature=0.5),
        )
        assert said in str(error)
        assert not error.retryable

    def test_a_schema_that_the_service_cannot_enforce_is_omitted(self) -> None:
        said = "output_config.format.schema: For 'object' type, 'additionalProperties' must be explicitly set to false"
        replies = [FakeReply(status=400, body=error_body(400, said)), FakeReply("{}")]
        with FakeAnthropic(replies) as server:
            assert play(model_of(server), msgspec.structs.replace(ASK, schema={"type": "object"}))[1].text == "{}"

    def test_a_refused_max_tokens_is_lowered_to_the_models_limit(self) -> None:
        with FakeAnthropic([FakeReply("a"), FakeReply("b")], most_tokens=4096) as server:
            model = model_of(server)
            play(model)
            play(model)
        assert [body["max_tokens"] for body in server.bodies] == [16384, 4096, 4096]

    def test_nothing_is_sent_again_once_text_was_streamed(self) -> None:
        inside = error_body(400, "`temperature` is not supported on this model.")
        with FakeAnthropic([FakeReply("Par", error_inside=inside), FakeReply("b")]) as server:
            with pytest.raises(ProviderError):
                play(model_of(server), msgspec.structs.replace(ASK, temperature=0.5))
            assert len(server.bodies) == 1


class TestFaults:
    @pytest.mark.parametrize(
        "reply",
        [
            FakeReply("Paris", error_inside=error_body(529, "Overloaded")),
            FakeReply("Paris", error_inside=error_body(500, "Internal server error")),
            FakeReply(
                deltas=[{"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": [1]}}]
            ),
        ],
    )
    def test_a_broken_reply_is_a_retryable_error_and_not_a_completion(self, reply: FakeReply) -> None:
        assert failure([reply]).retryable

    @pytest.mark.parametrize(
        ("kind", "retryable"),
        [("invalid_request_error", False), ("authentication_error", False), ("permission_error", False),
         ("not_found_error", False), ("rate_limit_error", True), ("api_error", True), ("timeout_error", True),
         ("overloaded_error", True)],
    )  # fmt: skip
    def test_an_error_inside_a_stream_is_classified_by_its_kind(self, kind: str, retryable: bool) -> None:
        inside = {"type": "error", "error": {"type": kind, "message": "so it is"}}
        error = failure([FakeReply("Par", error_inside=inside)])
        assert error.retryable is retryable
        assert "so it is" in str(error)

    @pytest.mark.parametrize(
        ("status", "said"),
        [
            (400, "prompt is too long: 208310 tokens > 200000 maximum"),
            (400, "input length and `max_tokens` exceed context limit: 190000 + 16384 > 200000"),
            (413, "Request exceeds the maximum size"),
        ],
    )
    def test_a_request_that_is_too_long_is_a_context_overflow(self, status: int, said: str) -> None:
        error = failure([FakeReply(status=status, body=error_body(status, said))])
        assert error.context_overflow
        assert not error.retryable

    def test_a_context_that_fills_during_a_reply_is_a_context_overflow(self) -> None:
        error = failure([FakeReply("Par", finish_reason="model_context_window_exceeded")])
        assert error.context_overflow


class TestListing:
    @pytest.mark.parametrize("page", [1, 2, 20])
    def test_models_are_listed_from_all_pages(self, page: int) -> None:
        with FakeAnthropic(models=["zeta", "alpha", "mid"], key="right-key", page=page) as server:
            assert model_of(server, "right-key").list_models() == ["alpha", "mid", "zeta"]

    def test_an_endless_list_of_models_is_cut(self) -> None:
        class Endless(FakeAnthropic):
            def listed(self, query: str) -> Any:
                return {"data": [{"id": "a"}], "has_more": True, "last_id": "a"}

        with Endless() as server:
            assert model_of(server).list_models() == ["a"]


class TestNames:
    def test_thinking_does_not_change_the_price(self) -> None:
        usage = Usage(1_000_000, 1_000_000)
        plain, thinking = (
            anthropic_model(name, base_url=None, api_key="sk-123").price(usage)
            for name in ("claude-sonnet-4-5", "claude-sonnet-4-5:thinking")
        )
        assert plain is not None
        assert thinking == plain

    def test_the_suffix_for_thinking_alone_names_no_model(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match="name a model"):
            Workbench(load(home=tmp_path)).model("anthropic::thinking")
