"""The official SDKs carry the requests: sign-in and addresses of each kind of endpoint, and nothing of the environment."""

from __future__ import annotations

import base64
import json
import struct
import subprocess
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from research.errors import ConfigError, ProviderError
from research.models import aws_frames
from research.models.endpoint import Endpoint, Prices
from research.models.served import model_of
from research.models.traits import Priced
from research.types import Completion, Message, Request, ToolSpec, Usage
from tests.fake_anthropic import FakeAnthropic
from tests.fake_openai import Body, FakeOpenAI, FakeReply

ASK = Request((Message("system", "Be brief."), Message("user", "What is the capital of France?")))
TOOL = ToolSpec("search", "Search.", {"type": "object", "properties": {"query": {"type": "string"}}})
KEY = "sk-0123456789abcdefghijklmn"
ROOT = Path(__file__).parents[2]


def reply_of(endpoint: Endpoint, request: Request = ASK, model: str = "fake") -> Completion:
    *_, last = model_of(endpoint, model).stream(request)
    assert isinstance(last, Completion)
    return last


def endpoint(kind: Any, base_url: str, **fields: Any) -> Endpoint:
    return Endpoint(name="mine", kind=kind, base_url=base_url, **{"key": SecretStr(KEY), **fields})


@pytest.fixture
def crowded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set what the SDKs read from the environment when nobody stops them."""
    given = {
        "OPENAI_API_KEY": "sk-other", "OPENAI_ADMIN_KEY": "sk-admin", "OPENAI_ORG_ID": "org-other",
        "OPENAI_PROJECT_ID": "project-other", "OPENAI_BASE_URL": "http://127.0.0.1:9/other",
        "OPENAI_CUSTOM_HEADERS": "X-Other: yes\nAuthorization: Bearer sk-other",
        "ANTHROPIC_API_KEY": "sk-other", "ANTHROPIC_AUTH_TOKEN": "sk-other",
        "ANTHROPIC_BASE_URL": "http://127.0.0.1:9/other", "ANTHROPIC_CUSTOM_HEADERS": "X-Other: yes",
    }  # fmt: skip
    for name, value in given.items():
        monkeypatch.setenv(name, value)


@pytest.mark.usefixtures("crowded")
@pytest.mark.parametrize("key", [KEY, ""])
@pytest.mark.parametrize(("kind", "fake"), [("openai", FakeOpenAI), ("anthropic", FakeAnthropic)])
def test_nothing_of_the_environment_is_sent(kind: str, fake: type[FakeOpenAI], key: str) -> None:
    with fake([FakeReply("Paris")]) as server:
        given = endpoint(kind, server.base_url, key=SecretStr(key) if key else None, headers={"X-Mine": "1"})
        assert reply_of(given).text == "Paris"
    (headers,) = server.headers
    sent = {name.lower(): value for name, value in headers.items()}
    assert sent.get("authorization") == (f"Bearer {key}" if key else None)
    assert sent["x-mine"] == "1"
    assert not {"x-other", "openai-organization", "openai-project"} & set(sent)
    assert "other" not in str(sent)
    assert not any(name.startswith("x-stainless") for name in sent), "it describes this machine"


def test_a_request_is_sent_once_because_the_run_retries() -> None:
    busy = FakeReply(
        status=429, headers={"Retry-After-Ms": "1500", "Retry-After": "9"}, body={"error": {"message": "x"}}
    )
    with FakeOpenAI([busy] * 3) as server, pytest.raises(ProviderError) as caught:
        reply_of(endpoint("openai", server.base_url))
    assert (len(server.requests), caught.value.retryable, caught.value.retry_after_s) == (1, True, 1.5)


def test_a_service_that_forbids_a_retry_is_not_asked_again() -> None:
    busy = FakeReply(status=500, headers={"x-should-retry": "false"}, body={"error": {"message": "x"}})
    with FakeOpenAI([busy]) as server, pytest.raises(ProviderError) as caught:
        reply_of(endpoint("openai", server.base_url))
    assert not caught.value.retryable


class FakeAzure(FakeOpenAI):
    paths = ("/openai/deployments/my-gpt/chat/completions", "/openai/v1/chat/completions")


def test_azure_takes_a_deployment_in_the_path_and_its_own_header() -> None:
    with FakeAzure([FakeReply("Paris")] * 2, models=["my-gpt"]) as server:
        root = server.base_url.removesuffix("/v1")
        assert reply_of(endpoint("azure", root, api_version="2025-01-01"), model="my-gpt").text == "Paris"
        assert reply_of(endpoint("azure", f"{root}/openai/v1"), model="my-gpt").text == "Paris"
    assert server.asked == [
        "/openai/deployments/my-gpt/chat/completions?api-version=2025-01-01",
        "/openai/v1/chat/completions",
    ]
    assert [headers["api-key"] for headers in server.headers] == [KEY, KEY]


class FakeBedrock(FakeAnthropic):
    """Bedrock: the model is in the path, the version in the body, and the stream consists of binary frames."""

    paths = ("/model/fake/invoke-with-response-stream",)
    binary = "application/vnd.amazon.eventstream"

    @property
    def stream_type(self) -> str:
        return self.binary

    def refused(self, headers: Any) -> FakeReply | None:
        self.authorizations.append(headers.get("Authorization"))
        return None

    def refused_body(self, body: Body, headers: Any) -> FakeReply | None:
        extra = {"model", "stream"} & set(body)
        if extra or not body.get("anthropic_version"):
            return self.error(400, f"malformed: {sorted(extra)} {body.get('anthropic_version')}")
        return None

    def is_streamed(self, body: Body) -> bool:
        return True

    def frames(self, reply: FakeReply, body: Body) -> Iterator[bytes]:
        for event in self._stream_of(reply, {"model": "fake", **body}):
            data = base64.b64encode(json.dumps(event).encode()).decode()
            kind = "exception" if event["type"] == "error" else "event"
            names = {":message-type": kind, f":{kind}-type": "throttlingException" if kind == "exception" else "chunk"}
            yield frame(names, {"message": event["error"]["message"]} if kind == "exception" else {"bytes": data})


def frame(headers: dict[str, str], payload: Body) -> bytes:
    """Return a message of AWS's event stream."""
    head = b"".join(
        bytes([len(name)]) + name.encode() + b"\x07" + struct.pack(">H", len(value)) + value.encode()
        for name, value in headers.items()
    )
    body = json.dumps(payload).encode()
    start = struct.pack(">II", len(head) + len(body) + 16, len(head))
    start += struct.pack(">I", zlib.crc32(start))
    whole = start + head + body
    return whole + struct.pack(">I", zlib.crc32(whole))


