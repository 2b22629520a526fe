"""Named sets of questions on the command line: versions by content, history, and the question of a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from research.config.settings import load as settings
from research.workbench.workbench import Workbench
from tests.command import Cli

pytestmark = pytest.mark.usefixtures("own_library")

FIRST = {"id": "q1", "question": "Who built the Brass Tower?", "answer": "Odo Fenn"}
SECOND = {"id": "q2", "question": "Where was Odo Fenn born?", "answer": "Larkmouth"}


def write(path: Path, *records: Any) -> str:
    path.write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    return str(path)


def add(cli: Cli, *words: str) -> Any:
    done = cli("eval", "add", "towers", *words, "--json")
    assert done.status == 0, done.err
    return done.json


def test_each_change_of_a_set_is_a_version_and_an_earlier_one_can_still_be_asked(cli: Cli, tmp_path: Path) -> None:
    first = add(cli, "--from", write(tmp_path / "one.jsonl", FIRST))
    again = add(cli, "--from", write(tmp_path / "copy.jsonl", FIRST))
    assert again == first, "the same questions made another version"
    second = add(cli, "--from", write(tmp_path / "two.jsonl", SECOND, {**FIRST, "answer": "Fenn"}))
    assert (first["questions"], second["questions"]) == (1, 2) and first["version"] != second["version"]
    history = cli("eval", "sets", "towers", "--json").json["sets"]
    assert [each["version"] for each in history] == [second["version"], first["version"]]
    assert (
        "2 questions of two" in cli("eval", "sets").out and f"towers@{first['version']}" not in cli("eval", "sets").out
    )
    script = write(tmp_path / "s.jsonl", {"text": "<answer>Odo Fenn.</answer>"})
    words = ("--recipe", f"react/full/scripted:{script}", "--json")
    now = cli("eval", "towers", *words).json
    assert [row["expected"] for row in now["rows"]] == [["Fenn"], ["Larkmouth"]]
    assert (now["evaluation"], now["dataset_version"]) == ("towers", second["version"])
    before = cli("eval", f"towers@{first['version']}", *words, "--name", "before").json
    assert [row["expected"] for row in before["rows"]] == [["Odo Fenn"]]
    assert before["dataset_version"] == first["version"]


def test_the_question_of_a_run_is_added_with_its_answer(cli: Cli, home: Path, tmp_path: Path) -> None:
    script = write(tmp_path / "s.jsonl", {"text": "<answer>Odo Fenn.</answer>"})
    run = cli("run", "Who built it?", "--model", f"scripted:{script}", "--json").json["run_id"]
    added = add(cli, "--run", run, "--answer", "Odo Fenn", "--answer", "Fenn")
    assert (added["questions"], added["note"]) == (1, f"the question of run {run}")
    bare = cli("eval", "add", "towers", "--run", run)
    assert bare.status == 0 and "neither right nor wrong" in bare.err
    found = cli("eval", "towers", "--recipe", f"react/full/scripted:{script}", "--json").json
    (row,) = found["rows"]
    assert (row["question"], row["expected"]) == ("Who built it?", ["Odo Fenn", "Fenn"])
    assert len(Workbench(settings(home=home)).store.runs()) == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("add", "towers"), "needs a set and what to add"),
        (("add", "a/b", "--from", "FILE"), "without / @"),
        (("add", "towers", "--from", "FILE", "--answer", "x"), "a file has its own answers"),
        (("add", "towers", "--run", "gone"), "gone"),
        (("sets", "nothing"), "unknown set 'nothing'; saved sets: towers"),
        (("towers@ffff", "--recipe", "react/full"), "has no version 'ffff'"),
        (("tower", "--recipe", "react/full"), "almanac-zh, towers"),
    ],
)
def test_a_wrong_set_is_refused_with_what_is_accepted(
    cli: Cli, tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    path = write(tmp_path / "one.jsonl", FIRST)
    add(cli, "--from", path)
    done = cli("eval", *(path if word == "FILE" else word for word in words))
    assert (done.status, done.out) == (2, "") and said in done.err


def test_a_set_keeps_the_documents_of_its_questions(cli: Cli, tmp_path: Path) -> None:
    hotpot = {
        "_id": "h", "question": "Who built it?", "answer": "Odo Fenn", "supporting_facts": [["Brass Tower", 0]],
        "context": [["Brass Tower", ["It was built by Odo Fenn."]]],
    }  # fmt: skip
    add(cli, "--from", write(tmp_path / "h.jsonl", hotpot))
    add(cli, "--from", write(tmp_path / "one.jsonl", SECOND))
    call = '<tool_call>{"name": "search", "arguments": {"query": "Brass Tower"}}</tool_call>'
    script = write(tmp_path / "s.jsonl", {"text": call}, {"text": "<answer>Odo Fenn [1].</answer>"})
    rows = cli("eval", "towers", "--recipe", f"react/full/scripted:{script}", "--json").json["rows"]
    assert [row["evidence_recall"] for row in rows] == [1.0, None]
