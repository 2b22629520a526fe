"""A tick is given only for what anybody can see in the source; a cross only for another figure in the same words."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec.structs import replace

from research.citations import check
from research.citations.checking import check_claim
from research.types import HOLDS, Source
from tests.fuzz import up_to

PROSE = """The Aller is a river of 211 km. Otters were found at 42 of 60 sites (up from 17 in 2010) in the survey of Jana Holt.
However, one of the mills (perhaps the oldest) was closed. It is false that the weir was rebuilt. Critics say the fish left.
The mill has up to 12 wheels. All but 12 mills closed. The rate rose by 2 percent. The town sold 1,200 boats to Denmark.
Is the water clean? The works employ
640 people. “The lake is dry,” said Holt. “It was full once. Nobody swam in it.”
"It is deep." He knew "Lake Orr" well. Lake Orr is 30 m deep.
Die Stadt hat 123.201.777 Einwohner. Version 2.10.1 mends the pump. The pump needs Python 3.10 or later.
Vitamin A is found in carrots.
Common errors:
- The otter is a fish.
鳟鱼在2021年回到了阿勒河。据称水坝已被拆除。该厂有640名工人（不含临时工），年产量为3.2万吨。"""
OTTERS = Source(1, "https://example.org/otters", "Return of the otter", PROSE)
LINES = """Population, total: 68,374,591 (2024 est.)
Population, male: 33,557,094 (2024 est.)
Median age, total: 42.6 years (2024 est.)
Life expectancy at birth, total population: 82.6 years (2024 est.)
Birth rate: 10.9 births/1,000 population (2024 est.)
Real GDP (purchasing power parity) 2024: $3.732 trillion (2024 est.)
Real GDP (purchasing power parity) 2023: $3.689 trillion (2023 est.)
Unemployment rate 2024: 7.5% (2024 est.)
Unemployment rate 2023: 7.3% (2023 est.)
Real GDP per capita 2024: $54,500 (2024 est.)
Exports 2024: $1.046 trillion (2024 est.)
Imports 2024: $1.054 trillion (2024 est.)
Land boundaries, border countries: Andorra 55 km; Spain 646 km
Coal, exports: about 3 million metric tons (2023 est.)
Airports: 689 (2025)
Toll income: 3.2 million
养路费2022年：171.5亿元
养路费2023年：184.2亿元"""
FRANCE = Source(2, "library://factbook/france/facts", "France · Facts", LINES)
SPAIN = Source(
    3,
    "library://factbook/spain/facts",
    "Spain · Facts",
    "Population, total: 47,280,433 (2024 est.)\nReal GDP per capita 2024: $46,500 (2024 est.)",
)
TABLE = """| row | Club | Town | Goals for | Attendance (people) |
| --- | --- | --- | --- | --- |
| 2 | Rovers | Aldbury | 41 | 12,450 |
| 3 | Albion | Aldbury | 38 | 9,870 |"""
LEAGUE = Source(4, "library://tables/league.csv", "league", TABLE)
SALES = Source(
    5,
    "library://tables/sales.csv#A2:C5-1",
    "sales.csv › A2:C5",
    "Result of SELECT region, SUM(revenue) AS total FROM sales GROUP BY region\n| region | total |\n| --- | --- |\n"
    "| North | 2,200.5 |\n| South | 2,400.25 |\nRows used: sales.csv › A2:C5 (4 rows)\n| row | Region | Revenue (EUR) |\n"
    "| --- | --- | --- |\n| 2 | North | 1,200.5 |\n| 3 | South | 900 |\n| 4 | North | 1,000 |\n| 5 | South | 1,500.25 |",
)
WEIRS = Source(
    6,
    "https://example.org/weirs",
    "Weirs",
    """The mill was sold, the owner said. The boats are red, green, and blue. The band Ahoy! sang at the weir. Yahoo! sang, too.
The drug heals, a view long abandoned. The sluice is safe (a view long abandoned). The pier (of 1920, by Arup) is open. The drug is sold (withdrawn in 2019).
鱼梯已经建成，但没有开放。
The lock is 310 years old. This is untrue. The lock was dug by hand. It is open on Sundays. 船闸建于1712年。这一说法是错误的。""",
)
BOX = Source(
    7,
    "https://example.org/corvane",
    "Corvane - Wikipedia",
    """| Corvane |  |
|---|---|
| Population (2021) |  |
| • Total | 53,977 |
| • Urban | 40,100 |
| Area |  |
| • Total | 74.6 km² |
| Elevation | 112 m |""",
)
REPORT = Source(
    8,
    "https://example.org/report",
    "Annual report",
    """|  | Year ended December 31, |  |  |
| --- | --- | --- | --- |
|  | 2019 | 2018 | 2017 €m |
| Rent and deposits | 6,106 | 5,797 | 612 |
|  | 7,000 | 6,500 | 99 |

| (In thousands) | 2019 | 2018 |
| --- | --- | --- |
| Furniture | $11,604 | $10,671 |
| Net result | $(304) | (47) |

| 单位：万元 | 2022年 | 2023年 |
| --- | --- | --- |
| 票款收入 | 22,740 | 26,050 |

| 学校 | 图书册数（万册） |
| --- | --- |
| 2号中学 | 15.2 |
| 明德中学 | 12.4 |

| USD million | 2022 | 2023 |
| --- | --- | --- |
| Net sales | 4,687.0 | 4,951.3 |

| 百万元 | 2022年 | 2023年 |
| --- | --- | --- |
| 研发费用 | 233.8 | 251.0 |

| Works | Cost (USD million) | Lease (in millions of dollars) |
| --- | --- | --- |
| Dalby | 12.4 | 0.7 |

| K | Wells |
| --- | --- |
| Orton | 12 |
| 120 | 31 |

| AUD million | 2022 | 2023 |
| --- | --- | --- |
| Grants | 17.2 | 18.9 |

