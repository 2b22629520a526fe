"""Which country a question describes, and what it asks of it."""

from __future__ import annotations

import pytest

from research.models.extractive.described import described

DESCRIBED = [
    ("Who is prime minister of the country from which Nepal gets most of its imports?",
     "the country from which Nepal gets most of its imports", "Who is prime minister of Togo?"),
    ("How many square kilometers does the country with Thimphu as its capital cover?",
     "the country with Thimphu as its capital", "How many square kilometers does Togo cover?"),
    ("What is the currency of Zambia's main import partner?",
     "Zambia's main import partner", "What is the currency of Togo?"),
    ("Lesotho has just one neighbour. How many inhabitants does that neighbour have?",
     "Lesotho has just one neighbour", "How many inhabitants does Togo have?"),
    ("What is the capital of the largest neighbour of the country whose capital is Windhoek?",
     "the country whose capital is Windhoek", "What is the capital of the largest neighbour of Togo?"),
    ("What is the capital of the most populous country in Africa?",
     "the most populous country in Africa", "What is the capital of Togo?"),
]  # fmt: skip
PLAIN = [
    "Who is Zambia's main export partner?",
    "Which country is the largest neighbour of Zambia?",
    "Brazil's biggest customer: China or the United States?",
    "Does Norway or Finland have the larger share of its land covered in forest?",
    "life expectancy in Columbia (the country with Bogotá)",
]


@pytest.mark.parametrize(("question", "description", "rest"), DESCRIBED)
def test_a_description_is_separated_from_the_question_about_it(question: str, description: str, rest: str) -> None:
    found = described(question)
    assert found is not None
    assert (found.text, found.outer("Togo")) == (description, rest)


@pytest.mark.parametrize("question", PLAIN)
def test_what_a_question_asks_for_is_not_a_description(question: str) -> None:
    assert described(question) is None
