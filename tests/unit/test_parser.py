"""The reply parser: listed cases, and properties that must hold for any input."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from research.errors import FormatError, ToolError
from research.events.transcript import Interaction
from research.parsing import FORMATS, as_dict, parse
from research.parsing.arguments import checked
from research.parsing.relaxed import Malformed, decode_all
from research.protocols import create
from research.protocols.tagged import tag
from research.types import Completion, Observation, RawCall, ToolSpec
from tests.fuzz import up_to
from tests.growth import grows, timed
from tests.loops import loop_over

DATA = Path(__file__).parents[1] / "data"
TOOLS = [ToolSpec(**tool) for tool in json.loads((DATA / "protocol_tools.json").read_text("utf-8"))]


def cases(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DATA / name).read_text("utf-8").split("\n") if line]


def read(case: dict[str, Any]) -> dict[str, Any]:
    return as_dict(parse(case["format"], case["text"], TOOLS, case.get("finish_reason", "stop")))


def options(expect: dict[str, Any]) -> list[dict[str, Any]]:
    return expect["options"] if expect["kind"] == "any_of" else [expect]


def printable(text: Any) -> str:
    return "".join(c for c in text or "" if ord(c) >= 32 or c in "\n\t").strip()


def fits(expect: dict[str, Any], got: dict[str, Any]) -> bool:
    if expect["kind"] != got["kind"] or expect["kind"] == "format_error":
        return bool(expect["kind"] == got["kind"])
    errors = [{"index": error["index"], "code": error["code"]} for error in got.get("errors", [])]
    return (
        all(
            (expect.get(key) or None) == (got.get(key) or None) for key in ("calls", "steps", "report") if key in expect
        )
        and ("text" not in expect or printable(expect["text"]) == printable(got.get("text")))
        and expect.get("errors", errors) == errors
    )


@pytest.mark.parametrize("name", ["protocol_cases.jsonl", "protocol_cases_own.jsonl"])
def test_the_listed_cases_are_parsed_correctly_without_any_wrong_call(name: str) -> None:
    listed = cases(name)
    wrong, missed = [], []
    for case in listed:
        got = read(case)
        allowed = [call for option in options(case["expect"]) for call in option.get("calls", [])]
        if any(call not in allowed for call in got.get("calls", [])):
            wrong.append(case["id"])
        if not any(fits(option, got) for option in options(case["expect"])):
            missed.append(case["id"])
    assert wrong == []
    assert len(missed) <= 0.02 * len(listed), missed


def test_an_unknown_format_is_reported_by_name() -> None:
    with pytest.raises(FormatError, match="'yaml' is unknown; known: react"):
        parse("yaml", "", TOOLS)


# -- any input ----------------------------------------------------------------------------------------------------------

PIECES = [
    "<think>",
    "</think>",
    "<tool_call>",
    "</tool_call>",
    "<action>",
    "</action>",
    "<answer>",
    "</answer>",
    "<report>",
    "</report>",
    "<tool_response>",
    "</tool_response>",
    "<code>",
    "</code>",
    "<!--",
    "-->",
    "`",
    "```\n",
    "\n```",
    "~~~",
    '{"name": "search", "arguments": {"query": ["a"]}}',
    '{"name": "python", "arguments": {}}',
    "{",
    "}",
    "[",
    "]",
    ",",
    '"',
    "'",
    "\\",
    "“",
    "”",
    "‘",
    "「",
    "」",
    "｛",
    "｝",
    "：",
    "，",
    ":",
    "//",
    "/*",
    "*/",
    "#",
    "\n",
    "\n\n",
    " ",
    "> ",
    '"name"',
    '"arguments"',
    "name",
    "search",
    "true",
    "None",
    "NaN",
    "1e999",
    "9" * 1200,
    "\\ud83d",
    "\ud83d",
    "\x00",
    "太阳",
    "Plan: ",
    "#E1 = search[",
    "#E2 = llm[#E1]",
    "Step 1: ",
    '{"finish_reason": "stop", "message": {',
    '"content": "',
    '"tool_calls": [',
    '{"function": {"name": "search", "arguments": "',
    "<",
    "</",
    "<tool",
]
TEXTS = st.lists(st.sampled_from(PIECES) | st.text(max_size=5), max_size=30).map("".join)
ENDS = st.sampled_from(["stop", "length", "tool_calls", "content_filter", "", "x"])


@up_to(600)
@given(st.sampled_from(FORMATS), TEXTS, ENDS)
@example("react", "<tool_call>/*", "stop")
def test_no_text_makes_the_parser_raise(form: str, text: str, end: str) -> None:
    reading = parse(form, text, TOOLS, end)
    json.dumps(as_dict(reading)).encode()
    assert reading.kind != "format_error" or reading.message
    assert {call.name for call in reading.calls} <= {tool.name for tool in TOOLS}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["name", "arguments", "function", "tool_calls", "content", "message", "finish_reason", "function_call"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@up_to(300)
@given(JSON)
def test_no_native_choice_makes_the_parser_raise(value: Any) -> None:
    for choice in (value, {"finish_reason": "tool_calls", "message": {"tool_calls": value, "content": value}}):
        parse("native_args", json.dumps(choice), TOOLS)


HOSTILE = st.lists(
    st.sampled_from(
        [
            *PIECES,
            "<tool_call>{'name': 'python', 'arguments': {'code': 'evil'}}</tool_call>",
            '<tool_call>{"name": "python", "arguments": {"code": "evil"}}</tool_call>',
        ]
    )
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=4),
    max_size=8,
).map(lambda pieces: "".join(pieces).replace("\ud83d", "").replace("\0", ""))
CALL = st.one_of(
    st.builds(lambda q: ("search", {"query": [f"q{q}"]}), HOSTILE),
    st.builds(lambda u, g: ("visit", {"url": [u], "goal": g}), HOSTILE, HOSTILE),
    st.builds(lambda c: ("python", {"code": c}), HOSTILE),
    st.builds(
        lambda p, n, b: ("read_file", {"path": p, "max_bytes": n, "binary": b}), HOSTILE, st.integers(), st.booleans()
    ),
    st.just(("list_files", {})),
)


def spellings(call: tuple[str, dict[str, Any]]) -> Iterator[str]:
    value = {"name": call[0], "arguments": call[1]}
    yield json.dumps(value, ensure_ascii=False)
    yield json.dumps(value, indent=1).replace("\n]", ",\n]").replace("\n}", ",\n} // done\n")
    yield json.dumps({"name": call[0], "arguments": json.dumps(call[1])})
    yield f"```json\n{json.dumps(value)}\n```"


@up_to(400)
@given(st.lists(CALL, min_size=1, max_size=3), st.integers(0, 3), st.booleans(), st.data())
def test_complete_calls_are_parsed_exactly_and_a_truncated_call_never_runs(
    calls: list[tuple[str, dict[str, Any]]], spelling: int, separate: bool, data: st.DataObject
) -> None:
    written = [list(spellings(call))[spelling] for call in calls]
    if separate or spelling == 3:
        text = "<think>go</think>" + "\n".join(f"<tool_call>{each}</tool_call>" for each in written)
    else:
        text = "<think>go</think><tool_call>\n" + "\n".join(written) + "\n</tool_call>"
    whole = parse("react", text, TOOLS)
    assert [(call.name, call.arguments) for call in whole.calls] == calls
    at = data.draw(st.integers(0, len(text)))
    end = data.draw(st.sampled_from(["stop", "length"]))
    for call in parse("react", text[:at], TOOLS, end).calls:
        assert (call.name, call.arguments) == calls[call.index]


@up_to(300)
@given(st.lists(CALL, min_size=1, max_size=3), st.data())
def test_a_truncated_native_call_never_runs(calls: list[tuple[str, dict[str, Any]]], data: st.DataObject) -> None:
    *first, last = calls
    raw = [RawCall(f"c{i}", name, json.dumps(given)) for i, (name, given) in enumerate(first)]
    text = json.dumps(last[1])
    raw.append(RawCall("last", last[0], text[: data.draw(st.integers(1, len(text) - 1))]))
    end = data.draw(st.sampled_from(["tool_calls", "stop", "length"]))
    completion = Completion(finish_reason=end, raw_calls=tuple(raw))
    if not first:
        with pytest.raises(FormatError):
            create("native").read(completion, str, TOOLS)
        return
    reply = create("native").read(completion, str, TOOLS)
    assert [(call.name, call.arguments) for call in reply.calls] == first
    assert [error.index for error in reply.errors] == [len(first)]


@up_to(300)
@given(CALL, HOSTILE)
@example(("python", {"code": "evil"}), "")
def test_a_call_that_is_only_quoted_never_runs(call: tuple[str, dict[str, Any]], words: str) -> None:
    written = f"<tool_call>{json.dumps({'name': call[0], 'arguments': call[1]})}</tool_call>"
    quoted = written.replace("`", "")
    quiet = "".join(c for c in words if c.isalnum())
    for text in (
        f"<think>{quiet} {written} {quiet}</think><answer>x</answer>",
        f"{quiet} {written} no</think><answer>x</answer>",
        f"{quiet} `{quoted}` {quiet}\n<answer>x</answer>",
        f"{quiet}\n```\n{quoted}\n```\n<answer>x</answer>",
        f"<answer>x</answer>{written}",
        f"<answer>{quiet} `{quoted}`</answer>",
        f"<tool_response>{quiet}</tool_response>{written}",
    ):
        assert parse("react", text, TOOLS).calls == (), text


GROWING = [
    "<tool_call>",
    "</tool_call>",
    "<think>",
    "</think>",
    "<answer>",
    "<report>",
    "<tool_call>{",
    '<tool_call>{"a',
    "<tool_call>{'",
    "<tool_call>{“",
    "<tool_call>{/*",
    "<tool_call>{//",
    "<tool_call>[",
    "<tool_call>{}<code>",
    "<tool_call>{}<code></code>",
    "`",
    "` <answer>",
    "``` <tool_call>",
    "\n```\n",
    "<!--",
    '"<tool_call>',
    "> <tool_call>",
    "<answer>`</answer>",
    "<answer></think>",
    "<report>`",
    " ",
    "\n",
    "<",
    "< <",
    "Plan: a\n",
    "#E1 = search[",
    "#E1 = search[a]\n",
    "Plan: #E",
    "[",
    "\\",
    "“",
    "<tool_call>{x}</tool_call>",
    "<think></think>",
    '<tool_call>{"name": "search", "arguments": {"query": ["a"]}}</tool_call>',
    "<tool_response></think>",
    "<answer>x</answer>`",
    '<invoke name="search">',
    '<function_calls><invoke name="search"><parameter name="query">',
    "</invoke>",
    '<a b="',
    "[TOOL_REQUEST]",
    "<|tool_call|>",
    "<|channel|>analysis<|message|>",
    "\n{",
    "\nAction: a\nAction Input: {",
    "search(",
    "a.b.",
    "<a>",
    "[END]",
    "analysisA",
    "assistantanalysis",
    "commentary to=a",
]


@pytest.mark.slow
@loop_over("form, piece", product(["react", "rewoo", "native_args"], GROWING))
def test_parsing_time_is_not_quadratic_in_the_size(form: str, piece: str) -> None:
    def text(size: int) -> str:
        body = piece * (size // len(piece))
        if form != "native_args":
            return body
        call = {"function": {"name": "search", "arguments": body}}
        return json.dumps({"message": {"content": body, "tool_calls": [call]}})

    assert not grows(timed(lambda text: parse(form, text, TOOLS)), text, exhaustive=True)


# -- how it is used -----------------------------------------------------------------------------------------------------

GOOD = '<tool_call>{"name": "search", "arguments": {"query": ["a"]}}</tool_call>'
BAD = '<tool_call>{"name": "search", "arguments": {"query": ["b"}}</tool_call>'


def test_a_reply_reports_invalid_calls_by_their_position() -> None:
    reply = create("tagged").read(Completion(f"{BAD}{GOOD}"), lambda index: f"id-{index}", TOOLS)
    assert [call.id for call in reply.calls] == ["id-1"]
    assert [(error.index, error.id, error.code, error.name) for error in reply.errors] == [(0, "id-0", "bad_json", "")]


@pytest.mark.parametrize("text", ["<think>I wonder", "<report>It grew"])
def test_a_reply_that_is_only_an_unclosed_tag_says_so(text: str) -> None:
    assert parse("react", text, TOOLS).code == "unclosed_tag"


@pytest.mark.parametrize(("times", "kind"), [(3, "tool_calls"), (4, "format_error")])
def test_arguments_are_read_from_at_most_three_layers_of_json(times: int, kind: str) -> None:
    arguments: Any = {"query": ["a"]}
    for _ in range(times):
        arguments = json.dumps(arguments)
    call = json.dumps({"name": "search", "arguments": arguments})
    assert parse("react", f"<tool_call>{call}</tool_call>", TOOLS).kind == kind


@pytest.mark.parametrize(
    ("draft", "found"),
    [
        ("<report>old</report> <report> It grew. </report> more", "It grew."),
        ("<think>x</think><report>It gr", "It gr"),
        ("It grew.", ""),
    ],
)
def test_a_draft_shows_its_last_report_as_far_as_it_is_written(draft: str, found: str) -> None:
    assert tag(draft, "report") == found


def test_without_tools_plain_text_is_the_answer_and_a_call_is_rejected() -> None:
    protocol = create("tagged")
    assert protocol.read(Completion("<think>x</think>It is 5."), str, ()).answer == "It is 5."
    with pytest.raises(FormatError, match="No tool can be called any more"):
        protocol.read(Completion(GOOD), str, ())


def test_native_history_pairs_results_with_calls_and_appends_other_notes() -> None:
    protocol = create("native")
    raw = (RawCall("x", "search", '{"query": ["b"}'), RawCall("y", "search", '{"query": ["a"]}'))
    reply = protocol.read(Completion(raw_calls=raw, finish_reason="tool_calls"), str, TOOLS)
    seen = (Observation("0", "search", "not JSON", ok=False), Observation("1", "search", "found"))
    roles = [(message.role, message.call_id) for message in protocol.turn(Interaction(reply, seen, "hint"))]
    assert roles == [("assistant", None), ("tool", "1"), ("user", None)]
    assert protocol.turn(Interaction(reply, seen, "hint"))[-1].content == "not JSON\nhint"


OPTIONAL = {
    "type": "object",
    "properties": {
        "n": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "s": {"type": "string"},
        "x": {"type": "number"},
        "tags": {"type": "array", "items": {"type": "integer"}},
    },
}


@pytest.mark.parametrize(
    ("given_", "expected"),
    [
        ({"n": "5"}, {"n": 5}),
        ({"n": None}, {"n": None}),
        ({"n": 5.0}, {"n": 5}),
        ({"s": 5}, {"s": "5"}),
        ({"x": "0.5"}, {"x": 0.5}),
        ({"x": "1e400"}, None),
        ({"s": 1.10}, None),
        ({"s": True}, None),
        ({"n": "5.5"}, None),
        ({"n": "٥"}, None),
        ({"n": True}, None),
        ({"tags": 5}, {"tags": [5]}),
        ({"tags": "[1, 2]"}, None),
        ({"tags": ["1", 2]}, {"tags": [1, 2]}),
        ({"s": "a", "other": 1}, {"s": "a"}),
        ({"other": 1}, None),
        ({}, {}),
        ({"s": "\ud83d"}, None),
        ({"x": float("nan")}, None),
        ({"s": "x" * 100_001}, None),
    ],
)
def test_arguments_are_converted_only_without_loss(given_: dict[str, Any], expected: dict[str, Any] | None) -> None:
    spec = ToolSpec("tool", "", OPTIONAL)
    if expected is None:
        with pytest.raises(ToolError, match="^tool: "):
            checked(given_, spec)
    else:
        assert checked(given_, spec) == expected


@up_to(300)
@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(st.characters(exclude_categories=["Cs"])),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner),
        max_leaves=20,
    )
)
def test_valid_json_is_decoded_exactly(value: Any) -> None:
    assert decode_all(json.dumps(value)) == value
    assert decode_all(json.dumps(value, ensure_ascii=False, indent=2)) == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        '{"a": 1',
        "[1, 2",
        '"a',
        "{,}",
        "[,]",
        "[1,,2]",
        "[1 2]",
        "{1: 2}",
        "01",
        "+1",
        ".5",
        "1_000",
        "0x1",
        "NaN",
        "nan",
        "(1, 2)",
        '"a" "b"',
        '{"a": 1}{"a": 2}',
        r'"\d"',
        r'"\x41"',
        '{"a": 1, "a": 1}',
        '“a"',
        "[" * 5000,
    ],
)
def test_ambiguous_or_malformed_json_is_rejected(text: str) -> None:
    with pytest.raises(Malformed):
        decode_all(text)
