"""The client for OpenAI-compatible servers against a fake one: replies, requests, calls, errors and models."""

from __future__ import annotations

import json
import urllib.request
from typing import Any

import pytest

from research.errors import ProviderError
from research.models.openai import OpenAIModel
from research.types import Completion, Delta, Message, Model, Request, ToolCall, ToolSpec
from tests.fake_openai import FakeOpenAI, FakeReply, Script
from tests.served import openai_model

ASK = Request((Message("user", "What is the capital of France?"),))
SEARCH = ToolSpec("search", "Searches.", {"type": "object", "properties": {"query": {"type": "string"}}})


def model_of(server: FakeOpenAI, api_key: str = "", **options: Any) -> OpenAIModel:
    return openai_model("fake", base_url=server.base_url, api_key=api_key, **options)


def play(model: Model, request: Request = ASK) -> tuple[list[Delta], Completion]:
    *deltas, last = model.stream(request)
    assert isinstance(last, Completion)
    assert all(isinstance(delta, Delta) for delta in deltas)
    return [delta for delta in deltas if isinstance(delta, Delta)], last


def complete(*replies: FakeReply, **options: Any) -> Completion:
    with FakeOpenAI(replies) as server:
        return play(model_of(server, **options))[1]


def failure(script: Script, request: Request = ASK, **options: Any) -> ProviderError:
    """Return the error of one request, which may follow deltas but not a completion."""
    seen: list[Delta | Completion] = []
    with FakeOpenAI(script) as server, pytest.raises(ProviderError) as caught:
        seen.extend(model_of(server, **options).stream(request))
    assert not [item for item in seen if isinstance(item, Completion)]
    return caught.value


