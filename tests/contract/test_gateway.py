"""`gateway`: the official SDKs, unmodified, through it to fake providers, and the runs that it records of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anthropic
import httpx2
import openai
import pytest

from research.errors import ConfigError
from research.events.events import Asked, Forwarded, Replied, Returned, ToolFinished, ToolStarted, Withdrawn
from research.events.view import fold
from research.servers.gateway_app import Options, listening
from tests.conformance.servers import Behaviour, Responses
from tests.fake_anthropic import FakeAnthropic
from tests.fake_openai import Body, FakeOpenAI, FakeReply
from tests.gateway import TOOL, Sent, digest, serving
from tests.workers import LONG_S, until

KEY, CALLERS = "sk-endpoint-1234567890abcdef", "sk-caller-fedcba0987654321"
QUESTION = "How many people live in Japan?"
PAGE = json.dumps([{"url": "https://example.org/japan", "title": "Japan", "content": "Japan has 123 million people."}])
REPORT = "Japan has 123 million people [1].\n\n[1] https://example.org/japan"


def replies(body: Body) -> FakeReply:
    """Call a tool first, and answer when its result is there."""
    said = json.dumps(body)
    return FakeReply(REPORT) if "123 million" in said else FakeReply("I search.", [("search", {"query": "japan"})])


def settings(monkeypatch: pytest.MonkeyPatch, kind: str, url: str) -> None:
    monkeypatch.setenv(f"{kind.upper()}_BASE_URL", url)
    monkeypatch.setenv(f"{kind.upper()}_API_KEY", KEY)


class Chat:
    """An agent on chat completions."""

    kind = "openai"
    prompt = 7

    def __init__(self, url: str, sent: Sent, *, stream: bool) -> None:
        http = openai.DefaultHttpxClient(event_hooks={"request": [sent]})
        self.client = openai.OpenAI(base_url=f"{url}/v1", api_key=CALLERS, http_client=http, max_retries=0)
        self.stream = stream

    @staticmethod
    def provider(script: Any) -> FakeOpenAI:
        return FakeOpenAI(script, key=KEY)

    def research(self) -> str:
        messages: list[Any] = [{"role": "user", "content": QUESTION}]
        while True:
            text, calls = self.ask(messages)
            if not calls:
                return text
            messages.append({"role": "assistant", "content": text, "tool_calls": calls})
            messages += [{"role": "tool", "tool_call_id": call["id"], "content": PAGE} for call in calls]

    def ask(self, messages: list[Any]) -> tuple[str, list[Any]]:
        tools: Any = [{"type": "function", "function": TOOL}]
        if not self.stream:
            message = (
                self.client.chat.completions.create(model="fake", messages=messages, tools=tools).choices[0].message
            )
            return message.content or "", [call.model_dump() for call in message.tool_calls or ()]
        with self.client.chat.completions.stream(model="fake", messages=messages, tools=tools) as stream:
            said = stream.get_final_completion().choices[0].message
        calls = [
            {"id": c.id, "type": "function", "function": {"name": c.function.name, "arguments": c.function.arguments}}
            for c in said.tool_calls or ()
        ]
        return said.content or "", calls


class Messages:
    """An agent on Anthropic's messages."""

    kind = "anthropic"
    prompt = 7

    def __init__(self, url: str, sent: Sent, *, stream: bool) -> None:
        http = anthropic.DefaultHttpxClient(event_hooks={"request": [sent]})
        self.client = anthropic.Anthropic(base_url=url, api_key=CALLERS, http_client=http, max_retries=0)
        self.stream = stream

    @staticmethod
    def provider(script: Any) -> FakeAnthropic:
        return FakeAnthropic(script, key=KEY)

    def research(self) -> str:
        messages: list[Any] = [{"role": "user", "content": [{"type": "text", "text": QUESTION}]}]
        tool: Any = {"name": "search", "description": "Search.", "input_schema": TOOL["parameters"]}
        while True:
            given: dict[str, Any] = {"model": "fake", "max_tokens": 100, "messages": messages, "tools": [tool]}
            if self.stream:
                with self.client.messages.stream(**given) as stream:
                    message = stream.get_final_message()
            else:
                message = self.client.messages.create(**given)
            calls = [block for block in message.content if block.type == "tool_use"]
            if not calls:
                return "".join(block.text for block in message.content if block.type == "text")
            messages.append(
                {"role": "assistant", "content": [b.model_dump(exclude_none=True) for b in message.content]}
            )
            results = [{"type": "tool_result", "tool_use_id": call.id, "content": PAGE} for call in calls]
            messages.append({"role": "user", "content": results})


