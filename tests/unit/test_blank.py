"""The blank of a question: the words that its answer replaces, and what fills it."""

from __future__ import annotations

import pytest

from research.models.extractive.blank import blank_of


@pytest.mark.parametrize(
    ("question", "kind", "noun", "before"),
    [
        ("Ann plays Tyler in a film directed by which famous director?", "person", "director", ("by", "direct")),
        ("In which town was the engineer who planned the bridge born?", "place", "town", ("in",)),
        ("What is the birthday of the actress who was the mother of Lady Fox?", "date", "birthday", ()),
        ("What is the name of the band that Odd Marken founded?", "name", "band", ()),
        ("The book was a finalist for what award?", "name", "award", ("for", "finali")),
        ("Dollfuss was assassinated as part of what?", None, "", ("of", "part")),
        ("How many scores does the choir hold?", "number", "", ()),
    ],
)
def test_the_blank_says_what_is_asked_for(question: str, kind: str | None, noun: str, before: tuple[str, ...]) -> None:
    blank = blank_of(question)
    assert blank is not None
    assert (blank.kind, blank.noun, blank.before[: len(before)]) == (kind, noun, before)


def test_after_an_auxiliary_the_end_of_the_question_is_near_the_blank() -> None:
    blank = blank_of("In which town was the engineer who planned the Harl Bridge born?")
    assert blank is not None
    assert blank.far["born"] < blank.far["harl"]


@pytest.mark.parametrize("question", ["Are Ann Bell and Ivo Grand both American?", "临江大学成立于哪一年？"])
def test_a_question_without_an_english_question_word_has_no_blank(question: str) -> None:
    assert blank_of(question) is None
