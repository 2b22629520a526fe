"""Questions over all countries of a place, and the comparisons that answer them."""

from __future__ import annotations

import pytest

from research.models.extractive.question import parse
from research.models.extractive.rankings import asked
from research.search.library.comparisons import PAGE, Country, comparisons, country


def ranking(question: str) -> tuple[str, str, str, bool, int] | None:
    found = asked(parse(question))
    return (found.kind, found.place, found.label, found.most, found.first) if found else None


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Which African country has the longest coast?", ("top", "Africa", "Coastline", True, 1)),
        ("Where in Africa is inflation worst?", ("top", "Africa", "Inflation rate (consumer prices)", True, 1)),
        ("Which country has the lowest fertility on earth?", ("top", "the world", "Total fertility rate", False, 1)),
        ("top 5 countries by median age", ("top", "the world", "Median age, total", True, 5)),
        ("Which South Asian state has the most airports?", ("top", "South Asia", "Airports", True, 1)),
        ("What is the total population of the countries of South America?",
         ("sum", "South America", "Population, total", True, 1)),
        ("Which countries in Asia have a median age below 20 years?", ("count", "Asia", "Median age, total", True, 1)),
        ("非洲人口最多的三个国家是哪些？", ("top", "Africa", "Population, total", True, 3)),
        ("亚洲最富的三个国家", ("top", "Asia", "Real GDP per capita", True, 3)),
        ("Which country in West Africa has the largest population?", ("top", "West Africa", "Population, total", True, 1)),
        ("Rank the Baltic states by unemployment rate", ("top", "the Baltics", "Unemployment rate", True, 20)),
        ("Rank the top three African countries by median age", ("top", "Africa", "Median age, total", True, 3)),
        ("中亚五国按面积从小到大怎么排？", ("top", "the Central Asian republics", "Area, total", False, 20)),
    ],
)  # fmt: skip
def test_a_question_over_all_countries_is_understood(question: str, expected: tuple[str, str, str, bool, int]) -> None:
    assert ranking(question) == expected


@pytest.mark.parametrize(
    "question",
    [
        "What is the median age of South Africa?",
        "Which of Chad and Mali has the larger population?",
        "Who buys most of Angola's exports?",
        "What is the highest mountain in Africa?",
        "Which neighbour of Germany has the largest population?",
        "Which country in Western Europe has the largest population?",
        "Who is the president of the European Union?",
    ],
)
def test_other_questions_are_left_alone(question: str) -> None:
    assert ranking(question) is None


def countries(figures: list[str], territory: frozenset[int] = frozenset()) -> list[Country]:
    return [
        Country(f"Land {n}", "Africa" if n % 2 else "Europe", n in territory, (f"Height, total: {figure}",))
        for n, figure in enumerate(figures)
    ]


def test_a_comparison_lists_the_figures_sorted_with_ranks() -> None:
    world = next(comparisons(countries([f"{n * 10} m (2020)" for n in range(1, 41)], frozenset([39]))))
    lines = world.text.split("\n")
    assert lines[0] == (
        "Height, total in the world: 39 of 39 countries have a figure, 2020; 1 territory, listed without a rank"
    )
    assert "Land 39 (territory): 400 m (2020)" in lines
    assert "Land 38 (rank 1, highest): 390 m (2020)" in lines
    assert lines[-1] == "Land 0 (rank 39, lowest): 10 m (2020)"
    assert "Sum of 39 countries in the world: 7,800 m" in lines


def test_a_comparison_leaves_out_figures_in_another_unit() -> None:
    world = next(comparisons(countries([*(f"{n} m" for n in range(1, 36)), "5 km", "7 acres"])))
    assert "In another unit, not ranked: Land 36." in world.text
    assert "Land 35 (rank 1, highest): 5 km" in world.text


def test_what_has_no_capital_is_not_ranked() -> None:
    ice, land = (country("Ice", "antarctica", {"Government": each}, ()) for each in ({}, {"Capital": {}}))
    assert ice and ice.territory and land and not land.territory


def test_equal_figures_share_a_rank() -> None:
    world = next(comparisons(countries([f"{n // 2} m" for n in range(40)])))
    assert "Land 38 (rank 1, highest): 19 m\nLand 39 (rank 1, highest): 19 m\nLand 36 (rank 3): 18 m" in world.text


def test_each_page_of_a_comparison_fits_a_visit() -> None:
    figures = [f"{n}.123 million metric tonnes of carbon dioxide (2020 est.)" for n in range(200)]
    found = list(comparisons(countries(figures)))
    assert all(len(each.text) <= PAGE + 100 for each in found)
    africa = [each for each in found if each.path[:1] == ("africa",)]
    assert sum(each.text.count("(rank ") for each in africa) == 100


def test_a_measure_that_few_countries_have_is_not_compared() -> None:
    assert list(comparisons(countries([f"{n} m" for n in range(20)]))) == []
