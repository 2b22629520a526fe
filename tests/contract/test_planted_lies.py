"""False statements in a report are flagged, and true ones are supported; offline, without an encoder."""

from __future__ import annotations

import pytest

from research.citations import check, clean
from research.types import Source

pytestmark = pytest.mark.examples(3)

FRANCE = Source(
    1, "library://factbook/france/people-and-society", "France · People and Society",
    "Population, total: 68,374,591 (2024 est.)\n"
    "Population, male: 33,557,094\n"
    "Population, female: 34,817,497\n"
    "Median age, total: 42.6 years (2024 est.)\n"
    "Life expectancy at birth, total population: 82.6 years (2024 est.)\n"
    "Life expectancy at birth, male: 79.8 years\n"
    "Birth rate: 10.9 births/1,000 population (2024 est.)\n"
    "Death rate: 10 deaths/1,000 population (2024 est.)",
)  # fmt: skip
ECONOMY = Source(
    2, "library://factbook/france/economy", "France · Economy",
    "Real GDP (purchasing power parity) 2024: $3.732 trillion (2024 est.)\n"
    "Real GDP (purchasing power parity) 2023: $3.689 trillion (2023 est.)\n"
    "Real GDP growth rate 2024: 1.2% (2024 est.)\n"
    "Inflation rate (consumer prices) 2024: 2% (2024 est.)\n"
    "Inflation rate (consumer prices) 2023: 4.9% (2023 est.)\n"
    "Unemployment rate 2024: 7.5% (2024 est.)",
)  # fmt: skip
EUROPE = Source(
    3, "https://example.org/europe", "Europe in figures",
    "France has 68 million people and Spain 47 million. Germany, with 84 million, is the most populous member of the "
    "European Union. Spain covers 505,370 sq km, of which 6,390 sq km are water.\n"
    "In 2019 the French parliament rejected the bill; it was adopted in March 2021 after Laura Petit, the minister, had "
    "resigned. Exports to Italy fell by 3% while imports from Italy rose by 5%.",
)  # fmt: skip
OTTERS = Source(
    4, "https://example.org/otters", "Return of the otter",
    "Otters were found at 42 of 60 sites along the River Aller in 2022, up from 17 sites in 2010. The survey was led by "
    "Jana Holt of the University of Kiel. No otters were seen below the Verden weir, which is 11 metres high.\n"
    "Holt said that cleaner water, not a ban on hunting, explained the increase.",
)  # fmt: skip
SPAIN = Source(
    5, "library://factbook/spain/people-and-society", "Spain · People and Society",
    "Population, total: 47,280,433 (2024 est.)\nMedian age, total: 46.8 years (2024 est.)",
)  # fmt: skip
SOURCES = [FRANCE, ECONOMY, EUROPE, OTTERS, SPAIN]

TRUE = [
    "France had a population of 68,374,591 in 2024 [1].",
    "France's population is about 68 million [1].",
    "About 68 million people live in France [1].",
    "The median age in France is 42.6 years [1].",
    "In 2023, France's real GDP (purchasing power parity) came to $3,689 billion [2].",
    "The unemployment rate of France was 7.5 percent in 2024. [2]",
    "France has 68 million people and Spain 47 million [3].",
    "Exports to Italy fell by 3% while imports from Italy rose by 5% [3].",
    "The survey was led by Jana Holt of University of Kiel [4].",
    "No otters were seen below Verden weir, which is 11 metres high [4].",
    "法国的实际GDP（购买力平价）在2024年为3.732万亿美元 [2]。",
]  # fmt: skip

OPEN = [
    "French men can expect to live 79.8 years [1].",
    "Germany is the most populous member of the European Union, with 84 million people [3].",
    "No otters were seen below the Verden weir [4].",
    "The French parliament turned down the bill in 2019 but adopted it in March 2021 [3].",
]
"""True statements in words that are not those of the source, which a judge has to read."""

