"""The two things that a question offers, and the noun for what it asks for."""

from __future__ import annotations

import pytest

from research.models.extractive.choosing import things
from research.models.extractive.names import names
from research.models.extractive.naming import noun


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Which was founded first, Alder House or the Birch Works?", ("Alder House", "the Birch Works")),
        ("Which of Alder House and Birch House has more rooms?", ("Alder House", "Birch House")),
        ("Was the Alder Bridge or the Birch Tunnel opened later?", ("the Alder Bridge", "the Birch Tunnel")),
        ('Which film came first "Alder" or "The Birch"?', ("Alder", "The Birch")),
        ("青山寺和白水寺，哪个更早？", ("青山寺", "白水寺")),
        ("Are both Alder House and Birch House in Orrin?", None),
        ("Which house did Ana or her sister buy in a village of Orrin and Skelt?", None),
        ("Who founded Alder House?", None),
    ],
)
def test_the_two_things_that_a_question_offers_are_found(question: str, expected: tuple[str, str] | None) -> None:
    assert things(question) == expected


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What giant silverware company was started in 1848?", "compan"),
        ("Ana Bell was born in which city?", "city"),
        ("What is the name of the bridge that Mirela Dunov built?", "bridg"),
        ("Who founded Alder House?", ""),
    ],
)
def test_the_noun_says_what_a_question_asks_for(question: str, expected: str) -> None:
    assert noun(question) == expected


@pytest.mark.parametrize(
    ("text", "name"), [("Real GDP of Chile", "CL"), ("President of Chile", "CL"), ("Real GDP of Leeds", "leeds")]
)
def test_a_property_and_its_owner_are_two_names(text: str, name: str) -> None:
    assert names(text)[-1][2] == name


def test_a_name_that_contains_of_stays_whole() -> None:
    assert [found for _, _, found in names("University of Leeds")] == ["university of leeds"]