@pytest.mark.parametrize("split", [None, 7])
def test_bedrock_is_read_from_binary_frames(split: int | None) -> None:
    call = FakeReply("", [("search", {"query": "France"})], split=split)
    with FakeBedrock([call]) as server:
        given = endpoint("bedrock", server.base_url, region="eu-west-1")
        done = reply_of(given, Request(ASK.messages, tools=(TOOL,)))
    assert [(each.name, each.arguments) for each in done.calls] == [("search", {"query": "France"})]
    assert server.authorizations == [f"Bearer {KEY}"]


def test_an_error_inside_a_frame_is_the_error_of_its_kind() -> None:
    event = {"type": "error", "error": {"message": "Too many requests"}}
    with FakeBedrock([FakeReply("Pa", error_inside=event)]) as server, pytest.raises(ProviderError) as caught:
        reply_of(endpoint("bedrock", server.base_url, region="eu-west-1"))
    assert caught.value.retryable
    assert "429: Too many requests" in str(caught.value)


@pytest.mark.parametrize("at", [2, 9, 30, -1])
def test_a_damaged_frame_is_an_error_that_can_be_tried_again(at: int) -> None:
    whole = bytearray(frame({":message-type": "event", ":event-type": "chunk"}, {"bytes": "e30="}))
    assert list(aws_frames.events(iter([bytes(whole)] * 2))) == ["{}", "{}"]
    whole[at] ^= 1
    with pytest.raises(ProviderError, match="damaged") as caught:
        list(aws_frames.events(iter([bytes(whole)])))
    assert caught.value.retryable


class FakeVertex(FakeAnthropic):
    paths = ("/projects/p1/locations/europe-west1/publishers/anthropic/models/fake:streamRawPredict",)

    def refused(self, headers: Any) -> FakeReply | None:
        self.authorizations.append(headers.get("Authorization"))
        return None

    def refused_body(self, body: Body, headers: Any) -> FakeReply | None:
        if "model" in body or not body.get("anthropic_version"):
            return self.error(400, f"malformed: {sorted(body)}")
        body["model"] = "fake"
        return None


def test_vertex_takes_project_region_and_model_in_the_path() -> None:
    with FakeVertex([FakeReply("Paris")]) as server:
        given = endpoint("vertex", server.base_url, region="europe-west1", project="p1")
        assert reply_of(given).text == "Paris"
    assert server.authorizations == [f"Bearer {KEY}"]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"kind": "azure"}, "needs its address"),
        ({"kind": "bedrock"}, "needs a region"),
        ({"kind": "vertex", "region": "eu"}, "needs the id of a Google project"),
    ],
)
def test_what_an_endpoint_lacks_is_named(fields: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        model_of(Endpoint(name="mine", key=SecretStr(KEY), **fields), "fake")


def test_an_endpoints_own_prices_and_name_are_used() -> None:
    given = endpoint("openai", "http://127.0.0.1:9/v1", prices=Prices(input=1, output=4, cache_read=0.5))
    model = model_of(given, "fake")
    assert model.name == "mine:fake"
    assert isinstance(model, Priced)
    assert model.price(Usage(3_000_000, 1_000_000, cache_read_tokens=1_000_000)) == 2 + 0.5 + 4


PROBE = """
import sys, json
from research.cli.main import main
try:
    main({arguments})
except SystemExit:
    pass
found = [name in sys.modules for name in ("openai", "anthropic")]
print("LOADED", json.dumps(found))
"""


@pytest.mark.examples(1)
@pytest.mark.parametrize(
    ("arguments", "loaded"),
    [
        (["--help"], [False, False]),
        (["run", "What is the life expectancy in Japan?", "--model", "extractive"], [False, False]),
        (["run", "Hi", "--model", "openai:fake"], [True, False]),
    ],
)
def test_an_sdk_is_imported_only_for_a_model_of_its_own(home: Path, arguments: list[str], loaded: list[bool]) -> None:
    with FakeOpenAI(lambda body: FakeReply("Hello.")) as server:
        env = {"OPENAI_BASE_URL": server.base_url, "WORKBENCH_HOME": str(home), "PATH": "/usr/bin:/bin"}
        done = subprocess.run(
            [sys.executable, "-c", PROBE.format(arguments=arguments)], cwd=ROOT, env=env, capture_output=True, text=True,
            check=False,
        )  # fmt: skip
    assert f"LOADED {json.dumps(loaded)}" in done.stdout, done.stderr
