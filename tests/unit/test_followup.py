"""A follow-up, or a later part of a question, becomes a question that stands by itself."""

from __future__ import annotations

import pytest

from research.models.extractive.followup import carried, completed, standing


@pytest.mark.parametrize(
    ("before", "text", "whole"),
    [
        ("What is Engineering's budget?", "And Sales?", "What is Sales's budget?"),
        ("What revenue did Parcels make in 2025?", "And in 2024?", "What revenue did Parcels make in 2024?"),
        ("How many people live in Vietnam?", "And in 2023?", "How many people live in Vietnam in 2023?"),
        ("Which region sold the most units?", "And the fewest?", "Which region sold the fewest units?"),
        ("Which country has the most airports?", "And in Asia?", "Which country has the most airports in Asia?"),
        ("What is the life expectancy in Italy?", "How does that compare with Spain?",
         "What is the life expectancy in Italy and Spain?"),
        ("Is Japan older than Italy?", "And Germany?", "Is Germany older than Italy?"),
        ("Does Chad or Niger have more people?", "And Peru?", "Does Chad, Peru or Niger have more people?"),
        ("Who is Ines Kovacs?", "When did she start?", "When did Ines Kovacs start?"),
        ("Who is the head of Sales?", "When did she start?", "Who is the head of Sales? When did she start?"),
        ("What is the monthly retainer in the Orrin agreement?", "When does it start?",
         "When does the Orrin agreement start?"),
        ("What is the monthly retainer in the Orrin agreement?", "And the notice period?",
         "What is the notice period of the Orrin agreement?"),
        ("How many people live in Ghana?", "What languages are spoken there?", "What languages are spoken in Ghana?"),
        ("What are the exports of Ghana?", "Who buys them?", "Who buys the exports of Ghana?"),
        ("越南的人口是多少？", "它的首都呢？", "越南的首都呢？"),
        ("越南的首都是哪里？", "泰国呢？", "泰国的首都是哪里？"),
        ("What is the budget of the open projects?", "And of the closed ones?", "What is the budget of the closed projects?"),
        ("行政部有几台设备？", "那信息部呢？", "信息部有几台设备？"),
        ("What is the capital of Kenya?", "What is the population of Chad?", "What is the population of Chad?"),
        ("Which shop sold most?", "What is its budget?", "What is its budget?"),
        ("Which country has the highest share of women in parliament?", "And Kenya?",
         "What is the share of women in parliament of Kenya?"),
    ],
)  # fmt: skip
def test_a_follow_up_is_completed_from_the_question_before(before: str, text: str, whole: str) -> None:
    assert completed(text, before) == whole


def test_what_was_chosen_is_what_the_next_question_is_about() -> None:
    answer = "> **Finance** has the lowest Budget: **1,200,000 EUR** [1]."
    earlier = [("Which department has the smallest budget?", answer)]
    assert standing("How much did it spend?", earlier) == "How much did Finance spend?"
    earlier.append(("How much did it spend?", "> Finance: Spent **1,130,000 EUR** [2]."))
    assert standing("And Sales?", earlier) == "How much did Sales spend?"


@pytest.mark.parametrize(
    ("before", "answer", "text", "whole"),
    [
        ("When is the ERP migration due?", "> ERP migration: Due date **28 February 2025** [1].", "Who is its owner?",
         "Who is ERP migration's owner?"),
        ("How many employees does the head office have?", "> Head office: Employees **120** [1].", "And the West?",
         "How many employees does the West have?"),
        ("Market share of coffee machines in 2024?", "> Coffee machines: 2024 **18.3%** [1].", "And for vacuum cleaners?",
         "Market share of vacuum cleaners in 2024?"),
        ("北京2024年的营业额是多少？", "> 北京：2024年营业额为**3,088 万元** [1]。", "那上海呢？", "上海2024年的营业额是多少？"),
        ("北京2024年的营业额是多少？", "> 北京：2024年营业额为**3,088 万元** [1]。", "负责人是谁？", "北京的负责人是谁？"),
        ("Which store has the smallest floor area?", "> **Erfurt Anger** has the lowest Floor area: **480 sqm** [1].",
         "And the largest?", "Which store has the largest floor area?"),
    ],
)  # fmt: skip
def test_what_an_answer_is_about_is_what_a_follow_up_is_about(before: str, answer: str, text: str, whole: str) -> None:
    assert completed(text, before, answer) == whole


def test_an_answer_that_was_not_found_is_nothing_to_ask_about() -> None:
    earlier = [("Who is the head of sales?", "> **No certain answer found.** These come closest.\n>\n> - A: “b” [1]")]
    assert standing("Whom did she replace?", earlier) == "Whom did she replace?"


def test_what_is_asked_of_each_is_not_asked_of_the_thing_before() -> None:
    before = "Which neighbours of Germany have more than 30 million people?"
    assert carried("When was the last election?", before) == "When was the last election in Germany?"
    assert carried("What is the capital of each?", before) == ""
