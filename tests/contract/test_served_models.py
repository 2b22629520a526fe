"""The clients of model services against fakes of them: streams, calls, keys, faults and listings, the same for each."""

from __future__ import annotations

import base64
import json
import socket
import threading
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, quote_plus

import pytest

from research.errors import ConfigError, ProviderError
from research.models.client import ServedModel
from research.types import Completion, Delta, Message, Request, Usage
from tests.fake_anthropic import FakeAnthropic, error_body
from tests.fake_openai import FakeOpenAI, FakeReply
from tests.served import anthropic_model, openai_model

ASK = Request((Message("user", "What is the capital of France?"),))
KEY = "sk-0123456789"


def openai_body(status: int, message: str) -> Any:
    return {"error": {"message": message}}


@dataclass(frozen=True)
class Service:
    """A service: its fake, our client, and how it writes what the tests need."""

    name: str
    fake: type[FakeOpenAI]
    client: Callable[..., ServedModel]
    body: Callable[[int, str], Any]
    """An error body with this status and message."""
    spent: Any
    """The error body of an account without credit."""
    cut: str
    """Finish reason of a reply that was cut at its length limit."""
    opening: int
    """Events up to and including the first delta of text."""

    def model(self, server: FakeOpenAI, key: str = "", **options: Any) -> ServedModel:
        return self.client("fake", base_url=server.base_url, api_key=key, **options)

    def play(self, *replies: FakeReply, **options: Any) -> Completion:
        """Return the completion of the last of these replies."""
        with self.fake(replies) as server:
            model = self.model(server, **options)
            return [completed(model) for _ in replies][-1]

    def failure(self, *replies: FakeReply, **options: Any) -> ProviderError:
        """Return the error of one request, which may follow deltas but not a completion."""
        seen: list[Delta | Completion] = []
        with self.fake(replies) as server, pytest.raises(ProviderError) as caught:
            seen.extend(self.model(server, **options).stream(ASK))
        assert not [item for item in seen if isinstance(item, Completion)]
        return caught.value

    def refusal(self, status: int, message: str, **more: Any) -> FakeReply:
        return FakeReply(status=status, body=self.body(status, message), **more)