| (in thousands of dollars) | 2022 | 2023 |
| --- | --- | --- |
| Fines | 31 | 47 |""",
)
SOURCES = [OTTERS, FRANCE, SPAIN, LEAGUE, SALES, WEIRS, BOX, REPORT]


def found(text: str) -> set[tuple[str, str]]:
    return {(each.status, each.reason) for each in check(text, SOURCES)}


@pytest.mark.parametrize(
    "claim",
    [
        "The Aller is a river of 211 km [1].",
        "Aller is river of 211 km [1]!",
        "**Otters** were found at 42 of 60 sites (up from 17 in 2010) in the survey of Jana Holt [1].",
        "The pump needs Python 3.10 or later [1].",
        "Critics say the fish left [1].",
        "The rate rose by 2% [1].",
        "The town sold 1200 boats to Denmark [1].",
        "The works employ 640 people [1].",
        "Lake Orr is 30 m deep [1].",
        "“The lake is dry,” said Holt [1].",
        "- Return of the otter: “The rate rose by 2 percent.” [1]",
        "“The rate rose by 2 percent” (Return of the otter) [1].",
        "However, one of the mills (perhaps the oldest) was closed [1].",
        "France: Land boundaries, border countries: Andorra 55 km; Spain 646 km [2].",
        "鳟鱼在2021年回到了阿勒河 [1]。",
        "The band Ahoy! sang at the weir [6].",
        "The pier is open [6].",
        "The lock was dug by hand [6].",
    ],
)
def test_a_whole_sentence_is_word_for_word(claim: str) -> None:
    assert found(claim) == {("supported", "word for word")}


@pytest.mark.parametrize(
    "claim",
    [
        "The weir was rebuilt [1].",
        "The fish left [1].",
        "However, one of the mills was closed [1].",
        "One of the mills (perhaps the oldest) was closed [1].",
        "The mills were closed [1].",
        "The mill has 12 wheels [1].",
        "All 12 mills closed [1].",
        "The rate rose by 2 percentage points [1].",
        "The water is clean [1].",
        "Is the water clean [1]",
        "640 people [1].",
        "The lake is dry [1].",
        "It was full once [1].",
        "Nobody swam in it [1].",
        "The otter is a fish [1].",
        "Otters were not found at 42 of 60 sites in the survey of Jana Holt [1].",
        "Otters were found at 60 of 42 sites in the survey of Jana Holt [1].",
        "Denmark sold 1,200 boats to the town [1].",
        "Version 2.10.7 mends the pump [1].",
        "The pump needs Python 3.1 or later [1].",
        "Vitamin is found in carrots [1].",
        "The town sold 1.200 boats to Denmark [1].",
        "水坝已被拆除 [1]。",
        "该厂有640名工人，年产量为3.2万吨 [1]。",
        "鳟鱼在2020年回到了阿勒河 [1]。",
        "The mill was sold [6].",
        "The boats are red [6].",
        "The drug heals [6].",
        "The sluice is safe [6].",
        "The drug is sold [6].",
        "鱼梯已经建成 [6]。",
        "The lock is 310 years old [6].",
        "船闸建于1712年 [6]。",
    ],
)
def test_a_part_of_a_sentence_or_another_word_is_left_to_a_judge(claim: str) -> None:
    (each,) = check(claim, SOURCES)
    assert (each.status, each.reason, each.by) == (
        "unverified",
        "rules can't decide this, and no model has checked it",
        "rules",
    )
    assert each.quote in SOURCES[each.n - 1].quote


@pytest.mark.parametrize(
    ("claim", "figure"),
    [("The Aller is a river of 311 km [1].", "211 km"), ("The town sold 1,300 boats to Denmark [1].", "1,200")],
)
def test_the_same_words_with_another_figure_are_contradicted(claim: str, figure: str) -> None:
    assert found(claim) == {("contradicted", f"the source has the same words with another figure: {figure}")}


@pytest.mark.parametrize(
    "claim", ["Die Stadt hat 123.201.945 Einwohner [1].", "该厂有460名工人（不含临时工），年产量为3.2万吨 [1]。"]
)
def test_another_figure_of_what_is_no_known_unit_is_not_ticked(claim: str) -> None:
    assert not {status for status, _ in found(claim)} & HOLDS


def test_what_a_percentage_is_of_is_no_label_of_the_figure_behind_it() -> None:
    lines = "Public debt 2023: {}% of GDP (2023 est.)\nGDP (official exchange rate): ${} trillion (2024 est.)"
    one = Source(1, "library://uk", "United Kingdom · Economy", lines.format("138.6", "3.686"))
    two = Source(2, "library://ca", "Canada · Economy", lines.format("61.3", "2.24"))
    claim = "United Kingdom has the larger public debt: {}% of GDP [1], compared with Canada {}% of GDP [2]."
    assert {each.status for each in check(claim.format("138.6", "61.3"), [one, two])} == {"supported"}
    assert not {each.status for each in check(claim.format("61.3", "138.6"), [one, two])} & HOLDS


@pytest.mark.parametrize(
    "claim",
    [
        "The population of France was 68,374,591 in 2024 [2].",
        "France has a total population of 68.4 million [2].",
        "In 2024 France had 68,374,591 people [2].",
        "法国2024年有68,374,591人 [2]。",
        "France's median age is 42.6 years [2].",
        "In 2024, the life expectancy at birth in France was 82.6 years [2].",
        "France: birth rate of 10.9 births per 1,000 population [2].",
        "The birth rate of France is 10.9 per thousand people [2].",
        "法国的出生率为每千人10.9人 [2]。",
        "In 2023, France's real GDP came to $3,689 billion [2].",
        "The unemployment rate of France is 7.5% [2].",
        "Border countries of France, land boundaries: Spain 646 km [2].",
        "## France\n\nThe median age is 42.6 years [2].",
        "法国2024年的失业率为7.5% [2]。",
        "2023年法国的实际GDP（购买力平价）为3.689万亿美元 [2]。",
        "The Goals for of Rovers is 41 [4].",
        "Albion has an attendance of 9,870 people [4].",
        "The population of France was 68,374,591 and that of Spain 47,280,433 [2][3].",
        "Unemployment rate in France: 7.3% in 2023 and 7.5% in 2024 [2].",
        "France has the highest population: 68,374,591 [2], compared with Spain 47,280,433 [3].",
        "In 2025, France had 689 airports [2].",
        "| Country | Population |\n|---|---|\n| France | 68,374,591 [2] |",
        "The total population of Corvane was 53,977 in 2021 [7].",
        "Corvane has an urban population of 40,100 [7].",
        "The area of Corvane is 74.6 km² [7].",
        "Rent and deposits was 5,797 in 2018 [8].",
        "Rent and deposits was €612 million in 2017 [8].",
        "2号中学的图书册数为15.2万册 [8]。",
        "Furniture was $10.671 million in 2018 [8].",
        "2023年票款收入为2.605亿元 [8]。",
        "Net sales were $4.95 billion in 2023 [8].",
        "2023年研发费用为2.51亿元 [8]。",
        "The cost of Dalby is USD 12.4 million [8].",
        "Orton has 12 wells [8].",
        "Fines were $47 thousand in 2023 [8].",
        "The lease of Dalby is $700 thousand [8].",
        "2022年法国的养路费为171.5亿元 [2]。",
        "法国2024年的出口为1.046万亿美元 [2]。",
        "**法国**：陆地邻国：安道尔55公里、西班牙646公里 [2]。",
        "法国：陆地邻国：**西班牙646公里** [2]。",
        "By the year 2024, the imports of France came to about $1.05 trillion [2].",
    ],
)
def test_a_labelled_figure_is_supported(claim: str) -> None:
    assert found(claim) == {("supported", "the source gives this figure")}


@pytest.mark.parametrize(
    "claim",
    [
        "The population of Spain was 68,374,591 in 2024 [2].",
        "The population of France was 68,374,591 in 1994 [2].",
        "The female population of France was 33,557,094 [2].",
        "The rural population of France was 68,374,591 [2].",
        "68,374,591 people visited France [2].",
        "The population of France was not 68,374,591 [2].",
        "Only the population of France was 68,374,591 [2].",
        "The population of France is about 69 million [2].",
        "The median age in France is 42.6% [2].",
        "The real GDP of France was 3.732 trillion euros in 2024 [2].",
        "The real GDP of France was $3.689 trillion [2].",
        "The coal exports of France were 3 million metric tons in 2023 [2].",
        "The unemployment rate of France was 7.5% in 2023 and 7.3% in 2024 [2].",
        "The population of France was 47,280,433 and that of Spain 68,374,591 [2][3].",
        "Spain has the highest population: 47,280,433 [3], compared with France 68,374,591 [2].",
        "The Goals for of Aldbury is 41 [4].",
        "Aldbury in the Goals for is 38 [4].",
        "## Neighbours of France\n\nThe median age is 42.6 years [2].",
        "The Goals for of Albion is 41 [5].",
        "The North had a total revenue of 2,400.25 EUR [5].",
        "The East had a total revenue of 2,200.5 EUR [5].",
        "法国2023年的失业率为7.5% [2]。",
        "西班牙2024年的失业率为7.5% [2]。",
        "法国农村的失业率为7.5% [2]。",
        "The record population of France was 68,374,591 [2].",
        "The area of Corvane is 53,977 [7].",
        "The urban area of Corvane is 74.6 km² [7].",
        "Rent and deposits was 6,106 in 2018 [8].",
        "Rent and deposits was 7,000 in 2019 [8].",
        "明德中学的图书册数为12.4册 [8]。",
        "Furniture was $10,671 in 2018 [8].",
        "Net result was $47 thousand in 2018 [8].",
        "The net result was 304 thousand in 2019 [8].",
        "法国的出生率为10.9% [2]。",
        "法国的出生率为每万人10.9人 [2]。",
        "The birth rate of France is 10.9 per million people [2].",
        "Net sales were €4,951.3 million in 2023 [8].",
        "Net sales were $4,951.3 in 2023 [8].",
        "The cost of Dalby is $12.4 [8].",
        "Orton has 12,000 wells [8].",
        "Fines were £47 thousand in 2023 [8].",
        "Grants were £18.9 million in 2023 [8].",
        "The toll income of France was £3.2 million [2].",
        "法国2022年的养路费为184.2亿元 [2]。",
        "Exports to France were $1.046 trillion in 2024 [2].",
        "Imports from France were $1.054 trillion in 2024 [2].",
        "Exports with France were $1.046 trillion in 2024 [2].",
        "从法国的进口在2024年为1.054万亿美元 [2]。",
        "法国：陆地邻国：安道尔55公里、西班牙664公里 [2]。",
        "法国：陆地邻国：安道尔646公里、西班牙55公里 [2]。",
        "法国：陆地邻国：安道尔55公里、葡萄牙646公里 [2]。",
        "法国：陆地邻国：安道尔55公里、646公里 [2]。",
        "西班牙：陆地邻国：法国646公里 [2]。",
        "Border countries of Spain, land boundaries: France 646 km [2].",
        "法国：陆地邻国：西班牙646米 [2]。",
        "法国：陆地邻国：西班牙55公里 [2]。",
        "France: land boundaries, border countries: Andorra 55 km; Portugal 646 km [2].",
        "The Goals for of Rovers is 41 per year [4].",
        "The Goals for of Rovers is 41 a year [4].",
    ],
)
def test_a_figure_of_anything_else_is_not_ticked(claim: str) -> None:
    assert not {status for status, _ in found(claim)} & HOLDS


@pytest.mark.parametrize(
    ("claim", "figure"),
    [
        ("The population of France was 86,374,591 in 2024 [2].", "68,374,591"),
        ("The median age in France is 52.6 years [2].", "42.6 years"),
        ("The unemployment rate of France was 9.5% in 2024 [2].", "7.5%"),
        ("法国2024年的失业率为9.5% [2]。", "7.5%"),
        ("法国的失业率为9.5% [2]。", "7.5%"),
        ("法国的出生率为每千人11.9人 [2]。", "10.9"),
        ("Albion has an attendance of 8,970 people [4].", "9,870"),
        ("Net sales were $4,687.0 million in 2023 [8].", "USD 4,951.3 million"),
    ],
)
def test_another_value_in_the_labelled_line_contradicts(claim: str, figure: str) -> None:
    (each,) = check(claim, SOURCES)
    assert (each.status, each.reason) == ("contradicted", f"the source gives {figure}")


@pytest.mark.parametrize(
    "claim",
    [
        "The population of France is about 60 million [2].",
        "The unemployment rate of France was 9.5% [2].",
        "明德中学的图书册数为12.4 [8]。",
    ],
)
def test_a_rounded_figure_or_one_of_no_year_is_not_contradicted(claim: str) -> None:
    assert {status for status, _ in found(claim)} == {"unverified"}


@pytest.mark.parametrize(
    ("claim", "status"),
    [
        ("Norway's public debt is above 6 percent.", "supported"),
        ("Norway's public debt is no more than 6 percent.", "contradicted"),
        ("Norway's public debt is at least 7 percent.", "supported"),
        ("Norway's public debt is above 7 percent.", "unverified"),
        ("Norway's public debt does not exceed 6 percent.", "unverified"),
        ("Norway's public debt is nearly 7 percent.", "unverified"),
        ("Norway's public debt is below 9% and its median age is above 40 years.", "supported"),
        ("Norway's budget is above 1 percent.", "unverified"),  # a deficit, or a surplus?
        ("挪威的年龄中位数低于40岁。", "contradicted"),
        ("14.8% of the population of Norway are under 65 years.", "unverified"),
    ],
)
def test_a_limit_holds_for_all_figures_on_its_side(claim: str, status: str) -> None:
    text = "Public debt: 7.0%\nBudget: -2.1%\nMedian age, total: 42.6 years\nPopulation, 65 years and over: 14.8%"
    (each,) = check_claim(claim, [Source(1, "library://factbook/norway/economy", "Norway · Economy", text)])
    assert each.status == status


@pytest.mark.parametrize(
    ("claim", "formula"),
    [
        (
            "With a population of 68,374,591, France has 21,094,158 more than Spain with 47,280,433 [2][3].",
            "68,374,591 − 47,280,433 = 21,094,158",
        ),
        (
            "France has the higher population: 68,374,591 [2], compared with Spain 47,280,433 [3]. The difference is 21,094,158 [2][3].",
            "68,374,591 − 47,280,433 = 21,094,158",
        ),
        (
            "The populations of France and Spain are together 115,655,024 [2][3].",
            "68,374,591 + 47,280,433 = 115,655,024",
        ),
        ("The population of France is 1.45 times that of Spain [2][3].", "68,374,591 ÷ 47,280,433 = 1.45"),
        (
            "The real GDP of France grew by 1.17% from 2023 to 2024 [2].",
            "($3.732 trillion − $3.689 trillion) ÷ $3.689 trillion = 1.17%",
        ),
        ("Real GDP per capita of France is $8,000 more than that of Spain [2][3].", "$54,500 − $46,500 = $8,000"),
        ("France has a larger population than Spain [2][3].", "France 68,374,591 > Spain 47,280,433"),
        ("法国和西班牙的总人口合计115,655,024 [2][3]。", "68,374,591 + 47,280,433 = 115,655,024"),
        (
            "France: real GDP (purchasing power parity) of $54,582 per person, calculated from real GDP (purchasing power parity) "
            "$3.732 trillion and population, total 68,374,591 [2].",
            "$3.732 trillion ÷ 68,374,591 = $54,582",
        ),
        (
            "法国人均54,582美元，由实际GDP（购买力平价）3.732万亿美元和总人口68,374,591人算出 [2]。",
            "$3.732 trillion ÷ 68,374,591 = 54,582美元",
        ),
        (
            "The North had a total revenue of 2,200.5 EUR [5].",
            "2,200.5 EUR: SELECT region, SUM(revenue) AS total FROM sales GROUP BY region",
        ),
    ],
)
def test_what_follows_from_labelled_figures_is_calculated(claim: str, formula: str) -> None:
    assert ("calculated", formula) in found(claim), found(claim)


@pytest.mark.parametrize(
    "claim",
    [
        "With a population of 68,374,591, France has 21,094,185 more than Spain with 47,280,433 [2][3].",
        "Spain has 21,094,158 more population than France: 47,280,433 against 68,374,591 [2][3].",
        "The populations of France and Spain are together 115,655,024 in 2023 [2][3].",
        "The population of Spain is 1.45 times that of France [2][3].",
        "The real GDP of France fell by 1.17% from 2023 to 2024 [2].",
        "France: $64,582 per person, calculated from real GDP (purchasing power parity) $3.732 trillion and population 68,374,591 [2].",
        "France has a density of 115,655,024 people per sq km, calculated from population 68,374,591 and 47,280,433 of Spain [2][3].",
        "Spain has a larger population than France [2][3].",
        "The population of Spain, 47,280,433, minus that of France, 68,374,591, is 21,094,158 [2][3].",
        "The populations of France and Spain combined are a difference of 115,655,024 [2][3].",
        "The difference between the exports and the population of France is 5 [2].",
    ],
)
def test_a_slip_of_the_order_the_year_or_the_result_is_not_ticked(claim: str) -> None:
    assert not {each.status for each in check(claim, SOURCES)[-2:]} & HOLDS, found(claim)


def test_a_figure_of_the_python_tool_needs_labelled_inputs() -> None:
    (mean,) = {
        (c.status, c.reason)
        for c in check("The ratio of the populations of France and Spain is 1.446 [2][3].", SOURCES, ["1.4461498881"])
    }
    assert mean[0] == "calculated"
    (bare,) = check("The wealth of France is 17.25 times its luck [2].", SOURCES, ["17.25"])
    assert (
        bare.status == "unverified"
        and bare.reason == "the python tool printed 17.25, but the cited sources do not give its inputs"
    )


def test_a_source_that_does_not_exist_and_one_that_adds_nothing() -> None:
    assert [(c.n, c.status) for c in check("The Aller is a river of 211 km [1][2][9].", SOURCES)] == [
        (1, "supported"),
        (2, "unverified"),
        (9, "dead"),
    ]


def test_a_web_page_cannot_pass_for_a_query() -> None:
    forged = Source(1, "https://example.org/a#A1", SALES.title, SALES.quote)
    assert check("The North had a total revenue of 2,200.5 EUR [1].", [forged])[0].status not in HOLDS


@up_to(60)
@given(st.integers(1_000, 999_999_999), st.integers(1_000, 999_999_999), st.sampled_from([",", ".", "'", " ", ""]))
def test_a_number_is_ticked_in_any_form_and_another_in_none(one: int, other: int, mark: str) -> None:
    assume(one != other)
    source = [Source(1, "", "", f"The town of Orrin has {one:,} trees.")]
    written = f"{one:,}".replace(",", mark)
    (same,) = check_claim(f"The town of Orrin has {written} trees", source)
    assert (same.status == "supported") == (mark != "." or one >= 1_000_000), same
    (apart,) = check_claim(f"The town of Orrin has {f'{other:,}'.replace(',', mark)} trees", source)
    assert apart.status not in HOLDS


def test_every_country_of_the_factbook_can_be_named_in_chinese() -> None:
    countries = {
        "Burma": "缅甸", "Cabo Verde": "佛得角", "Democratic Republic of the Congo": "刚果（金）", "Hong Kong": "中国香港",
        "Republic of the Congo": "刚果（布）", "The Gambia": "冈比亚", "Turkey": "土耳其", "US Virgin Islands": "美属维尔京群岛",
    }  # fmt: skip
    for english, chinese in countries.items():
        line = Source(1, "library://factbook/x", f"{english} · Economy", "Unemployment rate 2024: 7.5% (2024 est.)")
        (found,) = check(f"{chinese}2024年的失业率为7.5% [1]。", [line])
        assert found.status == "supported", chinese


LIFE = """Life expectancy at birth, total population in the world: 6 of 6 countries have a figure, 2024; 1 territories
Monaco (rank 1, highest): 89.8 years (2024 est.)
Singapore (rank 2): 86.7 years (2024 est.)
Macau (territory): 85.3 years (2024 est.)
Japan (rank 3): 85.2 years (2024 est.)
Canada (rank 4): 84.2 years (2024 est.)
San Marino (rank 4): 84.2 years (2024 est.)
Chad (rank 6, lowest): 60.0 years (2023 est.)"""
AFRICA = """Population, total in Africa: 3 of 3 countries have a figure, 2025; 0 territories, listed without a rank
Nigeria (rank 1, highest): 244,343,870 (2025 est.)
Ethiopia (rank 2): 121,372,632 (2025 est.)
Niger (rank 3, lowest): 27,320,000 (2025 est.)"""
RANKINGS = [
    Source(1, "", "Comparison of countries · Life expectancy at birth, total population", LIFE),
    Source(2, "", "Comparison of countries · Population, total, Africa", AFRICA),
]
TABLE = "| Rank | Country | Life expectancy at birth | Year |\n|---|---|---|---|\n"
BOTTOM = "| Rank from the bottom in Africa | Country | Total population | Year |\n|---|---|---|---|\n"
HEADS = "| 非洲排名 | 国家 | 总人口 | 年份 |\n|---|---|---|---|\n"


@pytest.mark.parametrize(
    "claim",
    [
        "Japan has a life expectancy at birth of 85.2 years (2024 est.) [1].",
        "Macau has a life expectancy at birth of 85.3 years [1].",
        "Monaco has the longest life expectancy at birth in the world: 89.8 years (2024 est.) [1].",
        "Monaco has the highest life expectancy at birth: 89.8 years [1].",
        "Chad has the lowest life expectancy at birth in the world: 60.0 years (2023) [1].",
        "Monaco, Singapore and Japan have the highest life expectancy at birth in the world [1].",
        "Life expectancy at birth: Monaco 89.8 years, Singapore 86.7 years, Canada 84.2 years [1].",
        "Japan ranks third in life expectancy at birth in the world: 85.2 years [1].",
        f"{TABLE}| 4 | San Marino | 84.2 years | 2024 [1] |",
        f"{BOTTOM}| 1 | Niger | 27,320,000 | 2025 [2] |",
        "Nigeria has the largest total population in Africa: 244,343,870 [2].",
        "Nigeria and Ethiopia have the largest total population in Africa [2].",
        "2 countries in Africa have a total population above 100,000,000: Nigeria and Ethiopia [2].",
        "1 country in Africa has a total population above 121,372,632 (Ethiopia): Nigeria [2].",
        "非洲有2个国家的总人口超过100,000,000人：尼日利亚和埃塞俄比亚 [2]。",
        "Ethiopia has a total population of 121,372,632 [2].",
        "Population, total in Africa: 3 of 3 countries have a figure, 2025 [2].",
        "日本的出生时预期寿命为85.2岁（2024年） [1]。",
        "摩纳哥的出生时预期寿命在全世界最长：89.8岁（2024年估计） [1]。",
        "非洲总人口最多的国家是尼日利亚和埃塞俄比亚 [2]。",
        "非洲3个国家中，3个有数据（2025年） [2]。",
        "全世界6个国家中，6个有数据（2024年） [1]。",
        "埃塞俄比亚的总人口为121,372,632人（约1.214亿人，2025年估计） [2]。",
        f"{HEADS}| 2 | 埃塞俄比亚 | 121,372,632人（约1.214亿人） | 2025 [2] |",
    ],
)
def test_a_ranking_has_the_figure_and_the_rank_of_each_name(claim: str) -> None:
    assert check(claim, RANKINGS)[-1].status in HOLDS


@pytest.mark.parametrize(
    "claim",
    [
        "Japan has a life expectancy at birth of 86.7 years [1].",
        "非洲3个国家中，2个有数据（2025年） [2]。",
        "非洲4个国家中，3个有数据（2025年） [2]。",
        "非洲3个国家中，3个有数据（2024年） [2]。",
        "亚洲3个国家中，3个有数据（2025年） [2]。",
        "Canada has a life expectancy at birth of 85.2 years (2024 est.) [1].",
        "Japan has a life expectancy at birth of 85.2 years (2023) [1].",
        "Japan has a life expectancy at birth of 85.2% [1].",
        "Japan has a median age of 85.2 years [1].",
        "Japan has a male life expectancy at birth of 85.2 years [1].",
        "Japan has the highest life expectancy at birth: 85.2 years [1].",
        "Macau has the longest life expectancy at birth: 85.3 years [1].",
        "Monaco has the lowest life expectancy at birth: 89.8 years [1].",
        "Canada has the lowest life expectancy at birth: 84.2 years [1].",
        "Singapore, Monaco and Japan have the highest life expectancy at birth [1].",
        "Monaco and Japan have the highest life expectancy at birth [1].",
        "Japan and Canada have the highest life expectancy at birth: 85.2 years and 84.2 years [1].",
        "Monaco, Singapore, Japan and Canada have the highest life expectancy at birth [1].",
        "Japan ranks second in life expectancy at birth in the world: 85.2 years [1].",
        "Japan, with the highest life expectancy at birth of 85.2 years, is 1.0 year above Canada with 84.2 years [1].",
        "Life expectancy at birth: Monaco 86.7 years, Singapore 89.8 years [1].",
        f"{TABLE}| 5 | San Marino | 84.2 years | 2024 [1] |",
        f"{TABLE}| 4 | San Marino | 84.2 years | 2023 [1] |",
        f"{TABLE}| 3 | San Marino | 85.2 years | 2024 [1] |",
        f"{BOTTOM}| 1 | Nigeria | 244,343,870 | 2025 [2] |",
        "3 countries in Africa have a total population above 100,000,000: Nigeria and Ethiopia [2].",
        "2 countries in Africa have a total population above 100,000,000: Nigeria and Niger [2].",
        "1 country in Africa has a total population above 100,000,000: Nigeria [2].",
        "2 countries in Africa have a total population below 100,000,000: Nigeria and Ethiopia [2].",
        "2 countries in Asia have a total population above 100,000,000: Nigeria and Ethiopia [2].",
        "2 coastal countries in Africa have a total population above 100,000,000: Nigeria and Ethiopia [2].",
        "Niger and Ethiopia have the largest total population in Africa [2].",
        "Nigeria has the largest total population in the world: 244,343,870 [2].",
        "Nigeria has the largest total population: 244,343,870 [2].",
        "Nigeria has the largest total population in Africa and in the world: 244,343,870 [2].",
        "Niger has a total population of 244,343,870 [2].",
        "Population, total in Africa: 2 of 3 countries have a figure, 2025 [2].",
        "Population, total in Africa: 3 of 4 countries have a figure, 2025 [2].",
        "Population, total in Africa: 3 of 3 countries have a figure, 2024 [2].",
        "Population, total in Asia: 3 of 3 countries have a figure, 2025 [2].",
        "日本的出生时预期寿命为86.7岁 [1]。",
        "日本的出生时预期寿命在全世界最长：85.2岁 [1]。",
        "非洲总人口最多的国家是埃塞俄比亚和尼日利亚 [2]。",
        "世界总人口最多的国家是尼日利亚 [2]。",
        "埃塞俄比亚的总人口在非洲排名第三：121,372,632人 [2]。",
        f"{HEADS}| 1 | 埃塞俄比亚 | 121,372,632人（约1.214亿人） | 2025 [2] |",
        f"{HEADS}| 2 | 埃塞俄比亚 | 121,372,632人（约1.314亿人） | 2025 [2] |",
    ],
)
def test_a_spoiled_claim_about_a_ranking_is_not_ticked(claim: str) -> None:
    assert check(claim, RANKINGS)[-1].status not in HOLDS


@pytest.mark.parametrize(
    ("names", "holds"), [("Nigeria, Ethiopia and Niger", True), ("Nigeria, Niger and Ethiopia", False)]
)
def test_a_ranking_that_has_the_latest_year_of_each_country_orders_them(names: str, holds: bool) -> None:
    mixed = AFRICA.replace("121,372,632 (2025", "121,372,632 (2024")
    source = Source(2, "library://factbook/comparison/population-africa", RANKINGS[1].title, mixed)
    (found,) = check_claim(f"{names} have the largest total population in Africa.", [source])
    assert (found.status in HOLDS) == holds, found


def test_the_quote_of_a_counted_part_is_the_whole_line() -> None:
    (found,) = check("Population, total in Africa: 3 of 3 countries have a figure, 2025 [2].", RANKINGS)
    assert found.quote == AFRICA.split("\n")[0]


LISTS = """Land boundaries, border countries: Andorra 55 km; Spain 646 km
Exports - partners: Germany 13%, Italy 9% (2023)
Imports - partners: Germany 15%, Italy 8% (2023)
Area, total: 643,801 sq km"""
LISTED = Source(9, "library://factbook/france/geography", "France · Geography", LISTS)
_BORDERS = "Land boundaries, border countries: "
NORTH = [
    Source(n, f"library://factbook/{name.lower()}/geography", f"{name} · Geography", text)
    for n, name, text in (
        (11, "Norway", f"Area, total: 323,802 sq km\n{_BORDERS}Sweden 1,666 km; Finland 709 km"),
        (12, "Sweden", f"Land boundaries, total: 2,211 km\n{_BORDERS}Norway 1,666 km; Finland 545 km"),
        (13, "Latvia", f"Land boundaries, total: 1,370 km\n{_BORDERS}Estonia 333 km; Russia 1,037 km"),
    )
]
WIDE = Source(10, "library://factbook/spain/geography", "Spain · Geography", "Area, total: 505,370 sq km")


@pytest.mark.parametrize(
    ("claim", "status"),
    [
        ("The border between France and Spain is 646 km long.", "supported"),
        ("France's border with Andorra is 55 km.", "supported"),
        ("13% of France's exports go to Germany.", "supported"),
        ("15% of France's imports come from Germany.", "supported"),
        ("France's border with Spain is 946 km.", "contradicted"),
        ("France's border with Andorra is 646 km.", "contradicted"),
        ("31% of France's exports go to Germany.", "contradicted"),
        ("13% of Germany's exports go to France.", "unverified"),  # whose exports they are matters
        ("13% of France's exports come from Germany.", "unverified"),
        ("Exports to France from Germany are 13%.", "unverified"),
        ("The border between France and Italy is 646 km.", "unverified"),
        ("France's border with Spain grew by 946 km.", "unverified"),
        ("France is larger in area than Spain.", "calculated"),
        ("France is smaller in area than Spain.", "contradicted"),
        ("Compared with Spain, France is smaller in area.", "unverified"),
        ("Compared with Spain, France is larger in area.", "unverified"),  # the order does not say which is meant
        ("France is not smaller in area than Spain.", "unverified"),
        ("法国的面积比西班牙大。", "calculated"),
        ("西班牙的面积比法国更大。", "contradicted"),
        ("法国面积小于西班牙。", "contradicted"),
        ("西班牙的面积不比法国大。", "unverified"),
        ("西班牙的面积比法国的一半大。", "unverified"),
        ("France is larger in area than Spain and Norway.", "calculated"),
        ("France is larger in area than Spain and Norway together.", "unverified"),  # it is not
        ("法国面积比西班牙和挪威的总和大。", "unverified"),
        ("The growth of the area of France is larger than that of Spain.", "unverified"),
        ("Norway shares borders with Sweden and Finland.", "supported"),
        ("挪威与瑞典和芬兰接壤。", "supported"),
        ("Norway borders Sweden and France.", "unverified"),
        ("Sweden and Finland border Norway.", "supported"),
        ("Sweden and Latvia border Norway.", "unverified"),
        ("Sweden borders Norway and Latvia.", "contradicted"),
    ],
)
def test_items_of_a_list_and_comparisons_hold_or_fail(claim: str, status: str) -> None:
    passage = replace(WIDE, quote=WIDE.quote.splitlines()[0])  # as a search returned it, before the whole was read
    found = check_claim(claim, [LISTED, WIDE, passage, *NORTH])
    assert {each.status for each in found} - {"unverified"} == {status} - {"unverified"}, found


@pytest.mark.parametrize(
    ("claim", "own", "status"),
    [
        ("Revenue reached 512 million.", "Revenue reached 412 million.", "contradicted"),
        ("Revenue reached EUR 512 million.", "Revenue reached EUR 412 million.", "contradicted"),
        ("The site employs 512 people.", "The site employs 412 people.", "contradicted"),
        ("Revenue reached 400 million.", "Revenue reached 412 million.", "unverified"),  # rounded
        ("The plan is called Heron 51.", "The plan is called Heron 41.", "unverified"),
        ("The index stood at 51.", "The index stood at 41.", "unverified"),
    ],
)
def test_a_document_with_the_same_words_and_another_amount_denies_a_claim(claim: str, own: str, status: str) -> None:
    (found,) = check_claim(claim, [Source(1, "library://docs/a.md", "Notes", own)])
    assert found.status == status, found


CONTRACTS = Source(
    1,
    "library://docs/contracts.md",
    "Contracts",
    """# Contract C-101: Nordfjord Hydro

