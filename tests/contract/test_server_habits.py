"""What servers and models do beside the documented API: a run goes on, or says in one sentence why it does not."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import research
from research._util import connections
from research.agent.budget import Meter
from research.agent.context import RunContext
from research.config.settings import load
from research.events import events as e
from research.events.events import Event
from research.events.view import RunView, fold
from research.exports.json import as_dict
from research.exports.progress import Patience, summary
from research.workbench.workbench import Workbench
from tests.conftest import linked_home
from tests.fake_openai import Body, FakeOpenAI, FakeReply, Script
from tests.served import endpoint_of

QUESTION = "What is the population of Japan?"
ANSWER = "Japan has 123 million people [1]."
SEARCH = FakeReply(calls=[("search", {"query": "population of Japan"})])
WRITTEN = '<tool_call>{"name": "search", "arguments": {"query": "population of Japan"}}</tool_call>'


@pytest.fixture(scope="module")
def place(prepared_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return linked_home(prepared_home, tmp_path_factory.mktemp("servers") / "home")


def played(place: Path, script: Script, **recipe: Any) -> tuple[list[Event], list[Body]]:
    """Return the events of a run with this server, and the requests that it received."""
    with FakeOpenAI(script) as server:
        bench = Workbench(load(home=place, openai_base_url=server.base_url))
        events = list(research.stream(QUESTION, workbench=bench, model="openai:fake", **{"judge": "off", **recipe}))
        return events, server.requests


def seen(place: Path, script: Script, **recipe: Any) -> RunView:
    return fold(played(place, script, **recipe)[0])


def refusing(status: int, message: str) -> Callable[[Body], FakeReply]:
    """Play a server that refuses tools, and whose model writes tagged text."""

    def reply(body: Body) -> FakeReply:
        if "tools" in body:
            return FakeReply(status=status, body={"error": {"message": message}})
        found = any(message["role"] == "assistant" for message in body["messages"])
        return FakeReply(f"<answer>{ANSWER}</answer>" if found else WRITTEN)

    return reply


NO_TOOLS = [
    (400, "model fake does not support tools"),
    (400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'),
    (500, "tools param requires --jinja flag"),
    (404, "No endpoint found that supports tool use here."),
    (404, "No endpoints found that support tool use. Try disabling tools."),
    (422, "Unrecognized request argument supplied: tools"),
    (400, "Function calling is not enabled for this model"),
    (400, "Tool use is not supported by this model."),
    (501, "This deployment does not allow function calls"),
]


def test_a_refusal_without_tools_is_not_blamed_on_tools(place: Path) -> None:
    problem = {"error": {"message": "No endpoint found that supports tool use here.", "code": 404}}
    view = seen(place, lambda body: FakeReply(status=404, body=problem))
    assert view.outcome == "failed"
    assert "was not found at" in view.error and "cannot be offered tools" not in view.error


@pytest.mark.parametrize(("status", "message"), NO_TOOLS)
def test_a_server_that_refuses_tools_is_asked_in_tagged_text(place: Path, status: int, message: str) -> None:
    events, requests = played(place, refusing(status, message))
    view = fold(events)
    assert (view.outcome, view.answer) == ("answered", ANSWER)
    assert sum("tools" in body for body in requests) == 1
    (told,) = [event.text for event in events if isinstance(event, e.Warned) and "tagged text" in event.text]
    assert message.split(".")[0] in told


def test_a_recipe_that_wants_native_calls_fails_with_the_servers_words(place: Path) -> None:
    view = seen(place, refusing(400, "model fake does not support tools"), protocol="native")
    assert view.outcome == "failed"
    assert "does not support tools" in view.answer
    assert "tagged" in view.answer


@pytest.mark.examples(4)
@pytest.mark.parametrize(
    ("name", "arguments", "asked"),
    [
        ("search", {"query": ["population of Japan", "population of Mongolia"]}, ["query", "query"]),
        ("search", {"query": ["population of Japan"]}, ["query"]),
        ("search", {"query": '["population of Japan", "population of Mongolia"]'}, ["query", "query"]),
        ("search", {"query": ["population of Japan"] * 3}, ["query"]),
        ("visit", {"url": [f"library://factbook/{name}/economy" for name in ("japan", "mongolia")], "goal": "g"}, ["url"] * 2),
        ("visit", {"url": [f"library://factbook/{name}/economy" for name in ("japan", "mongolia")], "goal": ["a", "b"]}, ["url"] * 2),
    ],
)  # fmt: skip
@pytest.mark.parametrize("protocol", ["native", "tagged"])
def test_a_list_for_one_value_is_a_call_for_each(
    place: Path, name: str, arguments: dict[str, Any], asked: list[str], protocol: str
) -> None:
    call = json.dumps({"name": name, "arguments": arguments})
    tagged = protocol == "tagged"
    first = FakeReply(f"<tool_call>{call}</tool_call>") if tagged else FakeReply(calls=[(name, arguments)])
    events, _ = played(place, [first, FakeReply(f"<answer>{ANSWER}</answer>" if tagged else ANSWER)], protocol=protocol)
    calls = [event.call for event in events if isinstance(event, e.ToolStarted)]
    results = [event.observation for event in events if isinstance(event, e.ToolFinished)]
    assert [isinstance(call.arguments[key], str) for call, key in zip(calls, asked, strict=True)] == [True] * len(asked)
    assert len({call.id for call in calls}) == len({found.text for found in results}) == len(asked)
    assert all(found.ok for found in results)
    assert not [event for event in events if isinstance(event, e.Rejected)]


def requests_after_search(place: Path, *replies: FakeReply, **recipe: Any) -> tuple[RunView, list[Body], list[Event]]:
    """Play a search, then these replies; return the run and the requests after the search."""
    events, requests = played(place, [SEARCH, *replies], **recipe)
    return fold(events), requests[1:], events


def test_an_answer_that_is_cut_off_is_continued(place: Path) -> None:
    first = FakeReply("Japan has 123 million peo", finish_reason="length")
    view, requests, _ = requests_after_search(place, first, FakeReply("ple [1]. Its capital is Tokyo [1]."))
    assert view.answer == "Japan has 123 million people [1]. Its capital is Tokyo [1]."
    assert requests[1]["messages"][-2]["content"] == first.text
    assert "Go on" in requests[1]["messages"][-1]["content"]


@pytest.mark.parametrize(
    ("more", "whole"),
    [
        ("million people [1].", "Japan has 123 million people [1]."),  # repeats the last words
        (ANSWER, ANSWER),  # begins again
    ],
)
def test_what_a_continuation_repeats_stands_once(place: Path, more: str, whole: str) -> None:
    first = FakeReply("Japan has 123 million people", finish_reason="length")
    view, _, _ = requests_after_search(place, first, FakeReply(more))
    assert view.answer == whole


def test_a_tagged_answer_that_is_cut_off_is_continued(place: Path) -> None:
    replies = [
        FakeReply(WRITTEN),
        FakeReply("<answer>Japan has 123 mil", finish_reason="length"),
        FakeReply("lion people [1].</answer>"),
    ]
    assert seen(place, replies, protocol="tagged").answer == ANSWER


def test_a_model_that_is_told_to_go_on_may_call_a_tool_instead(place: Path) -> None:
    replies = [
        FakeReply(WRITTEN),
        FakeReply("<answer>Japan has 123 mil", finish_reason="length"),
        FakeReply(WRITTEN),
        FakeReply(f"<answer>{ANSWER}</answer>"),
    ]
    view = seen(place, replies, protocol="tagged")
    assert view.answer == ANSWER
    rejected = [note for current in view.rounds for note in current.notes if "refused" in note]
    assert len(rejected) == 1, "only the half answer"


def test_an_answer_that_stays_cut_off_is_kept_and_marked(place: Path) -> None:
    cut = FakeReply(
        "Japan has 123 million people [1]. Its median age is the highest of all large coun", finish_reason="length"
    )
    view, requests, _ = requests_after_search(place, cut, cut, cut, cut)
    assert len(requests) == 2
    assert view.answer.startswith(cut.text)
    assert "cut the answer off here, at its limit of length" in view.answer
    assert view.outcome != "failed"


@pytest.mark.parametrize(
    "written",
    [
        '<minimax:tool_call><invoke name="search"><parameter name="query">Japan</parameter></invoke></minimax:tool_call>',
        "<search><query>Japan</query></search>",
        '{"name": "search", "parameters": {"query": "Japan"}}',
        '[search(query="Japan")]',
        'commentary to=functions.search json{"query": "Japan"}',
    ],
)
def test_a_call_is_no_last_answer_either(place: Path, written: str) -> None:
    view, requests, _ = requests_after_search(
        place, FakeReply(written), FakeReply(ANSWER), options={"framework.rounds": 1}
    )
    assert view.answer == ANSWER
    assert ["tools" in body for body in requests] == [False, False]
    assert "No tool can be called any more" in requests[1]["messages"][-1]["content"]


def test_half_a_call_is_not_continued_but_asked_for_again(place: Path) -> None:
    half = FakeReply('<tool_call>{"name": "search", "argum', finish_reason="length")
    _, requests, _ = requests_after_search(place, half, FakeReply(ANSWER))
    assert "Go on" not in requests[1]["messages"][-1]["content"]


@pytest.mark.parametrize(
    "refusal",
    [
        FakeReply(deltas=[{"refusal": "I cannot help with that."}]),
        FakeReply("I cannot help with that.", finish_reason="content_filter"),
    ],
)
def test_a_refusal_is_asked_once_more_and_shown(place: Path, refusal: FakeReply) -> None:
    view, requests, _ = requests_after_search(place, refusal, refusal, refusal)
    assert len(requests) == 2
    assert view.outcome == "failed"
    assert "I cannot help with that." in view.answer
    assert "openai:fake refused to answer" in view.error


@pytest.mark.examples(1)
@pytest.mark.parametrize("status", [400, 413, 429])
def test_a_first_request_that_is_too_long_fails_with_the_servers_words(place: Path, status: int) -> None:
    words = "Request too large: maximum context length is 4096 tokens, you sent 5000."
    view = seen(place, lambda body: FakeReply(status=status, body={"error": {"message": words}}))
    assert view.outcome == "failed"
    assert words in view.error
    assert words in view.answer


@pytest.mark.parametrize("before", [[], [SEARCH]])
def test_a_request_that_waits_when_the_time_is_up_is_given_up(
    place: Path, before: list[FakeReply], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, gate = iter(before), threading.Event()
    late = threading.Event()
    monkeypatch.setattr(Meter, "seconds", property(lambda self: 9.0 if late.is_set() else 0.0))

    def reply(body: Body) -> FakeReply:
        if found := next(asked, None):
            return found
        late.set()
        return FakeReply(ANSWER, gate=gate, gate_after=0)

    with FakeOpenAI(reply) as server:
        bench = Workbench(load(home=place, openai_base_url=server.base_url))
        view = fold(research.stream(QUESTION, workbench=bench, model="openai:fake", budget={"seconds": 5}))
        gate.set()
    assert (view.outcome, len(server.requests)) == ("time", len(before) + 1)
    assert ("had not begun its reply when the time limit of 5 s" in view.report) == (not before)


@pytest.mark.parametrize(
    "proxy", ["socks5://127.0.0.1:9", "socks://127.0.0.1:9/", "nonsense://127.0.0.1:9", "127.0.0.1:9"]
)
def test_a_server_of_this_machine_is_reached_without_the_proxy(
    place: Path, proxy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALL_PROXY", proxy)
    connections.pool.cache_clear()
    try:
        assert seen(place, [SEARCH, FakeReply(ANSWER)]).answer == ANSWER
    finally:
        connections.pool.cache_clear()


@pytest.mark.parametrize(
    "proxy",
    [
        "socks5://user:hunter2@127.0.0.1:9",
        "socks://127.0.0.1:9/",
        "nonsense://127.0.0.1:9",
        "http://user:hunter2@127.0.0.1:9",
    ],
)
def test_a_proxy_that_cannot_be_used_is_named(place: Path, proxy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", proxy)
    monkeypatch.setattr(RunContext, "wait", lambda self, seconds: None)
    connections.pool.cache_clear()
    try:
        bench = Workbench(load(home=place, openai_base_url="http://models.example.org/v1"))
        view = fold(research.stream(QUESTION, workbench=bench, model="openai:fake"))
    finally:
        connections.pool.cache_clear()
    assert view.status == ("paused" if proxy.startswith("http") else "failed")
    assert "ALL_PROXY" in view.error
    assert "127.0.0.1:9" in view.error
    assert "hunter2" not in view.error


@pytest.mark.parametrize(
    ("address", "limited"),
    [
        ("http://localhost:8000/v1", False),
        ("http://127.0.0.1:8000/v1", False),
        ("http://192.168.1.20:8000/v1", False),
        ("http://gpu-box:8000/v1", False),
        ("http://[::1]:8000/v1", False),
        ("https://api.example.org/v1", True),
        (None, True),
    ],
)
def test_a_server_nearby_may_read_a_prompt_for_as_long_as_it_takes(address: str | None, limited: bool) -> None:
    assert (endpoint_of("openai", base_url=address).wait_s is not None) == limited
    assert endpoint_of("openai", base_url=address, timeout_s=5).wait_s == 5


@pytest.mark.parametrize(("before", "requests"), [("", 1), ("Japan has", 3)])
def test_a_request_that_may_still_be_computed_is_not_sent_again(
    place: Path, before: str, requests: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RunContext, "wait", lambda self, seconds: None)
    slow = json.dumps({"openai": {"timeout_s": 0.2}})
    gate = threading.Event()
    silent = FakeReply(deltas=[{"content": before}, {"content": "."}], gate=gate)
    with FakeOpenAI(lambda body: silent) as server:
        bench = Workbench(load(home=place, openai_base_url=server.base_url, endpoint_list=slow))
        view = fold(research.stream(QUESTION, workbench=bench, model="openai:fake"))
        gate.set()
        assert (view.status, len(server.requests)) == ("paused", requests)
        assert "timeout_s" in view.error


@pytest.mark.parametrize(
    ("fault", "after_s", "requests"),
    [
        (FakeReply(status=504, body="<html>504 Gateway Time-out</html>"), 20, 1),
        (FakeReply(status=524, body="error code: 524"), 20, 1),
        (FakeReply(status=502, body="bad gateway"), 20, 3),
        (FakeReply(status=502, body="bad gateway"), 0, 1),
        (FakeReply(status=500, body={"error": {"message": "it crashed"}}), 0, 3),
        (FakeReply(reset_after=-1), 20, 3),
        (FakeReply(reset_after=-1), 0, 1),
        (FakeReply("Japan has", reset_after=2), 0, 3),
    ],
)
def test_what_a_gateway_gave_up_is_not_sent_again(
    place: Path, fault: FakeReply, after_s: float, requests: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RunContext, "wait", lambda self, seconds: None)
    monkeypatch.setattr(connections, "LONG_S", after_s)
    events, asked = played(place, lambda body: fault)
    view = fold(events)
    assert (view.status, len(asked)) == ("paused", requests)
    assert ("may still be computed" in view.error) == (requests == 1)


def test_the_command_line_says_how_long_a_model_reads_its_prompt() -> None:
    view = fold([e.Asked(ask=1, round=1, purpose="act", model="m", prompt_tokens=4300, time=1000.0)])
    patience = Patience()
    told = {now: line for now in range(1000, 1100) for line in patience.lines(view, now)}
    assert list(told) == [1015, 1030, 1060]
    assert "about 4,300 tokens (60 s)" in told[1060]
    view.apply(e.Streamed(ask=1, text="Japan", time=1100.0))
    assert not list(patience.lines(view, 1500.0))


def test_tokens_read_from_a_cache_are_shown(place: Path) -> None:
    view = seen(place, [SEARCH, FakeReply(ANSWER, usage=(2000, 10), cached=(1500, 0))])
    assert "tokens (1,500 cached) · cost" in summary(view)
    assert as_dict(view)["usage"]["cached_tokens"] == 1500


def test_a_question_with_half_a_character_is_asked_without_it(place: Path) -> None:
    with FakeOpenAI([SEARCH, FakeReply(ANSWER)]) as server:
        bench = Workbench(load(home=place, openai_base_url=server.base_url))
        view = fold(
            research.stream("population of \udcff Japan \ud83d", workbench=bench, model="openai:fake", judge="off")
        )
    assert view.question == "population of \ufffd Japan \ufffd"
    assert view.answer == ANSWER


@pytest.mark.parametrize(
    "written",
    [" {url}/chat/completions\n", "{url} /chat/completions", '"{url}",', "<{url}>", "{url}\u200b", "{url}/models/"],
)
def test_what_surrounds_a_key_and_an_address_is_left_out(
    place: Path, monkeypatch: pytest.MonkeyPatch, written: str
) -> None:
    with FakeOpenAI([SEARCH, FakeReply(ANSWER)], key="sk-0123456789") as server:
        monkeypatch.setenv("OPENAI_BASE_URL", written.format(url=server.base_url))
        monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789\n")
        bench = Workbench(load(home=place))
        assert fold(research.stream(QUESTION, workbench=bench, model="openai:fake", judge="off")).answer == ANSWER
