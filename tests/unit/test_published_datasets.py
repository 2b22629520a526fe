"""Published datasets are read as their authors distribute them.  All rows here are made up."""

from __future__ import annotations

import base64
import csv
import hashlib
import json
from collections.abc import Mapping, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from research.errors import ConfigError
from research.evaluation import Question, load

CANARY = "made-up canary 7f3a-11"


def encrypted(text: str, key: bytes) -> str:
    return base64.b64encode(bytes(one ^ other for one, other in zip(text.encode(), cycle(key), strict=False))).decode()


def table(path: Path, rows: Sequence[Mapping[str, Any]]) -> str:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter="\t" if path.suffix == ".tsv" else ",")
        writer.writeheader()
        writer.writerows(rows)
    return str(path)


def lines(path: Path, rows: Sequence[Mapping[str, Any]]) -> str:
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return str(path)


def one(path: str) -> Question:
    (question,) = load(path).questions
    return question


def test_simpleqa_is_read_with_its_topic(tmp_path: Path) -> None:
    meta = "{'topic': 'Towers', 'answer_type': 'Person', 'urls': ['https://e.org/a', 'https://e.org/b']}"
    row = {"metadata": meta, "problem": "Who built the Brass Tower, and why?", "answer": "Odo Fenn"}
    question = one(table(tmp_path / "simple.csv", [row]))
    assert (question.question, question.answers, question.kind) == (row["problem"], ("Odo Fenn",), "Towers")


def test_browsecomp_rows_are_decrypted_with_the_hash_of_their_canary(tmp_path: Path) -> None:
    key, asked = hashlib.sha256(CANARY.encode()).digest(), "Which engineer, born in Larkmouth, built a tower? " * 3
    row = {
        "problem": encrypted(asked, key),
        "answer": encrypted("Odo Fénn", key),
        "problem_topic": "Art",
        "canary": CANARY,
    }
    question = one(table(tmp_path / "browse.csv", [row]))
    assert question.question == asked.strip() and question.answers == ("Odo Fénn",)
    assert (question.kind, question.canary) == ("Art", CANARY)
    plain = one(lines(tmp_path / "plain.jsonl", [{**row, "problem": asked, "answer": "Odo"}]))
    assert plain.question == asked.strip() and plain.answers == ("Odo",)
    with pytest.raises(ConfigError, match=r"record 1: answer cannot be decrypted with the canary of its row"):
        load(table(tmp_path / "broken.csv", [{**row, "answer": "not base64!"}]))
    with pytest.raises(ConfigError, match="record 1 has no canary"):
        load(lines(tmp_path / "none.jsonl", [{**row, "canary": ""}]))


def test_xbench_rows_are_decrypted_with_their_canary(tmp_path: Path) -> None:
    key = CANARY.encode()
    row = {"id": 3, "prompt": encrypted("谁建了铜塔？", key), "answer": encrypted("奥多", key), "canary": CANARY}
    question = one(table(tmp_path / "x.csv", [row]))
    assert (question.id, question.question, question.answers) == ("3", "谁建了铜塔？", ("奥多",))


def test_gaia_rows_with_files_are_left_out_and_said(tmp_path: Path) -> None:
    row = {"task_id": "t1", "Question": "How many towers?", "Level": 2, "Final answer": "4", "file_name": ""}
    dataset = load(
        lines(
            tmp_path / "gaia.jsonl",
            [
                row,
                {**row, "task_id": "t2", "file_name": "t2.xlsx"},
                {**row, "task_id": "t3", "Final answer": "?"},
            ],
        )
    )
    first, hidden = dataset.questions
    assert (first.id, first.question, first.answers, first.kind) == ("t1", "How many towers?", ("4",), "level 2")
    assert hidden.id == "t3" and not hidden.has_gold
    assert dataset.notes == ("1 records are left out: each needs an attached file",)


def test_frames_names_the_pages_that_an_answer_needs(tmp_path: Path) -> None:
    row = {
        "Unnamed: 0": 0,
        "Prompt": "Who built it?",
        "Answer": "Odo Fenn",
        "wikipedia_link_1": "https://en.wikipedia.org/wiki/A",
        "wikipedia_link_2": "",
        "reasoning_types": "Numerical reasoning",
        "wiki_links": "['https://en.wikipedia.org/wiki/A', 'https://en.wikipedia.org/wiki/B,_C']",
    }
    question = one(table(tmp_path / "frames.tsv", [row]))
    assert question.gold == ("https://en.wikipedia.org/wiki/A", "https://en.wikipedia.org/wiki/B,_C")
    assert (question.answers, question.kind) == (("Odo Fenn",), "Numerical reasoning")


def test_deep_research_bench_and_draco_have_no_short_answer(tmp_path: Path) -> None:
    query = {"id": 1, "topic": "Towers", "language": "en", "prompt": "Write about towers."}
    asked = one(lines(tmp_path / "query.jsonl", [query]))
    assert (asked.kind, asked.has_gold, asked.reference) == ("Towers", False, "")
    told = one(lines(tmp_path / "reference.jsonl", [{"id": 1, "prompt": "Write about towers.", "article": "Towers …"}]))
    assert told.reference == "Towers …"
    rubric = {
        "id": "r",
        "sections": [
            {
                "id": "a",
                "title": "Accuracy",
                "criteria": [
                    {"id": "x", "weight": 10, "requirement": "Names Odo Fenn"},
                    {"id": "y", "weight": -5, "requirement": "Invents a date"},
                ],
            }
        ],
    }
    draco = {"id": "d1", "domain": "Law", "problem": "Compare the towers.", "answer": json.dumps(rubric)}
    question = one(lines(tmp_path / "draco.jsonl", [draco]))
    assert question.rubric == "+10 Names Odo Fenn\n-5 Invents a date" and question.kind == "Law"
    assert not question.has_gold, "a rubric is no answer"
    with pytest.raises(ConfigError, match="record 1: answer of DRACO must be JSON"):
        load(lines(tmp_path / "bad.jsonl", [{**draco, "answer": "Odo"}]))


@pytest.mark.parametrize("name", ["odd.csv", "odd.jsonl"])
def test_an_unknown_format_names_its_columns_and_what_is_accepted(tmp_path: Path, name: str) -> None:
    row = {"utterance": "Who?", "label": "Odo"}
    path = (table if name.endswith("csv") else lines)(tmp_path / name, [row])
    with pytest.raises(ConfigError) as raised:
        load(path)
    said = str(raised.value)
    assert "utterance, label" in said and "BrowseComp (problem, answer, canary)" in said and "question with" in said
