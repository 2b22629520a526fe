"""The offline model answers over all countries from the comparisons of the library."""

from __future__ import annotations

import pytest

import research
from research.citations import check
from research.search.library.documents import Library
from research.types import FAILS, HOLDS, Source
from research.workbench.workbench import Workbench

pytestmark = pytest.mark.examples(3)


@pytest.mark.parametrize(
    ("question", "said"),
    [
        (
            "Which African country has the longest coast?",
            "**Madagascar** has the longest coastline in Africa: **4,828 km**",
        ),
        ("Which country has the lowest fertility on earth?", "**South Korea** has the lowest total fertility rate"),
        ("Top five holders of proven coal reserves, in order?", "| 5 | India | 127.727 billion metric tons"),
        ("How many countries in Africa have more than 50 million people?", "**9** countries in Africa"),
        (
            "Which of Poland, Romania and Czechia has the largest area, and by how much does it exceed the smallest?",
            "The difference in total area between Poland and Czechia is **233,818 sq km**",
        ),
        ("波兰、罗马尼亚和捷克哪个面积最大，比最小的大多少？", "波兰和捷克的总面积相差 **233,818平方公里**"),
        ("How many African countries have a literacy rate below 50%?", "Niger, Mali and Chad [11]."),
        ("What is the average life expectancy in Asia?", "is **75.2 years**"),
        ("What religion do most people in Ethiopia follow?", "Religions of Ethiopia: Ethiopian Orthodox 43.8%"),
        ("Which language is spoken by most people in Nepal?", "Languages of Nepal: Nepali (official) 44.9%"),
        (
            "Which five countries in Africa have the highest life expectancy, and how do Kenya and Ghana compare in inflation?",
            "**Ghana** has the higher inflation rate",
        ),
        (
            "Which five countries have the highest life expectancy, and how do Kenya and Ghana compare in inflation?",
            "have the longest life expectancy",
        ),
        ("What is the population of South America?", "adds up to **443,652,311**"),
        ("非洲人口最多的三个国家是哪些？", "| 3 | 刚果（金） | 119,038,825人"),
        (
            "Which six countries in Europe have the highest median age?",
            "| 6 | Greece | 46.8 years | 2025 est. [11] |\n| 6 | Portugal | 46.8 years",
        ),
        ("世界上面积最大的五个国家", "| 2 | 加拿大 |"),
        ("Which Nordic country spends the largest share of GDP on its military?", "No figure is listed for Iceland."),
        (
            "Which EU country has the lowest unemployment?",
            "**Poland** has the lowest unemployment rate in the European Union",
        ),
        (
            "How many NATO countries have more than 50 million people?",
            "**6** countries in NATO have a total population",
        ),
        ("What is the total population of the Baltic states?", "adds up to **6,044,604**"),
        ("北欧哪个国家人口最多？", "**瑞典**的总人口在北欧最多"),
        ("What is the second most populous country in Africa?", "**Ethiopia** has the second largest total population"),
        ("Which country has the 7th largest population in the world?", "**Brazil** has the seventh largest"),
        ("非洲人口第二多的国家是哪个？", "**埃塞俄比亚**的总人口在非洲第二多"),
        (
            "Which European countries have more people than Spain?",
            "(Spain): Germany, United Kingdom, France and Italy [11].",
        ),
        ("How many countries have a higher life expectancy than Italy?", "**13** countries in the world"),
        (
            "Which European countries have a GDP per capita between 20,000 and 30,000 dollars?",
            "**5** countries in Europe have a real GDP per capita between $20,000 and $30,000: Belarus, Montenegro",
        ),
        ("非洲哪些国家的人口在2000万到3000万之间？", "非洲有 **6**个国家的总人口在2000万人和3000万人之间：尼日尔"),
        ("How many European countries have fewer than a million people?", "**9** countries in Europe"),
        ("Which of France, Italy and Portugal has more people than Spain?", "(Spain): **France** and **Italy**."),
        (
            "What is Chile's rank in GDP per capita in South America?",
            "**Chile** is number 3 in South America: **$30,200**",
        ),
        ("意大利的面积在欧洲排第几？", "意大利的总面积在欧洲排第9：**301,340平方公里**"),
        ("Apart from China and India, which country has the most people?", "**United States** has the largest total"),
        ("哪个国家的面积排第二？", "**加拿大**的总面积在全世界第二大"),
        ("Which country ranks second in area?", "**Canada** has the second largest total area"),
        ("What is the capital of the European Union?", "**Brussels (Belgium), Strasbourg (France)"),
    ],
)
def test_all_countries_of_a_place_are_compared(bench: Workbench, question: str, said: str) -> None:
    view = research.run(question, workbench=bench)
    assert view.outcome == "answered"
    assert said in view.answer.split("\n### ")[0]


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("Which is richer, Japan or Italy, and why?", "**Italy** has the higher real GDP per capita"),
        (
            "How do the electricity systems of Norway and Denmark differ, and why?",
            "| Electricity generation sources, wind | 9.2% [1] | 57.6%",
        ),
        ("Which country in Europe has the lowest birth rate and why?", "**Ukraine** has the lowest birth rate"),
    ],
)
def test_what_is_asked_before_a_why_is_answered(bench: Workbench, question: str, said: str) -> None:
    view = research.run(question, workbench=bench)
    assert view.outcome == "partly_answered"
    assert said in view.answer
    assert [(part.text, part.status) for part in view.parts][1:] == [("why?", "not_found")]


