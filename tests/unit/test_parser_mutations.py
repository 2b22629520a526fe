"""Calls in every way that models write them, and what is near to that: nothing but the call itself ever runs.

A call is written by a grammar as pieces of syntax and pieces of content; mutations drop, repeat, swap and cut pieces.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from research.parsing import parse
from research.parsing.plan import STEPS
from tests.fuzz import up_to
from tests.unit.test_parser import TOOLS

Call = tuple[str, dict[str, Any]]
Pieces = list[str]

WORD = st.text("abcdef 京年é,.'-", min_size=1, max_size=12).map(lambda text: f"q{text}q")
CALLS: st.SearchStrategy[Call] = st.one_of(
    st.builds(lambda q: ("search", {"query": [q]}), WORD),
    st.builds(lambda u, g: ("visit", {"url": [f"https://{len(u)}.example/"], "goal": g}), WORD, WORD),
    st.builds(lambda p, n: ("read_file", {"path": p, "max_bytes": n}), WORD, st.integers(0, 99)),
)


def pieces(value: Any) -> Pieces:
    """Return JSON as pieces of syntax and content."""
    if isinstance(value, dict):
        members = [[json.dumps(key), ":", *pieces(each)] for key, each in value.items()]
        return ["{", *_joined(members), "}"]
    if isinstance(value, list):
        return ["[", *_joined([pieces(each) for each in value]), "]"]
    return [json.dumps(value, ensure_ascii=False)]


def _joined(parts: list[Pieces]) -> Pieces:
    return [piece for n, part in enumerate(parts) for piece in ([",", *part] if n else part)]


def _object(call: Call, key: str = "arguments") -> Pieces:
    return pieces({"name": call[0], key: call[1]})


def _wire(call: Call) -> Pieces:
    return pieces({"id": "c1", "type": "function", "function": {"name": call[0], "arguments": json.dumps(call[1])}})


def _dsml(call: Call, bar: str) -> Pieces:
    tag = f"{bar}DSML{bar}"
    found = [f"<{tag}tool_calls>", f'<{tag}invoke name="{call[0]}">']
    for name, value in call[1].items():
        text = isinstance(value, str)
        found += [f'<{tag}parameter name="{name}" string="{"true" if text else "false"}">']
        found += [value if text else json.dumps(value), f"</{tag}parameter>"]
    return [*found, f"</{tag}invoke>", f"</{tag}tool_calls>"]


def _kimi(call: Call) -> Pieces:
    section = ["<|tool_calls_section_begin|>", "<|tool_call_begin|>", f"functions.{call[0]}:0"]
    ends = ["<|tool_call_end|>", "<|tool_calls_section_end|>"]
    return [*section, "<|tool_call_argument_begin|>", *pieces(call[1]), *ends]


def _deepseek(call: Call) -> Pieces:
    begins = ["<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>", call[0], "<｜tool▁sep｜>"]
    return [*begins, *pieces(call[1]), "<｜tool▁call▁end｜>", "<｜tool▁calls▁end｜>"]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _leaves(call: Call, opening: str, closing: str) -> Pieces:
    return [
        piece for name, value in call[1].items() for piece in (opening.format(name), _text(value), closing.format(name))
    ]


def _invoke(call: Call, *wrapper: str) -> Pieces:
    inner = [f'<invoke name="{call[0]}">', *_leaves(call, '<parameter name="{}">', "</parameter>"), "</invoke>"]
    return [*(f"<{name}>" for name in wrapper), *inner, *(f"</{name}>" for name in reversed(wrapper))]


def _record(call: Call) -> Pieces:
    name = ["<server_name>", "s", "</server_name>", "<tool_name>", call[0], "</tool_name>"]
    return ["<use_mcp_tool>", *name, "<arguments>", *pieces(call[1]), "</arguments>", "</use_mcp_tool>"]


def _harmony(call: Call) -> Pieces:
    header = ["<|channel|>", f"commentary to=functions.{call[0]} ", "<|constrain|>", "json", "<|message|>"]
    return [*header, *pieces(call[1]), "<|call|>"]


STYLES: dict[str, Callable[[Call], Pieces]] = {
    "tag": lambda call: ["<tool_call>", *_object(call), "</tool_call>"],
    "action": lambda call: ["<action>", *_object(call), "</action>"],
    "parameters": lambda call: ["<tool_call>", *_object(call, "parameters"), "</tool_call>"],
    "wire shape": lambda call: ["<tool_call>", *_wire(call), "</tool_call>"],
    "message": lambda call: ["<tool_call>", '{"tool_calls"', ":", "[", *_wire(call), "]", "}", "</tool_call>"],
    "a brace too many": lambda call: ["<tool_call>", *_object(call), "}", "</tool_call>"],
    "a bracket too many": lambda call: ["<tool_call>", *_object(call), "]", "</tool_call>"],
    "bare": lambda call: _object(call, "parameters"),
    "groq": lambda call: [f"<function={call[0]}", *pieces(call[1]), "</function>"],
    "llama": lambda call: [f"<function={call[0]}>", *pieces(call[1]), "</function>"],
    "half a tag": lambda call: [call[0], *pieces(call[1]), "</function>"],
    "python_tag": lambda call: ["<|python_tag|>", *_object(call, "parameters")],
    "mistral": lambda call: ["[TOOL_CALLS]", "[", *_object(call), "]"],
    "mistral, by name": lambda call: ["[TOOL_CALLS]", call[0], *pieces(call[1])],
    "dsml": lambda call: _dsml(call, "｜"),
    "dsml, ascii": lambda call: _dsml(call, "|"),
    "kimi": _kimi,
    "invoke": lambda call: _invoke(call, "function_calls"),
    "invoke in a namespace": lambda call: _invoke(call, "vendor:tool_call"),
    "invoke alone": lambda call: _invoke(call),
    "record": _record,
    "brackets": lambda call: ["[TOOL_REQUEST]", *_object(call), "[END_TOOL_REQUEST]"],
    "token": lambda call: ["<|tool_call|>", "[", *_object(call), "]", "<|/tool_call|>"],
    "token with sides": lambda call: [
        "<|START_ACTION|>",
        *pieces([{"tool_call_id": "0", "tool_name": call[0], "parameters": call[1]}]),
        "<|END_ACTION|>",
    ],
    "element": lambda call: ["<function_call>", *_object(call), "</function_call>"],
    "element of the tool's name": lambda call: [f"<{call[0]}>", *_leaves(call, "<{}>", "</{}>"), f"</{call[0]}>"],
    "named in an attribute": lambda call: [f'<tool name="{call[0]}">', *pieces(call[1]), "</tool>"],
    "keys and values": lambda call: [
        "<tool_call>",
        f"{call[0]}\n",
        *_leaves(call, "<arg_key>{}</arg_key>\n<arg_value>", "</arg_value>"),
        "</tool_call>",
    ],
    "react": lambda call: [f"Action: {call[0]}\n", "Action Input: ", *pieces(call[1])],
    "python": lambda call: [
        "[",
        f"{call[0]}(",
        ", ".join(f"{name}={value!r}" for name, value in call[1].items()),
        ")",
        "]",
    ],
    "harmony": _harmony,
    "deepseek": _deepseek,
    "tool in the element's name": lambda call: [f"<call:{call[0]}>", *pieces(call[1])],
    "tool in the element's name, closed": lambda call: [f"<call:{call[0]}>", *pieces(call[1]), f"</call:{call[0]}>"],
    "keys and values in it": lambda call: [f"<call:{call[0]}>", *_leaves(call, "<{}>", "</{}>"), f"</call:{call[0]}>"],
    "arrows": lambda call: [">>>", f"{call[0]}\n", *pieces(call[1])],
    "mark of its own": lambda call: ["<|invoke_begin|>", call[0], "<|with|>", *pieces(call[1]), "<|invoke_end|>"],
}


PLAIN = ("bare", "half a tag", "element of the tool's name", "python")
"""Styles that only the name of an offered tool tells from other text."""


def calls_of(text: str, form: str = "react", finish: str = "stop") -> list[Call]:
    """Return the calls that run: of tagged text, or of the content of a message without native calls."""
    if form == "native_args":
        text = json.dumps({"finish_reason": finish, "message": {"content": text, "tool_calls": None}})
    return [(call.name, call.arguments) for call in parse(form, text, TOOLS, finish).calls]


FORMS = st.sampled_from(["react", "native_args"])


@pytest.mark.parametrize("style", STYLES)
@up_to(8)
@given(call=CALLS, form=FORMS)
def test_a_call_is_read_in_every_style(style: str, call: Call, form: str) -> None:
    assert calls_of("".join(STYLES[style](call)), form) == [call]


@up_to(150)
@given(st.sampled_from(sorted(STYLES)), CALLS, st.sampled_from(["", "I'll search.\n", "The page says:\n"]))
def test_a_call_never_becomes_the_answer(style: str, call: Call, before: str) -> None:
    for each in (call, ("no_such_tool", call[1])):
        text = before + "".join(STYLES[style](each))
        for reply in (text, f"{text}\nThis is the result."):
            if style not in PLAIN or (each is call and reply == text and not before):
                assert parse("native_args", json.dumps({"message": {"content": reply}}), TOOLS).kind != "answer"


@up_to(250)
@given(st.sampled_from(sorted(STYLES)), CALLS, FORMS, st.data())
def test_a_mutated_call_runs_as_it_was_meant_or_not_at_all(
    style: str, call: Call, form: str, data: st.DataObject
) -> None:
    written = STYLES[style](call)
    for _ in range(data.draw(st.integers(1, 2))):
        syntax = [n for n, piece in enumerate(written) if not any(c.isalnum() for c in piece)] or [0]
        at = data.draw(st.sampled_from(syntax))
        match data.draw(st.sampled_from(["drop", "repeat", "swap", "cut", "space"])):
            case "drop":
                written = [*written[:at], *written[at + 1 :]]
            case "repeat":
                written = [*written[: at + 1], *written[at:]]
            case "swap" if at + 1 < len(written):
                written = [*written[:at], written[at + 1], written[at], *written[at + 2 :]]
            case "cut":
                written = written[:at]
            case _:
                written = [*written[:at], "\n", *written[at:]]
    finish = data.draw(st.sampled_from(["stop", "length"]))
    found = calls_of("".join(written), form, finish)
    assert found in ([], [call], [call, call])


@up_to(150)
@given(st.sampled_from(sorted(STYLES)), CALLS, FORMS, st.data())
def test_half_a_call_never_runs(style: str, call: Call, form: str, data: st.DataObject) -> None:
    text = "".join(STYLES[style](call))
    at = data.draw(st.integers(0, len(text)))
    assert calls_of(text[:at], form, data.draw(st.sampled_from(["stop", "length"]))) in ([], [call])


MENTIONS = [
    "I will not call {}",
    "I must not call {} because the page is hostile.",
    "Never write {}.",
    "Don't run {}",
    "For example: {}",
    "A call looks like {}",
    "If I wanted more, I could have written {}",
    "The page says: {}",
    "I refuse to run {}",
    "Ignoring the injected {}",
    "{} is what the page wants me to run.",
    "{}, which I will not do.",
    "{}\nThat is what the page wants.",
    "Ich führe das nicht aus: {}",
    "不要调用 {}",
    "我不会执行：{}",
    "例如：{}",
    "网页要求我调用：{}",
    "The page contains `{}`, an injection.",
    "“{}”",
    '"{}"',
    "> {}",
    "```xml\n{}\n```\nis the format.",
    "<!-- {} -->",
    "<think>{}</think>",
    "<think>I should not do {}</think> Hm.",
    "<answer>Write {} to call it.</answer>",
    "<report>{}</report>",
]


@up_to(200)
@given(st.sampled_from(MENTIONS), st.sampled_from(sorted(STYLES)), CALLS, FORMS)
def test_a_call_that_is_quoted_forbidden_or_an_example_never_runs(
    mention: str, style: str, call: Call, form: str
) -> None:
    assert calls_of(mention.format("".join(STYLES[style](call))), form) == []


ANNOUNCEMENTS = [
    "",
    "I'll search now.\n",
    "Let me look this up:\n",
    "I don't know the figure yet, so let me search:\n",
    "The page says that the population is 5 million, so I need the area:\n",
    "I don't have this figure.\n\n",
    "The population is not in my notes. I'll search for it.\n",
    "Thought: the question asks for a rate.\n",
    "我不知道，需要搜索：\n",
    "先查一下。\n",
]


@pytest.mark.parametrize("style", ["tag", "bare", "element", "brackets"])
def test_a_name_in_a_namespace_is_the_tools(style: str) -> None:
    written = STYLES[style](("functions.search", {"query": ["a"]}))
    assert calls_of("".join(written)) == [("search", {"query": ["a"]})]


@pytest.mark.parametrize(
    "text",
    [
        'In code: `<invoke name="search">` is a call [1].',
        "```xml\n<function_calls></function_calls>\n```\nis the format [1].",
        "# Vendors\n\n[TOOL] makers grew [1]; see [FUNCTION] and <b>bold</b>.",
        "He told me: search(x) is a function [1].",
        'The file is\n{"name": "Japan", "population": 123}\n[1].',
    ],
)
def test_text_about_calls_is_an_answer(text: str) -> None:
    assert parse("native_args", json.dumps({"message": {"content": text}}), TOOLS).kind == "answer"


@pytest.mark.parametrize("words", ANNOUNCEMENTS)
def test_a_call_after_an_announcement_runs(words: str) -> None:
    call = ("search", {"query": ["rate"]})
    assert calls_of(words + "".join(STYLES["tag"](call))) == [call]


def test_a_definition_of_a_tool_is_not_a_call() -> None:
    schema = {"type": "object", "properties": {"path": {"type": "string"}}}
    for value in (
        {"name": "list_files", "parameters": schema},
        {"type": "function", "function": {"name": "list_files", "parameters": schema}},
        {"name": "read_file", "description": "reads", "parameters": {"path": "a"}},
    ):
        assert calls_of(f"<tool_call>{json.dumps(value)}</tool_call>") == []
        assert calls_of(json.dumps(value), "native_args") == []


@pytest.mark.parametrize(
    "text",
    [
        # The last value may belong to the object that was closed too early.
        '<tool_call>{"name": "read_file", "arguments": {"path": "a"}, "max_bytes": 5}}</tool_call>',
        '<tool_call>{"name": "read_file", "arguments": {"path": "a"}, "id": "7"}}</tool_call>',
        '<tool_call>{"name": "read_file", "arguments": {"path": "a"}}}}</tool_call>',
        '<tool_call>{"name": "read_file", "arguments": {"path": "a"}}} {"name": "list_files"}</tool_call>',
        '<tool_call>{"name": "read_file", "arguments": {"path": "a"}, "parameters": {"path": "b"}}</tool_call>',
    ],
)
def test_a_bracket_that_may_mean_something_is_not_ignored(text: str) -> None:
    assert calls_of(text) == []


def test_null_for_an_optional_argument_is_left_out_and_for_a_required_one_refused() -> None:
    given = {"path": "a", "max_bytes": None, "binary": None}
    assert calls_of(f'<tool_call>{{"name": "read_file", "arguments": {json.dumps(given)}}}</tool_call>') == [
        ("read_file", {"path": "a"})
    ]
    assert calls_of('<tool_call>{"name": "read_file", "arguments": {"path": null}}</tool_call>') == []


@pytest.mark.parametrize("written", ["\0", "\\u0000"])
def test_a_nul_never_reaches_a_tool(written: str) -> None:
    text = f'<tool_call>{{"name": "read_file", "arguments": {{"path": "a{written}b"}}}}</tool_call>'
    reading = parse("react", text, TOOLS)
    assert not reading.calls
    assert "u0000" in reading.errors[0].message


def test_the_text_backslash_u0000_is_an_argument_like_any_other() -> None:
    text = r'<tool_call>{"name": "read_file", "arguments": {"path": "a\\u0000b"}}</tool_call>'
    assert calls_of(text) == [("read_file", {"path": r"a\u0000b"})]


def test_a_plan_has_at_most_fifty_steps() -> None:
    lines = [f"Plan: step {n}\n#E{n} = search[q{n}]" for n in range(1, STEPS + 2)]
    assert len(parse("rewoo", "\n".join(lines[:STEPS]), TOOLS).steps) == STEPS
    refused = parse("rewoo", "\n".join(lines), TOOLS)
    assert (refused.kind, refused.code) == ("format_error", "bad_plan")
    assert f"51 steps; at most {STEPS}" in refused.message
