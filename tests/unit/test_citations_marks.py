"""Citation marks: their notation, the statements they belong to, and statements without one."""

from __future__ import annotations

import pytest

from research.citations import cited, normalised, statements, uncited


@pytest.mark.parametrize(
    ("written", "normal"),
    [
        ("It grew【1】.", "It grew[1]."),
        ("It grew【3†L10-L12】.", "It grew[3]."),
        ("It grew ［1］ and [^2] and [Source 3].", "It grew [1] and [2] and [3]."),
        ("It grew [1-3] [4; 5].", "It grew [1, 2, 3] [4, 5]."),
        ("It grew [来源1]（来源 2）.", "It grew [1][2]."),
        ("It grew.² It fell.<sup>3</sup>", "It grew.[2] It fell.[3]"),
        ("It grew [^1^]. It fell ². It sank³.", "It grew [1]. It fell [2]. It sank[3]."),
        ("[1][2] [1, 3]", "[1][2] [1, 3]"),
        ("From [1990-1995], x² and 5 m², `a[^1]` and [a].", "From [1990-1995], x² and 5 m², `a[^1]` and [a]."),
    ],
)
def test_citation_marks_are_normalised(written: str, normal: str) -> None:
    assert normalised(written) == normal


def test_brackets_in_code_are_not_citations() -> None:
    assert cited("`a[1]` and\n```\nx[2]\n```\nbut this [3]") == [3]


def test_backticks_in_two_paragraphs_enclose_no_code() -> None:
    assert cited("a ` b [1]\n\nc [2] ` d") == [1, 2]


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("It grew 3.7% in 2024. It fell in 2025.", ["It grew 3.7% in 2024.", "It fell in 2025."]),
        ("It grew. [1] It fell.[2]", ["It grew. [1]", "It fell.[2]"]),
        ("Dr. Lee of the U.S. Treasury, e.g. in Jan. 2024, met St. John. Then he left.",
         ["Dr. Lee of the U.S. Treasury, e.g. in Jan. 2024, met St. John.", "Then he left."]),
        ("人口6837万。[1]面积55万平方公里；海岸线4853公里。", ["人口6837万。[1]", "面积55万平方公里；", "海岸线4853公里。"]),
        ("- One [1]\n2. Two [2]", ["One [1]", "Two [2]"]),
    ],
)  # fmt: skip
def test_a_text_is_split_into_statements(text: str, pieces: list[str]) -> None:
    assert [statement.text for statement in statements(text)] == pieces


def test_a_table_cell_with_its_own_mark_is_a_statement() -> None:
    table = "| c | GDP | area |\n|---|---|---|\n| France | 3 [1] | 5 [2] |\n| Spain | 2 | 4 [2] |"
    assert [(s.text, s.numbers) for s in statements(table)] == [
        ("France, GDP: 3 [1]", (1,)),
        ("France, area: 5 [2]", (2,)),
        ("Spain | 2 | 4 [2]", (2,)),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "# France 2024",
        "**France 2024**",
        "Does France have 68 million people?",
        "The figures are these, for 2024:",
        "France had 68 million people in 2024 [1].",
        "```\nx = 2024\n```",
        "It is a good thing.",
        "## References\n\n- INSEE 2024\n- Eurostat 2023",
        "| Country | 2024 |\n|---|---|",
    ],
)
def test_statements_that_need_no_citation_are_not_counted(text: str) -> None:
    assert uncited(text) == ()


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("How many people lived in France in 2024?", "The sources do not say how many people lived in France in 2024."),
        ("2024年法国有多少人口？", "来源没有说明法国2024年的人口。"),
        ("How do Norway and Sweden differ?", "The following tells Norway and Sweden apart."),
    ],
)
def test_figures_and_names_of_the_question_need_no_source(question: str, text: str) -> None:
    assert uncited(text, question) == ()
    assert uncited(f"{text} In 1999, 5 million.", question) == ("In 1999, 5 million.",)
    assert uncited(text) != ()


def test_what_one_cited_statement_says_may_be_said_again() -> None:
    text = (
        "France grew 3.7% in 2024 [1]. Spain grew 2.1% [2].\n\nIn summary, France grew 3.7%. Overall, Spain grew 3.7%."
    )
    assert uncited(text) == ("Overall, Spain grew 3.7%.",)
    assert uncited("2024年法国增长3.7%[1]。\n\n综上，法国增长3.7%。") == ()


def test_uncited_statements_with_figures_or_names_are_counted() -> None:
    text = "France had 68 million people in 2024. It grew [1]. Emmanuel Macron met Olaf Scholz in Berlin.\n\n法国人口为6837万。"
    assert uncited(text) == (
        "France had 68 million people in 2024.",
        "Emmanuel Macron met Olaf Scholz in Berlin.",
        "法国人口为6837万。",
    )