@pytest.mark.parametrize(
    ("question", "said", "short"),
    [
        (
            "total area of Belgium, the Netherlands and Luxembourg",
            "The total area of Belgium, Netherlands and Luxembourg together: **74,657 sq km**.",
            "74,657 sq km",
        ),
        (
            "What is the average life expectancy across Costa Rica, Panama and Nicaragua?",
            "The unweighted mean life expectancy at birth of Costa Rica, Panama and Nicaragua is **78.07 years**.",
            "78.07 years",
        ),
        ("What is the literacy rate of Laos and Cambodia?", "literacy in Cambodia is **", "Laos 75.6%; Cambodia 71.9%"),
        ("What is the gap in life expectancy between Japan and Chad?", "**Japan** has the longer", "25.2 years"),
        (
            "What does Chile export?",
            "Exports (commodities) of Chile: ",
            "copper ore, refined copper, fish, carbonates, pitted fruits (2023)",
        ),
        (
            "What languages are spoken in Belgium?",
            "**Dutch (official) 60%, French",
            "Dutch (official) 60%, French (official) 40%, German (official) less than 1%",
        ),
        (
            "What were Norway's exports in 2022 and 2023?",
            "The exports of Norway are **$230.882 billion** (2023 est.)",
            "$323.875 billion (2022 est.); $230.882 billion (2023 est.)",
        ),
        (  # a measure that few countries have is not replaced by its neighbour
            "Does Kenya or Iceland get more of its electricity from geothermal?",
            "**Kenya** has the higher electricity generation sources (geothermal): **47.2%",
            "Kenya",
        ),
        ("Which landlocked country has the most people?", "**Ethiopia** has the largest total population", "Ethiopia"),
        ("非洲哪个国家的面积最大？", "**阿尔及利亚**的总面积在非洲最大", "阿尔及利亚"),
        ("世界上GDP最高的国家是哪个？", "**中国**的实际GDP", "中国"),
    ],
)
def test_the_first_line_and_the_short_answer_are_what_is_asked(
    bench: Workbench, question: str, said: str, short: str
) -> None:
    view = research.run(question, workbench=bench)
    assert said in view.answer.split("\n### ")[0]
    assert (view.short, {part.status for part in view.parts}) == (short, {"answered"})


@pytest.mark.parametrize(
    ("question", "short"),
    [("What is Chile's rank in GDP per capita in South America?", "Number 3"), ("智利的人口在南美洲排第几？", "第6")],
)
def test_a_rank_is_the_answer_in_one_line(bench: Workbench, question: str, short: str) -> None:
    view = research.run(question, workbench=bench)
    assert view.short == short
    assert not view.uncited


@pytest.mark.parametrize(
    "question",
    [
        "Which mountainous countries have more than 20 million people?",
        "Which developing countries have the highest growth?",
        "Which country in Africa has the fattest people?",
    ],
)
def test_a_word_that_no_comparison_knows_is_not_passed_over(bench: Workbench, question: str) -> None:
    assert research.run(question, workbench=bench).outcome == "no_evidence"


def test_what_things_have_together_is_not_compared_with_another(bench: Workbench) -> None:
    view = research.run("Do Kenya and Uganda together have more people than Tanzania?", workbench=bench)
    assert view.outcome == "no_evidence"


def test_no_measure_of_a_comparison_is_dropped(bench: Workbench) -> None:
    view = research.run("How do Chile and Peru differ in inflation, unemployment and public debt?", workbench=bench)
    head = view.answer.split("\n### ")[0]
    assert all(head.count(label) == 1 for label in ("Inflation rate", "Unemployment rate", "Public debt"))
    assert [row.count("[") for row in head.splitlines() if row.startswith(("| Chile", "| Peru"))] == [3, 3]


