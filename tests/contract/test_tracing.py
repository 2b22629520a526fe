"""Runs as OpenTelemetry spans: what they contain and omit; a run is one trace even if several processes worked on it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import research
from research.errors import ConfigError
from research.events import events as e
from research.events.recipe import Recipe
from research.ops.tracing import Span, Spans, Tracing, from_environment, spans
from research.types import Message, Observation, Reply, ToolCall, Usage
from research.workbench.workbench import Workbench

ROOT = Path(__file__).parents[2]
LOOK = '<think>secretly</think><tool_call>{"name": "search", "arguments": {"query": "Japan population"}}</tool_call>'
MISS = '<think>x</think><tool_call>{"name": "visit", "arguments": {"url": "library://no", "goal": "x"}}</tool_call>'
ANSWER = "<answer>123,201,945 [1]</answer>"
USED, SAID = Usage(10, 2), Reply("x")


def stamped(*events: e.Event) -> list[e.Event]:
    """Return the events numbered as by an engine, one second apart unless they have a time."""
    return [
        msgspec.structs.replace(event, run="r", seq=seq, time=event.time or 100.0 + seq)
        for seq, event in enumerate(events)
    ]


def asked(ask: int = 1, agent: str = "main", model: str = "openai:gpt-5-mini", **more: object) -> e.Asked:
    return e.Asked(ask=ask, round=ask, purpose="act", model=model, agent=agent, **more)  # type: ignore[arg-type]


def replied(ask: int = 1, agent: str = "main", usage: Usage = USED, reply: Reply = SAID) -> e.Replied:
    return e.Replied(ask=ask, purpose="act", reply=reply, usage=usage, seconds=1.0, agent=agent)


def started(framework: str = "react", model: str = "openai:gpt-5-mini") -> e.RunStarted:
    return e.RunStarted(question="Q", recipe=Recipe(framework=framework, model=model))


def finished(outcome: str = "answered") -> e.RunFinished:
    status = "failed" if outcome == "failed" else "completed"
    return e.RunFinished(status=status, outcome=outcome, answer="a", report="")  # type: ignore[arg-type]


@pytest.fixture
def saved(bench: Workbench, script: Callable[..., str]) -> list[e.Event]:
    view = research.run(
        "A question of mine: how many people live in Japan?", workbench=bench, model=script(LOOK, MISS, ANSWER)
    )
    return bench.store.events(view.run)


def test_the_spans_of_a_run_form_one_tree(saved: list[e.Event]) -> None:
    found = list(spans(saved))
    (root,) = [each for each in found if each.parent is None]
    assert root.name == "invoke_agent react"
    assert root.attributes["gen_ai.conversation.id"] == saved[0].run
    assert root.attributes["workbench.outcome"] == "answered"
    chats = [each for each in found if each.attributes["gen_ai.operation.name"] == "chat"]
    tools = [each for each in found if each.attributes["gen_ai.operation.name"] == "execute_tool"]
    assert len(chats) == 3
    assert [(each.name, each.error) for each in tools] == [
        ("execute_tool search", ""),
        ("execute_tool visit", "tool_error"),
    ]
    assert {each.parent for each in chats + tools} == {root.id}
    assert len({each.trace for each in found}) == 1
    assert len({each.id for each in found}) == len(found)
    for name in ("gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens"):
        assert root.attributes[name] == sum(int(each.attributes[name]) for each in chats)
    assert all(root.start <= each.start <= each.end <= root.end for each in found)


def test_spans_contain_prompts_and_replies_only_on_request(saved: list[e.Event]) -> None:
    words = ("A question of mine", "secretly", "123,201,945", "Japan", "library://", "script.jsonl")
    exported = msgspec.json.encode(list(spans(saved))).decode()
    assert not [each for each in words if each in exported]
    exported = msgspec.json.encode(list(spans(saved, content=True))).decode()
    assert all(each in exported for each in words[:-1])


def test_span_content_is_the_conversation_as_it_was_sent() -> None:
    call = ToolCall("c1", "search", {"query": "x"})
    run = stamped(
        started(), asked(messages=(Message("system", "S"), Message("user", "Q"))), replied(reply=Reply("", calls=(call,))),
        asked(2, keep=2, messages=(Message("assistant", "", (call,)), Message("tool", "R", call_id="c1"))), replied(2),
        finished(),
    )  # fmt: skip
    chats = [each for each in spans(run, content=True) if each.name.startswith("chat")]
    sent = json.loads(str(chats[1].attributes["gen_ai.input.messages"]))
    assert [each["role"] for each in sent] == ["system", "user", "assistant", "tool"]
    assert sent[2]["parts"] == [{"type": "tool_call", "id": "c1", "name": "search", "arguments": {"query": "x"}}]
    assert sent[3]["parts"] == [{"type": "tool_call_response", "id": "c1", "response": "R"}]
    assert json.loads(str(chats[0].attributes["gen_ai.output.messages"]))[0]["finish_reason"] == "tool_call"


def test_spans_are_the_same_wherever_another_process_continues_the_run(saved: list[e.Event]) -> None:
    whole = list(spans(saved))
    for cut in range(len(saved) + 1):
        first, second = Spans(), Spans()
        before = [span for event in saved[:cut] for span in first.apply(event)]
        assert [span for event in saved[:cut] for span in second.apply(event)] == before
        after = [span for event in saved[cut:] for span in second.apply(event)]
        assert before + after == whole


@pytest.mark.usefixtures("parrot")
def test_a_local_models_span_is_internal_and_does_not_contain_its_path() -> None:
    for model, kind, names in (
        ("openai:gpt-5-mini", "client", ("openai", "gpt-5-mini")), ("gguf:/home/me/x.gguf", "internal", ("gguf", "gguf")),
        ("parrot:/home/me/x", "internal", ("parrot", "parrot")), ("removed:x", "client", ("removed", "x")),
    ):  # fmt: skip
        chat = next(each for each in spans(stamped(started(model=model), asked(model=model), replied(), finished())))
        assert chat.kind == kind
        assert (chat.attributes["gen_ai.provider.name"], chat.attributes["gen_ai.request.model"]) == names
        assert chat.name == f"chat {names[1]}"


def test_each_attempt_of_a_request_is_a_span() -> None:
    run = stamped(
        started(), asked(), e.Withdrawn(ask=1, error="503 from http://secret", wait_s=0.5),
        e.Rejected(ask=1, text="", problem="words", usage=Usage(5, 1)), asked(), replied(), finished(),
    )  # fmt: skip
    found = list(spans(run))
    assert [each.error for each in found] == ["withdrawn", "unreadable", "", ""]
    assert found[1].start == run[2].time + 0.5
    assert found[-1].attributes["gen_ai.usage.input_tokens"] == 15
    assert "secret" not in msgspec.json.encode(found).decode()


def test_a_sub_agents_spans_are_below_its_own_span() -> None:
    deep = "main/a/b"
    run = stamped(
        started(), e.ChildStarted(question="Q", recipe="", agent="main/a"), asked(agent="main/a"), replied(agent="main/a"),
        asked(agent=deep), replied(agent=deep),  # without a `ChildStarted`
        e.ChildFinished(outcome="answered", answer="", agent="main/a"), finished(),
    )  # fmt: skip
    chat, below, child, root = spans(run)
    assert (child.name, child.parent) == ("invoke_agent main/a", root.id)
    assert chat.parent == below.parent == child.id


def test_a_failed_runs_span_has_the_error_type_and_marks_pauses() -> None:
    run = stamped(
        started(), e.Paused(reason="down"), e.Resumed(), e.RunFailed(error="KeyError: 'words'", traceback="T"),
        finished("failed"),
    )  # fmt: skip
    (root,) = spans(run)
    assert (root.error, root.attributes["error.type"]) == ("KeyError", "KeyError")
    assert root.marks == (("rests", run[1].time), ("goes on", run[2].time))


def test_odd_events_are_ignored_and_no_span_ends_before_it_starts() -> None:
    call = ToolFinishedOf("nobody")
    run = stamped(replied(), call, started(), asked(), msgspec.structs.replace(replied(), time=1.0), call, finished())
    found = list(spans(run))
    assert all(each.start <= each.end for each in found)
    assert [each.name for each in found] == ["chat gpt-5-mini", "invoke_agent react"]


def ToolFinishedOf(call_id: str) -> e.ToolFinished:  # noqa: N802 - named like the event
    return e.ToolFinished(observation=Observation(call_id, "search", "t"))


def test_a_live_run_exports_the_same_spans_as_the_saved_run(saved: list[e.Event]) -> None:
    live, later = InMemorySpanExporter(), InMemorySpanExporter()
    tracing = Tracing(live)
    hear = tracing.observe(saved[:3])
    for event in saved[3:]:
        hear(event)
    tracing.flush()
    again = Tracing(later)
    again.export(saved)
    again.flush()

    def exported(exporter: InMemorySpanExporter) -> dict[int, object]:
        done = exporter.get_finished_spans()
        return {
            each.context.span_id: (
                each.name,
                each.start_time,
                each.parent and each.parent.span_id,
                dict(each.attributes or {}),
            )
            for each in done
            if each.context
        }

    missing = {span.id for span in spans(saved[:3])}
    assert exported(live) == {id_: each for id_, each in exported(later).items() if id_ not in missing}
    assert live.get_finished_spans()[-1].resource.attributes["service.name"] == "research-workbench"


def test_opentelemetry_is_not_imported_without_its_variable() -> None:
    code = (
        "import sys, research.ops.tracing as t\n"
        "assert t.from_environment({}) is None\n"
        "assert t.from_environment({t.ENDPOINT: 'http://localhost:1', 'OTEL_SDK_DISABLED': 'true'}) is None\n"
        "sys.exit(any(name.startswith('opentelemetry') for name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_missing_exporter_and_an_unknown_protocol_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [])  # so that no installed package is found
    where = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://localhost:4318"}
    with pytest.raises(ConfigError, match="pip install opentelemetry-exporter-otlp-proto-http"):
        from_environment(where)
    with pytest.raises(ConfigError, match="http/json"):
        from_environment({**where, "OTEL_EXPORTER_OTLP_PROTOCOL": "http/json"})


def test_an_installed_exporter_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, saved: list[e.Event]) -> None:
    package = tmp_path / "an_exporter-1.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: an-exporter\nVersion: 1\n")
    (package / "entry_points.txt").write_text(
        "[opentelemetry_traces_exporter]\notlp_proto_grpc = an_exporter:Exporter\n"
    )
    (tmp_path / "an_exporter.py").write_text(
        "from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter\n"
        "made = []\n"
        "class Exporter(InMemorySpanExporter):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        made.append(self)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    where = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://localhost:4317", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}
    tracing = from_environment(where)
    assert tracing is not None
    tracing.export(saved)
    tracing.flush()
    (made,) = __import__("an_exporter").made
    assert len(made.get_finished_spans()) == len(list(spans(saved)))


def test_span_ids_fit_into_the_protocols_integers() -> None:
    found: list[Span] = list(spans(stamped(started(), asked(), replied(), finished())))
    assert all(0 < each.id < 2**64 and 0 < each.trace < 2**128 for each in found)
