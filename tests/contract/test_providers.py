"""What every model provider does, whether it is ours or from another package, through the protocol that a run uses."""

from __future__ import annotations

import json
import threading
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from research import plugins
from research.citations import source_text
from research.config.settings import load
from research.errors import ConfigError, ProviderError
from research.events.events import Event, Replied, RunStarted
from research.events.recipe import Recipe
from research.events.transcript import Interaction
from research.models.traits import Priced
from research.protocols import choose
from research.store import RunRow
from research.types import (
    Completion,
    Delta,
    Message,
    Model,
    Observation,
    Reply,
    Request,
    Source,
    ToolCall,
    ToolSpec,
    Usage,
)
from research.workbench.workbench import Workbench
from tests.fake_anthropic import FakeAnthropic, error_body
from tests.fake_openai import FakeOpenAI, FakeReply
from tests.smollm import model_file
from tests.workers import LONG_S

KEY = "sk-canary-0123456789"
QUESTION = "How many people live in Japan?"
HEAD = (Message("system", "You are a research assistant."), Message("user", QUESTION))
ASK = Request(HEAD, purpose="conclude", temperature=0.0, max_tokens=8)
FOUND = source_text(
    Source(1, "library://factbook/japan/people-and-society", "Japan · People and Society", "Population: 123,201,945")
)


class Case:
    """One provider: how the tests open its model, and what is particular to it.

    The base is the offline model, which needs no settings and cannot fail.
    """

    kind = "extractive"
    name = "extractive"
    tool = ToolSpec(
        "search", "Search for documents.",
        {"type": "object", "properties": {"query": {"type": "string", "maxLength": 40}}, "required": ["query"]},
    )  # fmt: skip
    plays_lines = False
    """Whether the tests decide its replies; otherwise these follow from the request alone."""
    estimated = True
    """Whether the provider estimates its usage."""
    cost: float | None = 0.0
    """The price of a call in US dollars."""
    invalid: tuple[str, str] | None = None
    """A name that cannot be opened, and words of the error."""
    faults: tuple[str, ...] = ()

    @contextmanager
    def opened(self, home: Path, *lines: str) -> Iterator[Model]:
        """Open the model; `lines` say how it replies to each request: `call`, `long`, a fault, or a text."""
        yield Workbench(load(home=home)).model(self.name)

    def failing(self, fault: str) -> Request:
        """Return a request that meets the fault."""
        return ASK

    def wait_for_end(self) -> None:
        """Wait until the provider has noticed that a stream was closed."""

    def __str__(self) -> str:
        return self.kind


class Parrot(Case):
    """The model of the plug-in package."""

    kind, name, estimated = "parrot", "parrot:x", False
    tool = ToolSpec("dice", "Throw a die.", {"type": "object", "properties": {}})


class Gguf(Case):
    """A small but real language model in this process."""

    kind, name, estimated = "gguf", f"gguf:{model_file()}", False
    invalid = ("gguf:", "name a model file")
    faults = ("too long",)

    @contextmanager
    def opened(self, home: Path, *lines: str) -> Iterator[Model]:
        yield Workbench(load(home=home, gguf_context=2048)).model(self.name)

    def failing(self, fault: str) -> Request:
        return Request((Message("user", "hello " * 3000),))

    def wait_for_end(self) -> None:
        for thread in threading.enumerate():
            if thread.name == "gguf":
                thread.join(LONG_S)
                assert not thread.is_alive()


class Scripted(Case):
    kind, plays_lines = "scripted", True
    invalid = ("scripted:/nowhere.jsonl", "/nowhere.jsonl cannot be read")
    faults = ("rate limit", "server error", "broken off", "used up")

    @contextmanager
    def opened(self, home: Path, *lines: str) -> Iterator[Model]:
        script = home / "script.jsonl"
        script.write_text("\n".join(json.dumps(self._line(each)) for each in lines), "utf-8")
        yield Workbench(load(home=home)).model(f"scripted:{script}")

    def _line(self, line: str) -> dict[str, Any]:
        match line:
            case "call":
                return {"text": "I look it up.", "calls": [{"name": "search", "arguments": {"query": "Japan"}}]}
            case "long":
                return {"text": "word " * 2_000}
            case "rate limit" | "server error" | "broken off":
                error = {"rate limit": "429", "server error": "500", "broken off": "truncated"}[line]
                return {"text": "half a reply", "error": error}
            case "used up":
                return {"text": "for another purpose", "purpose": "plan"}
        return {"text": line}


