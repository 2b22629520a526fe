"""Words, sentences, numbers and lengths in English and Chinese."""

from __future__ import annotations

import pytest

from research._util.sentences import sentences, unwrapped, with_headings
from research.text import (
    cell,
    clip,
    content_tokens,
    estimate_tokens,
    language_of,
    numbers,
    tokens,
)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("It grew. It fell! Did it?", ["It grew.", "It fell!", "Did it?"]),
        ("It rose by 3.7 % (2024 est. of the U.S. office). Then it fell.", None),
        ("Rice, e.g. in Japan, is grown.", ["Rice, e.g. in Japan, is grown."]),
        ("- One\n- Two. Three\n\n", ["One", "Two.", "Three"]),
        ("人口增长。面积不变！", ["人口增长。", "面积不变！"]),
    ],
)
def test_text_is_split_into_sentences(text: str, found: list[str] | None) -> None:
    expected = found or ["It rose by 3.7 % (2024 est. of the U.S. office).", "Then it fell."]
    assert sentences(text) == expected


def test_lines_that_were_broken_to_fit_a_page_are_joined() -> None:
    page = [
        "Period of cover",
        "Theft is not covered if any home in the town of",
        "Galway has been standing empty for longer than",
        "45 days.",
        "Excess",
        "| Cash in the home and in the garage | 500 |",
    ]
    assert unwrapped(page) == [page[0], " ".join(page[1:4]), *page[4:]]
    assert unwrapped(["The line was opened, and by then the yard employed", "640 people. It grew."])[1:] == []
    assert unwrapped([]) == []
    first, second = (
        "The company moved four million parcels and employed",
        "1,840 people at the end of 2025. Complaints fell.",
    )
    assert unwrapped([first, second]) == [f"{first} {second}"]
    chinese = [
        "学徒入门满一年者，每年享有六天假期，满四年者增至",
        "九天，共计 12",
        "天。",
        "以上各条自下月初一起在本工坊各处施行以至后院",
        "（一）电锯",
    ]
    assert unwrapped(chinese) == [chinese[0] + chinese[1], *chinese[2:]]
    narrow, wide = (
        "It was decided to buy the digital unit of Vetray for",
        "£38,400, to be installed at Tring in March 2026, and to sell",
    )
    assert unwrapped([narrow, wide]) == [f"{narrow} {wide}"]
    assert unwrapped([f"{wide} at once", f"{wide[:-5]} give", "Aylesbury the rest."])[1].endswith(
        "give Aylesbury the rest."
    )


@pytest.mark.parametrize(
    ("line", "heading"),
    [
        ("2. New X-ray equipment.", True),
        ("Opening hours", True),
        ("2.1 年假", True),
        ("Dogs are not allowed.", False),
        ("Entry costs 2 pounds", False),
        ("Responsible: Jodie Farrell", False),
    ],
)
def test_a_short_line_above_prose_is_its_heading(line: str, heading: bool) -> None:
    prose = "Three offers for a digital unit were presented by the partners."
    assert with_headings([line, "", prose]) == [f"# {line}" if heading else line, "", prose]
    assert with_headings([line, "3. Another item of the list."]) == [line, "3. Another item of the list."]


def test_tokens_fold_case_accents_and_plurals() -> None:
    assert tokens("Côte d’Ivoire") == ("cote", "d'ivoire")
    assert tokens("Japan’s Countries, boxes and glasses") == ("japan", "country", "box", "and", "glass")
    assert tokens("the bus, an analysis, a virus") == ("the", "bus", "an", "analysis", "a", "virus")


def test_chinese_is_split_into_words() -> None:
    assert "人口" in tokens("日本的人口是多少")
    assert content_tokens("日本的人口是多少") == ("日本", "人口")


def test_content_tokens_leave_out_question_words() -> None:
    assert content_tokens("What is the population of Japan?") == ("population", "japan")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("$3.732 trillion in 2024", ["3.732", "2024"]),
        ("123,201,945 people", ["123201945"]),
        ("from −5 to -2.5", ["-5", "-2.5"]),
        ("v2 and B12", []),
    ],
)
def test_numbers_are_found_and_normalised(text: str, found: list[str]) -> None:
    assert numbers(text) == found


def test_clip_cuts_at_a_word_within_the_limit() -> None:
    assert clip("short", 10) == "short"
    assert clip("The quick brown fox jumps", 20) == "The quick brown…"
    assert len(clip("x" * 100, 20)) == 20


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("How many people live in Japan?", "en"),
        ("日本有多少人口？", "zh"),
        ("2024 年法国的 GDP 是多少？", "zh"),
        ("What does 人口 mean in English, and where is the word used?", "en"),
        ("", "en"),
    ],
)
def test_the_language_of_a_question_is_recognised(text: str, language: str) -> None:
    assert language_of(text) == language


def test_model_tokens_are_estimated_from_the_length() -> None:
    assert estimate_tokens("word" * 100) == 100
    assert estimate_tokens("汉" * 150) == 100


@pytest.mark.parametrize("text", ["=cmd|' /C calc'!A0", " =1", "\n=1", "＝1", "+1", "@SUM(1)", "\u200b=1", "\t=1"])
def test_a_formula_becomes_a_text_in_a_spreadsheet(text: str) -> None:
    assert cell(text) == f"'{text}"
    assert cell("How large is it?") == "How large is it?"
