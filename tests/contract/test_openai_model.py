"""The client for OpenAI-compatible servers against a fake one: replies, requests, calls, errors and models."""

from __future__ import annotations

import base64
import json
import socket
import threading
import traceback
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import quote, quote_plus

import pytest

from research.errors import ConfigError, ProviderError
from research.models.openai import OpenAIModel
from research.types import Completion, Delta, Message, Model, Request, ToolCall, ToolSpec, Usage
from tests.fake_openai import FakeOpenAI, FakeReply, Script

ASK = Request((Message("user", "What is the capital of France?"),))
SEARCH = ToolSpec("search", "Searches.", {"type": "object", "properties": {"query": {"type": "string"}}})


def model_of(server: FakeOpenAI, api_key: str = "", **options: Any) -> OpenAIModel:
    return OpenAIModel("fake", base_url=server.base_url, api_key=api_key, **options)


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


def fragment(index: int | None = None, id: str | None = None, name: str | None = None, arguments: Any = None) -> Any:
    given = {"index": index, "id": id, "function": {"name": name, "arguments": arguments}}
    return {"tool_calls": [{key: value for key, value in given.items() if value is not None}]}


class TestReplies:
    def test_text_is_streamed_then_completed_with_usage(self) -> None:
        with FakeOpenAI([FakeReply("Paris, of course.", reasoning="France is a country.")]) as server:
            model = model_of(server)
            deltas, completion = play(model)
        assert model.name == "openai:fake"
        assert model.native
        assert "".join(d.text for d in deltas if d.kind == "text") == "Paris, of course."
        assert "".join(d.text for d in deltas if d.kind == "reasoning") == "France is a country."
        assert completion == Completion("Paris, of course.", (), "France is a country.", "stop", Usage(7, 3))

    def test_a_delta_is_yielded_before_the_next_one_arrives(self) -> None:
        gate = threading.Event()
        deltas = [{"content": "first "}, {"content": "second"}]
        with FakeOpenAI([FakeReply(deltas=deltas, gate=gate)]) as server:
            stream = model_of(server).stream(ASK)
            assert next(stream) == Delta("first ")
            gate.set()
            assert next(stream) == Delta("second")
            assert isinstance(next(stream), Completion)

    def test_closing_the_stream_closes_the_connection(self) -> None:
        gate = threading.Event()
        deltas = [{"content": f"{n} "} for n in range(5000)]
        with FakeOpenAI([FakeReply(deltas=deltas, gate=gate)]) as server:
            stream = model_of(server).stream(ASK)
            next(stream)
            stream.close()  # type: ignore[attr-defined]
            gate.set()
            assert server.hung_up.wait(60)

    @pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
    def test_reasoning_is_read_under_either_name(self, name: str) -> None:
        assert complete(FakeReply(deltas=[{name: "hm"}, {"content": "a"}])).reasoning == "hm"

    @pytest.mark.parametrize("split", [1, 2, 3, 7])
    def test_characters_split_between_chunks_are_decoded(self, split: int) -> None:
        text = "Größe 首都是巴黎。🗼"
        assert complete(FakeReply(text, split=split)).text == text

    def test_a_reply_without_done_is_complete_after_its_finish_reason(self) -> None:
        assert complete(FakeReply("Paris", done=False)).text == "Paris"

    def test_missing_usage_is_none(self) -> None:
        assert complete(FakeReply("Paris", usage=None)).usage is None

    def test_an_empty_reply_is_a_completion(self) -> None:
        assert complete(FakeReply("")) == Completion("", (), "", "stop", Usage(7, 3))

    def test_a_filtered_reply_has_finish_reason_content_filter(self) -> None:
        assert complete(FakeReply("I", finish_reason="content_filter")).finish_reason == "content_filter"

    def test_threads_can_share_a_model(self) -> None:
        def echo(body: dict[str, Any]) -> FakeReply:
            return FakeReply(body["messages"][-1]["content"] * 20)

        with FakeOpenAI(echo) as server, ThreadPoolExecutor(8) as pool:
            model = model_of(server)
            asked = [Request((Message("user", f"<{n}>"),)) for n in range(40)]
            texts = list(pool.map(lambda request: play(model, request)[1].text, asked))
        assert texts == [f"<{n}>" * 20 for n in range(40)]


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

    @pytest.mark.parametrize(("key", "sent"), [("sk-123", "Bearer sk-123"), ("", None)])
    def test_the_key_is_sent_only_if_it_is_set(self, key: str, sent: str | None) -> None:
        with FakeOpenAI([FakeReply("a")]) as server:
            play(model_of(server, key))
        assert server.authorizations == [sent]

    @pytest.mark.parametrize("slash", ["", "/"])
    def test_a_base_url_may_end_in_a_slash(self, slash: str) -> None:
        with FakeOpenAI([FakeReply("a")]) as server:
            play(OpenAIModel("fake", base_url=server.base_url + slash, api_key=""))

    @pytest.mark.parametrize(
        "url",
        [
            "",
            "localhost:11434",
            "ftp://host/v1",
            "http://",
            "http://host:port/v1",
            "http://a..b/v1",
            "http://user:hunter2@host/v1",
            "http://host/v1?key=hunter2",
            " http://host/v1",
            "http://ho\nst/v1",
        ],
    )
    def test_an_invalid_base_url_is_refused_with_its_setting(self, url: str) -> None:
        with pytest.raises(ConfigError, match="OPENAI_BASE_URL") as caught:
            OpenAIModel("fake", base_url=url, api_key="")
        assert "hunter2" not in "".join(traceback.format_exception(caught.value))

    @pytest.mark.parametrize("key", ["sk-secret123\n", "sk-sécret123", "sk-secret123 x"])
    def test_an_invalid_key_is_refused_without_being_shown(self, key: str) -> None:
        with pytest.raises(ConfigError, match="OPENAI_API_KEY") as caught:
            OpenAIModel("fake", base_url=None, api_key=key)
        assert "cret123" not in "".join(traceback.format_exception(caught.value))


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

    @pytest.mark.parametrize(
        "arguments",
        [
            '{"query": "q',
            '["q"]',
            '"q"',
            "Paris",
            '{"query":"a"}{"query":"b"}',
            '{"n": NaN}',
            '{"query": "\\ud83d"}',
            '{"n": ' + "9" * 5000 + "}",
            "[" * 100_000,
        ],
    )
    def test_arguments_that_are_not_a_json_object_are_reported_and_not_run(self, arguments: str) -> None:
        completion = complete(FakeReply("t", calls=[("search", arguments), ("visit", {"url": "u"})]))
        assert [call.name for call in completion.calls] == ["visit"]
        assert completion.finish_reason.startswith("bad_tool_call:search: the arguments are not ")
        assert arguments[:20] in completion.finish_reason
        assert completion.text == "t"

    def test_a_call_without_a_name_is_reported(self) -> None:
        completion = complete(FakeReply(deltas=[fragment(0, "a", arguments='{"query":"q"}')]))
        assert completion.calls == ()
        assert "names no tool" in completion.finish_reason

    @pytest.mark.parametrize("arguments", ['{"query": "q', ""])
    def test_a_call_truncated_by_the_length_limit_is_dropped(self, arguments: str) -> None:
        completion = complete(
            FakeReply("t", calls=[("visit", {"url": "u"}), ("search", arguments)], finish_reason="length")
        )
        assert [call.name for call in completion.calls] == ["visit"]
        assert completion.finish_reason == "length"

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
            FakeReply("Paris is the capital", end_after=3),
            FakeReply("Paris is the capital", reset_after=3),
            FakeReply("Paris", reset_after=0),
            FakeReply("Paris", reset_after=-1),
            FakeReply("Paris", finish_reason=None),
            FakeReply("Paris", finish_reason=None, done=False, usage=None),
            FakeReply("Paris", finish_reason="abort"),
            FakeReply(calls=[("search", {"query": "q"})], finish_reason=None),
            FakeReply("Paris", error_inside="not an object"),
            FakeReply("Paris", deltas=[{"content": ["not", "text"]}]),
        ],
    )
    def test_a_broken_reply_is_a_retryable_error_and_not_a_completion(self, reply: FakeReply) -> None:
        assert failure([reply]).retryable

    def test_a_silent_server_times_out(self) -> None:
        gate = threading.Event()
        error = failure([FakeReply("Paris", gate=gate)], timeout_s=0.2)
        gate.set()
        assert error.retryable
        assert "timed out" in str(error)

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

    @pytest.mark.parametrize("body", ["<html>Welcome</html>", {"hello": "world"}])
    def test_a_reply_that_is_not_a_stream_is_an_error(self, body: Any) -> None:
        error = failure([FakeReply(body=body)])
        assert not error.retryable
        assert "/v1" in str(error)
        assert "OPENAI_BASE_URL" in str(error)


