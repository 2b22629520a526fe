"""`bench.multihop`: retrieval by words and by links for questions that take several documents."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.multihop import followed, lines, links, measure
from research.errors import ConfigError
from research.search.library.factbook import Document


def documents(tmp_path: Path) -> Path:
    texts = {
        "Blue Gate (film)": "Blue Gate is a film. Its director was Ann Orme.",
        "Ann Orme": "Born in a village by the sea.",
        "Blue Gate (inn)": "An inn. Nobody was its director.",
        "Red Gate": "A gate, and no film at all, with a director of traffic.",
    }
    path = tmp_path / "documents.jsonl"
    path.write_text("".join(json.dumps({"id": key, "title": key, "text": text}) + "\n" for key, text in texts.items()))
    return path


def test_links_find_documents_that_words_do_not(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = tmp_path / "asked.jsonl"
    gold = ["Blue Gate (film)", "Ann Orme"]
    rows = [
        {"id": "1", "question": "Who directed the film Blue Gate, and which director?", "answer": "x", "gold": gold},
        {"id": "2", "question": "Is there a yellow gate?", "answerable": False},
    ]
    asked.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = measure(str(asked), "", documents(tmp_path))
    assert found == ((0, 0), (1, 1))
    told = capsys.readouterr().out + lines({"asked": found})
    assert "asked: 1 questions with gold, 4 documents" in told
    assert "| asked | 0.00 / 0.00 | 1.00 / 1.00 |" in told
    assert "Ann" not in told, "the output must contain totals only"


def test_links_come_from_titles_mentioned_as_whole_words_in_other_documents() -> None:
    found = links([
        Document("a", "Ostra (river)", "The Ostra flows past Lom and Ostravand."), Document("b", "Lom", "By the Lomond."),
        Document("c", "《退潮》", "望澜桥畔。"), Document("d", "望澜桥（老桥）", "见于退潮时。"), Document("e", "Ostravand", ""),
    ])  # fmt: skip
    assert found == {"a": {"b", "e"}, "b": set(), "c": {"d"}, "d": {"c"}, "e": set()}


def test_each_result_is_followed_by_its_best_link() -> None:
    linked = {key: frozenset(others) for key, others in {"a": "dc", "b": "cz", "c": "", "d": ""}.items()}
    assert list(followed("abcd", linked)) == ["a", "c", "b", "z", "c", "d"]


def test_a_dataset_without_documents_or_gold_is_reported(tmp_path: Path) -> None:
    asked = tmp_path / "asked.jsonl"
    asked.write_text('{"id": "1", "question": "Why?", "answerable": false}')
    with pytest.raises(ConfigError, match="--corpus"):
        measure(str(asked), "", None)
    with pytest.raises(ConfigError, match="no gold"):
        measure(str(asked), "", documents(tmp_path))
