"""The character U+0000 reaches neither a tool, nor a model, nor the store."""

from __future__ import annotations

import json
from collections.abc import Callable

import research
from research.events import events as e
from research.events.view import fold, messages_sent
from research.workbench.workbench import Workbench

Script = Callable[..., str]


def call(name: str, **arguments: object) -> str:
    return f"<tool_call>{json.dumps({'name': name, 'arguments': arguments})}</tool_call>"


def test_a_nul_in_question_reply_and_tool_output_is_removed_everywhere(bench: Workbench, script: Script) -> None:
    prints = call("python", code="print('a' + chr(0) + 'b')")
    model = script(f"<think>x\0y</think>{prints}", "<answer>It is a\0b.</answer>")
    events = list(research.stream("What is\0 a+b?", workbench=bench, model=model))
    view = fold(events)
    assert view.question == "What is a+b?"
    seen = [each.observation.text for each in events if isinstance(each, e.ToolFinished)]
    assert [text.strip() for text in seen] == ["ab"]
    assert view.rounds[0].thinking == "xy"
    assert not [each for each in events if "\0" in repr(each) or "\\x00" in repr(each)]
    assert not [message for message in messages_sent(view, "main", 2) if "\0" in message.content]


def test_a_call_with_a_nul_is_refused_and_the_model_is_told(bench: Workbench, script: Script) -> None:
    model = script(
        call("search", query="a\0b"), call("search", query="Japan population total"), "<answer>Yes.</answer>"
    )
    events = list(research.stream("How many people live in Japan?", workbench=bench, model=model))
    assert "\\u0000" in next(each.problem for each in events if isinstance(each, e.Rejected))
    assert [each.call.arguments["query"] for each in events if isinstance(each, e.ToolStarted)] == [
        "Japan population total"
    ]


def test_a_run_saved_with_a_nul_opens_without_it(bench: Workbench) -> None:
    line = e.encode(e.UserReplied(run="r", seq=3, text="a\0b"))
    assert line == e.encode(e.UserReplied(run="r", seq=3, text="ab"))
    old = b'{"type":"UserReplied","run":"r","seq":3,"text":"a\\u0000b \\\\u0000"}'
    assert e.decode(old) == e.UserReplied(run="r", seq=3, text="ab \\u0000")


def test_a_saved_value_is_stored_without_it(bench: Workbench) -> None:
    bench.store.put("opinion", "c/r", b'{"text":"a\\u0000b"}')
    assert bench.store.values("opinion", "c/") == [b'{"text":"ab"}']
