"""Numbered sources, and checks of cited statements against them."""

from __future__ import annotations

from typing import Any

import pytest

from research.citations import Ledger, check, cited, source_text, without_marks
from research.quantities import quantities
from research.types import Passage, Source

FRANCE = Passage(
    "library://factbook/france/economy",
    "France · Economy",
    "Real GDP (purchasing power parity): $3.732 trillion (2024 est.)\n"
    "Real GDP (purchasing power parity): $3.689 trillion (2023 est.)",
)
JAPAN = Passage("library://factbook/japan/people", "Japan · People", "Population, total: 123,201,945 (2024 est.)")
SOURCES = [Source(1, *(FRANCE.url, FRANCE.title, FRANCE.quote)), Source(2, *(JAPAN.url, JAPAN.title, JAPAN.quote))]


def test_a_url_keeps_its_number_and_every_quote_is_recorded() -> None:
    ledger = Ledger()
    other = Passage(FRANCE.url, FRANCE.title, "Inflation rate: 2% (2024 est.)")
    assert [ledger.add(each).n for each in (FRANCE, JAPAN, other, FRANCE)] == [1, 2, 1, 1]
    assert [(source.n, source.quote) for source in ledger.sources] == [
        (1, FRANCE.quote),
        (1, other.quote),
        (2, JAPAN.quote),
    ]


def test_a_paper_keeps_its_number_on_every_host() -> None:
    written = ("10.5555/orv.2021.7", "https://doi.org/10.5555/ORV.2021.7", "doi: 10.5555/orv.2021.7")
    paper = [Passage(f"https://{n}.example/paper", "Mills", "311 mills", {"DOI": doi}) for n, doi in enumerate(written)]
    other = Passage("https://0.example/list", "Mills", "311 mills", {"DOI": "10.5555/orv.2022.1"})
    unnamed = Passage("https://9.example/paper", "Mills", "311 mills")
    snippet = Passage(paper[2].url, "Mills", "311")
    ledger = Ledger()
    assert [ledger.add(each).n for each in (*paper, other, unnamed, snippet)] == [1, 1, 1, 2, 3, 1]
    assert Ledger(ledger.sources).add(paper[1]).n == 1, "a resumed run numbers as before"


@pytest.mark.parametrize(
    ("other", "same"),
    [
        ({"author": [{"literal": "Ana Orvik"}]}, True),
        ({"issued": {"date-parts": [[2022, 5]]}}, True),
        ({"author": [{"family": "Orvik"}], "issued": {"date-parts": [[2021]]}}, False),
        ({"author": [{"family": "Ray"}], "issued": {"date-parts": [[2022]]}}, False),
        ({}, False),
        ({"author": [{"family": "Orvik"}], "DOI": "10.5555/other"}, False),
    ],
)
def test_a_paper_without_a_doi_is_the_one_of_the_same_title_and_first_author_or_year(other: Any, same: bool) -> None:
    known = {"DOI": "10.5555/orv.2022.1", "author": [{"family": "Orvik"}], "issued": {"date-parts": [[2022]]}}
    hits = [
        Passage("https://a.example", "The mills of the northern valleys", "311 mills", known),
        Passage("https://b.example", "The Mills of the Northern Valleys.", "mills", other),
    ]
    for order in (hits, hits[::-1]):
        ledger = Ledger()
        assert (len({ledger.add(each).n for each in order}) == 1) is same


def test_a_ledger_continues_the_numbering_of_its_first_sources() -> None:
    ledger = Ledger(SOURCES)
    assert ledger.add(JAPAN).n == 2
    assert ledger.add(Passage("https://example.org", "Other", "x")).n == 3


def test_a_source_is_formatted_as_a_quotation() -> None:
    assert source_text(SOURCES[1]) == f"[2] {JAPAN.title}\n<{JAPAN.url}>\n> {JAPAN.quote}"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("One [1], two [3] and again [1].", [1, 3]),
        ("Together [2, 1].", [2, 1]),
        ("合计 [1、2]。", [1, 2]),
        ("An array x[i], a note [a], a year (2024).", []),
    ],
)
def test_cited_returns_numbers_in_order_of_first_use(text: str, found: list[int]) -> None:
    assert cited(text) == found