SPENT = error_body(429, "spent")
SPENT["error"]["details"] = {"error_code": "enforced_spend_limit_reached"}
SERVICES = [
    Service(
        "OPENAI", FakeOpenAI, openai_model, openai_body, cut="length", opening=2,
        spent={"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}},
    ),
    Service("ANTHROPIC", FakeAnthropic, anthropic_model, error_body, cut="max_tokens", opening=4, spent=SPENT),
]  # fmt: skip
each_service = pytest.mark.parametrize("service", SERVICES, ids=lambda service: service.name.lower())


def completed(model: ServedModel, request: Request = ASK) -> Completion:
    *_, last = model.stream(request)
    assert isinstance(last, Completion)
    return last


def shown(error: BaseException) -> str:
    """Return everything that a log may contain of the error."""
    return "".join(traceback.format_exception(error))


@each_service
class TestReplies:
    def test_text_and_reasoning_are_streamed_then_completed_with_usage(self, service: Service) -> None:
        with service.fake([FakeReply("Paris, of course.", reasoning="In France.", cached=(2, 1))]) as server:
            *deltas, last = service.model(server).stream(ASK)
        assert isinstance(last, Completion)
        for kind, whole in (("text", "Paris, of course."), ("reasoning", "In France.")):
            pieces = [delta.text for delta in deltas if isinstance(delta, Delta) and delta.kind == kind]
            assert len(pieces) > 1
            assert "".join(pieces) == whole == getattr(last, kind)
        assert (last.calls, last.finish_reason) == ((), "stop")
        assert last.usage == Usage(7, 3, cache_read_tokens=2, cache_write_tokens=1)

    def test_a_delta_is_yielded_before_the_next_one_arrives(self, service: Service) -> None:
        gate = threading.Event()
        with service.fake([FakeReply("first second", gate=gate, gate_after=service.opening)]) as server:
            stream = service.model(server).stream(ASK)
            assert next(stream) == Delta("firs")
            gate.set()
            assert next(stream) == Delta("t se")

    @pytest.mark.parametrize("split", [1, 2, 3, 7])
    def test_characters_split_between_chunks_are_decoded(self, service: Service, split: int) -> None:
        text = "Größe 首都是巴黎。🗼"
        assert service.play(FakeReply(text, split=split)).text == text

    def test_a_reply_without_its_last_event_is_complete_after_its_finish_reason(self, service: Service) -> None:
        assert service.play(FakeReply("Paris", done=False)).text == "Paris"

    def test_missing_usage_is_none(self, service: Service) -> None:
        assert service.play(FakeReply("Paris", usage=None)).usage is None

    def test_an_empty_reply_is_a_completion(self, service: Service) -> None:
        assert service.play(FakeReply("")) == Completion("", (), "", "stop", Usage(7, 3))

    def test_parallel_calls_are_read_in_order(self, service: Service) -> None:
        completion = service.play(FakeReply("I look.", calls=[("search", {"query": "Größe"}), ("list_files", {})]))
        assert (completion.text, completion.finish_reason) == ("I look.", "tool_calls")
        assert [(call.name, call.arguments) for call in completion.calls] == [
            ("search", {"query": "Größe"}),
            ("list_files", {}),
        ]
        assert len({call.id for call in completion.calls}) == 2
        assert [json.loads(raw.arguments) for raw in completion.raw_calls] == [{"query": "Größe"}, {}]

    @pytest.mark.examples(6)
    @pytest.mark.parametrize(
        "arguments",
        [
            '{"query": "q', '["q"]', '"q"', "Paris", '{"query":"a"}{"query":"b"}', '{"n": NaN}', '{"query": "\\ud83d"}',
            '{"n": ' + "9" * 5000 + "}", "[" * 90_000,
        ],
    )  # fmt: skip
    def test_arguments_that_are_not_a_json_object_are_reported_and_not_run(
        self, service: Service, arguments: str
    ) -> None:
        completion = service.play(FakeReply("t", calls=[("search", arguments), ("visit", {"url": "u"})]))
        assert [call.name for call in completion.calls] == ["visit"]
        assert completion.finish_reason.startswith("bad_tool_call:search: the arguments are not ")
        assert arguments[:20] in completion.finish_reason
        assert completion.raw_calls[0].arguments == arguments
        assert completion.text == "t"

    @pytest.mark.parametrize("arguments", ['{"query": "q', ""])
    def test_a_call_truncated_by_the_length_limit_is_dropped(self, service: Service, arguments: str) -> None:
        calls = [("visit", {"url": "u"}), ("search", arguments)]
        completion = service.play(FakeReply("t", calls=calls, finish_reason=service.cut))
        assert [call.name for call in completion.calls] == ["visit"]
        assert completion.finish_reason == "length"


@each_service
class TestSettings:
    @pytest.mark.parametrize(("key", "sent"), [("sk-123", "sk-123"), ("", None)])
    def test_the_key_is_sent_only_if_it_is_set(self, service: Service, key: str, sent: str | None) -> None:
        with service.fake([FakeReply("a")]) as server:
            completed(service.model(server, key))
        assert [each and each.removeprefix("Bearer ") for each in server.authorizations] == [sent]

    def test_a_base_url_may_end_in_a_slash(self, service: Service) -> None:
        with service.fake([FakeReply("a")]) as server:
            model = service.client("fake", base_url=f"{server.base_url}/", api_key="")
            assert completed(model).text == "a"
        assert server.asked == [service.fake.paths[0]]

    @pytest.mark.parametrize("slip", [" ", "\n", "/", "PATH", "PATH/", " /v1 "])
    def test_what_users_copy_with_an_address_is_left_out(self, service: Service, slip: str) -> None:
        with service.fake([FakeReply("a")]) as server:
            root = server.base_url.removesuffix("/v1")
            path = service.fake.paths[0]
            address = f"{root}{path}{slip[4:]}" if slip.startswith("PATH") else f"{server.base_url}{slip}"
            if slip == " /v1 ":
                address = f" {root}/v1 "
            assert completed(service.client("fake", base_url=address, api_key="")).text == "a"

    @pytest.mark.parametrize(
        "url",
        [
            "", "localhost:11434", "ftp://host/v1", "http://", "http://host:port/v1", "http://a..b/v1",
            "http://user:hunter2@host/v1", "http://host/v1?key=hunter2", "http://ho\nst/v1",
        ],
    )  # fmt: skip
    def test_an_invalid_base_url_is_refused_with_its_setting(self, service: Service, url: str) -> None:
        with pytest.raises(ConfigError, match=f"{service.name}_BASE_URL") as caught:
            service.client("fake", base_url=url, api_key="")
        assert "hunter2" not in shown(caught.value)

    @pytest.mark.parametrize("key", ["sk-secret123\n", "sk-sécret123", "sk-secret123 x", '"sk-secret123"'])
    def test_an_invalid_key_is_refused_without_being_shown(self, service: Service, key: str) -> None:
        with pytest.raises(ConfigError, match=f"{service.name}_API_KEY") as caught:
            service.client("fake", base_url=None, api_key=key)
        assert "cret123" not in shown(caught.value)


@each_service
class TestFaults:
    @pytest.mark.parametrize(
        "reply",
        [
            FakeReply("Paris is the capital", end_after=4),
            FakeReply("Paris is the capital", reset_after=4),
            FakeReply("Paris", reset_after=0),
            FakeReply("Paris", reset_after=-1),
            FakeReply("Paris", finish_reason=None),
            FakeReply("Paris", finish_reason=None, done=False, usage=None),
            FakeReply(calls=[("search", {"query": "q"})], finish_reason=None),
        ],
    )
    def test_a_broken_reply_is_a_retryable_error_and_not_a_completion(self, service: Service, reply: FakeReply) -> None:
        assert service.failure(reply).retryable

    def test_a_silent_server_times_out(self, service: Service) -> None:
        gate = threading.Event()
        error = service.failure(FakeReply("Paris", gate=gate), timeout_s=0.2)
        gate.set()
        assert error.retryable
        assert "timed out" in str(error)

    @pytest.mark.parametrize("body", ["<html>Welcome</html>", {"hello": "world"}])
    def test_a_reply_that_is_not_a_stream_is_an_error(self, service: Service, body: Any) -> None:
        error = service.failure(FakeReply(body=body))
        assert not error.retryable
        assert f"{service.name}_BASE_URL" in str(error)

    @pytest.mark.parametrize(
        ("status", "retryable"),
        [
            (400, False), (402, False), (408, True), (422, False), (429, True), (500, True), (503, True), (504, True),
            (529, True),
        ],
    )  # fmt: skip
    def test_each_status_is_classified_as_retryable_or_not(
        self, service: Service, status: int, retryable: bool
    ) -> None:
        error = service.failure(service.refusal(status, "the reason"))
        assert (error.retryable, error.context_overflow) == (retryable, False)
        assert str(status) in str(error)
        assert "the reason" in str(error)

    def test_an_account_without_credit_is_not_retryable(self, service: Service) -> None:
        assert not service.failure(FakeReply(status=429, body=service.spent)).retryable

    @pytest.mark.parametrize(
        ("header", "seconds"),
        [
            ("7", 7.0), ("0.5", 0.5), ("0", 0.0), ("Sat, 21 Nov 2026 10:00:42 GMT", 42.0),
            ("Sun, 22 Nov 2026 10:00:00 GMT", 300.0), ("Sat, 21 Nov 2026 09:00:00 GMT", None), ("86400", 300.0),
            ("1e400", 300.0), ("-5", None), ("nan", None), ("soon", None), ("Sat, 21 Nov 2026 10:00:42 -0000", None),
        ],
    )  # fmt: skip
    def test_retry_after_is_read_as_seconds_or_a_date_and_capped(
        self, service: Service, header: str, seconds: float | None
    ) -> None:
        headers = {"Retry-After": header, "Date": "Sat, 21 Nov 2026 10:00:00 GMT"}
        assert service.failure(service.refusal(429, "slow down", headers=headers)).retry_after_s == seconds

    def test_retry_after_may_be_absent_or_a_date_without_a_date_header(self, service: Service) -> None:
        assert service.failure(service.refusal(429, "slow down")).retry_after_s is None
        headers = {"Retry-After": "Fri, 31 Dec 2100 23:59:59 GMT"}
        assert service.failure(service.refusal(503, "busy", headers=headers)).retry_after_s == 300.0

    def test_a_rate_limit_that_mentions_the_context_is_still_a_rate_limit(self, service: Service) -> None:
        error = service.failure(service.refusal(429, "too many tokens a minute for this context length"))
        assert (error.retryable, error.context_overflow) == (True, False)

    @pytest.mark.parametrize("body", [None, "", [], "plain", {"detail": "Not like this"}, {"error": None}, 3])
    def test_an_error_body_may_have_any_shape(self, service: Service, body: Any) -> None:
        assert service.failure(FakeReply(status=418, body=body)).retryable is False

    def test_an_unreachable_server_is_a_retryable_error(self, service: Service) -> None:
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))  # bound but not listening, so connections are refused
            url = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
            with pytest.raises(ProviderError) as caught:
                completed(service.client("fake", base_url=url, api_key=""))
        assert caught.value.retryable, "the server may start soon, so the error must be retryable"
        assert url.removesuffix("/v1") in str(caught.value)
        assert "server runs" in str(caught.value)

    def test_an_unknown_model_is_named(self, service: Service) -> None:
        with service.fake(models=["other"]) as server, pytest.raises(ProviderError) as caught:
            completed(service.model(server))
        assert not caught.value.retryable
        for part in ("'fake'", server.base_url, f"{service.name}_BASE_URL"):
            assert part in str(caught.value)