class TestRefusals:
    @pytest.mark.parametrize(
        ("status", "retryable"),
        [(400, False), (402, False), (408, True), (422, False), (429, True), (500, True), (503, True), (529, True)],
    )
    def test_each_status_is_classified_as_retryable_or_not(self, status: int, retryable: bool) -> None:
        error = failure([FakeReply(status=status, body={"error": {"message": "the reason"}})])
        assert error.retryable is retryable
        assert str(status) in str(error)
        assert "the reason" in str(error)
        assert not error.context_overflow

    def test_a_spent_quota_is_not_retryable(self) -> None:
        body = {"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}}
        assert not failure([FakeReply(status=429, body=body)]).retryable

    @pytest.mark.parametrize(
        ("header", "seconds"),
        [
            ("7", 7.0),
            ("0.5", 0.5),
            ("0", 0.0),
            ("Sat, 21 Nov 2026 10:00:42 GMT", 42.0),
            ("Sun, 22 Nov 2026 10:00:00 GMT", 300.0),
            ("Sat, 21 Nov 2026 09:00:00 GMT", None),
            ("86400", 300.0),
            ("1e400", 300.0),
            ("-5", None),
            ("nan", None),
            ("soon", None),
            ("Sat, 21 Nov 2026 10:00:42 -0000", None),
        ],
    )
    def test_retry_after_is_read_as_seconds_or_a_date_and_capped(self, header: str, seconds: float | None) -> None:
        headers = {"Retry-After": header, "Date": "Sat, 21 Nov 2026 10:00:00 GMT"}
        assert failure([FakeReply(status=429, body={}, headers=headers)]).retry_after_s == seconds

    def test_retry_after_may_be_absent_or_a_date_without_a_date_header(self) -> None:
        assert failure([FakeReply(status=429, body={})]).retry_after_s is None
        headers = {"Retry-After": "Fri, 31 Dec 2100 23:59:59 GMT"}
        assert failure([FakeReply(status=503, body={}, headers=headers)]).retry_after_s == 300.0

    @pytest.mark.parametrize("status", [401, 403])
    def test_a_refused_key_is_reported_with_the_settings(self, status: int) -> None:
        with FakeOpenAI([FakeReply(status=status, body={"error": {"message": "no"}})]) as server:
            with pytest.raises(ProviderError) as caught:
                play(model_of(server, "sk-123456"))
            host = server.base_url.removeprefix("http://").removesuffix("/v1")
        assert not caught.value.retryable
        for part in (host, "OPENAI_API_KEY", "OPENAI_BASE_URL", str(status)):
            assert part in str(caught.value)

    def test_a_key_that_the_server_echoes_is_redacted(self) -> None:
        key = "sk-+Owl/Zebra=~Yak"
        echoes = {form: form for form in (key, quote(key, safe=""), quote(key, safe="").lower(), quote_plus(key))}
        # Cutting this message before it is redacted would leave half of the key.
        echoes["w" * 280 + key] = key
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            for prefix in (b"", b"u:", b"Bearer "):
                first, end = (len(prefix) * 8 + 5) // 6, (len(prefix) + len(key)) * 8 // 6
                echo = encode(prefix + key.encode() + b"!").decode()
                echoes[echo] = echo[first:end]
        replies = [FakeReply(status=400, body={"error": {"message": f"bad: {echo}"}}) for echo in echoes]
        with FakeOpenAI(replies) as server:
            model = model_of(server, key)
            for secret in echoes.values():
                with pytest.raises(ProviderError, match="bad: ") as caught:
                    play(model)
                text = "".join(traceback.format_exception(caught.value))
                assert not [n for n in range(len(secret) - 5) if secret[n : n + 6] in text]

    @pytest.mark.parametrize("status", [401, 403, 404, 413, 429, 500])
    def test_a_key_is_redacted_with_every_status(self, status: int) -> None:
        error = failure([FakeReply(status=status, body={"error": "sk-0123456789"})], api_key="sk-0123456789")
        assert "***" in str(error)
        assert "sk-0123456789" not in "".join(traceback.format_exception(error))

    def test_the_key_in_the_fakes_own_refusal_is_redacted(self) -> None:
        with FakeOpenAI(key="right") as server, pytest.raises(ProviderError, match=r"Bearer \*\*\*") as caught:
            play(model_of(server, "sk-wrong-key"))
        assert "sk-wrong-key" not in str(caught.value)

    def test_a_key_in_plain_text_or_an_event_is_redacted(self) -> None:
        key = "sk-0123456789"
        for reply in (
            FakeReply(status=502, body=f"<html>{key}</html>"),
            FakeReply("a", error_inside={"error": f"by {key}"}),
            FakeReply(body=f"login as {key}"),
        ):
            error = failure([reply], api_key=key)
            assert "***" in str(error)
            assert key not in "".join(traceback.format_exception(error))

    def test_an_unknown_model_is_named(self) -> None:
        with FakeOpenAI(models=["other"]) as server, pytest.raises(ProviderError) as caught:
            play(model_of(server))
        assert not caught.value.retryable
        for part in ("'fake'", server.base_url, "/v1", "OPENAI_BASE_URL"):
            assert part in str(caught.value)

    def test_a_base_url_without_v1_gets_a_hint(self) -> None:
        with FakeOpenAI() as server, pytest.raises(ProviderError, match="end in /v1"):
            play(OpenAIModel("fake", base_url=server.base_url.removesuffix("/v1"), api_key=""))

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

    def test_a_rate_limit_that_mentions_the_context_is_still_a_rate_limit(self) -> None:
        body = {"error": {"message": "too many tokens a minute for this context length"}}
        error = failure([FakeReply(status=429, body=body)])
        assert error.retryable
        assert not error.context_overflow

    @pytest.mark.parametrize("body", [None, "", [], "plain", {"detail": "Not like this"}, {"error": None}, 3])
    def test_an_error_body_may_have_any_shape(self, body: Any) -> None:
        assert failure([FakeReply(status=418, body=body)]).retryable is False

    def test_an_unreachable_server_is_a_retryable_error(self) -> None:
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))  # bound but not listening, so connections are refused
            url = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
            with pytest.raises(ProviderError) as caught:
                play(OpenAIModel("fake", base_url=url, api_key=""))
        assert caught.value.retryable, "the server may start soon, so the error must be retryable"
        assert url in str(caught.value)
        assert "server runs" in str(caught.value)


class TestListing:
    def test_the_servers_models_are_listed(self) -> None:
        with FakeOpenAI(models=["zeta", "alpha"], key="right-key") as server:
            assert model_of(server, "right-key").list_models() == ["alpha", "zeta"]

    def test_a_refused_key_is_reported_with_its_setting(self) -> None:
        with FakeOpenAI(key="right-key") as server, pytest.raises(ProviderError, match="OPENAI_API_KEY"):
            model_of(server, "wrong-key").list_models()

    @pytest.mark.parametrize("body", [{}, {"data": [{}]}, [], "names"])
    def test_an_invalid_model_listing_is_an_error(self, body: Any) -> None:
        with FakeOpenAI(listing=body) as server, pytest.raises(ProviderError):
            model_of(server).list_models()

    def test_a_wrong_path_gets_a_hint(self) -> None:
        with FakeOpenAI() as server, pytest.raises(ProviderError, match="/v1"):
            OpenAIModel("fake", base_url=server.base_url.removesuffix("/v1"), api_key="").list_models()


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