@pytest.mark.parametrize("own", [False, True])
def test_a_missing_network_is_told_apart_from_a_server_that_is_off(own: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeOpenAI([]) as server:
        off = server.base_url
    model = openai_model("fake", base_url="https://no-such-host.invalid/v1" if own else off)
    with pytest.raises(ProviderError) as caught:
        list(model.stream(ASK))
    wanted = "no answer from no-such-host.invalid: check that this machine is connected to the internet, and that"
    assert caught.value.retryable and str(caught.value).startswith(wanted if own else f"cannot reach {off}")


def fragment(index: int | None = None, id: str | None = None, name: str | None = None, arguments: Any = None) -> Any:
    given = {"index": index, "id": id, "function": {"name": name, "arguments": arguments}}
    return {"tool_calls": [{key: value for key, value in given.items() if value is not None}]}


class TestReplies:
    @pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
    def test_reasoning_is_read_under_either_name(self, name: str) -> None:
        assert complete(FakeReply(deltas=[{name: "hm"}, {"content": "a"}])).reasoning == "hm"

    def test_a_filtered_reply_has_finish_reason_content_filter(self) -> None:
        assert complete(FakeReply("I", finish_reason="content_filter")).finish_reason == "content_filter"


WORDS = [{"choices": [{"delta": {"content": word}}]} for word in ("It is ", "Paris.")]
END = {"choices": [{"delta": {}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 7, "completion_tokens": 3}}
WHOLE = {"choices": [{"message": {"content": "It is Paris."}, "finish_reason": "stop"}]}
LINES = [json.dumps(each) for each in (*WORDS, END)]
STREAM = "".join(f"data: {line}\n\n" for line in LINES) + "data: [DONE]\n\n"


class TestDialects:
    """A server is free with content types and separators; what it says is clear all the same."""

    @pytest.mark.parametrize("kind", ["TEXT/EVENT-STREAM", "text/plain", "application/json", ""])
    def test_a_stream_is_read_under_any_content_type(self, kind: str) -> None:
        reply = complete(FakeReply(raw=STREAM, headers={"Content-Type": kind}, split=3))
        assert (reply.text, reply.finish_reason) == ("It is Paris.", "stop")

    @pytest.mark.parametrize(
        "raw",
        [
            f"\ufeff{STREAM}",
            f": wait\n\n{STREAM}",
            STREAM.replace("\n\n", "\n"),
            STREAM.replace("\n", "\r\n"),
            STREAM.replace("data: ", "data: data: "),
            STREAM.replace("data: ", "data:"),
            STREAM.removesuffix("data: [DONE]\n\n").rstrip(),
            "\n".join(LINES),
            f"[{','.join(LINES)}]",
            json.dumps(WHOLE),
            json.dumps(WHOLE, indent=1),
            f"\ufeff{json.dumps(WHOLE)}",
            f"{json.dumps(WHOLE)}data: [DONE]",
            f"{json.dumps(WHOLE)}\n\n[DONE]\n",
            f"data: {json.dumps(WHOLE)}\n\ndata: [DONE]\n\n",
            f"[{json.dumps(WHOLE)}]",
        ],
    )
    @pytest.mark.parametrize("kind", ["text/event-stream", "application/json"])
    def test_a_reply_is_read_however_its_parts_are_joined(self, raw: str, kind: str) -> None:
        assert complete(FakeReply(raw=raw, headers={"Content-Type": kind})).text == "It is Paris."

    def test_bytes_that_are_no_text_are_replaced(self) -> None:
        class Latin(FakeOpenAI):
            def frames(self, reply: FakeReply, body: Any) -> Any:
                return (event.encode("latin-1") for event in self.events(reply, body))

        with Latin([FakeReply("Besançon is not Paris.")]) as server:
            assert play(model_of(server))[1].text == "Besan\ufffdon is not Paris."

    @pytest.mark.parametrize(
        "content",
        [
            ["It is ", "Paris."],
            [{"type": "text", "text": "It is Paris."}],
            [{"type": "text", "text": {"value": "It is Paris.", "annotations": []}}],
            {"type": "text", "text": "It is Paris."},
        ],
    )
    def test_content_may_be_a_list_of_parts(self, content: Any) -> None:
        whole = {"choices": [{"message": {"content": content}, "finish_reason": "stop"}]}
        assert complete(FakeReply(raw=json.dumps(whole))).text == "It is Paris."

    @pytest.mark.parametrize(
        "choices",
        [
            WHOLE["choices"][0],
            [{"message": {"content": "It is Paris."}, "finish_reason": {"type": "stop"}}],
            [{"message": {"content": "It is Paris."}, "finish_reason": 1}],
            [{"text": "It is Paris.", "finish_reason": "stop"}],
        ],
    )
    def test_a_reply_of_another_shape_is_read(self, choices: Any) -> None:
        assert complete(FakeReply(raw=json.dumps({"choices": choices}))).text == "It is Paris."

    @pytest.mark.parametrize(
        "said",
        [
            {"function_call": {"name": "search", "arguments": '{"query": "a"}'}},
            {"tool_calls": {"id": "1", "function": {"name": "search", "arguments": {"query": "a"}}}},
            {"tool_calls": [{"id": 1, "name": "search", "arguments": {"query": "a"}}]},
            {"tool_calls": [{"function": {"name": "search", "parameters": {"query": "a"}}}]},
        ],
    )
    def test_a_call_of_another_shape_is_read(self, said: Any) -> None:
        (call,) = complete(FakeReply(deltas=[said], finish_reason="tool_calls")).calls
        assert (call.name, call.arguments) == ("search", {"query": "a"})

    @pytest.mark.parametrize("usage", ["7+3", [], {"prompt_tokens": "many"}, {"prompt_tokens": "7"}, 3, None])
    def test_a_usage_that_cannot_be_read_does_not_cost_the_reply(self, usage: Any) -> None:
        reply = complete(FakeReply(raw=json.dumps({**WHOLE, "usage": usage})))
        assert reply.text == "It is Paris."
        assert reply.usage is None or reply.usage.prompt_tokens == 7

    @pytest.mark.parametrize(
        "raw",
        [
            'event: error\ndata: {"message": "The engine is out of memory.", "code": 500}\n\n',
            "event: error\ndata: The engine is out of memory.\n\n",
            'data: {"message": "The engine is out of memory."}\n\n',
            'data: {"detail": "The engine is out of memory."}\n\n',
            'data: {"error": "The engine is out of memory."}\n\n',
            'data: [{"error": {"message": "The engine is out of memory."}}]\n\n',
            'event: error\ndata: {"msg": "The engine is out of memory."}\n\n',
        ],
    )
    def test_an_error_inside_a_stream_is_told_in_its_words(self, raw: str) -> None:
        assert "The engine is out of memory." in str(failure([FakeReply(raw=f"data: {LINES[0]}\n\n{raw}")]))

    @pytest.mark.parametrize(
        "body",
        [
            [{"error": {"code": 400, "message": "API key not valid. Please pass a valid API key."}}],
            {"error": {"message": "Incorrect API key provided", "code": "invalid_api_key"}},
            {"error": {"message": "Bad request", "status": "API_KEY_INVALID"}},
        ],
    )
    def test_a_key_refused_with_400_is_told_as_one(self, body: Any) -> None:
        assert "set OPENAI_API_KEY" in str(failure([FakeReply(status=400, body=body)], api_key="sk-12345678"))

    @pytest.mark.parametrize(
        "listing",
        [
            [{"id": "b"}, {"id": "a"}],
            ["b", "a"],
            {"data": ["a", "b"]},
            {"models": [{"name": "a"}, {"model": "b"}]},
            {"object": "list", "data": [{"id": "models/a"}, {"id": "b", "name": "B"}]},
        ],
    )
    def test_models_are_listed_in_any_shape(self, listing: Any) -> None:
        with FakeOpenAI(listing=listing) as server:
            assert model_of(server).list_models() == ["a", "b"]


class TestRequests:
    def test_a_full_request_is_sent_in_the_providers_format(self) -> None:
        call = ToolCall("c1", "search", {"query": "Größe", "n": 2})
        request = Request(
            (
                Message("system", "Be brief."),
                Message("user", "How big?"),
                Message("assistant", "Looking.", (call,), reasoning="secret thoughts"),
                Message("tool", "1.2 m", call_id="c1"),
            ),
            tools=(SEARCH,),
            stop=("<tool_response>",),
            temperature=0.0,
            max_tokens=50,
        )
        with FakeOpenAI([FakeReply("1.2 m")]) as server:
            play(model_of(server), request)
        sent = server.requests[0]
        arguments = sent["messages"][2]["tool_calls"][0]["function"].pop("arguments")
        assert json.loads(arguments) == call.arguments
        assert sent == {
            "model": "fake",
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "How big?"},
                {
                    "role": "assistant",
                    "content": "Looking.",
                    "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "search"}}],
                },
                {"role": "tool", "content": "1.2 m", "tool_call_id": "c1"},
            ],
            "tools": [
                {
                    "type": "function",
                    "function": {"name": "search", "description": "Searches.", "parameters": SEARCH.parameters},
                }
            ],
            "stop": ["<tool_response>"],
            "temperature": 0.0,
            "max_tokens": 50,
            "stream": True,
            "stream_options": {"include_usage": True},
        }

    def test_parameters_that_are_not_set_are_not_sent(self) -> None:
        with FakeOpenAI([FakeReply("a")]) as server:
            play(model_of(server))
        assert set(server.requests[0]) == {"model", "messages", "stream", "stream_options"}

    def test_reasoning_is_sent_back_only_if_configured(self) -> None:
        request = Request((Message("assistant", "a", reasoning="hm"), Message("user", "b")))
        with FakeOpenAI([FakeReply("c")]) as server:
            play(model_of(server, send_reasoning=True), request)
        assert server.requests[0]["messages"] == [
            {"role": "assistant", "content": "a", "reasoning_content": "hm"},
            {"role": "user", "content": "b"},
        ]


