"""Prose that states an answer and prose that only mentions the subject: a wrong answer is worse than none."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import research
from research.events.view import RunView
from research.models.extractive.evidence import Evidence
from research.models.extractive.prose import Prose
from research.types import Message
from tests.notes import Noted

pytestmark = pytest.mark.examples(3)

TEXTS = {
    "Brindle kite": "The brindle kite is a bird of prey of the Aldmere hills. It nests in old pines. "
    "Its call is likened to a creaking door.",
    "Corvane Choir": "The Corvane Choir is an ensemble of forty singers from Ostwick. "
    "The tenor Piers Haddow plays the organ and keeps the accounts. "
    "It holds 230 scores and was given half a million crowns by the city in 1998.",
    "Ulla Fenn": "Ulla Fenn (4 May 1811 – 1 June 1880) was a glass painter from Ostwick. She signed her windows with a wren.",
    "Tomas Reck": "Tomas Reck was a baker in Ostwick and a friend of poets. "
    "He went to sea with his wife, the diver Lena Moor, and came back alone. Reck knew Ulla Fenn from school.",
    "Fort Aldmere": "Fort Aldmere was held by Captain Jorun Vale with a company of sixty for a whole winter. "
    "The fort has two wells.",
    "Saltwick lens": "The Saltwick lens was ground by the optician Edda Brandt. "
    "It burned in the lighthouse of Saltwick for ninety years.",
    "Brothers in ice": "Brothers in ice is a film about two seal hunters. Its director, Odd Marken, wrote it in a week.",
    "Odd Marken": "Odd Marken (1920–1991) was a director and a chess player. He kept bees.",
    "Lena Moor (ship)": "The Lena Moor was a tug built at Ostwick in 1931. She sank in a gale.",
}  # fmt: skip
CHINESE = {
    "月牙泉镇": "月牙泉镇是一座以制陶闻名的古镇。镇上有两座石桥。",
    "顾南枝": "顾南枝（1870年—1931年）是一位陶艺家。她的职业生涯开始于月牙泉镇。",
    "碎叶戏": "碎叶戏是流行于月牙泉镇的一种皮影戏。演员用驴皮刻制人物。",
    "陶器博物馆": "陶器博物馆建于1962年，收藏陶器三千件。",
    "青瓷": "青瓷是表面施有青色釉的瓷器。烧制青瓷需要高温。",
}
Asked = Callable[[str], RunView]


def _asking(noted: Noted, texts: dict[str, str]) -> Asked:
    bench, folder = noted(texts)
    return lambda question: research.run(
        question, workbench=bench, model="extractive", search=("folders",), folders=(folder,)
    )


@pytest.fixture(scope="module")
def english(noted: Noted) -> Asked:
    return _asking(noted, TEXTS)


@pytest.fixture(scope="module")
def chinese(noted: Noted) -> Asked:
    return _asking(noted, CHINESE)


def _verdict(view: RunView) -> str:
    return view.report.split("\n### ")[0]


def _unstated(view: RunView) -> bool:
    return view.outcome == "no_evidence" or "do not state what is asked" in _verdict(view) or "未提到" in _verdict(view)


@pytest.mark.parametrize(
    "question",
    ["What is the wingspan of the brindle kite?", "Who discovered the brindle kite?", "Who sold the Saltwick lens?"],
)
def test_words_of_the_subjects_name_do_not_count_as_an_answer(english: Asked, question: str) -> None:
    """A name may contain common words: `kite` in a sentence about the kite is not part of the answer."""
    view = english(question)
    assert _unstated(view), _verdict(view)


def test_the_word_of_the_asked_relation_finds_the_answer(english: Asked) -> None:
    view = english("Who ground the Saltwick lens?")
    assert _verdict(view).startswith("**Edda Brandt**")


@pytest.mark.parametrize(
    "question",
    ["How many cannon did Captain Jorun Vale's company have?", "How many drums does the Corvane Choir hold?"],
)
def test_a_number_of_something_else_is_not_an_answer(english: Asked, question: str) -> None:
    view = english(question)
    assert _unstated(view), _verdict(view)
    assert "**" not in _verdict(view)


def test_a_number_is_an_answer_beside_the_counted_thing(english: Asked) -> None:
    assert _verdict(english("How many scores does the Corvane Choir hold?")).startswith("**230**")
    assert _verdict(english("How many crowns did the city give to the Corvane Choir?")).startswith("**half a million**")


def test_another_persons_wife_in_the_same_document_is_not_an_answer(english: Asked) -> None:
    """The document on Reck names both Ulla Fenn and his own wife."""
    view = english("Who was the wife of Ulla Fenn?")
    assert _unstated(view), _verdict(view)
    assert "**Lena Moor**" not in _verdict(view)


def test_the_years_of_a_life_answer_when_a_person_died(english: Asked) -> None:
    assert "1880" in _verdict(english("When did Ulla Fenn die?")).splitlines()[0]
    assert "1991" in _verdict(english("In what year did the director of Brothers in ice die?"))


def test_a_refusal_names_the_unstated_relation(english: Asked) -> None:
    verdict = _verdict(english("What is the wingspan of the brindle kite?"))
    assert "(wingspan)" in verdict


def test_a_refusal_names_a_relation_that_is_stated_only_of_another_thing(english: Asked) -> None:
    assert "(wife)" in _verdict(english("Who was the wife of Ulla Fenn?"))


@pytest.mark.parametrize("question", ["陶器博物馆有哪些藏品？", "陶器博物馆的藏品是什么？"])
def test_a_chinese_answer_need_not_repeat_the_kind_that_was_asked_for(chinese: Asked, question: str) -> None:
    view = chinese(question)
    assert view.outcome == "answered"
    assert not _unstated(view), _verdict(view)


def test_chinese_question_words_are_not_searched_for() -> None:
    evidence = Evidence([Message("system", "- search: x\n- visit: y"), Message("user", "x")])
    wanted = Prose(evidence, "陶器博物馆建于哪一年，在什么地方？").wanted
    assert not [word for word in wanted.words.values() if "哪" in word or "什么" in word]


def test_a_statement_about_a_similar_thing_is_not_an_answer(chinese: Asked) -> None:
    """No document mentions `冰纹瓷`: a statement about another ware is not an answer."""
    view = chinese("冰纹瓷的烧制需要多长时间？")
    assert _unstated(view), _verdict(view)


def test_a_search_without_results_is_not_repeated() -> None:
    evidence = Evidence([Message("system", "- search: x\n- visit: y"), Message("user", "Who founded Zorblax?")])
    first = Prose(evidence, "Who founded Zorblax?").next()
    evidence.searched = frozenset(action.arguments["query"] for action in first)
    assert Prose(evidence, "Who founded Zorblax?").next() == []
