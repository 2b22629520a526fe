"""The offline model on a sample of Factbook questions; `bench/factbook.py` measures the whole files."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import research
from bench.factbook import judge
from research.events.view import fold
from research.models.extractive.evidence import Fact
from research.models.extractive.fitting import MATCH, fit
from research.models.extractive.lexicon import concepts
from research.models.extractive.question import Target, parse
from research.workbench.workbench import Workbench

QUESTIONS = Path(__file__).parents[1] / "data" / "factbook_dev.jsonl"
EVERY = 3
"""Every n-th question is asked; the sample contains all kinds."""
COUNT = 30


@pytest.mark.slow
def test_four_of_five_questions_are_answered_correctly(bench: Workbench) -> None:
    items = [json.loads(line) for line in QUESTIONS.read_text("utf-8").splitlines()][::EVERY][:COUNT]
    assert len({item["kind"] for item in items}) == 6
    wrong = []
    for item in items:
        view = research.run(item["question"], workbench=bench)
        problem = judge(item, view.outcome or "", view.answer)
        if problem:
            wrong.append(f"{item['id']} {item['question']}: {problem}; {view.outcome}: {view.answer[:200]}")
    assert len(wrong) <= 0.2 * COUNT, "\n".join(wrong)


@pytest.mark.parametrize(
    "question",
    [
        "What is Kenya's population, and how long is its coastline?",
        "What is Peru's population and coastline?",
        "How long is Chile's coastline, and what is Chile's population?",
    ],
)
def test_both_halves_of_a_question_become_targets(question: str) -> None:
    assert {target.label for target in parse(question).targets} == {"Population, total", "Coastline"}


@pytest.mark.parametrize("verb", ["Write an overview of", "Prepare a brief on", "Summarise", "Assess", "Compare"])
def test_a_verb_at_the_start_of_a_request_is_not_a_name(verb: str) -> None:
    assert parse(f"{verb} the economy of Kenya and Ghana").names == ("Kenya", "Ghana")


PARTS = [
    ("What share of Norway's electricity comes from hydropower?", "89.1%"),
    ("What percentage of Kenya's population lives in cities?", "29.5%"),
    ("What proportion of Chad's GDP comes from agriculture?", "32.2%"),
    ("What is the population of France and what share of its land is arable?", "68,512,806"),
    ("智利耕地占比是多少？", "1.9%"),
]


@pytest.mark.parametrize(("question", "figure"), PARTS)
def test_a_share_is_answered_with_a_part_of_the_whole(bench: Workbench, question: str, figure: str) -> None:
    view = research.run(question, workbench=bench)
    assert view.outcome == "answered"
    assert figure in view.answer
    assert "%" in view.answer


WHOLES = [
    ("How is land divided up in Peru and Bolivia?", ["Land use, forest", "Peru", "Bolivia"]),
    (
        "From what does Chile get its electricity?",
        ["Electricity generation sources, hydroelectricity", "wind", "solar"],
    ),
    ("加纳的经济由哪几个产业构成？", ["农业占GDP的比重", "工业占GDP的比重", "服务业占GDP的比重"]),
]


@pytest.mark.parametrize(("question", "said"), WHOLES)
def test_a_question_for_all_parts_of_a_whole_is_answered_with_a_table_of_them(
    bench: Workbench, question: str, said: list[str]
) -> None:
    view = research.run(question, workbench=bench)
    assert view.outcome == "answered" and "| --- |" in view.answer
    assert view.short == "", "one part is not the answer"
    assert all(each in view.answer for each in said)
    assert {citation.status for citation in view.citations} == {"supported"}


@pytest.mark.parametrize(
    "question",
    [
        "What share of Norway's population owns a boat?",
        "What percentage of Kenya's exports is sold online?",
        "What fraction of Chile's area is owned by foreigners?",
        "What proportion of Japan's imports arrives by air?",
        "Which of Peru and Chile has the larger Catholic population share?",
        "How old is Japan's population?",
        "How old is Peru?",
        "How long is the road network of Ghana?",
        "What is the total length of motorways in Spain?",
    ],
)
def test_another_measure_is_no_answer(bench: Workbench, question: str) -> None:
    assert research.run(question, workbench=bench).outcome == "no_evidence"


@pytest.mark.parametrize(
    ("question", "short"),
    [
        ("How has the inflation rate of Turkey changed over the last years?", "fell by 13.8 percentage points"),
        ("土耳其近年来的通货膨胀率有什么变化？", "下降了13.8个百分点"),
    ],
)
def test_a_trend_shows_each_year_and_its_figures_hold(bench: Workbench, question: str, short: str) -> None:
    view = research.run(question, workbench=bench)
    assert view.short == short
    assert "| 2023 | 53.9% [1] |" in view.answer
    assert {each.status for each in view.citations} == {"supported", "calculated"}


@pytest.mark.parametrize(
    ("question", "short"),
    [
        ("Who is the president of Brazil and in what year was it independent?", "President Luiz Inácio LULA da Silva; 7 September 1822"),
        ("Is population growth in Kenya higher than in Uganda?", "No."),
        ("Does Japan export more cars than Germany?", ""),
    ],
)  # fmt: skip
def test_parts_have_the_subject_before_them_and_only_what_is_asked_is_compared(
    bench: Workbench, question: str, short: str
) -> None:
    assert research.run(question, workbench=bench).short == short


@pytest.mark.parametrize("how", ["by how much?", "what is the gap?"])
def test_what_asks_by_how_much_is_found_with_the_comparison(bench: Workbench, how: str) -> None:
    question = f"Which has the higher median age, Portugal or Uruguay, and {how}"
    view = research.run(question, workbench=bench)
    assert "The difference in median age is **9.4 years**" in view.answer and "Not found" not in view.answer
    assert view.outcome == "answered"


@pytest.mark.parametrize(
    ("question", "short"),
    [
        ("How many times larger is Chad than Malawi by area?", "10.84 times"),
        ("秘鲁的人口是玻利维亚的多少倍？", "2.63倍"),
    ],
)
def test_how_many_times_is_answered_with_the_ratio(bench: Workbench, question: str, short: str) -> None:
    assert research.run(question, workbench=bench).short == short


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        ("What's the highest point in Papua New Guinea and how tall is it?", 1),
        ("What is the highest point in Papua New Guinea and what is its population?", 2),
    ],
)
def test_a_part_that_the_quoted_line_answers_is_not_asked_again(bench: Workbench, question: str, parts: int) -> None:
    view = research.run(question, workbench=bench)
    assert len(view.parts) == parts
    assert view.answer.count("Mount Wilhelm 4,509 m") == 2  # said, and quoted


def test_no_figure_is_one_times_another(bench: Workbench) -> None:
    view = research.run("What is the difference in median age between Germany and Portugal?", workbench=bench)
    assert "The difference in median age" in view.answer and "times" not in view.answer


def test_a_question_for_a_person_is_not_answered_with_a_date(bench: Workbench) -> None:
    view = research.run("Who will win the next election in Portugal?", workbench=bench)
    assert view.outcome == "no_evidence"
    assert [part.reason for part in view.parts] == ["the report does not give a name"]


def test_a_change_over_years_is_that_of_the_whole_series(bench: Workbench) -> None:
    view = research.run("how did inflation in Egypt change over the last three years", workbench=bench)
    assert "in 2022" in view.answer and "in 2024" in view.answer and "percentage points" in view.answer


def test_what_is_known_of_two_measures_of_two_countries_is_told_with_what_is_missing(bench: Workbench) -> None:
    view = research.run("Compare the population of Kenya and Uganda and their literacy", workbench=bench)
    assert view.outcome == "partly_answered"
    assert all(each in view.answer for each in ("55,751,717", "50,863,850", "69.1%", "Not found: Kenya: Literacy"))
    assert [part.status for part in view.parts] == ["answered", "not_found"]


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("What is the capital of Jpaan?", "“Jpaan” was understood as Japan"),
        ("What is the population of Lagos?", "Lagos"),
    ],
)
def test_letters_in_another_order_are_understood_but_another_name_stays(
    bench: Workbench, question: str, said: str
) -> None:
    answer = research.run(question, workbench=bench).answer
    assert said in answer and "Laos" not in answer


def test_a_follow_up_about_somebody_who_was_not_found_is_refused(bench: Workbench) -> None:
    first = research.run("Who is the chief falconer of Ruritania?", workbench=bench, model="extractive")
    view = fold(bench.engine.follow_up(first.run, "When was her birthday?", here=True).events())
    assert (view.outcome, view.tool_calls) == ("no_evidence", 0)


def test_a_follow_up_about_another_country_is_only_about_that_one(bench: Workbench) -> None:
    first = research.run("What is the unemployment rate in Spain?", workbench=bench)
    view = fold(bench.engine.follow_up(first.run, "And in Portugal?", here=True).events())
    assert "Understood as: " in view.answer
    assert "Portugal" in view.answer and "Spain" not in view.answer and "Not found" not in view.answer
    assert view.outcome == "answered"


def test_shares_are_compared_in_percentage_points(bench: Workbench) -> None:
    view = research.run("Which has a larger share of hydropower, Norway or Iceland?", workbench=bench)
    assert "**19 percentage points**" in view.answer
    assert {citation.status for citation in view.citations} == {"supported", "calculated"}


@pytest.mark.slow
def test_every_concept_of_the_lexicon_matches_a_factbook_label(bench: Workbench) -> None:
    bench.library.index_factbook()
    with closing(sqlite3.connect(bench.settings.home / "library.sqlite")) as database:
        lines = {line for (text,) in database.execute("SELECT text FROM passages") for line in text.splitlines()}
    labels = {fact.label for line in lines if (fact := Fact(0, "", "", line)).label}
    facts = [Fact(0, "", "", f"{label}: 1") for label in labels]
    unknown = {
        concept.label for concept in concepts() if not any(fit(fact, Target(concept.label)) >= MATCH for fact in facts)
    }
    assert unknown == set()


@pytest.mark.parametrize(
    ("question", "short"),
    [
        ("What is the population of Kenya?", "55,751,717 (2025 est.)"),
        ("France vs Germany, more airports?", "France"),
        ("Which of Sweden, Norway and Denmark spends the largest share of GDP on its military?", "Norway"),
        ("How many more airports does France have than Germany?", "378"),
        ("Is unemployment higher in Spain or in Greece, and by how much?", "Spain; 1.2 percentage points"),
        ("土耳其的人口是希腊的几倍？", "8.12倍"),
        ("东盟十国里哪个国家的人均GDP最高？", "新加坡"),
        ("北欧五国的人均GDP分别是多少？", ""),
        ("Add up the populations of Estonia, Latvia and Lithuania for me", "6,044,604"),
        ("Who is Ukraine's president and who is its prime minister?",
         "President Volodymyr ZELENSKYY; Prime Minister Yulia SVYRYDENKO"),
        ("Name all the countries that share a border with Zambia.", ""),
    ],
)  # fmt: skip
def test_the_short_answer_is_what_the_answer_says_in_bold_type(bench: Workbench, question: str, short: str) -> None:
    assert research.run(question, workbench=bench).short == short


@pytest.mark.parametrize(
    "question",
    [
        "How does Japan's birth rate compare with South Korea's?",
        "Is the coastline of Croatia longer than that of Italy?",
    ],
)
def test_a_comparison_of_rates_or_of_figures_with_parts_is_confirmed(bench: Workbench, question: str) -> None:
    assert {each.status for each in research.run(question, workbench=bench).citations} <= {"supported", "calculated"}


@pytest.mark.parametrize(
    ("question", "parts", "short"),
    [
        ("Which of Kenya and Uganda has the larger population, and what is its capital?",
         ["Which of Kenya and Uganda has the larger population?", "What is Kenya's capital?"], "Kenya; Nairobi"),
        ("What are the main exports of Kenya and who buys them?",
         ["What are the main exports of Kenya?", "Who buys the main exports of Kenya?"],
         "tea, cut flowers, garments, gold, tropical fruits (2023); "
         "Uganda 10%, USA 10%, UAE 8%, Netherlands 8%, Pakistan 6% (2023)"),
        ("巴西的首都是哪里，人口是多少？", ["巴西的首都是哪里？", "巴西的人口是多少？"], "巴西利亚；221,359,387人"),
        ("Which country has the largest population and the lowest unemployment rate in Africa?",
         ["Which country has the largest population in Africa?",
          "Which country has the lowest unemployment rate in Africa?"], "Nigeria; Niger"),
        ("瑞士的政体是什么，用什么货币？", ["瑞士的政体是什么？", "瑞士的用什么货币？"], ""),
        ("Which two countries in Europe have the largest populations, and what is the capital of each?",
         ["Which two countries in Europe have the largest populations?", "What is the capital of Germany and the United Kingdom?"],
         "Germany, United Kingdom; Germany Berlin; United Kingdom London"),
        ("Which Nordic countries have more people than Ireland, and what is the capital of each?",
         ["Which Nordic countries have more people than Ireland?",
          "What is the capital of Sweden, Denmark, Finland and Norway?"],
         "Sweden, Denmark, Finland, Norway; Sweden Stockholm; Denmark Copenhagen; Finland Helsinki; Norway Oslo"),
        ("欧洲人口最多的两个国家是哪两个？它们的首都分别是哪里？",
         ["欧洲人口最多的两个国家是哪两个？", "德国、英国的首都分别是哪里？"], "德国、英国；德国 柏林；英国 伦敦"),
        ("非洲哪个国家人口最多且面积最大？", ["非洲哪个国家人口最多？", "非洲哪个国家面积最大？"], "尼日利亚；阿尔及利亚"),
    ],
)  # fmt: skip
def test_a_part_that_refers_to_the_one_before_it_is_answered(
    bench: Workbench, question: str, parts: list[str], short: str
) -> None:
    view = research.run(question, workbench=bench)
    assert [(part.text, part.status) for part in view.parts] == [(part, "answered") for part in parts]
    assert view.short == short
    assert view.report.count("### ") <= 2  # the quotes of all parts stand together


@pytest.mark.parametrize(
    ("first", "then", "short"),
    [
        ("Which has lower unemployment, Portugal or Greece?", "And Spain?", "Portugal"),
        ("Which country in Africa has the largest population?", "What is its capital?", "Abuja"),
        (
            "Which five countries have the highest GDP per capita?",
            "And the lowest?",
            "Yemen, South Sudan, North Korea, Eritrea, Burundi",
        ),
        ("Which country in Europe has the highest unemployment?", "And in Asia?", "Jordan"),
        ("Which country in Africa has the largest population?", "And Kenya?", "55,751,717 (2025 est.)"),
        ("哪个国家失业率最高？", "那中国呢？", "4.6%（2024年估计）"),
        ("What is the area of Brazil?", "Is it bigger than Australia?", "Yes."),
        ("葡萄牙的预期寿命是多少？", "和希腊相比呢？", "葡萄牙 81.9岁；希腊 81.9岁"),
        ("瑞典、挪威、丹麦、芬兰、冰岛人均GDP哪个最高？", "其中哪个国家的通胀率最高？", "冰岛"),
        ("What is the GDP per head of each Nordic country?", "Which of them has the highest inflation?", "Iceland"),
        (
            "How fast is Nigeria growing, and how old is the average Nigerian?",
            "and what about Ghana?",
            "2.12% (2025 est.); 21.6 years (2025 est.)",
        ),
    ],
)
def test_a_follow_up_is_answered_from_what_it_goes_on_from(bench: Workbench, first: str, then: str, short: str) -> None:
    run = research.run(first, workbench=bench).run
    view = fold(bench.engine.follow_up(run, then, here=True).events())
    assert (view.outcome, view.short) == ("answered", short)


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ("欧盟成员国里哪些没有海岸线？", "其中哪个人口最多？"),
        ("Which EU members have no coast?", "Which of them has the most people?"),
    ],
)
def test_what_was_not_found_has_no_members_to_ask_about(bench: Workbench, first: str, then: str) -> None:
    run = research.run(first, workbench=bench).run
    assert fold(bench.engine.follow_up(run, then, here=True).events()).outcome == "no_evidence"


def test_what_governs_a_country_is_asked_of_it_not_of_its_independence(bench: Workbench) -> None:
    view = research.run("When did Namibia become independent and who governs it today?", workbench=bench)
    assert [(part.text, part.status) for part in view.parts] == [
        ("When did Namibia become independent?", "answered"), ("Who governs Namibia today?", "not_found"),
    ]  # fmt: skip


def test_what_is_asked_of_a_country_in_a_region_is_not_asked_of_the_region(bench: Workbench) -> None:
    view = research.run("What share of Africa's population lives in Nigeria, and who governs it?", workbench=bench)
    assert [part.text for part in view.parts][1:] == ["Who governs Nigeria?"]
    assert view.short.startswith("16.02%; President")


@pytest.mark.parametrize(
    ("question", "said"),
    [
        (
            "Tell me about Bhutan.",
            ["Southern Asia", "**Thimphu**", "**constitutional monarchy**", "**892,877**", "Dzongkha"],
        ),
        ("What is Chad?", ["Central Africa", "**N'Djamena**", "crude petroleum"]),
        ("请介绍一下不丹。", ["**廷布**", "**892,877人**"]),
    ],
)
def test_a_country_as_a_whole_is_described_by_its_main_facts(bench: Workbench, question: str, said: list[str]) -> None:
    view = research.run(question, workbench=bench)
    assert all(each in view.answer for each in said), view.answer
    assert {each.status for each in view.citations} == {"supported"} and not view.short


@pytest.mark.parametrize(
    "question",
    [
        "Which countries import mainly from China?",
        "Which countries became independent from France?",
        "哪些国家主要从中国进口？",
    ],
)
def test_what_others_do_is_not_answered_by_what_a_country_does(bench: Workbench, question: str) -> None:
    assert research.run(question, workbench=bench).outcome == "no_evidence"


def test_a_passage_about_one_thing_does_not_say_which_country_has_the_most(bench: Workbench) -> None:
    question = "Compare the population growth of Kenya, Ghana and Nigeria, and which has the most tourists?"
    view = research.run(question, workbench=bench)
    assert [part.status for part in view.parts] == ["answered", "not_found"], view.answer


def test_the_partners_of_a_country_are_its_own(bench: Workbench) -> None:
    view = research.run("Which countries does Germany export to?", workbench=bench)
    assert view.answer.startswith("Exports (partners) of Germany: **USA"), view.answer


def test_two_questions_about_different_places_are_both_answered(bench: Workbench) -> None:
    view = research.run(
        "What is the capital of Spain, and which of Spain and Portugal has more airports?", workbench=bench
    )
    assert [(part.text, part.status) for part in view.parts] == [
        ("What is the capital of Spain?", "answered"), ("Which of Spain and Portugal has more airports?", "answered"),
    ]  # fmt: skip
    assert "**Madrid**" in view.answer and "**365**" in view.answer


@pytest.mark.parametrize(
    ("question", "lack"),
    [
        ("Tonnes of carbon dioxide per Uzbek, latest numbers?", "a figure per person or area"),
        ("What percentage of the total railway length of Poland is electrified?", "a share"),
        ("Name the reigning king of Peru and the year he was crowned.", "anybody with that title"),
    ],
)
def test_a_figure_of_another_kind_is_no_answer(bench: Workbench, question: str, lack: str) -> None:
    view = research.run(question, workbench=bench)
    assert (view.outcome, view.parts[0].reason) == ("no_evidence", f"the report does not give {lack}")