@pytest.mark.parametrize(
    ("question", "columns", "rows"),
    [
        ("Compare the population, area and life expectancy of Peru, Chile and Bolivia.", 4, 3),
        ("Give me the capital, population and GDP per capita of Austria, Hungary and Slovakia.", 4, 3),
        ("比较秘鲁和智利的人口、面积和预期寿命", 4, 2),
    ],
)
def test_several_measures_of_several_countries_are_one_table(
    bench: Workbench, question: str, columns: int, rows: int
) -> None:
    view = research.run(question, workbench=bench)
    table = [line for line in view.answer.split("\n### ")[0].splitlines() if line.startswith("|")]
    assert view.outcome == "answered"
    assert (len(table) - 2, {line.count("|") - 1 for line in table}) == (rows, {columns})
    assert all(line.count("[") == columns - 1 for line in table[2:])


@pytest.mark.parametrize(
    ("question", "said"),
    [
        (
            "Is inflation higher in Turkey or Argentina?",
            "73.1%** (2022 est.) [2], compared with Turkey 72.3% (2022 est.)",
        ),
        ("Does Japan export more than it imports?", "**No.**"),
        ("Does Japan import more than it exports?", "**Yes.**"),
        ("How fast is the Indian economy growing?", "is **6.5%** (2024 est.)"),
        ("How much bigger is Texas than France?", "No answer found"),
    ],
)
def test_figures_of_one_year_are_weighed_and_a_whether_is_decided(bench: Workbench, question: str, said: str) -> None:
    assert said in research.run(question, workbench=bench).answer


def test_a_comparison_names_what_has_no_figure(bench: Workbench) -> None:
    view = research.run(
        "Which of Denmark, Iceland, Norway and Sweden spends the largest share of GDP on its military?", workbench=bench
    )
    assert (view.outcome, view.short) == ("answered", "Norway")
    assert "Not found: Iceland: Military Expenditures." in view.answer


@pytest.mark.parametrize(
    ("question", "found", "lost"),
    [
        (
            "How much of Iceland's electricity comes from wind, and how does that compare with Kenya?",
            "Kenya",
            "Iceland",
        ),
        ("Which has the higher literacy rate, Chad or Monaco?", "Chad", "Monaco"),
        ("乍得和摩纳哥哪个识字率更高？", "乍得", "摩纳哥"),
    ],
)
def test_of_two_things_the_one_without_a_figure_is_a_part_not_found(
    bench: Workbench, question: str, found: str, lost: str
) -> None:
    view = research.run(question, workbench=bench)
    assert view.outcome == "partly_answered"
    assert [(part.text[: len(name)], part.status) for part, name in zip(view.parts, (found, lost), strict=True)] == [
        (found, "answered"),
        (lost, "not_found"),
    ]


@pytest.mark.parametrize(
    "question",
    [
        "Which has more internet users, India or Norway?",
        "Does India have more doctors than Norway?",
        "How many schools do Peru and Chile have?",
        "How many hospitals does Peru have compared with Chile?",
        "Which country has the most doctors?",
        "哪个国家的医生更多，印度还是挪威？",
    ],
)
def test_where_there_are_more_of_something_no_share_or_rate_says(bench: Workbench, question: str) -> None:
    view = research.run(question, workbench=bench)
    assert view.outcome == "no_evidence", view.answer


@pytest.mark.parametrize(
    "question",
    [
        "Which countries speak Portuguese?",
        "List the countries that use the euro",
        "Which countries have nuclear weapons?",
        "Which African countries are islands?",
        "哪些国家说葡萄牙语？",
    ],
)
def test_a_line_about_one_country_does_not_say_which_countries_there_are(bench: Workbench, question: str) -> None:
    view = research.run(question, workbench=bench)
    assert view.outcome == "no_evidence", view.answer


def test_members_of_a_group_are_its_countries(bench: Workbench) -> None:
    view = research.run("Which EU members have unemployment above 10%?", workbench=bench)
    assert (view.outcome, view.short) == ("answered", "Spain, Greece")