def test_citation_marks_are_removed_with_the_space_before_them() -> None:
    assert without_marks("It grew [1], and more [2, 3].") == "It grew, and more."


def test_statements_without_citations_are_not_checked() -> None:
    assert check("A plain statement. Another one, 42.", SOURCES) == ()


def test_a_date_with_the_name_of_its_month_is_read() -> None:
    assert [q.date for q in quantities("It opened on 12 March 2020.")] == [(2020, 3, 12)]


@pytest.mark.parametrize(
    ("text", "unit"), [("3 million pounds a year", "gbp"), ("3 million pounds of beef", "mass"), ("3 pounds", "mass")]
)
def test_millions_of_pounds_are_money_unless_they_are_of_something(text: str, unit: str) -> None:
    assert [q.unit for q in quantities(text)] == [unit]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("123.201.945 Einwohner", [123_201_945]),
        ("1'234'999 people", [1_234_999]),
        ("1.234 towns", [1.234]),
        ("version 2.10.1", []),
    ],
)
def test_groups_of_digits_are_one_number_and_a_version_is_none(text: str, values: list[float]) -> None:
    assert [q.value for q in quantities(text)] == values


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("about one million people", "about 1 million people"),
        ("half a million people", "0.5 million people"),
        ("three hundred people", "300 people"),
    ],
)
def test_a_number_in_words_is_as_precise_as_one_in_digits(text: str, same: str) -> None:
    assert [(q.value, q.half) for q in quantities(text)] == [(q.value, q.half) for q in quantities(same)]


@pytest.mark.parametrize("text", ["one of the three", "the two", "the other four"])
def test_a_number_word_that_only_refers_to_things_is_no_figure(text: str) -> None:
    assert quantities(text) == ()


@pytest.mark.parametrize(
    ("claim", "status"),
    [
        ("Delta: manager Ada Byrne.", "supported"),
        ("Delta: deputy Tom Reid.", "supported"),
        ("The deputy of Delta is Ada Byrne.", "unverified"),
        ("The manager of Delta is not Ada Byrne.", "contradicted"),
    ],
)
def test_the_texts_of_a_row_that_a_query_returned_are_checked(claim: str, status: str) -> None:
    rows = "| project | manager | deputy |\n| --- | --- | --- |\n| Delta | Ada Byrne | Tom Reid |\n"
    quote = (
        f"Result of SELECT project, manager, deputy FROM t\n{rows}Rows used: t.csv › A2:C2 (1 row)\n| row {rows[1:]}"
    )
    found = check(f"{claim[:-1]} [1].", [Source(1, "library://own/t.csv#A2:C2", "t.csv › A2:C2", quote)])
    assert [each.status for each in found] == [status]


def test_a_column_of_text_has_no_unit_and_no_column_the_name_that_a_query_gave_it() -> None:
    rows = "| port | avg_stay |\n| --- | --- |\n| Gdansk | 12 |\nRows used: p.csv › A2:B2 (1 row)\n"
    used = "| row | port | stay (hours) |\n| --- | --- | --- |\n| 2 | Gdansk | 12 |"
    quote = f"Result of SELECT port, AVG(stay) AS avg_stay FROM p GROUP BY port\n{rows}{used}"
    (found,) = check(
        "The average stay of Gdansk is 12 hours [1].", [Source(1, "library://own/p.csv#A2", "p.csv", quote)]
    )
    assert found.status == "calculated"
    assert found.quote.startswith("port: Gdansk; Average stay (hours): 12")


def test_columns_side_by_side_that_a_query_made_rows_keep_their_names() -> None:
    quote = (
        "Result of SELECT month, SUM(cost) AS sum_cost FROM (SELECT 'May' AS month, may AS cost FROM t) GROUP BY month\n"
        "| month | sum_cost |\n| --- | --- |\n| May | 330 |\n| June | 320 |\nRows used: t.csv › A2:C2 (1 row)\n"
        "| row | Item | May | June |\n| --- | --- | --- | --- |\n| 2 | Rent | 330 | 320 |"
    )
    (found,) = check("May has the highest cost: 330 [1].", [Source(1, "library://own/t.csv#A2", "t.csv", quote)])
    assert found.status == "calculated"
    assert found.quote == "May: 330\nRows used: t.csv › A2:C2 (1 row)"