@pytest.mark.parametrize(
    ("sends", "refusal"),
    [
        (False, "The `reasoning_content` in the thinking mode must be passed back to the API."),
        (False, "thinking is enabled but reasoning_content is missing in assistant tool call message at index 2"),
        (True, "'messages.2' : for 'role:assistant' the following must be satisfied[('messages.2' : property 'reasoning_content' is unsupported)]"),
    ],
)  # fmt: skip
def test_a_refusal_teaches_whether_reasoning_goes_back(sends: bool, refusal: str) -> None:
    request = Request((Message("assistant", "a", reasoning="hm"), Message("user", "b")))
    refused = FakeReply(status=400, body={"error": {"message": refusal}})
    with FakeOpenAI([refused, FakeReply("c"), FakeReply("d")]) as server:
        model = model_of(server, send_reasoning=sends)
        play(model, request), play(model, request)
    sent = ["reasoning_content" in body["messages"][0] for body in server.requests]
    assert sent == [sends, not sends, not sends]


def test_reasoning_goes_back_under_the_name_it_came_with() -> None:
    request = Request((Message("assistant", "a", reasoning="hm"), Message("user", "b")))
    with FakeOpenAI([FakeReply(deltas=[{"reasoning": "hm"}, {"content": "a"}]), FakeReply("c")]) as server:
        model = model_of(server, send_reasoning=True)
        play(model), play(model, request)
    assert server.requests[1]["messages"][0] == {"role": "assistant", "content": "a", "reasoning": "hm"}


def test_a_server_that_refuses_either_way_gets_the_history_twice() -> None:
    request = Request((Message("assistant", "a", reasoning="hm"), Message("user", "b")))
    refused = FakeReply(status=400, body={"error": {"message": "reasoning_content is wrong"}})
    with FakeOpenAI([refused] * 4) as server, pytest.raises(ProviderError, match="reasoning_content is wrong"):
        play(model_of(server), request)
    assert len(server.requests) == 2