@pytest.mark.parametrize(
    ("question", "short", "of"),
    [
        ("What share of the world's population lives in India?", "17.51%", "1,419,316,933"),
        ("China's share of world coal production", "51.27%", "4.805 billion metric tons"),
        ("How much of Africa's GDP is Nigeria's?", "14.82%", "$1.318 trillion"),
        ("what percent of ASEAN's population is Indonesian", "40.25%", "283,587,097"),
        ("巴西占南美洲人口的多大比例？", "49.89%", "221,359,387"),
    ],
)
def test_a_country_has_a_share_of_a_region_or_of_the_world(
    bench: Workbench, question: str, short: str, of: str
) -> None:
    view = research.run(question, workbench=bench)
    assert (view.outcome, view.short) == ("answered", short)
    assert of in view.answer.split("\n### ")[0]


@pytest.mark.parametrize(
    "question",
    [
        "What share of Brazil's exports go to South America?",
        "What share of the world's imports come from China?",
        "What share of African exports go to China?",
        "What fraction of Asia's life expectancy is Japan's?",
    ],
)
def test_what_goes_to_a_country_or_does_not_add_up_is_no_share_of_it(bench: Workbench, question: str) -> None:
    view = research.run(question, workbench=bench)
    assert view.outcome == "no_evidence", view.answer


def test_what_a_country_does_with_a_group_is_not_what_it_does_with_all(bench: Workbench) -> None:
    assert research.run("What are the exports of Germany to the EU?", workbench=bench).outcome == "no_evidence"


def test_a_measure_that_is_not_clear_is_not_ranked(bench: Workbench) -> None:
    view = research.run("Which country in Europe has the most electricity?", workbench=bench)
    assert view.outcome == "no_evidence"


def test_comparisons_follow_the_documents_of_a_country_in_a_search(bench: Workbench) -> None:
    for query in ("Japan Population total", "France Median age total", "Germany Exports 2024"):
        assert not bench.library.search(query)[0].title.startswith("Country comparison")


def test_the_list_of_a_region_is_read_but_not_searched(bench: Workbench) -> None:
    library: Library = bench.library
    assert (
        library.open("library://factbook/comparison/coastline/africa").title == "Country comparison · Coastline, Africa"
    )
    titles = [passage.title for passage in library.search("country comparison coastline Africa", 40)]
    assert "Country comparison · Coastline" in titles
    assert not any(title.endswith(", Africa") for title in titles)


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("What is Bangladesh's population density per square kilometre?", "**1,174.5 people per sq km**"),
        ("What is Germany's trade balance in goods and services - exports minus imports?", "**$175 billion**"),
        (
            "How many people are online in Denmark?",
            "**6,051,491 people**",
        ),
        (
            "Roughly how many people in Madagascar have no access to electricity?",
            "**20,029,481 people** are not among them",
        ),
    ],
)
def test_a_measure_is_calculated_from_two_cited_lines(bench: Workbench, question: str, said: str) -> None:
    view = research.run(question, workbench=bench)
    assert said in view.answer.split("\n### ")[0]


@pytest.mark.parametrize(
    "question",
    [
        "What are the five most populous countries in Africa?",
        "Which country in Europe has the highest GDP per capita?",
        "Which country of South America has the lowest unemployment rate?",
    ],
)
def test_each_sentence_and_row_of_a_ranking_is_cited_and_checked(bench: Workbench, question: str) -> None:
    view = research.run(question, workbench=bench)
    assert not view.uncited
    assert [each.claim for each in view.citations if each.status not in HOLDS] == []


@pytest.mark.parametrize(
    ("question", "row"),
    [
        ("Which country in Asia has the highest GDP per capita?", "| 2 | Qatar | $110,900 | 2024 est. [11] |"),
        ("Which EU country has the highest unemployment?", "| 2 | Greece | 10.2% | 2024 est. [11] |"),
        ("What is the total population of ASEAN?", "| Vietnam | 106,688,169 | 2025 est. [11] |"),
        ("What is the average life expectancy in the Nordic countries?", "| Iceland | 84 years | 2024 est. ["),
        ("欧盟的预期寿命中位数是多少？", "欧盟各国出生时预期寿命的中位数为 **81.9岁** [10]。"),
    ],
)  # fmt: skip
def test_what_is_said_of_a_group_of_countries_is_checked(bench: Workbench, question: str, row: str) -> None:
    view = research.run(question, workbench=bench)
    assert row in view.report
    assert [each.claim for each in view.citations if each.status not in HOLDS] == []


