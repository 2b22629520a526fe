"""The offline model on questions over the Factbook; the whole files are measured by `bench/factbook.py`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import research
from bench.factbook import judge
from research.extractive.question import parse
from research.workbench import Workbench

QUESTIONS = Path(__file__).parents[1] / "data" / "factbook_dev.jsonl"
EVERY = 3
"""A question in so many is asked: all kinds are among them."""
COUNT = 30


def test_four_of_five_questions_are_answered_rightly(bench: Workbench) -> None:
    items = [json.loads(line) for line in QUESTIONS.read_text("utf-8").splitlines()][::EVERY][:COUNT]
    assert len({item["kind"] for item in items}) == 6
    wrong = []
    for item in items:
        view = research.run(item["question"], workbench=bench)
        problem = judge(item, view.outcome or "", view.answer)
        if problem:
            wrong.append(f"{item['id']} {item['question']}: {problem}; {view.outcome}: {view.answer[:200]}")
    assert len(wrong) <= 0.2 * COUNT, "\n".join(wrong)


@pytest.mark.parametrize(
    "question",
    [
        "What is Kenya's population, and how long is its coastline?",
        "What is Peru's population and coastline?",
        "How long is Chile's coastline, and what is Chile's population?",
    ],
)
def test_both_halves_of_a_question_are_asked(question: str) -> None:
    assert {target.label for target in parse(question).targets} == {"Population, total", "Coastline"}


@pytest.mark.parametrize("verb", ["Write an overview of", "Prepare a brief on", "Summarise", "Assess", "Compare"])
def test_a_verb_that_begins_a_request_is_no_name(verb: str) -> None:
    assert parse(f"{verb} the economy of Kenya and Ghana").names == ("Kenya", "Ghana")