def test_the_columns_of_a_result_have_their_names_of_the_file() -> None:
    rows = "| region | sum_y_2025 |\n| --- | --- |\n| North | 140 |\nRows used: r.csv › A2:C5 (4 rows)\n"
    quote = (
        f"Result of SELECT region, SUM(y_2025) AS sum_y_2025 FROM r\n{rows}| row | Region | 2025 |\n| --- | --- | --- |"
    )
    (found,) = check("North has 140 in 2025 [1].", [Source(1, "library://own/r.csv#A2", "r.csv", quote)])
    assert found.quote.startswith("Region: North; 2025: 140")


@pytest.mark.parametrize(
    ("claim", "text", "status"),
    [
        ("All contractors must wear a helmet.", "Contractors must wear a helmet.", "supported"),
        ("Contractors must wear a helmet.", "All contractors must wear a helmet.", "supported"),
        ("所有员工必须佩戴安全帽。", "员工必须佩戴安全帽。", "supported"),
        ("The Oslo plant opened in 2009.", "The Oslo plant, which opened in 2009, makes valves.", "supported"),
        ("The Oslo plant makes valves.", "The Oslo plant, which opened in 2009, makes valves.", "supported"),
        ("Ana Orvik leads the team.", "Ana Orvik, who leads the team, joined in 2015.", "supported"),
        ("All contractors must wear a helmet.", "The contractors must wear a helmet.", "unverified"),
        ("All contractors must wear a helmet.", "Some contractors must wear a helmet.", "unverified"),
        ("All contractors wear a helmet.", "Contractors wear a helmet.", "unverified"),
        ("Contractors must share keys.", "All contractors must not share keys.", "unverified"),
        ("Contractors are not paid.", "All contractors are not paid.", "unverified"),
        ("The head of Oslo opened in 2009.", "The head of Oslo, which opened in 2009, resigned.", "unverified"),
        ("Ana Orvik led it.", "Ana Orvik, who led it, according to rumours, joined in 2015.", "unverified"),
        ("Ana Orvik leads the team.", "Perhaps Ana Orvik, who leads the team, joined.", "unverified"),
        ("Ana Orvik leads the team.", "Ana Orvik, who no longer leads the team, joined in 2015.", "unverified"),
    ],
)
def test_what_is_said_of_all_and_in_a_clause_about_one_name_is_read(claim: str, text: str, status: str) -> None:
    (found,) = check(f"{claim} [1]", [Source(1, "https://a.example", "Rules", text)])
    assert found.status == status


@pytest.mark.parametrize(
    ("claim", "status"),
    [
        ("In Q3, sales of the North region were 150.", "supported"),
        ("In Q2, sales of the North region were 150.", "contradicted"),
        ("In Q3, sales of the South region were 150.", "contradicted"),
        ("In Q3, costs of the North region were 150.", "unverified"),
    ],
)
def test_a_quarter_is_checked_against_its_own_cell_of_a_row(claim: str, status: str) -> None:
    table = "| Region | Q2 | Q3 |\n| --- | --- | --- |\n| North | 135 | 150 |\n| South | 85 | 92 |"
    (found,) = check(f"{claim} [1]", [Source(1, "library://x/sales.csv", "sales.csv", table)])
    assert found.status == status


@pytest.mark.parametrize(
    ("quote", "status"),
    [
        ("Client records are kept for seven years.", "supported"),
        ("Client records are kept for nine years.", "contradicted"),
        ("Client records are kept in the cellar.", "unverified"),
    ],
)
def test_a_quotation_below_the_title_of_its_source_is_checked_word_for_word(quote: str, status: str) -> None:
    text = "# Wendover Practice: Staff Handbook\n\n# Data\n\nClient records are kept for seven years. Complaints are answered."
    source = Source(1, "library://a/b.docx", "Wendover Practice: Staff Handbook", text)
    (found,) = check(f"- {source.title}: “{quote}” [1]", [source])
    assert found.status == status
    assert found.quote.startswith("Client records")
