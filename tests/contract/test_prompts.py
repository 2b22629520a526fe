"""The prompts in docs/prompts are those that models get, and they state the limit of rounds."""

from __future__ import annotations

import re

import pytest

from bench.prompts import FOLDER, PROTOCOLS, pages, requests
from research.defaults import FRAMEWORKS
from research.events.recipe import Budget
from research.protocols.protocol import ProtocolName
from tests.player import purpose_of


def test_the_written_prompts_are_those_of_the_code() -> None:
    written = dict(pages())
    outdated = [path.name for path, text in written.items() if not path.is_file() or path.read_text("utf-8") != text]
    assert not outdated, "run python -m bench.prompts, and read what has changed"
    assert sorted(FOLDER.glob("*.*.md")) == sorted(written)


def test_every_framework_that_goes_in_rounds_tells_the_model_which_round_is_next() -> None:
    rounds = {path: path.read_text("utf-8") for path in FOLDER.glob("*.*.md") if not path.name.startswith("rewoo")}
    silent = [
        path.name for path, text in rounds.items() if not re.search(r"round 3 of \d+ is next|第 3 轮，共 \d+ 轮", text)
    ]
    assert silent == []


@pytest.mark.examples(7)
@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_every_framework_tells_the_model_how_many_tokens_are_left(framework: str, protocol: ProtocolName) -> None:
    for language, left in {
        "en": r"\(about ([\d,]+) of 200,000 tokens left\)",
        "zh": r"预算 200,000 个 token，约剩 ([\d,]+) 个",
    }.items():
        made = [body["messages"] for body in requests(framework, protocol, language, Budget(tokens=200_000))]
        assert "200,000 token" in made[0][0]["content"] or "200,000 个 token" in made[0][0]["content"]
        longest = max(made, key=lambda messages: len(re.findall(left, str(messages))))
        told = [int(each.replace(",", "")) for each in re.findall(left, str(longest))]
        assert told and told == sorted(told, reverse=True) and 150_000 < told[-1] <= 200_000


def test_without_a_budget_of_tokens_none_is_told() -> None:
    assert "tokens left" not in str([body["messages"] for body in requests("react", "native", "en")])


def test_no_prompt_contradicts_itself() -> None:
    for path in FOLDER.glob("*.*.md"):
        for system in re.findall(r"\*\*system\*\*\n\n````text\n(.*?)````", path.read_text("utf-8"), re.S):
            one_call = "single tool call" in system or "调用一次工具" in system
            assert not (one_call and re.search("independent calls|互不依赖的调用", system)), path.name
            assert not ("must be called" in system and "call no tool" in system), path.name
            rules = [line for line in system.splitlines() if "python" in line and re.match(r"\d\.", line)]
            assert all(
                re.search("where the python tool is offered|python tool where|有 python 工具时", line, re.I)
                for line in rules
            )


@pytest.mark.parametrize(("language", "only"), [("en", "nothing else"), ("zh", "只写答案")])
def test_the_forced_answer_may_end_with_its_account(language: str, only: str) -> None:
    last = requests("react", "native", language, rounds=2)[-1]["messages"]
    assert "<short>" in last[0]["content"] and only not in last[-1]["content"]


@pytest.mark.parametrize("framework", ["react", "tool_rounds", "iter_research"])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_forced_answer_has_the_form_that_the_protocol_asks_for(framework: str, language: str) -> None:
    forms: dict[ProtocolName, bool] = {"native": False, "tagged": True}
    for protocol, tags in forms.items():
        last = requests(framework, protocol, language, rounds=2)[-1]
        assert purpose_of(last) == "conclude"
        assert ("<answer>" in last["messages"][-1]["content"]) is tags


def test_the_supervisor_is_told_how_many_rounds_are_left_for_its_plan() -> None:
    first = requests("supervisor", "native", "en", planning=3)[0]
    assert "Rounds left before the sections must be named: 2." in first["messages"][-1]["content"]


@pytest.mark.parametrize("framework", ["react", "tool_rounds", "iter_research", "reflexion", "parallel"])
def test_every_loop_has_an_example_in_both_protocols(framework: str) -> None:
    for protocol in PROTOCOLS:
        for language, example in {"en": "Example", "zh": "示例"}.items():
            system = requests(framework, protocol, language)[0]["messages"][0]["content"]
            assert example in system, (protocol, language)
            assert "<tool_call>" in system or protocol == "native"


def test_react_is_told_to_check_in_several_sources_and_to_stay_with_the_question() -> None:
    for language, rules in {
        "en": ("several sources", "Stay with the question"),
        "zh": ("多个来源", "不偏离问题"),
    }.items():
        for protocol in PROTOCOLS:
            system = requests("react", protocol, language)[0]["messages"][0]["content"]
            assert all(rule in system for rule in rules)


@pytest.mark.examples(7)
@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_what_a_chinese_run_says_to_the_model_is_chinese(framework: str, protocol: ProtocolName) -> None:
    for body in requests(framework, protocol, "zh"):
        systems = [message["content"] for message in body["messages"] if message["role"] == "system"]
        # Code, calls, tags and schemas of tools have no language, nor have their names.
        lines = [line for text in systems for line in re.sub(r"`[^`]*`", "", text).splitlines() if line[:1] not in "{<"]
        lines += [each["function"]["description"] for each in body.get("tools") or ()]
        assert [line for line in lines if re.search(r"[A-Za-z]{3,} [A-Za-z]{3,} [a-z]{3,}", line)] == []


def test_no_model_is_asked_to_think_twice() -> None:
    for path in FOLDER.glob("*.native.*.md"):
        steps = path.read_text("utf-8").split("\n## ")[1:]
        if not path.name.startswith("rewoo"):  # its steps are text in every protocol
            assert not [step.splitlines()[0] for step in steps if "<think>" in step], path.name


def test_every_report_is_asked_for_years_and_a_source_for_each_row() -> None:
    for path in FOLDER.glob("*.*.md"):
        text = path.read_text("utf-8")
        assert "its year" in text and "every row" in text or "年份" in text and "每一行" in text, path.name