class TestCalls:
    def test_call_fragments_are_assembled_by_index(self) -> None:
        with FakeOpenAI([FakeReply("I look.", calls=[("search", {"query": "Größe"}), ("list_files", {})])]) as server:
            completion = play(model_of(server))[1]
        assert completion.finish_reason == "tool_calls"
        assert completion.calls == (
            ToolCall("fake_0", "search", {"query": "Größe"}),
            ToolCall("fake_1", "list_files", {}),
        )

    def test_interleaved_fragments_are_assembled(self) -> None:
        deltas = [
            fragment(1, "b", "visit", '{"url"'),
            fragment(0, "a", "search", '{"query"'),
            fragment(1, arguments=':"u"}'),
            fragment(0, arguments=':"q"}'),
        ]
        calls = complete(FakeReply(deltas=deltas)).calls
        assert {(call.id, call.name): call.arguments for call in calls} == {
            ("a", "search"): {"query": "q"},
            ("b", "visit"): {"url": "u"},
        }

    def test_parallel_calls_that_all_have_index_0_are_separated_by_id(self) -> None:
        deltas = [fragment(0, "a", "search", '{"query":"q"}'), fragment(0, "b", "search", '{"query":"r"}')]
        assert [call.arguments["query"] for call in complete(FakeReply(deltas=deltas)).calls] == ["q", "r"]

    def test_parallel_calls_without_index_and_id_are_separated_by_name(self) -> None:
        deltas = [
            fragment(name="search", arguments='{"query":'),
            fragment(arguments='"q"}'),
            fragment(name="visit", arguments='{"url":"u"}'),
        ]
        assert [call.arguments for call in complete(FakeReply(deltas=deltas)).calls] == [{"query": "q"}, {"url": "u"}]

    def test_generated_call_ids_are_distinct_and_reproducible(self) -> None:
        deltas = [fragment(0, name="search", arguments="{}"), fragment(1, name="visit", arguments="{}")]
        first, second = (complete(FakeReply(deltas=deltas)).calls for _ in range(2))
        assert first == second
        assert len({call.id for call in first}) == 2
        assert all(call.id for call in first)

    @pytest.mark.parametrize(
        ("arguments", "expected"),
        [({"query": "q"}, {"query": "q"}), ("", {}), (None, {}), ('{"n": 123456789012345678901234567890}', None)],
    )
    def test_arguments_are_read_in_every_form_that_servers_use(self, arguments: Any, expected: Any) -> None:
        calls = complete(FakeReply(deltas=[fragment(0, "a", "search", arguments)])).calls
        assert calls[0].arguments == (json.loads(arguments) if expected is None else expected)

    def test_a_call_without_a_name_is_reported(self) -> None:
        completion = complete(FakeReply(deltas=[fragment(0, "a", arguments='{"query":"q"}')]))
        assert completion.calls == ()
        assert "names no tool" in completion.finish_reason

    def test_a_strict_server_accepts_the_conversation(self) -> None:
        with FakeOpenAI([FakeReply(calls=[("search", {"query": "q"})]), FakeReply("done")]) as server:
            model = model_of(server)
            first = play(model)[1]
            turn = (Message("assistant", first.text, first.calls), Message("tool", "r", call_id=first.calls[0].id))
            assert play(model, Request(ASK.messages + turn))[1].text == "done"

    @pytest.mark.parametrize(
        "messages",
        [
            (Message("assistant", "", (ToolCall("c", "search", {}),)), Message("user", "and?")),
            (Message("tool", "r", call_id="c"),),
        ],
    )
    def test_a_strict_server_refuses_an_incomplete_conversation(self, messages: tuple[Message, ...]) -> None:
        error = failure([FakeReply("never")], Request(messages))
        assert "400" in str(error)
        assert not error.retryable


class TestBrokenStreams:
    @pytest.mark.parametrize(
        "reply",
        [
            FakeReply("Paris", finish_reason="abort"),
            FakeReply("Paris", error_inside="not an object"),
            FakeReply("Paris", deltas=[{"content": 7}]),
        ],
    )
    def test_a_broken_reply_is_a_retryable_error_and_not_a_completion(self, reply: FakeReply) -> None:
        assert failure([reply]).retryable

    @pytest.mark.parametrize(
        ("inside", "retryable", "overflow"),
        [
            ({"error": {"message": "overloaded", "type": "server_error"}}, True, False),
            ({"error": {"message": "slow down", "code": 429}}, True, False),
            ({"error": {"message": "bad stop", "type": "invalid_request_error"}}, False, False),
            ({"error": "something broke"}, True, False),
            ({"object": "error", "message": "bad", "type": "invalid", "code": 400}, False, False),
            (
                {"error": {"code": 500, "message": "Context size has been exceeded.", "type": "server_error"}},
                False,
                True,
            ),
        ],
    )
    def test_an_error_inside_a_stream_is_classified(self, inside: Any, retryable: bool, overflow: bool) -> None:
        error = failure([FakeReply("Par", error_inside=inside)])
        assert (error.retryable, error.context_overflow) == (retryable, overflow)

    def test_an_error_instead_of_a_stream_is_reported(self) -> None:
        error = failure([FakeReply(body={"error": "Unexpected endpoint"})])
        assert "Unexpected endpoint" in str(error)


