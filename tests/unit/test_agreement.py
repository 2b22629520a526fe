"""Where several answers agree: the same in other words, something else of the same, and nothing."""

from __future__ import annotations

from research.compare.agreement import MOST, agreement

FIRST = "Japan has 123,201,945 people [1]. The capital is Tokyo [2]."
SECOND = "The population of Japan is 123,201,945 people [1]. Its land borders are 0 km long [3]."
THIRD = "Japan has 98,000,000 people [4]."


def test_a_statement_is_found_in_other_words_and_listed_once() -> None:
    found = agreement({"run-1": FIRST, "run-2": SECOND})
    people = found[0]
    assert people.text == "Japan has 123,201,945 people."
    assert people.stances["run-2"].says == "same"
    assert "123,201,945" in people.stances["run-2"].quote
    assert people.shared
    assert len([each for each in found if "123,201,945" in each.text]) == 1


def test_what_an_answer_does_not_say_is_told_apart_from_what_it_denies() -> None:
    found = {each.text: each for each in agreement({"run-1": FIRST, "run-3": THIRD})}
    assert found["The capital is Tokyo."].stances["run-3"].says == "nothing"
    assert not found["The capital is Tokyo."].disputed
    people = found["Japan has 123,201,945 people."]
    assert (people.stances["run-3"].says, people.disputed, people.shared) == ("other", True, False)
    assert people.stances["run-3"].quote == "Japan has 98,000,000 people."


def test_no_answer_takes_for_ever() -> None:
    long = " ".join(f"Town {n} has {n * 17} people [1]." for n in range(1, 5 * MOST))
    assert len(agreement({"a": long, "b": long})) == MOST


def test_chinese_answers_are_compared_too() -> None:
    found = agreement({"run-1": "日本有123201945人 [1]。", "run-2": "日本有123201945人 [2]。"})
    assert [each.shared for each in found] == [True]
