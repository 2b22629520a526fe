"""Ollama's own API: the context that a run needs is asked for, and a prompt that was cut is noticed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from research.agent.journal import Journal
from research.config.named_endpoints import Entry
from research.config.settings import load
from research.errors import ProviderError
from research.events.events import Asked, Event, Rejected, Warned
from research.events.view import fold
from research.models import ollama, tokens
from research.types import Completion, Delta, Message, Request, ToolCall, ToolSpec, Usage
from research.workbench import detect, diagnostics, endpoint_registry, model_trial
from research.workbench.workbench import Workbench
from tests.fake_ollama import FakeOllama, Said
from tests.fake_openai import FakeOpenAI, FakeReply
from tests.player import ANSWER, QUESTION

SEARCH = ToolSpec("search", "Search.", {"type": "object", "properties": {"query": {"type": "string"}}})


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    """Forget what earlier tests asked for: another server may have the same port."""
    ollama._asked_context.clear()
    yield


def opened(server: FakeOllama, home: Path, **fields: Any) -> Workbench:
    settings = endpoint_registry.add(load(home=home), "ollama", Entry(url=server.url, **fields))
    return Workbench(settings)


def ask(bench: Workbench, text: str = "Hello", **fields: Any) -> Completion:
    *_, last = bench.model("ollama:qwen3:8b").stream(Request((Message("user", text),), **fields))
    assert isinstance(last, Completion)
    return last


def words(count: int) -> str:
    """A text of about that many tokens, in the fake's count and in ours."""
    return "some " * (count - 20)


# What is sent and read


def test_a_reply_is_read_with_thinking_calls_and_usage(tmp_path: Path) -> None:
    said = Said("Let me see.", [("search", {"query": "Japan"}), ("search", {"query": "日本"})], "Hm, thinking.")
    with FakeOllama([said]) as server:
        bench = opened(server, tmp_path)
        pieces = list(bench.model("ollama:qwen3:8b").stream(Request((Message("user", "Hello"),), (SEARCH,))))
    *deltas, whole = pieces
    assert isinstance(whole, Completion)
    assert "".join(d.text for d in deltas if isinstance(d, Delta) and d.kind == "text") == whole.text == "Let me see."
    assert whole.reasoning == "Hm, thinking."
    assert [call.arguments for call in whole.calls] == [{"query": "Japan"}, {"query": "日本"}]
    assert len({call.id for call in whole.calls}) == 2 and whole.usage is not None and whole.usage.prompt_tokens > 0


def test_the_history_is_sent_as_ollama_expects_it(tmp_path: Path) -> None:
    call = ToolCall("c1", "search", {"query": "x"})
    history = (
        Message("user", "Hello"),
        Message("assistant", "", (call,), reasoning="Hm."),
        Message("tool", "Found.", call_id="c1"),
    )
    with FakeOllama([Said("Fine.")]) as server:
        list(opened(server, tmp_path).model("ollama:qwen3:8b").stream(Request(history, (SEARCH,), temperature=0.5)))
        (body,) = server.chats
    assert body["messages"][1]["tool_calls"][0]["function"] == {"name": "search", "arguments": {"query": "x"}}
    assert body["messages"][1]["thinking"] == "Hm." and body["messages"][2]["tool_name"] == "search"
    assert body["options"]["temperature"] == 0.5 and body["tools"][0]["function"]["name"] == "search"


def test_an_address_of_the_compatible_api_means_the_same_server(tmp_path: Path) -> None:
    with FakeOllama([Said("Fine.")]) as server:
        settings = endpoint_registry.add(load(home=tmp_path), "mine", Entry(kind="ollama", url=f"{server.url}/v1"))
        bench = Workbench(settings)
        assert bench.model("mine:qwen3:8b").list_models() == ["qwen3:8b"]  # type: ignore[attr-defined]
        assert diagnostics.connect(bench, "mine:qwen3:8b", ask=True).state == "ok"


# The context


def test_the_context_that_a_prompt_needs_is_asked_for_and_seldom_changed(tmp_path: Path) -> None:
    with FakeOllama([Said("Fine.")] * 5) as server:
        bench = opened(server, tmp_path)
        for size in (100, 3000, 9000, 2000, 20_000):
            ask(bench, words(size))
        assert [body["options"]["num_ctx"] for body in server.chats] == [8192, 8192, 16_384, 16_384, 32_768]
        assert server.loads == [8192, 16_384, 32_768]
        assert all(body["truncate"] is False for body in server.chats)


def test_a_larger_context_that_is_loaded_or_set_in_the_models_file_is_kept(tmp_path: Path) -> None:
    with FakeOllama([Said("Fine.")], loads=[32_768]) as server:
        ask(opened(server, tmp_path / "one"))
        assert server.loads == [32_768]
    with FakeOllama([Said("Fine.")], parameters='stop "<end>"\nnum_ctx                        16384') as server:
        ask(opened(server, tmp_path / "two"))
        assert server.loads == [16_384]