@each_service
class TestKeys:
    @pytest.mark.parametrize("status", [401, 403])
    def test_a_refused_key_is_reported_with_the_settings(self, service: Service, status: int) -> None:
        with service.fake([service.refusal(status, "no")]) as server, pytest.raises(ProviderError) as caught:
            completed(service.model(server, KEY))
        assert not caught.value.retryable
        host = server.base_url.removeprefix("http://").removesuffix("/v1")
        for part in (host, f"{service.name}_API_KEY", f"{service.name}_BASE_URL", str(status)):
            assert part in str(caught.value)

    def test_a_key_that_the_server_echoes_is_redacted(self, service: Service) -> None:
        key = "sk-+Owl/Zebra=~Yak"
        echoes = {form: form for form in (key, quote(key, safe=""), quote(key, safe="").lower(), quote_plus(key))}
        # Cutting this message before it is redacted would leave half of the key.
        echoes["w" * 280 + key] = key
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            for prefix in (b"", b"u:", b"Bearer "):
                first, end = (len(prefix) * 8 + 5) // 6, (len(prefix) + len(key)) * 8 // 6
                echo = encode(prefix + key.encode() + b"!").decode()
                echoes[echo] = echo[first:end]
        replies: Sequence[FakeReply] = [
            *(service.refusal(400, f"bad: {echo}") for echo in echoes),
            *(FakeReply("a", error_inside=service.body(500, f"bad: {echo}")) for echo in echoes),
        ]
        with service.fake(replies) as server:
            model = service.model(server, key)
            for secret in [*echoes.values(), *echoes.values()]:
                with pytest.raises(ProviderError, match="bad: ") as caught:
                    completed(model)
                text = shown(caught.value)
                assert not [n for n in range(len(secret) - 5) if secret[n : n + 6] in text]

    @pytest.mark.parametrize("status", [401, 403, 404, 413, 429, 500])
    def test_a_key_is_redacted_with_every_status(self, service: Service, status: int) -> None:
        error = service.failure(FakeReply(status=status, body={"error": KEY}), key=KEY)
        assert "***" in str(error)
        assert KEY not in shown(error)

    @pytest.mark.parametrize(
        "reply",
        [FakeReply(status=502, body=f"<html>{KEY}</html>"), FakeReply(body=f"login as {KEY}")],
    )
    def test_a_key_in_plain_text_is_redacted(self, service: Service, reply: FakeReply) -> None:
        error = service.failure(reply, key=KEY)
        assert "***" in str(error)
        assert KEY not in shown(error)

    def test_the_key_in_the_fakes_own_refusal_is_redacted(self, service: Service) -> None:
        with service.fake(key="right") as server, pytest.raises(ProviderError, match=r"\*\*\*") as caught:
            completed(service.model(server, KEY))
        assert KEY not in shown(caught.value)


@each_service
class TestListing:
    def test_the_servers_models_are_listed(self, service: Service) -> None:
        with service.fake(models=["zeta", "alpha"], key="right-key") as server:
            assert service.model(server, "right-key").list_models() == ["alpha", "zeta"]  # type: ignore[attr-defined]

    def test_a_refused_key_is_reported_with_its_setting(self, service: Service) -> None:
        with service.fake(key="right-key") as server, pytest.raises(ProviderError, match=f"{service.name}_API_KEY"):
            service.model(server, "wrong-key").list_models()  # type: ignore[attr-defined]

    @pytest.mark.parametrize("body", [{}, {"data": [{}]}, [7], "names"])
    def test_an_invalid_model_listing_is_an_error(self, service: Service, body: Any) -> None:
        class Listing(service.fake):  # type: ignore[misc, name-defined]
            def listed(self, query: str) -> Any:
                return body

        with Listing() as server, pytest.raises(ProviderError):
            service.model(server).list_models()  # type: ignore[attr-defined]