class Items:
    """An agent on OpenAI's responses."""

    kind = "openai"
    prompt = 9

    def __init__(self, url: str, sent: Sent, *, stream: bool) -> None:
        http = openai.DefaultHttpxClient(event_hooks={"request": [sent]})
        self.client = openai.OpenAI(base_url=f"{url}/v1", api_key=CALLERS, http_client=http, max_retries=0)
        self.stream = stream

    @staticmethod
    def provider(script: Any) -> Responses:
        server = Responses(script, key=KEY)
        server.play(Behaviour(id="-", service="openai", what=""))
        return server

    def research(self) -> str:
        items: list[Any] = [{"role": "user", "content": QUESTION}]
        tool: Any = {"type": "function", "strict": False, **TOOL}
        while True:
            given: dict[str, Any] = {"model": "fake", "input": items, "tools": [tool], "store": False}
            given["include"] = ["reasoning.encrypted_content"]
            if self.stream:
                events = list(self.client.responses.create(stream=True, **given))
                output = [event.item for event in events if event.type == "response.output_item.done"]
            else:
                output = self.client.responses.create(**given).output
            calls = [item for item in output if item.type == "function_call"]
            if not calls:
                return "".join(part.text for item in output if item.type == "message" for part in item.content)
            items += [item.model_dump(exclude_none=True, exclude={"id"}) for item in output]
            items += [{"type": "function_call_output", "call_id": call.call_id, "output": PAGE} for call in calls]


AGENTS = [Chat, Messages, Items]


