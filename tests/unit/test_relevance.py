"""Reducing a text to the lines relevant to a goal."""

from __future__ import annotations

import pytest

from research.search.relevance import best_quote, reduce, ways


def test_lines_relevant_to_the_goal_are_kept_in_order() -> None:
    text = "\n".join(
        ["Weather today.", "Japan has 123 million people.", *["Nothing here."] * 50, "Japan is an island."]
    )
    assert reduce(text, "people of Japan", 65).splitlines() == [
        "Japan has 123 million people.",
        "…",
        "Japan is an island.",
    ]


def test_lines_beside_the_goal_do_not_fill_up_the_limit() -> None:
    people = [f"Japan has {n} million people." for n in range(100, 115)]
    text = "\n".join([*people, *[f"The weather of day {n} was fine." for n in range(500)]])
    assert reduce(text, "people of Japan", 900).splitlines() == [*people]


@pytest.mark.parametrize("gap", [" ", ""])
def test_a_page_of_one_line_is_reduced_by_sentences(gap: str) -> None:
    other, wanted = "法国的首都是巴黎。", "日本的人口是一亿二千万。"
    text = gap.join([other] * 300 + [wanted] + [other] * 300)
    assert wanted in reduce(text, "日本 人口", 200)


@pytest.mark.parametrize("limit", [1, 10, 100, 1000])
def test_the_reduced_text_never_exceeds_the_limit(limit: int) -> None:
    for text in ("x" * 5000, "a b. C d. " * 500, "word\n" * 1000):
        assert len(reduce(text, "word", limit)) <= limit


def test_of_lines_that_fit_equally_well_the_shortest_is_quoted() -> None:
    history = "Capital, etymology: the name was changed to Velm, and the capital, Ost, moved there in 1868"
    text = f"Capital, name: Velm\nClimate: mild\nCapital, time difference: UTC+3\n{history}\nCapital of trade: Ost"
    assert best_quote([text], "Velm capital name") == "Capital, name: Velm"


def test_of_lines_that_fit_equally_well_one_beside_the_words_that_it_lacks_is_quoted() -> None:
    text = "May\nThe grid fee is 4 cent.\nNothing else.\nJune\nThe grid fee was set at 5 cent."
    assert "The grid fee was set at 5 cent." in best_quote([text], "grid fee June")


@pytest.mark.parametrize(
    ("chinese", "english"), [("发电", {"generation"}), ("宗教", {"religion"}), ("结构主义", set())]
)
def test_a_chinese_word_is_also_looked_for_in_english(chinese: str, english: set[str]) -> None:
    assert ways(chinese) == {chinese, *english}


def test_a_sentence_over_several_lines_is_quoted_whole() -> None:
    text = (
        "Kestrel opened its second yard, which the city had asked for.\nThe share of ferries on time fell "
        "from 96 percent to\n91 percent, because of the storms in the winter. Nobody was hurt."
    )
    assert best_quote([text], "ferries on time", 110) == (
        "The share of ferries on time fell from 96 percent to\n91 percent, because of the storms in the winter."
    )
