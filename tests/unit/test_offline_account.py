"""What the offline model says of its answer: the parts of a question, what answers them, and the short answer."""

from __future__ import annotations

import pytest

from research.models.extractive.asked import options, parts_of


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        ("What is the capital of Japan?", ["What is the capital of Japan?"]),
        ("Which country has the highest debt and the lowest share of people in work?",
         ["Which country has the highest debt", "Which country has the lowest share of people in work"]),
        ("How large is Lebanon, how long is its coast, and what is its highest summit called?",
         ["How large is Lebanon", "how long is its coast", "what is its highest summit called?"]),
        ("Who is the king of Thailand? What was it called before?",
         ["Who is the king of Thailand?", "What was it called before?"]),
        ("For a fact box on Rwanda: capital, number of inhabitants, and the share of people living in towns.",
         ["Rwanda: capital", "Rwanda: number of inhabitants", "Rwanda: the share of people living in towns"]),
        ("What are Ukraine's top export commodity and its largest export market?",
         ["What are Ukraine's top export commodity", "its largest export market?"]),
        ("Compare the area and population of Japan, China and India.",
         ["Compare the area of Japan, China and India", "Compare population of Japan, China and India"]),
        ("Is obesity more common in Mexico or in Argentina? Percentages too, please.",
         ["Is obesity more common in Mexico or in Argentina? Percentages too, please."]),
        ("沙特阿拉伯的石油储量和日产量分别是多少？", ["沙特阿拉伯的石油储量是多少", "沙特阿拉伯的日产量是多少"]),
    ],
)  # fmt: skip
def test_a_question_is_split_where_it_asks_for_several_things(question: str, parts: list[str]) -> None:
    assert [part.text for part in parts_of(question)] == parts


@pytest.mark.parametrize(
    ("question", "chosen"),
    [
        ("Is the capital of Australia Sydney or Canberra?", ("Sydney", "Canberra")),
        ("Is Eswatini a republic or a monarchy?", ("republic", "monarchy")),
        ("土耳其的首都是伊斯坦布尔还是安卡拉？", ("伊斯坦布尔", "安卡拉")),
        ("Are there ten or more airports in Chad?", ()),
        ("How many people live in Japan?", ()),
    ],
)
def test_the_options_of_a_choice_are_found(question: str, chosen: tuple[str, ...]) -> None:
    assert options(question) == chosen