def test_no_more_is_asked_for_than_the_model_or_the_endpoint_allows(tmp_path: Path) -> None:
    with FakeOllama([Said("Fine.")] * 2, trained=10_000) as server:
        bench = opened(server, tmp_path / "one")
        assert bench.model("ollama:qwen3:8b").window == 10_000  # type: ignore[attr-defined]
        ask(bench, words(6000))
        assert server.loads == [10_000]
        with pytest.raises(ProviderError, match="its context 10,000") as caught:
            ask(bench, words(12_000))
        assert caught.value.context_overflow and len(server.chats) == 1
    with FakeOllama([Said("Fine.")]) as server:
        bench = opened(server, tmp_path / "two", context=6000)
        ask(bench, words(3000))
        assert server.loads == [6000]


def test_a_server_that_gives_less_than_asked_for_is_noticed_with_what_is_missing(tmp_path: Path) -> None:
    with FakeOllama([Said("Fine.")], deaf=True) as server:
        with pytest.raises(ProviderError, match=r"OLLAMA_CONTEXT_LENGTH=16384") as caught:
            ask(opened(server, tmp_path), words(9000))
        assert caught.value.context_overflow and "4,096 of about" in str(caught.value)
    with FakeOllama([Said("Fine.")], deaf=True, modern=True) as server:
        with pytest.raises(ProviderError, match="exceeds the context length") as caught:
            ask(opened(server, tmp_path / "modern"), words(9000))
        assert caught.value.context_overflow


def test_a_run_drops_its_oldest_observations_instead_of_losing_its_question(home: Path) -> None:
    """On a server that gives too little, the run fits its prompt into what there is, or says that it cannot."""

    def reply(body: dict[str, Any]) -> Said:
        assert any(QUESTION in message["content"] for message in body["messages"])
        topics = ["coal exports", "border countries", "railways", "life expectancy", "election results", "rivers"]
        done = len(server.chats) - 1
        return (
            Said(calls=[("search", {"query": topics[done]})]) if topics[done:] else Said(f"<answer>{ANSWER}</answer>")
        )

    with FakeOllama(reply, trained=3500) as server:
        bench = opened(server, home)
        run = bench.engine.start(QUESTION, bench.recipe(model="ollama:qwen3:8b", tools=["search"]), here=True)
        shown = [event.rounds_shown for event in run.events() if isinstance(event, Asked)]
        assert bench.store.run(run.run_id).status == "completed"
        assert server.loads == [3500] and server.cut == 0
        assert shown[-1] < 6


def run_on(home: Path, reads: Callable[[int], int], laps: int = 9) -> list[Event]:
    """Return the events of a run whose server reports that it reads so many tokens of each prompt."""
    from dataclasses import replace

    from tests.player import Player

    class Counting(Player):
        def __call__(self, body: Any) -> FakeReply:
            sent = sum(tokens.count(message["content"] or "", "old:fake") for message in body["messages"])
            return replace(super().__call__(body), usage=(reads(sent), 3))

    with FakeOpenAI(Counting("native", laps=laps)) as server:
        bench = Workbench(endpoint_registry.add(load(home=home), "old", Entry(url=server.base_url)))
        run = bench.engine.start(QUESTION, bench.recipe(model="old:fake", tools=["search"]), here=True)
        return list(run.events())


def test_a_prompt_that_any_server_cuts_is_sent_again_shorter_and_the_report_says_so(home: Path) -> None:
    events = run_on(home, lambda sent: min(sent, 1100))
    (warning,) = [event.text for event in events if isinstance(event, Warned) and "cut the prompt" in event.text]
    assert "1,100 of about" in warning and "OLLAMA_CONTEXT_LENGTH" in warning
    asked = [event for event in events if isinstance(event, Asked)]
    assert any(again.ask == one.ask and again.rounds_shown < one.rounds_shown for one, again in pairwise(asked))
    assert all(event.rounds_shown < 9 for event in asked)
    view = fold(events)
    assert view.outcome == "answered" and "has not read all of its prompts" in view.report
    assert Journal(events).cut, "a resumed run says so too"