class Recorded(Case):
    kind, plays_lines = "recorded", True
    invalid = ("recorded:nothing", "nothing")
    faults = ("used up",)

    @contextmanager
    def opened(self, home: Path, *lines: str) -> Iterator[Model]:
        bench = Workbench(load(home=home))
        events: list[Event] = [RunStarted(run="r", seq=0, time=1.0, question=QUESTION, recipe=Recipe())]
        for n, line in enumerate(lines, 1):
            calls = (ToolCall("c", "search", {"query": "Japan"}),) if line == "call" else ()
            purpose = {"call": "act", "used up": "plan"}.get(line, "conclude")
            text = "word " * 2_000 if line == "long" else line
            reply = Reply(text, calls=calls)
            events.append(
                Replied(run="r", seq=n, time=1.0, ask=n, purpose=purpose, reply=reply, usage=Usage(), seconds=0.5)
            )
        bench.store.create(RunRow("r", QUESTION, Recipe()))
        bench.store.append(events)
        yield bench.model("recorded:r")


class Served(Case):
    """A service behind HTTP; the errors of its fake repeat the key."""

    plays_lines, estimated, cost = True, False, None
    faults = ("rate limit", "server error", "broken off", "refused", "too long")
    fake: type[FakeOpenAI]
    body: Callable[[int, str], Any]

    @contextmanager
    def opened(self, home: Path, *lines: str) -> Iterator[Model]:
        self.gate = threading.Event()
        with self.fake([self._reply(line) for line in lines], key=KEY) as self.server:
            settings = {f"{self.kind}_base_url": self.server.base_url, f"{self.kind}_api_key": KEY}
            yield Workbench(load(home=home, **settings)).model(f"{self.kind}:fake")

    def _reply(self, line: str) -> FakeReply:
        said = f"{line} of {KEY}"
        match line:
            case "call":
                return FakeReply("I look it up.", calls=[("search", {"query": "Japan"})], reasoning="Where?")
            case "long":
                return FakeReply("word " * 2_000, gate=self.gate, gate_after=4)
            case "rate limit":
                return FakeReply(status=429, headers={"Retry-After": "7"}, body=type(self).body(429, said))
            case "server error":
                return FakeReply(status=500, body=type(self).body(500, said))
            case "refused":
                return FakeReply(status=400, body=type(self).body(400, said))
            case "too long":
                said = f"prompt is too long: 9 tokens > 8 maximum context length of {KEY}"
                return FakeReply(status=400, body=type(self).body(400, said))
            case "broken off":
                return FakeReply("half a reply", error_inside=type(self).body(500, said))
        return FakeReply(line)

    def wait_for_end(self) -> None:
        self.gate.set()
        assert self.server.hung_up.wait(LONG_S)


class OpenAI(Served):
    kind, fake = "openai", FakeOpenAI
    invalid = ("openai:", "name a model")

    @staticmethod
    def body(status: int, message: str) -> Any:
        return {"error": {"message": message, "type": "server_error" if status >= 500 else "invalid_request_error"}}


class Anthropic(Served):
    kind, fake, body = "anthropic", FakeAnthropic, staticmethod(error_body)
    invalid = ("anthropic:", "name a model")


CASES = [OpenAI(), Anthropic(), Gguf(), Case(), Scripted(), Recorded(), Parrot()]
every = pytest.mark.parametrize(
    "case", [pytest.param(each, id=str(each), marks=pytest.mark.slow if each.kind == "gguf" else ()) for each in CASES]
)


pytestmark = pytest.mark.usefixtures("parrot")


def play(model: Model, request: Request = ASK) -> Completion:
    """Return the completion of one request, and check what holds for every stream."""
    *deltas, last = model.stream(request)
    assert isinstance(last, Completion)
    joined = {"text": "", "reasoning": ""}
    for delta in deltas:
        assert isinstance(delta, Delta)
        joined[delta.kind] += delta.text
    assert joined == {"text": last.text, "reasoning": last.reasoning}
    return last


def test_every_provider_has_a_case() -> None:
    assert sorted(case.kind for case in CASES) == plugins.provider.names()