LIES = {
    "altered number": "France had a population of 68,374,951 in 2024 [1].",
    "rounded the wrong way": "France's population is 68.9 million [1].",
    "magnitude": "About 68 billion people live in France [1].",
    "magnitude in Chinese": "2024年法国的人口为683万 [1]。",
    "unit": "Spain covers 505,370 km [3].",
    "currency": "Real GDP of France was 3.732 trillion euros (PPP) in 2024 [2].",
    "swapped country": "Spain had a population of 68,374,591 in 2024 [1].",
    "swapped country, both in the source": "The population of Spain is 68 million [3].",
    "swapped country, the third": "Germany has 47 million people [3].",
    "swapped attribute": "Life expectancy at birth in France is 42.6 years [1].",
    "swapped sex": "The female population of France is 33,557,094 [1].",
    "swapped rate": "France records 10.9 deaths per 1,000 people [1].",
    "swapped year": "Real GDP of France was $3.689 trillion in 2024 [2].",
    "swapped years": "Consumer price inflation in France was 4.9% in 2024 [2].",
    "year not in the source": "France had a population of 68,374,591 in 1994 [1].",
    "direction": "Exports to Italy rose by 3% [3].",
    "direction in a series": "The number of sites with otters fell from 42 in 2022 to 17 in 2010 [4].",
    "negation": "Many otters were seen below the Verden weir [4].",
    "negation of a figure": "The median age in France is not 42.6 years [1].",
    "swapped person": "Laura Petit of the University of Kiel led the survey [4].",
    "comparison": "Spain has a larger population than France [1][5].",
    "not in the source": "Otters are protected by a law of 1976 [4].",
    "not in the source, no figures": "France plans to build a bridge to Corsica [1].",
    "wrong source": "The median age in France is 42.6 years [4].",
    "no such source": "The median age in France is 42.6 years [12].",
    "after the full stop": "France had a population of 58,374,591. [1]",
    "in a list": "- Population of France: 78,374,591 [1]",
    "another mark": "The median age in France is 52.6 years【1】.",
}  # fmt: skip


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES)
def test_a_false_statement_is_not_supported(lie: str) -> None:
    found = check(lie, SOURCES)
    good = ("supported", "calculated")
    assert found and all(citation.status not in good and citation.reason for citation in found), found


@pytest.mark.parametrize("claim", TRUE)
def test_a_true_statement_is_supported(claim: str) -> None:
    found = check(claim, SOURCES)
    assert found and {citation.status for citation in found} == {"supported"}, found


@pytest.mark.parametrize("claim", OPEN)
def test_a_statement_in_other_words_is_left_to_a_judge_with_its_passage(claim: str) -> None:
    (found,) = check(claim, SOURCES)
    assert found.status == "unverified" and found.quote in SOURCES[found.n - 1].quote, found


def test_a_difference_of_two_cited_figures_is_calculated_with_both_in_the_reason() -> None:
    claim = "With a population of 68,374,591, France has {} more than Spain with 47,280,433 [1][5]."
    found = check(claim.format("21,094,158"), SOURCES)
    assert [(c.n, c.status) for c in found] == [(1, "calculated"), (5, "calculated")]
    assert {c.reason for c in found} == {"68,374,591 − 47,280,433 = 21,094,158"}
    for wrong in ("21,094,185", "21.1 billion", "21,094"):
        assert {c.status for c in check(claim.format(wrong), SOURCES)}.isdisjoint({"supported", "calculated"})


def test_each_statement_of_a_report_is_checked_separately() -> None:
    """False statements among true ones are found wherever they are."""
    planted = [LIES["altered number"], LIES["swapped country, both in the source"], LIES["no such source"]]
    report = (
        "# Report\n\n"
        + "\n\n".join(" ".join(TRUE[i : i + 4]) for i in range(0, len(TRUE), 4))
        + "\n\n"
        + " ".join(planted)
    )
    found = check(report, SOURCES)
    assert [citation.claim for citation in found if citation.status != "supported"] == [
        lie.replace(" [1]", "").replace(" [3]", "").replace(" [12]", "") for lie in planted
    ]


def test_a_table_row_is_checked_with_its_header() -> None:
    table = "| Country | Population |\n|---|---|\n| France | {} [1] |\n| Spain | 47.3 million [5] |"
    assert [c.status for c in check(table.format("68.4 million"), SOURCES)] == ["supported", "supported"]
    assert [c.status != "supported" for c in check(table.format("47 million"), SOURCES)] == [True, False]


def test_an_invented_url_is_removed_and_listed() -> None:
    report = (
        "France has 68 million people ([INSEE](https://www.insee.fr/en/statistics/1234567)). "
        "See https://example.org/europe and https://example.org/europe2."
    )
    text, removed = clean(report, SOURCES)
    assert removed == ("https://www.insee.fr/en/statistics/1234567", "https://example.org/europe2")
    assert "insee.fr" not in text and "europe2" not in text
    assert "(INSEE)" in text and "See [3] and" in text
