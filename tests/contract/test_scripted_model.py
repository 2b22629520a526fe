"""The scripted model, which plays a file of replies."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from research.errors import ConfigError, ProviderError
from research.models.scripted import ScriptCall, ScriptedModel, ScriptLine
from research.types import Completion, Delta, Message, Model, Request, ToolCall, Usage


def request(purpose: str = "act", agent: str = "main", content: str = "question") -> Request:
    return Request((Message("user", content),), purpose=purpose, agent=agent)


def play(model: Model, asked: Request | None = None) -> tuple[list[Delta], Completion]:
    *deltas, last = model.stream(asked or request())
    assert isinstance(last, Completion)
    assert all(isinstance(delta, Delta) for delta in deltas)
    return [delta for delta in deltas if isinstance(delta, Delta)], last


def script(folder: Path, *lines: str) -> Path:
    path = folder / "script.jsonl"
    path.write_text("\n".join(lines), "utf-8")
    return path


def test_a_script_file_plays_text_reasoning_and_calls(tmp_path: Path) -> None:
    line = {
        "text": "Ich suche in der Bibliothek. 找一下。",
        "reasoning": "The library knows best.",
        "calls": [{"name": "search", "arguments": {"query": ["a"]}}, {"name": "list_files"}],
        "finish_reason": "tool_calls",
    }
    path = script(tmp_path, json.dumps(line, ensure_ascii=False))

    model = ScriptedModel.from_file(path)
    deltas, completion = play(model)

    assert model.name == f"scripted:{path}"
    assert model.native
    assert "".join(delta.text for delta in deltas if delta.kind == "text") == line["text"] == completion.text
    assert (
        "".join(delta.text for delta in deltas if delta.kind == "reasoning")
        == line["reasoning"]
        == completion.reasoning
    )
    assert len(deltas) > 3
    assert completion.finish_reason == "tool_calls"
    assert [(call.name, call.arguments) for call in completion.calls] == [
        ("search", {"query": ["a"]}),
        ("list_files", {}),
    ]


def test_call_ids_differ_between_and_within_lines() -> None:
    line = ScriptLine(calls=(ScriptCall("a"), ScriptCall("b")))
    model = ScriptedModel([line, line])
    calls: list[ToolCall] = [*play(model)[1].calls, *play(model)[1].calls]
    assert len({call.id for call in calls}) == 4


@pytest.mark.parametrize(
    ("lines", "native", "expected"),
    [
        ([ScriptLine("a")], None, False),
        ([ScriptLine("a"), ScriptLine(calls=(ScriptCall("x"),))], None, True),
        ([ScriptLine("a")], True, True),
    ],
)
def test_a_scripted_model_is_native_if_any_line_has_calls(
    lines: list[ScriptLine], native: bool | None, expected: bool
) -> None:
    assert ScriptedModel(lines, native=native).native is expected


def test_lines_are_selected_by_purpose_and_agent_in_order() -> None:
    model = ScriptedModel(
        [
            ScriptLine("first act", purpose="act"),
            ScriptLine("summary", purpose="summarise"),
            ScriptLine("researcher", agent="main/researcher-1"),
            ScriptLine("second act", purpose="act"),
            ScriptLine("anyone"),
        ]
    )
    assert play(model, request("summarise"))[1].text == "summary"
    assert play(model, request("act"))[1].text == "first act"
    assert play(model, request("act", "main/researcher-1"))[1].text == "researcher"
    assert play(model, request("plan"))[1].text == "anyone"
    assert play(model, request("act"))[1].text == "second act"


def test_a_script_without_a_line_for_the_request_is_an_error() -> None:
    model = ScriptedModel([ScriptLine("a", purpose="plan")])
    with pytest.raises(ProviderError, match="no line left for purpose 'act', agent 'main'") as caught:
        play(model)
    assert not caught.value.retryable


@pytest.mark.parametrize("error", ["429", "500", "reset"])
def test_an_error_comes_before_any_delta_and_the_retry_gets_the_next_line(error: str) -> None:
    model = ScriptedModel([ScriptLine("lost", error=error), ScriptLine("good")])  # type: ignore[arg-type]
    with pytest.raises(ProviderError) as caught:
        next(iter(model.stream(request())))
    assert caught.value.retryable
    assert caught.value.retry_after_s == (0 if error == "429" else None)
    assert play(model)[1].text == "good"


def test_usage_is_estimated_and_costs_nothing() -> None:
    model = ScriptedModel([ScriptLine("x" * 40)])
    usage = play(model, request(content="y" * 400))[1].usage
    assert usage == Usage(100, 10, estimated=True, cost_usd=0.0)


def test_blank_lines_a_byte_order_mark_and_windows_line_ends_are_accepted(tmp_path: Path) -> None:
    path = tmp_path / "script.jsonl"
    path.write_bytes('\ufeff{"text": "a", "delay_s": 0.001}\r\n\r\n{"text": "b\u2028c"}\r\n'.encode())
    model = ScriptedModel.from_file(path)
    assert [play(model)[1].text, play(model)[1].text] == ["a", "b\u2028c"]


@pytest.mark.parametrize(
    "bad",
    [
        '{"txt": "a"}',
        '{"text": 1}',
        '{"text": "a"',
        '["a"]',
        '{"error": "418"}',
        '{"delay_s": -1}',
        '{"calls": [{"name": "search", "arguments": "x"}]}',
        '{"calls": [{"arguments": {}}]}',
    ],
)
def test_an_invalid_line_is_named_with_what_is_accepted(tmp_path: Path, bad: str) -> None:
    path = script(tmp_path, '{"text": "fine"}', "", bad)
    with pytest.raises(ConfigError) as caught:
        ScriptedModel.from_file(path)
    message = str(caught.value)
    assert message.startswith(f"{path}:3: ")
    for key in ("text", "calls", "reasoning", "finish_reason", "delay_s", "error", "purpose", "agent", "truncated"):
        assert key in message


def test_a_script_that_is_missing_empty_or_not_text_is_named(tmp_path: Path) -> None:
    binary = tmp_path / "binary.jsonl"
    binary.write_bytes(b"\xff\xfe\x00")
    for path in (tmp_path / "missing.jsonl", script(tmp_path, "", " "), binary, tmp_path):
        with pytest.raises(ConfigError, match=str(path)):
            ScriptedModel.from_file(path)
