"""Recorded exchanges keep each provider's wire format fixed.

`conversation-*.json` contain what our clients send, byte for byte, and the streams that the fakes reply with in the
services' documented formats; `UPDATE_CASSETTES=1` rewrites them, so that the change can be reviewed.
`documented-*.json` are streams written by hand from the services' references, with features that the fakes do not use.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from pydantic import TypeAdapter

from research.events.transcript import Interaction
from research.protocols.native import Native
from research.types import Completion, Delta, Message, Model, Observation, RawCall, Request, ToolCall, ToolSpec, Usage
from tests.fake_anthropic import FakeAnthropic
from tests.fake_openai import FakeOpenAI, FakeReply
from tests.served import anthropic_model, openai_model

PLACE = Path(__file__).parents[1] / "data" / "cassettes"
PROVIDERS = ["openai", "anthropic"]

SEARCH = ToolSpec(
    "search", "Searches the library.",
    {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]},
)  # fmt: skip
VISIT = ToolSpec("visit", "Reads a page.", {"type": "object", "properties": {"url": {"type": "string"}}})
HEAD = (Message("system", "You research. Today is 2026-11-21."), Message("user", "Wie groß ist 日本?"))
SCHEMA = {
    "type": "object",
    "properties": {"km2": {"type": "number"}},
    "required": ["km2"],
    "additionalProperties": False,
}
SCRIPT = [
    FakeReply(
        "I look.",
        [("search", {"query": "日本 Größe"}), ("visit", {"url": "library://x"})],
        "Two places.",
        usage=(90, 20),
    ),
    FakeReply("", [("search", {"query": "Japan area", "n": 3})], "The page is gone.", usage=(140, 12), cached=(90, 40)),
    FakeReply("Japan has 377,915 km² [1].", reasoning="That is it.", usage=(200, 15), cached=(130, 0)),
    FakeReply('{"km2": 377915}', usage=(30, 9)),
]


def converse(model: Model) -> list[Completion]:
    """Play a small run in the native protocol: parallel calls, one failing, a hint, a forced end, a schema."""
    protocol = Native()
    tools, history, given = (SEARCH, VISIT), HEAD, []
    results = [["Japan: 377,915 sq km [1]", "no such page"], ["Japan: area 377,915 [1]"]]
    for n, texts in enumerate(results):
        completion = play(
            model, Request(history, protocol.offer(tools), stop=("END",), max_tokens=1000, must_call=n == 0)
        )
        given.append(completion)
        reply = protocol.read(completion, lambda i, n=n: f"main-{n + 1}-{i + 1}", tools)  # type: ignore[misc]
        seen = tuple(
            Observation(call.id, call.name, text, ok="no such" not in text)
            for call, text in zip(reply.calls, texts, strict=True)
        )
        history = (*history, *protocol.turn(Interaction(reply, seen, hint="Do not repeat yourself." if n else "")))
    given.append(play(model, Request((*history, Message("user", "Answer now.")), purpose="conclude")))
    given.append(play(model, Request((Message("user", "Give it as JSON."),), schema=SCHEMA, temperature=0.0)))
    return given


def play(model: Model, request: Request) -> Completion:
    *deltas, last = model.stream(request)
    assert isinstance(last, Completion)
    for kind, whole in (("text", last.text), ("reasoning", last.reasoning)):
        assert "".join(d.text for d in deltas if isinstance(d, Delta) and d.kind == kind) == whole
    return last


def served(provider: str, script: list[FakeReply]) -> FakeOpenAI:
    return FakeAnthropic(script) if provider == "anthropic" else FakeOpenAI(script)


def client(provider: str, server: FakeOpenAI) -> Model:
    if provider == "anthropic":
        return anthropic_model("fake", base_url=server.base_url, api_key="")
    return openai_model("fake", base_url=server.base_url, api_key="", send_reasoning=True)


def exchanges(server: FakeOpenAI, streams: list[str]) -> list[dict[str, Any]]:
    versions = server.versions if isinstance(server, FakeAnthropic) else [None] * len(server.sent)
    return [
        {"path": path, "anthropic-version": version, "body": body.decode(), "stream": stream.splitlines()}
        for path, version, body, stream in zip(server.asked, versions, server.sent, streams, strict=True)
    ]


def load(name: str) -> Any:
    return json.loads((PLACE / f"{name}.json").read_text("utf-8"))


def stream_of(lines: list[str]) -> str:
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("provider", PROVIDERS)
def test_requests_match_the_recorded_conversation_byte_for_byte(provider: str) -> None:
    if os.environ.get("UPDATE_CASSETTES"):
        with served(provider, SCRIPT) as server:
            converse(client(provider, server))
        kept = exchanges(server, [stream.decode() for stream in server.streams])
        text = json.dumps(kept, ensure_ascii=False, indent=1)
        (PLACE / f"conversation-{provider}.json").write_text(text + "\n", "utf-8")
    kept = load(f"conversation-{provider}")
    streams = [stream_of(each["stream"]) for each in kept]
    with _Unsigned(provider, [FakeReply(raw=stream) for stream in streams]) as server:
        given = converse(client(provider, server))
    assert exchanges(server, streams) == kept
    assert [completion.text for completion in given] == [reply.text for reply in SCRIPT]
    assert [completion.reasoning for completion in given] == [reply.reasoning for reply in SCRIPT]
    assert [[call.name for call in completion.calls] for completion in given] == [
        [name for name, _ in reply.calls] for reply in SCRIPT
    ]
    assert [completion.usage for completion in given] == [
        Usage(*reply.usage, cache_read_tokens=reply.cached[0], cache_write_tokens=reply.cached[1])
        for reply in SCRIPT if reply.usage
    ]  # fmt: skip


def _Unsigned(provider: str, script: list[FakeReply]) -> FakeOpenAI:  # noqa: N802 - used like a server class
    """Return a server that accepts the recorded signatures, which another server made."""
    server = served(provider, script)
    if isinstance(server, FakeAnthropic):
        server._signature_problem = lambda body: None  # type: ignore[method-assign]
    return server


@pytest.mark.parametrize("provider", PROVIDERS)
def test_the_fakes_still_write_the_recorded_conversation(provider: str) -> None:
    """Otherwise a cassette could pass although the fakes no longer write its format."""
    with served(provider, SCRIPT) as server:
        converse(client(provider, server))
    assert exchanges(server, [stream.decode() for stream in server.streams]) == load(f"conversation-{provider}")


def test_a_documented_anthropic_stream_is_read_completely() -> None:
    kept = load("documented-anthropic")
    with FakeAnthropic([FakeReply(raw=stream_of(each["stream"])) for each in kept]) as server:
        model = client("anthropic", server)
        thinking, text, redacted = (play(model, Request(HEAD, (SEARCH,))) for _ in kept)
    assert thinking == Completion(
        text="Okay, let me check the weather.",
        calls=(ToolCall("toolu_01T1x1fJ34qAmk2tNTrN7Up6", "get_weather", {"location": "San Francisco, CA", "unit": "fahrenheit"}),),
        reasoning="The user wants the weather.\nI need the tool.",
        finish_reason="tool_calls",
        usage=Usage(2551, 89, cache_read_tokens=2048, cache_write_tokens=31),
        raw_calls=(
            RawCall("toolu_01T1x1fJ34qAmk2tNTrN7Up6", "get_weather", '{"location": "San Francisco, CA", "unit": "fahrenheit"}'),
        ),
        blocks=(
            {"type": "thinking", "thinking": "The user wants the weather.\nI need the tool.",
             "signature": "EqQBCgIYAhIM1gbcDa9GJwZA2b3hGgxBdjrkzLoky3dl1pkiMOYds"},
        ),
    )  # fmt: skip
    assert text == Completion("Hello!", (), "", "stop", Usage(25, 15))
    assert redacted.blocks == (
        {"type": "thinking", "thinking": "", "signature": "EosnCkYICxIMMb3LzNrMu"},
        {"type": "redacted_thinking", "data": "EmwKAhgBEgy3va3pzix/LafPsn4a"},
    )
    assert (redacted.text, redacted.finish_reason) == ("I can't help with that.", "content_filter")


def test_a_documented_openai_stream_is_read_completely() -> None:
    kept = load("documented-openai")
    with FakeOpenAI([FakeReply(raw=stream_of(each["stream"])) for each in kept]) as server:
        model = client("openai", server)
        calls, refusal, reasoning = (play(model, Request(HEAD, (SEARCH,))) for _ in kept)
    paris = '{"location": "Paris"}'
    bogota = '{"location": "Bogotá"}'
    assert calls == Completion(
        calls=(
            ToolCall("call_DdmO9pD3xa9XTPNJ32zg2hcA", "get_weather", {"location": "Paris"}),
            ToolCall("call_kNDBkNDBkNDB0123456789ab", "get_weather", {"location": "Bogotá"}),
        ),
        finish_reason="tool_calls",
        usage=Usage(2006, 300, cache_read_tokens=1920),
        raw_calls=(
            RawCall("call_DdmO9pD3xa9XTPNJ32zg2hcA", "get_weather", paris),
            RawCall("call_kNDBkNDBkNDB0123456789ab", "get_weather", bogota),
        ),
    )
    assert refusal == Completion("I'm sorry, I can't.", (), "", "content_filter", Usage(81, 11))
    assert reasoning == Completion("9.8", (), "9.11 or 9.8?", "stop", Usage(16, 44, cache_read_tokens=0))


@pytest.mark.parametrize("provider", PROVIDERS)
def test_recorded_requests_match_the_types_of_the_providers_sdk(provider: str) -> None:
    """The SDK's types drop unknown fields, so a valid request comes out unchanged."""
    if provider == "anthropic":
        from anthropic.types.message_create_params import MessageCreateParamsStreaming as Params
    else:
        from openai.types.chat.completion_create_params import (  # type: ignore[assignment]
            CompletionCreateParamsStreaming as Params,
        )
    adapter: TypeAdapter[Any] = TypeAdapter(Params)
    for exchange in load(f"conversation-{provider}"):
        body = json.loads(exchange["body"])
        for extra in _beyond(provider, body):
            extra()
        assert _plain(adapter.validate_python(body)) == body


def _beyond(provider: str, body: dict[str, Any]) -> Iterator[Any]:
    """Yield functions that remove what we send on purpose although the SDK's newest types lack it."""
    if provider == "anthropic":  # an older version of the API, which we request by header
        yield lambda: body.pop("temperature", None)
    for message in body["messages"]:  # an extension by DeepSeek
        yield lambda message=message: message.pop("reasoning_content", None)


def _plain(value: Any) -> Any:
    """Return the value with lists in place of Pydantic's lazy iterables."""
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, str) or not isinstance(value, Iterable):
        return value
    return [_plain(each) for each in value]


def test_a_wrong_request_does_not_match_the_sdks_types() -> None:
    from anthropic.types.message_create_params import MessageCreateParamsStreaming

    body = json.loads(load("conversation-anthropic")[1]["body"])
    body["messages"][1]["content"][-1]["arguments"] = "{}"
    # Pydantic validates the iterables only when they are read, and needs the adapter for it.
    adapter: TypeAdapter[Any] = TypeAdapter(MessageCreateParamsStreaming)
    assert _plain(adapter.validate_python(msgspec.json.decode(json.dumps(body)))) != body