Contract C-101 with Nordfjord Hydro AS covers 140 meters. The value is EUR 412,000. It started on 1 June 2024 and ends on \
31 May 2027. The notice period is 90 days.

# Contract C-102: Port of Gdynia

The value is EUR 268,500. It ends on 14 January 2028. The notice period is 60 days.

# 丙号合同：海港公司

通知期为30天。合同于2027年5月31日到期。

# Dock

The dock was painted on 9 June 2022. It was painted on 4 May 2019.""",
)


@pytest.mark.parametrize(
    ("claim", "status"),
    [
        ("The notice period of contract C-102 is 60 days.", "supported"),
        ("The notice period of contract C-102 is 90 days.", "contradicted"),
        ("The notice period of contract C-103 is 90 days.", "unverified"),
        ("The notice period of contract C-102 is about 60 days.", "unverified"),
        ("Contract C-101 ends on 2027-05-31.", "supported"),
        ("The contract with Nordfjord Hydro ends on 31 May 2028.", "contradicted"),
        ("It ends on 31 May 2028.", "unverified"),
        ("丙号合同的通知期为30天。", "supported"),
        ("丙号合同的通知期为60天。", "contradicted"),
        ("丁号合同的通知期为60天。", "unverified"),
        ("The notice period of the contracts is 60 days.", "unverified"),
        ("The dock was painted on 9 June 2022.", "supported"),
        ("The dock was painted on 8 June 2022.", "unverified"),
        ("丙号合同于2028年5月31日到期。", "contradicted"),
    ],
)
def test_a_sentence_says_something_of_the_subject_above_it(claim: str, status: str) -> None:
    excerpt = Source(1, CONTRACTS.url, "Contracts", CONTRACTS.quote.partition("\n\n")[2])
    (found,) = check_claim(claim, [excerpt, CONTRACTS])
    assert found.status == status, found


@pytest.mark.parametrize(
    ("above", "statuses"),
    [
        ("## Contract C-101: Nordfjord Hydro", ["supported", "contradicted"]),
        ("Contract C-101 is long.", ["supported", "contradicted"]),
        ("## Contract C-102", ["contradicted", "contradicted"]),
        ("## Contract C-103", ["supported", "unverified"]),
    ],
)
def test_a_claim_is_about_the_subject_above_it(above: str, statuses: list[str]) -> None:
    found = check(f"{above}\n\nThe value is EUR 412,000 [1]. It ends on 31 May 2028 [1].", [CONTRACTS])
    assert [each.status for each in found] == statuses


@pytest.mark.parametrize(
    ("claim", "own", "status"),
    [
        ("Alcohol is reimbursed up to EUR 20.", "Alcohol is not reimbursed.", "contradicted"),
        ("公司的酒类费用可报销20欧元。", "公司的酒类费用不可报销。", "contradicted"),
        ("Alcohol is reimbursed.", "Alcohol is not reimbursed unless a guest pays.", "unverified"),
        ("Alcohol is reimbursed only to guests.", "Alcohol is not reimbursed.", "unverified"),
        ("Wine is reimbursed.", "Alcohol is not reimbursed.", "unverified"),
        ("Alcohol is reimbursed.", "Alcohol is not reimbursed abroad.", "unverified"),
    ],
)
def test_a_plain_denial_of_how_a_claim_begins_contradicts_it(claim: str, own: str, status: str) -> None:
    (found,) = check_claim(claim, [Source(1, "library://docs/a.md", "Notes", own)])
    assert found.status == status, found


@pytest.mark.parametrize(
    ("claim", "status"),
    [
        ("Namibia became independent in 1990.", "supported"),
        ("Namibia's independence was on 21 March 1990.", "supported"),
        ("Namibia became independent in 1975.", "contradicted"),
        ("Namibia became independent by 1995.", "unverified"),
        ("Namibia was not independent in 1990.", "unverified"),
        ("Zambia became independent in 1975.", "unverified"),
    ],
)
def test_a_label_with_one_date_tells_when_something_was(claim: str, status: str) -> None:
    line = "Independence: 21 March 1990 (from South African mandate)"
    (found,) = check_claim(claim, [Source(1, "library://factbook/namibia/government", "Namibia · Government", line)])
    assert found.status == status, found


REPORT = Source(
    1,
    "",
    "云岭茶厂年度报告",
    "2025年全厂共加工毛茶412吨，比2024年的378吨增加9.0%。全年销售收入为6850万元,净利润为742万元。\n"
    "质检部由林秀兰负责。厂长是张国华。\n2025年6月,厂里购入了两台萎凋机,总价为96万元,供应商为恒丰公司。\n"
    "厂里目前没有自己的网店,计划于2026年3月开设。厂里有三个仓库，这一说法不实。\n"
    "2025年访客为1340人次。彩超机的价格为68万元。\n"
    "上半年电费为50万元，水费为7万元。含水量超过7%，退回供应商。假如收入为8万元，税为1万元。样品全部合格，3号样品除外。厂里有食堂，2023年关闭。\n工龄满10年，年假为15天；工龄满20年，年假为20天。",
)


@pytest.mark.parametrize(
    ("claim", "status"),
    [
        ("2025年6月，厂里购入了两台“萎凋机”，总价为96万元。", "supported"),
        ("厂里目前没有自己的网店。", "supported"),
        ("净利润为742万元。", "supported"),
        ("2025年净利润为742 万元。", "supported"),
        ("2025年净利润为842万元。", "contradicted"),
        ("2025年6月，厂里购入了两台萎凋机，总价为86万元。", "contradicted"),
        ("质检部由黄美玲负责。", "contradicted"),
        ("厂长是陈志强。", "contradicted"),
        ("彩超机的价格为86万元。", "contradicted"),
        ("2025年访客为1430人次。", "contradicted"),
        ("2024年净利润为742万元。", "unverified"),
        ("2025年净利润不为742万元。", "unverified"),
        ("厂里目前有自己的网店。", "unverified"),
        ("厂里有三个仓库。", "unverified"),
        ("2025年水费为7万元。", "unverified"),
        ("含水量超过7%。", "unverified"),
        ("样品全部合格。", "unverified"),
        ("厂里有食堂。", "unverified"),
        ("年假为15天。", "unverified"),
        ("年假为18天。", "unverified"),
        ("税为1万元。", "unverified"),
        ("质检部不由黄美玲负责。", "unverified"),
        ("质检部由外包公司负责。", "unverified"),
        ("质检部由林主任负责。", "unverified"),
        ("厂长不是王伟。", "unverified"),
    ],
)
def test_a_clause_of_a_chinese_sentence_holds_and_refutes_if_nothing_around_it_changes_what_it_says(
    claim: str, status: str
) -> None:
    assert [each.status for each in check_claim(claim, [REPORT])] == [status]


# Parts of longer sentences, and words of opposite meaning

CLUB = """# Harbour Kite Club