def test_a_server_that_counts_otherwise_cuts_nothing(home: Path) -> None:
    events = run_on(home, lambda sent: 2 * sent // 5, laps=15)
    assert not [event for event in events if isinstance(event, Rejected | Warned)]
    assert max(event.prompt_tokens for event in events if isinstance(event, Asked)) > 2500


# Models and faults


@pytest.mark.parametrize("old", [False, True])
def test_a_model_without_tools_is_asked_in_tags(home: Path, old: bool) -> None:
    def reply(body: dict[str, Any]) -> Said:
        assert "tools" not in body
        done = "123,201,945" in body["messages"][-1]["content"]
        call = '<tool_call>{"name": "search", "arguments": {"query": "Japan population"}}</tool_call>'
        return Said(f"<answer>{ANSWER}</answer>" if done else f"<think>Look.</think>{call}")

    with FakeOllama(reply, tools=False, old=old) as server:
        bench = opened(server, home)
        assert bench.model("ollama:qwen3:8b").native == old
        run = bench.engine.start(QUESTION, bench.recipe(model="ollama:qwen3:8b", tools=["search"]), here=True)
        list(run.events())
        assert bench.store.run(run.run_id).status == "completed" and len(server.chats) >= 2


def test_a_local_model_is_free_and_one_that_ollama_passes_on_has_no_known_price(tmp_path: Path) -> None:
    with FakeOllama() as server:
        assert opened(server, tmp_path / "one").model("ollama:qwen3:8b").price(Usage(10, 10)) == 0  # type: ignore[attr-defined]
    with FakeOllama(remote="https://ollama.com:443") as server:
        assert opened(server, tmp_path / "two").model("ollama:qwen3:8b").price(Usage(10, 10)) is None  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("said", "match", "retryable"),
    [
        (Said(status=500, error="llama runner process has terminated"), "terminated", True),
        (
            Said(status=500, error="model requires more system memory (9 GiB) than is available"),
            "smaller context",
            False,
        ),
        (Said("Half", error="an error was encountered while running the model"), "while running", True),
        (Said("Half", ends=False), "ended early", True),
    ],
)
def test_a_fault_ends_in_an_error_that_says_what_happened(
    tmp_path: Path, said: Said, match: str, retryable: bool
) -> None:
    with FakeOllama([said]) as server, pytest.raises(ProviderError, match=match) as caught:
        ask(opened(server, tmp_path))
    assert caught.value.retryable is retryable


def test_a_call_that_ollama_cannot_read_is_the_models_mistake(tmp_path: Path) -> None:
    written = '{"name": "search", "arguments": {"query": "x"}]}'
    error = f"error parsing tool call: raw='{written}', err=invalid character ']'"
    with FakeOllama([Said(status=500, error=error)]) as server:
        found = ask(opened(server, tmp_path), tools=(SEARCH,))
    assert found.text == written and found.finish_reason == "tool_calls"


def test_a_missing_model_and_a_missing_server_say_what_to_do(tmp_path: Path) -> None:
    with FakeOllama() as server:
        bench = opened(server, tmp_path)
        with pytest.raises(ProviderError, match="ollama pull qwen4"):
            list(bench.model("ollama:qwen4").stream(Request((Message("user", "Hello"),))))
    with pytest.raises(ProviderError, match="check that the server runs") as caught:
        ask(bench)
    assert caught.value.retryable


ENDS = {"message": {"role": "assistant", "content": None}, "done": True, "prompt_eval_count": "7", "eval_count": "3"}


@pytest.mark.parametrize(
    "body",
    [
        json.dumps({**ENDS, "message": {"content": "Paris."}}),
        f"{json.dumps({'message': {'content': 'Paris.'}})}\n{json.dumps(ENDS)}\n",
        f"data: {json.dumps({'message': {'content': 'Paris.'}})}\n\ndata: {json.dumps(ENDS)}\n\ndata: [DONE]\n\n",
    ],
)
def test_a_reply_of_a_gateway_before_ollama_is_read(tmp_path: Path, body: str) -> None:
    from tests.fake_search import FakeSearch, Reply

    with FakeSearch(lambda request: Reply(body if request.path == "/api/chat" else {})) as server:
        bench = Workbench(endpoint_registry.add(load(home=tmp_path), "ollama", Entry(url=server.url)))
        found = ask(bench)
    assert found.text == "Paris." and found.usage == Usage(7, 3)


@pytest.mark.parametrize("body", ["<html>proxy</html>", "[]", "nonsense", "{"])
def test_another_server_at_the_address_is_named_with_what_it_sent(tmp_path: Path, body: str) -> None:
    from tests.fake_search import FakeSearch, Reply

    with FakeSearch([Reply(body)]) as server:
        bench = Workbench(endpoint_registry.add(load(home=tmp_path), "ollama", Entry(url=server.url)))
        with pytest.raises(ProviderError, match="endpoint 'ollama': expected Ollama's JSON"):
            ask(bench)


def test_a_detected_ollama_is_accepted_and_passes_the_trial(tmp_path: Path) -> None:
    def reply(body: dict[str, Any]) -> Said:
        results = [message["content"] for message in body["messages"] if message["role"] == "tool"]
        last = results[-1].rstrip(".").rpartition(" ")[2] if results else ""
        calls = {0: [("open_box", {"colour": "red"})], 1: [("open_safe", {"code": last})]}
        return Said(last, calls.get(len(results), []))

    with FakeOllama(reply) as server:
        port = server.url.rpartition(":")[2]
        (found,) = detect.detect({"OLLAMA_HOST": f"127.0.0.1:{port}"})
        bench = Workbench(load(home=tmp_path))
        bench.settings = detect.accept(bench, found)
        result = model_trial.run(bench, "ollama")
        assert result.ok and result.rounds == 3 and result.cost_usd == 0, result
