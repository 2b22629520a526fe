"""The almanac: prose with questions that take several articles; no single article answers one alone."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from research.evaluation import Question, load, open_corpus
from research.evaluation.questions import SPLITS
from research.search.library.factbook import Document
from research.text import content_tokens, has_cjk

SETS = ("almanac", "almanac-zh")
DECIDED = ("yes", "no", "是", "否")


def bare(title: str) -> str:
    """Return a title as a sentence writes it, without a parenthesis, quotation marks or a leading article."""
    return re.sub(r"\s*[(（].*[)）]$", "", title).strip("《》“”").removeprefix("The ").casefold()


def says(document: Document, text: str) -> bool:
    """Return whether a document contains the words, ignoring case; `sixteen` does not contain `six`."""
    edge = "" if has_cjk(text) else r"\b"
    return re.search(f"{edge}{re.escape(text)}{edge}", f"{document.title}\n{document.text}", re.IGNORECASE) is not None


def told(question: Question, document: Document) -> bool:
    return any(says(document, answer) for answer in question.answers)


def subjects(question: Question, documents: dict[str, Document]) -> list[str]:
    """Return what the question names: gold titles; failing those, capitalised words and years that few articles contain;
    failing those, all its words."""
    titles = [name for key in question.gold if (name := bare(documents[key].title)) in question.question.casefold()]
    names = re.findall(r"(?<!^)(?<![.:?] )\b[A-Z]\w+|\b\d{4}\b", question.question)
    rare = [name for name in names if sum(says(each, name) for each in documents.values()) < len(documents) / 20]
    return titles or rare or list(content_tokens(question.question))


def asked(name: str) -> tuple[tuple[Question, ...], dict[str, Document]]:
    splits = [load(name, split) for split in SPLITS]
    assert splits[0].documents
    return tuple(each for made in splits for each in made.questions), {each.url: each for each in splits[0].documents}


@pytest.mark.parametrize(("name", "articles", "least", "lengths"), [
    ("almanac", 276, 75, (60, 140)), ("almanac-zh", 60, 16, (100, 160)),
])  # fmt: skip
def test_the_almanac_has_enough_articles_and_questions_of_every_kind(
    name: str, articles: int, least: int, lengths: tuple[int, int]
) -> None:
    questions, documents = asked(name)
    assert len(documents) == articles
    assert (
        len({each.title for each in documents.values()}) == len({each.text for each in documents.values()}) == articles
    )
    for each in documents.values():
        size = len(each.text) if has_cjk(each.text) else len(each.text.split())
        assert lengths[0] <= size <= lengths[1], each.title
        assert "\n" not in each.text
    for split in SPLITS:
        of_split = load(name, split).questions
        kinds = Counter(each.kind for each in of_split)
        assert len(of_split) >= least
        assert set(kinds) == {"bridge", "comparison", "bridge_comparison", "unanswerable"}
        assert kinds["bridge"] > len(of_split) / 2
        assert kinds["unanswerable"] >= len(of_split) / 7
        assert {each.kind for each in of_split[:16]} == set(kinds), "the first questions are not of every kind"
    assert len({each.id for each in questions}) == len({each.question for each in questions}) == len(questions)


@pytest.mark.parametrize("name", SETS)
def test_the_gold_articles_contain_the_answers(name: str) -> None:
    questions, documents = asked(name)
    for each in questions:
        assert each.answerable == bool(each.answers) == bool(each.gold), each
        assert set(each.gold) <= documents.keys(), each
        if each.answerable:
            assert len(each.gold) in (2, 3) and len(set(each.gold)) == len(each.gold), each
            assert not set(each.answers) & set(each.over), each
            decided = each.answers[0] in DECIDED
            assert decided or any(told(each, documents[key]) for key in each.gold), each
        if each.kind == "bridge":
            assert told(each, documents[each.gold[-1]]), each
        if each.over:
            assert all(any(says(documents[key], name) for key in each.gold) for name in each.over), each


@pytest.mark.parametrize("name", SETS)
def test_no_article_answers_a_bridge_question_alone(name: str) -> None:
    questions, documents = asked(name)
    for each in questions:
        if each.kind != "bridge":
            continue
        assert bare(documents[each.gold[-1]].title) not in each.question.casefold(), each
        known = subjects(each, documents)
        assert known
        for document in documents.values():
            enough = told(each, document) and all(says(document, subject) for subject in known)
            assert not enough, (each, document)


@pytest.mark.parametrize("name", SETS)
def test_each_hop_is_named_by_an_earlier_article(name: str) -> None:
    questions, documents = asked(name)
    for each in questions:
        if each.kind == "bridge":
            for place, key in enumerate(each.gold[1:], 1):
                # The words suffice, in any order: articles need not repeat a title verbatim.
                words = content_tokens(bare(documents[key].title))
                before = {word for other in each.gold[:place] for word in content_tokens(documents[other].text)}
                assert set(words) <= before, (each, key)


@pytest.mark.parametrize("name", SETS)
def test_the_splits_share_neither_gold_nor_questions(name: str) -> None:
    dev, held = (load(name, split).questions for split in SPLITS)
    assert not {key for each in dev for key in each.gold} & {key for each in held for key in each.gold}
    assert not {each.question.casefold() for each in dev} & {each.question.casefold() for each in held}
    assert all(each.id.startswith("dev-") for each in dev)
    assert all(each.id.startswith("held-") for each in held)
    assert load(name, "dev").documents == load(name, "held").documents, "the splits have different articles"


@pytest.mark.parametrize("name", SETS)
def test_the_articles_of_the_almanac_become_a_corpus(name: str, tmp_path: Path) -> None:
    made = load(name)
    assert made.documents
    corpus = open_corpus(tmp_path, made.name, made.documents)
    assert set(corpus.ids.values()) == {each.url for each in made.documents}
    assert len(list(Path(corpus.folder).iterdir())) == len(made.documents)