@pytest.mark.parametrize(
    ("question", "short", "said"),
    [
        (
            "Which countries are in Benelux?",
            "Netherlands, Belgium, Luxembourg",
            "**3** countries are in Benelux: Netherlands, Belgium and Luxembourg",
        ),
        (
            "How many member states does the EU have?",
            "27",
            "**27** countries are in the European Union: Germany, France",
        ),
        ("北欧国家有哪些？", "瑞典、丹麦、芬兰、挪威、冰岛", "北欧有 **5**个国家：瑞典、丹麦、芬兰、挪威和冰岛"),
        ("哪些国家是内陆国？", "45", "内陆国家有 **45**个：埃塞俄比亚"),
    ],
)
def test_the_members_of_a_group_are_counted_named_and_checked(
    bench: Workbench, question: str, short: str, said: str
) -> None:
    view = research.run(question, workbench=bench)
    assert said in view.answer
    assert (view.outcome, view.short) == ("answered", short)
    assert {each.status for each in view.citations} <= {"supported", "calculated"}


@pytest.mark.parametrize(
    ("question", "short"),
    [
        ("What is the capital of the smallest country in the EU?", "Malta; Valletta"),
        ("What is the unemployment rate of the three largest EU countries?",
         "France, Spain, Sweden; France 7.4%; Spain 11.4%; Sweden 8.6%"),
        ("非洲人口最多的国家的首都是哪里？", "尼日利亚；阿布贾"),
        ("欧盟最大的三个国家的失业率分别是多少？", "法国、西班牙、瑞典；法国 7.4%；西班牙 11.4%；瑞典 8.6%"),
        ("亚洲人口最少的国家有多少人口？", "马尔代夫；388,858人（2024年估计）"),
    ],
)  # fmt: skip
def test_what_is_asked_of_the_first_countries_in_an_order_is_answered_for_each(
    bench: Workbench, question: str, short: str
) -> None:
    view = research.run(question, workbench=bench)
    assert (view.outcome, view.short) == ("answered", short)
    assert not {each.status for each in view.citations} & FAILS


@pytest.mark.parametrize(
    ("claim", "status"),
    [
        ("Benelux has 3 member countries", "calculated"),
        ("There are 3 countries in Benelux: Belgium, Luxembourg and the Netherlands", "calculated"),
        ("There are 4 countries in Benelux", "contradicted"),
        ("There are 3 countries in Benelux: Belgium, France and Luxembourg", "unverified"),
        ("There are 3 rich countries in Benelux", "unverified"),
    ],
)
def test_a_claim_of_how_many_countries_a_group_has_is_read_in_its_list(
    bench: Workbench, claim: str, status: str
) -> None:
    url = "library://factbook/comparison/population-total/benelux"
    page = bench.library.open(url)
    (found,) = check(f"{claim} [1].", [Source(1, url, page.title, page.text)])
    assert found.status == status


def test_a_ranking_that_ends_in_a_tie_says_why_it_is_longer(bench: Workbench) -> None:
    view = research.run("Which six countries in Europe have the highest median age?", workbench=bench)
    assert "The last of them are tied, so more countries are listed than were asked for." in view.report
    assert not view.uncited


@pytest.mark.parametrize(
    "question",
    [
        "Which Nordic and Baltic country has the highest GDP per capita?",
        "Which country in Africa or Asia has the largest population?",
    ],
)
def test_what_several_places_have_together_is_not_known(bench: Workbench, question: str) -> None:
    view = research.run(question, workbench=bench)
    assert view.outcome == "no_evidence", view.answer


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("Which landlocked countries in South America have the highest GDP per capita?",
         "**Paraguay** has the highest real GDP per capita among the landlocked countries in South America: **$16,300**"),
        ("亚洲的内陆国家中哪个国家的人均GDP最高？", "**哈萨克斯坦**的实际人均GDP在亚洲的内陆国家中最高：**35,900美元**"),
        ("What is the total population of the NATO members in the EU?",
         "The total population of the countries in both the European Union and NATO adds up to **436,164,445**"),
        ("Which countries in the European Union have less unemployment than Switzerland?",
         "(Switzerland): Netherlands, Germany, Slovenia, Malta, Czechia and Poland"),
        ("How many of the Nordic countries are NATO members?",
         "**5** countries are in both the Nordic region and NATO: Sweden, Denmark, Finland, Norway and Iceland"),
        ("哪个内陆国家人口最多？", "**埃塞俄比亚**的总人口在内陆国家中最多：**121,372,632人"),
    ],
)  # fmt: skip
def test_the_countries_of_a_group_that_are_in_another_place_or_past_a_country(
    bench: Workbench, question: str, said: str
) -> None:
    view = research.run(question, workbench=bench)
    assert said in view.answer
    assert not {each.status for each in view.citations} & FAILS