Founded in 1987 by two sisters, the club began in a boathouse in Larmouth and moved to the north pier in 1994. The annual
fee is 85 euros; members under 18 pay 40 euros. The club has 312 members, of whom 47 are juniors.

In March 2023 the board approved the plan for a new hangar. Dogs are allowed on the field from October to April.

The treasurer, Ines Valdor, resigned in June 2024. She was replaced by Tomas Brandt, a retired teacher. The boat, the
Solveig, was built in 2008 at a yard in Gdansk and carries 640 passengers and 90 cars. Revenue rose to 18 million euros in
2023, while the profit fell to 2 million euros. Anna Berg and Tom Reid, a lawyer, own 30 percent of the mill. The mill
bought a firm that was founded in 1950 and sold cloth to Norway. The bridge is 6 feet and 3 inches wide. The rent rose by
5 percent in 2020 and 2021. The pier was rebuilt in 1990 with money from a lottery, and the school was closed in 2001.
"""


@pytest.mark.parametrize(
    ("claim", "status"),
    [
        ("The Harbour Kite Club was founded in 1987.", "supported"),
        ("The Harbour Kite Club was founded in 1990.", "contradicted"),
        ("The club moved to the north pier in 1990.", "unverified"),  # it may have moved twice
        ("The club moved to the north pier in 1994.", "supported"),
        ("The club has 312 members.", "supported"),
        ("The club has 321 members.", "contradicted"),
        ("The annual fee of the kite club is 85 euros.", "supported"),
        ("The annual fee of the kite club is 120 euros.", "contradicted"),
        ("Members under 18 pay 40 euros.", "supported"),
        ("Members under 18 pay 85 euros.", "contradicted"),
        ("The board approved the plan for a new hangar.", "supported"),
        ("The board rejected the plan for a new hangar in March 2023.", "contradicted"),
        ("Dogs are forbidden on the field from October to April.", "contradicted"),
        ("Ines Valdor resigned in June 2024.", "supported"),
        ("Tomas Brandt is a retired teacher.", "supported"),
        ("The Solveig was built in 2008.", "supported"),
        ("The Solveig carries 640 passengers.", "supported"),
        ("The Solveig carries 90 passengers.", "contradicted"),
        ("Revenue rose to 18 million euros in 2023.", "supported"),
        ("Revenue fell to 18 million euros in 2023.", "contradicted"),
        ("Anna Berg owns 30 percent of the mill.", "unverified"),
        ("The mill sold cloth to Norway.", "unverified"),
        ("The mill was founded in 1950.", "unverified"),
        ("The bridge is 6 feet wide.", "unverified"),
        ("The rent rose by 5 percent in 2020.", "unverified"),
        ("The school was rebuilt in 1990.", "unverified"),
        ("The pier was closed in 2001.", "unverified"),
    ],
)
def test_a_statement_is_compared_with_the_parts_of_a_longer_sentence(claim: str, status: str) -> None:
    (found,) = check_claim(claim, [Source(1, "library://own/club.md", "club", CLUB)])
    assert found.status == status


@pytest.mark.parametrize(
    ("claim", "status"),
    [
        ("Unemployment in France is 7.5%.", "supported"),
        ("Unemployment in France was 7.3% in 2023.", "supported"),
        ("Unemployment in France is 9%.", "contradicted"),
        ("Unemployment in France fell by 7.5%.", "unverified"),
        ("Youth unemployment in France is 7.5%.", "unverified"),
        ("Unemployment in France is 7.5 million.", "unverified"),
    ],
)
def test_a_percentage_is_a_rate_without_the_word(claim: str, status: str) -> None:
    (found,) = check_claim(claim, [FRANCE])
    assert found.status == status


ENERGY = Source(
    1,
    "library://factbook/norway/energy",
    "Norway · Energy",
    "Electricity, installed generating capacity: 41.1 million kW (2023 est.)\nElectricity, exports: 17.7 billion kWh (2023 est.)\n"
    "Electricity generation sources, wind: 9.2% of total installed capacity (2023 est.)\n"
    "Natural gas, exports: 121.5 billion cubic meters (2023 est.)\nNatural gas, proven reserves: 1.4 trillion cubic meters\n"
    "Petroleum, proven reserves: 8.1 billion barrels (2021 est.)\nAge of the grid, median: 40.8 years",
)


@pytest.mark.parametrize(
    ("claim", "status"),
    [
        ("Norway's installed generating capacity is 41.1 million kW.", "supported"),
        ("Norway, Wind: 9.2%", "supported"),
        ("Wind provides 9.2% of Norway's installed capacity.", "supported"),
        ("Norway's exports are 17.7 billion kWh.", "supported"),
        ("The median age of the grid of Norway is 40.8.", "supported"),
        ("Norway's exports are 121.5 billion kWh.", "unverified"),
        ("Norway's wind speed is 9.2%.", "unverified"),
        ("Norway's installed generating capacity is 50 million kW.", "unverified"),
        ("Norway's proven reserves are 8.1 trillion cubic meters.", "unverified"),
        ("Norway's reserves are 8.1 billion barrels.", "unverified"),
    ],
)
def test_the_last_part_of_a_label_is_enough_if_no_other_label_has_it(claim: str, status: str) -> None:
    (found,) = check_claim(claim, [ENERGY])
    assert found.status == status


@pytest.mark.parametrize("claim", ["“” [1]", "Notes: “。” [1]", '季刊：“"最难的是第三年。"” [1]'])
def test_a_claim_without_words_or_with_quotes_within_quotes_is_one_statement(claim: str) -> None:
    (found,) = check(claim, [Source(1, "library://own/a", "季刊", "组里只有七个人。最难的是第三年。")])
    assert found.status in (*HOLDS, "unverified") and f"{found.claim} [1]" == claim