@pytest.mark.examples(1)
@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
@pytest.mark.parametrize("agent", AGENTS)
def test_an_agent_becomes_a_run_that_replays_without_its_provider(
    agent: Any, stream: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = Sent()
    with agent.provider(replies) as provider:
        settings(monkeypatch, agent.kind, provider.base_url)
        with serving(tmp_path) as gateway:
            assert agent(gateway.url, sent, stream=stream).research() == REPORT
        assert [digest(each) for each in provider.sent] == sent.hashes, "each body arrives byte for byte"
        assert all(CALLERS not in json.dumps(each) for each in provider.headers)
        asked = len(provider.sent)

        (run_id,) = gateway.runs()
        events = gateway.events(run_id)
        view = fold(events)
        assert (view.question, view.status, view.outcome) == (QUESTION, "completed", "answered")
        assert view.round_count() == 2
        assert [(call.call.name, call.call.arguments) for each in view.rounds for call in each.calls] == [
            ("search", {"query": "japan"})
        ]
        assert [call.observation.text for each in view.rounds for call in each.calls if call.observation] == [PAGE]
        assert [(each.status, each.quote) for each in view.citations] == [
            ("supported", "Japan has 123 million people.")
        ]
        assert [source.url for source in view.cited_sources] == ["https://example.org/japan"]
        assert (view.prompt_tokens, view.completion_tokens) == (2 * agent.prompt, 6)
        forwarded = [event.sha256 for event in events if isinstance(event, Forwarded)]
        assert forwarded == sent.hashes
        for path in tmp_path.rglob("*"):
            if path.is_file():
                data = path.read_bytes()
                assert CALLERS.encode() not in data and KEY.encode() not in data, path

        with serving(tmp_path, endpoint=f"recorded:{run_id}") as gateway:
            assert agent(gateway.url, Sent(), stream=stream).research() == REPORT
        assert len(provider.sent) == asked, "no request reaches the provider"
    first, second = (bodies(gateway.events(run_id)) for run_id in gateway.runs())
    assert first == second


def bodies(events: Any) -> list[bytes]:
    return [event.body for event in events if isinstance(event, Returned)]


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A provider whose agent searches once, at the address of the endpoint `openai`."""
    with FakeOpenAI(replies, key=KEY, models=("fake", "other")) as server:
        settings(monkeypatch, "openai", server.base_url)
        yield server


def body(**fields: Any) -> bytes:
    return json.dumps({"model": "fake", "messages": [{"role": "user", "content": QUESTION}], **fields}).encode()


def post(url: str, content: bytes, path: str = "/v1/chat/completions", **headers: str) -> httpx2.Response:
    given = {"content-type": "application/json", **{name.replace("_", "-"): value for name, value in headers.items()}}
    return httpx2.post(f"{url}{path}", content=content, headers=given, timeout=LONG_S)


@pytest.mark.parametrize("fields", [{}, {"stream": True}], ids=["plain", "streamed"])
def test_the_answer_comes_back_byte_for_byte(provider: FakeOpenAI, tmp_path: Path, fields: Body) -> None:
    direct = httpx2.post(
        f"{provider.base_url}/chat/completions", content=body(**fields), headers={"authorization": f"Bearer {KEY}"}
    )
    with serving(tmp_path) as gateway:
        through = post(gateway.url, body(**fields))
    assert through.content == direct.content
    assert through.headers["content-type"] == direct.headers["content-type"]
    (run_id,) = gateway.runs()
    assert bodies(gateway.events(run_id)) == [direct.content]


def test_a_changed_request_fails_and_says_what_differs(provider: FakeOpenAI, tmp_path: Path) -> None:
    with serving(tmp_path) as gateway:
        post(gateway.url, body(temperature=0.5))
    (run_id,) = gateway.runs()
    with serving(tmp_path) as gateway:
        path = f"/endpoints/recorded:{run_id}/v1/chat/completions"
        changed = json.dumps(
            {"model": "fake", "messages": [{"role": "user", "content": "And in China?"}], "temperature": 0.7}
        ).encode()
        refused = post(gateway.url, changed, path)
        with pytest.raises(openai.UnprocessableEntityError, match="temperature: recorded 0.5, sent 0.7"):
            client = openai.OpenAI(base_url=f"{gateway.url}/endpoints/recorded:{run_id}/v1", api_key="x")
            client.chat.completions.create(
                model="fake", messages=[{"role": "user", "content": QUESTION}], temperature=0.7
            )
        assert post(gateway.url, body(temperature=0.5), path).status_code == 200
    assert refused.status_code == 422
    message = refused.json()["error"]["message"]
    assert 'messages[0].content: recorded "How many people live in Japan?", sent "And in China?"' in message
    assert len(provider.sent) == 1


def test_url_or_model_names_the_endpoint(provider: FakeOpenAI, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeOpenAI(replies, models=("deep",)) as other:
        monkeypatch.setenv("WORKBENCH_ENDPOINTS", json.dumps({"lab": {"url": other.base_url, "key": "lab-key-123456"}}))
        with serving(tmp_path) as gateway:
            by_url = post(gateway.url, body(model="deep"), "/endpoints/lab/v1/chat/completions")
            text = '{ "messages":[{"role":"user","content":"\\u00e4 \\"model\\": \\"x\\""}],  "model" : "lab:deep" }'
            by_model = post(gateway.url, text.encode())
            unknown = post(gateway.url, body(), "/endpoints/nowhere/v1/chat/completions")
    assert (by_url.status_code, by_model.status_code) == (200, 200)
    assert other.sent == [body(model="deep"), text.replace("lab:deep", "deep").encode()], (
        "only the model's name changes"
    )
    assert other.authorizations == ["Bearer lab-key-123456"] * 2, "each endpoint gets its own key only"
    assert unknown.status_code == 400 and "nowhere" in unknown.json()["error"]["message"]
    assert provider.sent == []


def test_runs_are_told_apart(provider: FakeOpenAI, tmp_path: Path) -> None:
    """The same script twice is two runs; a name in the address or a header puts conversations into one."""
    with serving(tmp_path) as gateway:
        for _ in range(2):
            Chat(gateway.url, Sent(), stream=False).research()
        Chat(f"{gateway.url}/runs/mine", Sent(), stream=False).research()
        post(gateway.url, body(temperature=0.1), x_research_run="mine")
        bad = post(gateway.url, body(), "/runs/a.b/v1/chat/completions")
    assert bad.status_code == 400 and "letters" in bad.json()["error"]["message"]
    unnamed, second, mine = (fold(gateway.events(run_id)) for run_id in gateway.runs())
    assert [unnamed.round_count("main"), second.round_count("main"), mine.round_count("main")] == [2, 2, 2]
    assert mine.run == "mine"
    assert mine.agents == ["main", "main/conversation-2"]


def test_a_conversation_whose_start_was_dropped_is_recognised_by_its_calls(
    provider: FakeOpenAI, tmp_path: Path
) -> None:
    call = {"id": "fake_0", "type": "function", "function": {"name": "search", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "(shortened)"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "fake_0", "content": PAGE},
    ]
    with serving(tmp_path) as gateway:
        post(gateway.url, body())
        post(gateway.url, body(messages=messages))
    (run_id,) = gateway.runs()
    assert fold(gateway.events(run_id)).round_count() == 2


def test_results_written_as_a_message_of_the_user_are_observations(provider: FakeOpenAI, tmp_path: Path) -> None:
    """So smolagents sends them, with the call as text before."""
    messages = [
        {"role": "user", "content": QUESTION},
        {"role": "assistant", "content": "Calling tools: search"},
        {"role": "user", "content": f"Observation:\n{PAGE}"},
    ]
    with serving(tmp_path) as gateway:
        post(gateway.url, body())
        post(gateway.url, body(messages=messages))
    (run_id,) = gateway.runs()
    view = fold(gateway.events(run_id))
    assert [call.observation and call.observation.text for each in view.rounds for call in each.calls] == [
        f"Observation:\n{PAGE}"
    ]
    assert [(each.n, "123 million people" in each.quote) for each in view.citations] == [(1, True)]


def test_an_error_is_passed_on_without_the_key_and_its_retry_is_the_same_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = [FakeReply(status=429, headers={"Retry-After": "0"}, body={"error": {"message": f"slow down {KEY}"}})]
    with FakeOpenAI([*script, FakeReply("Paris")], key=KEY) as provider:
        settings(monkeypatch, "openai", provider.base_url)
        with serving(tmp_path) as gateway:
            refused = post(gateway.url, body())
            client = openai.OpenAI(base_url=f"{gateway.url}/v1", api_key="x", max_retries=1)
            answer = client.chat.completions.create(model="fake", messages=[{"role": "user", "content": QUESTION}])
    assert (refused.status_code, refused.headers.get("retry-after")) == (429, "0"), refused.text
    assert refused.json()["error"]["message"] == "slow down ***"
    assert answer.choices[0].message.content == "Paris"
    (run_id,) = gateway.runs()
    events = gateway.events(run_id)
    assert [event.ask for event in events if isinstance(event, Asked)] == [1, 1]
    assert [event.error for event in events if isinstance(event, Withdrawn)] == [
        'openai answered 429: {"error": {"message": "slow down ***"}}'
    ]


def test_a_provider_that_is_away_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeOpenAI() as gone:
        settings(monkeypatch, "openai", gone.base_url)
    with serving(tmp_path) as gateway:
        refused = post(gateway.url, body())
    assert refused.status_code == 502
    assert "cannot reach" in refused.json()["error"]["message"]


@pytest.mark.parametrize(
    ("content", "path", "status", "words"),
    [
        (b"{", "/v1/chat/completions", 400, "not JSON"),
        (b"[]", "/v1/chat/completions", 400, "model"),
        (b'{"model": "fake", "messages": 3}', "/v1/chat/completions", 400, "list of messages"),
        (body(), "/v1/completions", 404, "POST /v1/chat/completions"),
    ],
)
def test_a_request_that_is_none_is_refused_by_name(
    content: bytes, path: str, status: int, words: str, provider: FakeOpenAI, tmp_path: Path
) -> None:
    with serving(tmp_path) as gateway:
        refused = post(gateway.url, content, path)
    assert refused.status_code == status and words in refused.json()["error"]["message"]
    assert gateway.runs() == [] and provider.sent == []


def test_models_are_listed_without_a_run(provider: FakeOpenAI, tmp_path: Path) -> None:
    with serving(tmp_path) as gateway:
        client = openai.OpenAI(base_url=f"{gateway.url}/v1", api_key="x")
        assert [model.id for model in client.models.list()] == ["fake", "other"]
    assert gateway.runs() == []


def test_only_this_machine_and_holders_of_the_token_are_served(provider: FakeOpenAI, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="WORKBENCH_GATEWAY_TOKEN"):
        listening(Options(host="0.0.0.0", port=0))
    with serving(tmp_path, token="a-token-of-32-characters") as gateway:
        refused = post(gateway.url, body(), authorization="Bearer wrong")
        accepted = post(gateway.url, body(), authorization="Bearer a-token-of-32-characters")
    with serving(tmp_path) as gateway:
        elsewhere = post(gateway.url, body(), host="attacker.example")
        page = post(gateway.url, body(), origin="https://attacker.example")
    assert [refused.status_code, accepted.status_code, elsewhere.status_code, page.status_code] == [401, 200, 403, 403]
    assert len(provider.sent) == 1


def test_an_answer_that_nobody_took_is_given_to_the_retry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The agent hangs up before the answer arrives; its retry gets it, and the provider is asked once."""
    import threading

    gate = threading.Event()
    with FakeOpenAI([FakeReply("Paris", gate=gate)], key=KEY) as provider:
        settings(monkeypatch, "openai", provider.base_url)
        with serving(tmp_path) as gateway:
            with httpx2.stream("POST", f"{gateway.url}/v1/chat/completions", content=body(stream=True)) as response:
                assert next(response.iter_raw())
            gate.set()
            retried = post(gateway.url, body(stream=True), x_stainless_retry_count="1")
    assert retried.content == provider.streams[0]
    assert len(provider.sent) == 1
    (run_id,) = gateway.runs()
    assert [event.reply.text for event in gateway.events(run_id) if isinstance(event, Replied)] == ["Paris"]


def test_a_restarted_gateway_goes_on_with_its_runs(provider: FakeOpenAI, tmp_path: Path) -> None:
    with serving(tmp_path) as gateway:
        first = post(gateway.url, body()).json()["choices"][0]["message"]
    (run_id,) = gateway.runs()
    assert fold(gateway.events(run_id)).status == "paused", "the agent still owes the result of its call"
    with serving(tmp_path) as gateway:
        result = {"role": "tool", "tool_call_id": "fake_0", "content": PAGE}
        post(gateway.url, body(messages=[{"role": "user", "content": QUESTION}, first, result]))
    assert gateway.runs() == [run_id]
    view = fold(gateway.events(run_id))
    assert (view.status, view.round_count(), view.outcome) == ("completed", 2, "answered")


def test_a_run_can_be_ended_by_a_request_and_its_name_begins_another(provider: FakeOpenAI, tmp_path: Path) -> None:
    with serving(tmp_path) as gateway:
        Chat(f"{gateway.url}/runs/trip", Sent(), stream=False).research()
        ended = httpx2.post(f"{gateway.url}/runs/trip/end", timeout=LONG_S).json()
        again = httpx2.post(f"{gateway.url}/runs/trip/end", timeout=LONG_S)
        post(gateway.url, body(), "/runs/trip/v1/chat/completions")
    assert ended == {"run_id": "trip", "status": "completed", "outcome": "answered", "answer": REPORT}
    assert again.status_code == 409
    assert gateway.runs() == ["trip", "trip-2"]


def test_a_user_can_stop_a_recorded_run(provider: FakeOpenAI, tmp_path: Path) -> None:
    with serving(tmp_path) as gateway:
        post(gateway.url, body())
        until(gateway.runs)
        (run_id,) = gateway.runs()
        gateway.bench.engine.stop(run_id)
        until(lambda: gateway.bench.store.run(run_id).status == "stopped")
    assert fold(gateway.events(run_id)).outcome == "stopped"


def test_a_recorded_run_stands_beside_ours_in_a_comparison(provider: FakeOpenAI, tmp_path: Path) -> None:
    from research.compare.numbers import differences
    from research.compare.starting import compare_saved

    with serving(tmp_path) as gateway:
        Chat(f"{gateway.url}/runs/theirs", Sent(), stream=False).research()
    import research

    ours = research.run(QUESTION, workbench=gateway.bench, model="openai:fake", tools=(), search=())
    comparison = compare_saved(gateway.bench, ["theirs", ours.run])
    assert comparison.runs == ("theirs", ours.run)
    views = [fold(gateway.events(run_id)) for run_id in comparison.runs]
    assert differences(views) == (), "the same question, and the same budget"


def test_the_events_of_a_call_are_in_order(provider: FakeOpenAI, tmp_path: Path) -> None:
    with serving(tmp_path) as gateway:
        Chat(gateway.url, Sent(), stream=False).research()
    (run_id,) = gateway.runs()
    kinds = (Asked, Forwarded, Returned, Replied, ToolStarted, ToolFinished)
    events = gateway.events(run_id)
    assert [event.seq for event in events] == list(range(len(events)))
    assert [type(event).__name__ for event in events if isinstance(event, kinds)] == (
        "Asked Forwarded Returned Replied ToolStarted ToolFinished Asked Forwarded Returned Replied".split()
    )