@every
def test_a_model_calls_a_tool_and_answers_from_its_result(case: Case, tmp_path: Path) -> None:
    with case.opened(tmp_path, "call", "<answer>Japan has 123,201,945 people [1].</answer>") as model:
        assert model.name.partition(":")[0] == case.kind
        protocol = choose("auto", model)
        system = f"You are a research assistant. Tools:\n{protocol.instructions((case.tool,), 'en')}"
        head = (Message("system", system), HEAD[1])
        asked = Request(head, protocol.offer((case.tool,)), stop=protocol.stop, temperature=0.0, must_call=True)
        reply = protocol.read(play(model, asked), lambda index: f"main-1-{index}", (case.tool,))
        (call,) = reply.calls
        assert (call.name, reply.errors) == (case.tool.name, ())
        jsonschema.validate(call.arguments, case.tool.parameters)
        turn = protocol.turn(Interaction(reply, (Observation(call.id, call.name, FOUND),)))
        last = Message("user", "Answer now.")
        answered = play(model, Request((*head, *turn, last), purpose="conclude", temperature=0.0))
    assert protocol.read(answered, str, ()).answer
    assert answered.calls == ()


@every
def test_usage_and_cost_are_reported(case: Case, tmp_path: Path) -> None:
    with case.opened(tmp_path, "Japan has 123,201,945 people.") as model:
        usage = play(model).usage
        assert usage is not None
        assert usage.prompt_tokens > 0
        assert usage.completion_tokens > 0
        assert usage.cache_read_tokens + usage.cache_write_tokens <= usage.prompt_tokens
        assert usage.estimated is case.estimated
        assert isinstance(model, Priced)
        assert model.price(usage) == case.cost
        assert usage.cost_usd in (None, case.cost)  # optional: `price` says it, too


@every
def test_closing_the_stream_ends_the_request_and_the_model_replies_to_the_next(case: Case, tmp_path: Path) -> None:
    with case.opened(tmp_path, "long", "Japan has 123,201,945 people.") as model:
        counting = Message("user", "Count from 1 to 5000.")
        stream = model.stream(Request((HEAD[0], counting), purpose="conclude", temperature=0.0, max_tokens=1500))
        assert isinstance(next(stream), Delta)
        stream.close()  # type: ignore[attr-defined]
        case.wait_for_end()
        assert play(model).text


@pytest.mark.examples(2)
@every
def test_threads_can_share_a_model(case: Case, tmp_path: Path) -> None:
    lines = [f"Reply {n}." for n in range(20)]
    with case.opened(tmp_path, *lines) as model, ThreadPoolExecutor(4) as pool:
        texts = list(pool.map(lambda _: play(model).text, lines))
    assert sorted(texts) == sorted(lines if case.plays_lines else texts[:1] * 20)


RETRYABLE = ("rate limit", "server error", "broken off")


@pytest.mark.parametrize(
    ("case", "fault"), [(case, fault) for case in CASES for fault in case.faults], ids=lambda each: str(each)
)
def test_a_fault_is_a_provider_error_that_says_whether_to_retry_and_not_the_key(
    case: Case, fault: str, tmp_path: Path
) -> None:
    seen: list[Delta | Completion] = []
    with case.opened(tmp_path, fault) as model, pytest.raises(ProviderError) as caught:
        seen.extend(model.stream(case.failing(fault)))
    error = caught.value
    assert [item for item in seen if isinstance(item, Completion)] == [], "part of a reply counts as a reply"
    assert bool(seen) == (fault == "broken off")
    assert (error.retryable, error.context_overflow) == (fault in RETRYABLE, fault == "too long")
    assert (error.retry_after_s is not None) == (fault == "rate limit")
    assert str(error)
    assert KEY not in "".join(traceback.format_exception(error))


@pytest.mark.parametrize("case", [case for case in CASES if case.invalid], ids=str)
def test_a_name_that_cannot_be_opened_is_a_config_error_that_says_why(case: Case, tmp_path: Path) -> None:
    assert case.invalid is not None
    name, said = case.invalid
    with pytest.raises(ConfigError, match=said):
        Workbench(load(home=tmp_path)).model(name)


@pytest.mark.parametrize(
    ("name", "setting"), [("openai:gpt-5-mini", "openai"), ("anthropic:claude-sonnet-4-5", "anthropic")]
)
def test_a_hosted_model_needs_a_key_and_has_a_price_only_at_its_own_address(
    name: str, setting: str, tmp_path: Path
) -> None:
    usage = Usage(1_000_000, 1_000_000)
    with pytest.raises(ConfigError, match=f"{setting.upper()}_API_KEY"):
        Workbench(load(home=tmp_path)).model(name)
    prices = []
    for given in ({f"{setting}_api_key": KEY}, {f"{setting}_base_url": "http://localhost:1"}):
        model = Workbench(load(home=tmp_path, **given)).model(name)
        assert isinstance(model, Priced)
        prices.append(model.price(usage))
    known, unknown = prices
    assert known is not None
    assert known > 0
    assert unknown is None