class TestRefusals:
    def test_a_base_url_without_v1_gets_a_hint(self) -> None:
        with FakeOpenAI() as server, pytest.raises(ProviderError, match="end in /v1"):
            play(openai_model("fake", base_url=server.base_url.removesuffix("/v1"), api_key=""))

    @pytest.mark.parametrize(
        ("status", "body"),
        [
            (400, {"error": {"message": "Too long.", "code": "context_length_exceeded"}}),
            (400, {"error": {"message": "This model's maximum context length is 4096 tokens. However, …"}}),
            (400, {"object": "error", "message": "The prompt is longer than the maximum model length of 8192"}),
            (400, {"error": {"code": 400, "message": "too long", "type": "exceed_context_size_error"}}),
            (500, {"error": {"code": 500, "message": "Context size has been exceeded.", "type": "server_error"}}),
            (400, {"error": {"message": "Requested tokens (2285) exceed context window of 2048"}}),
        ],
    )
    def test_a_request_that_is_too_long_is_a_context_overflow(self, status: int, body: Any) -> None:
        error = failure([FakeReply(status=status, body=body)])
        assert error.context_overflow
        assert not error.retryable

    @pytest.mark.parametrize(
        ("reply", "said"),
        [
            (
                FakeReply(raw="data: {{{\n\n"),
                "unreadable event (JSON is malformed: object keys must be strings (byte 1)): {{{",
            ),
            (FakeReply(raw='data: {"choices": [{"delta": {"content": "It"}}]}\n\n'), 'its last event was {"choices"'),
            (FakeReply(raw=": nothing\n\n"), "it held no event"),
            (FakeReply(raw=" ", headers={"Content-Type": "application/json"}), "It said: nothing"),
            (FakeReply(body="<html><title>Sign in</title></html>"), "It said: Sign in"),
            (
                FakeReply(status=302, headers={"Location": "https://login.example.org/?token=1"}),
                "a redirect to login.example.org",
            ),
            (FakeReply(body={"base_resp": {"status_code": 1008, "status_msg": "No balance."}}), "It said: No balance."),
            (FakeReply(status=400, body={"errors": [{"message": "No balance."}]}), "answered 400: No balance."),
            (FakeReply(raw="\x00\x01 odd", headers={"Content-Type": "x/y"}), "It said: odd"),
        ],
    )
    def test_what_came_instead_of_a_reply_is_told(self, reply: FakeReply, said: str) -> None:
        error = failure([reply])
        assert said in str(error)
        assert "127.0.0.1" in str(error)


class TestListing:
    def test_a_wrong_path_gets_a_hint(self) -> None:
        with FakeOpenAI() as server, pytest.raises(ProviderError, match="/v1"):
            openai_model("fake", base_url=server.base_url.removesuffix("/v1"), api_key="").list_models()


class TestTheFake:
    def test_the_fake_also_answers_without_streaming(self) -> None:
        with FakeOpenAI([FakeReply("Paris", calls=[("search", {"query": "q"})])]) as server:
            request = urllib.request.Request(
                f"{server.base_url}/chat/completions",
                json.dumps({"model": "fake", "messages": [{"role": "user", "content": "?"}]}).encode(),
                {"Content-Type": "application/json"},
            )
            with urllib.request.urlopen(request) as response:
                body = json.load(response)
        choice = body["choices"][0]
        assert choice["finish_reason"] == "tool_calls"
        assert choice["message"]["content"] == "Paris"
        assert choice["message"]["tool_calls"][0]["function"] == {"name": "search", "arguments": '{"query": "q"}'}
        assert body["usage"]["total_tokens"] == 10

    def test_a_request_beyond_the_fakes_script_fails(self) -> None:
        with FakeOpenAI([]) as server, pytest.raises(ProviderError, match="only 0 replies"):
            play(model_of(server))
