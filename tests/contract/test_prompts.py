"""The prompts in docs/prompts are those that models get, and they state the limit of rounds."""

from __future__ import annotations

import re

from bench.prompts import FOLDER, pages


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


def test_no_prompt_contradicts_itself() -> None:
    for path in FOLDER.glob("*.*.md"):
        for system in re.findall(r"\*\*system\*\*\n\n````text\n(.*?)````", path.read_text("utf-8"), re.S):
            one_call = "single tool call" in system or "调用一次工具" in system
            assert not (one_call and re.search("independent calls|互不依赖的调用", system)), path.name
            assert not ("must be called" in system and "call no tool" in system), path.name
