"""Questions about the World Factbook that need two steps."""

from __future__ import annotations

import pytest

import research
from research.workbench.workbench import Workbench

ANSWERED = [
    ("What is the currency of Zambia's main import partner?", "rand", ("Zambia · Economy", "South Africa · Economy")),
    ("Birr-using country -> real GDP level (PPP, US dollars), 2024", "$380.895 billion", ("Ethiopia · Economy",)),
    ("What is the capital of the largest neighbour of the country whose capital is Windhoek?", "Luanda",
     ("Namibia · Government", "Angola · Geography", "Angola · Government")),
    ("One kingdom has South Africa as its only neighbour. Which emblem is its national symbol?", "mokorotio",
     ("South Africa · Geography", "Lesotho · Government")),
    ("What is the capital of the most populous country in Africa?", "Abuja", ("Nigeria · Government",)),
    ("赞比亚最大的出口对象国的首都是哪里？", "伯尔尼", ("Zambia · Economy", "Switzerland · Government")),
]  # fmt: skip
REFUSED = [
    "What is the population of Zambia's main trading partner?",
    "What is the population of the country whose capital is Lagos?",
    "What is the capital of Germany's neighbour?",
    "How long is the border with Zambia's largest neighbour?",
    "How many years after Ghana did Zimbabwe gain independence?",
    "Which year had the lowest unemployment rate in Spain?",
]


@pytest.mark.examples(5)
@pytest.mark.parametrize(("question", "answer", "titles"), ANSWERED)
def test_a_question_in_steps_is_answered_with_all_its_lines(
    bench: Workbench, question: str, answer: str, titles: tuple[str, ...]
) -> None:
    view = research.run(question, workbench=bench)
    assert view.outcome == "answered"
    assert answer in view.answer.partition("\n")[0].replace("**", "")
    cited = {source.title for sources in view.sources.values() for source in sources}
    assert cited.issuperset(titles)


@pytest.mark.parametrize("question", REFUSED)
def test_an_unclear_description_is_refused(bench: Workbench, question: str) -> None:
    assert research.run(question, workbench=bench).outcome == "no_evidence"


MEMBERS = [
    ("What is the second longest border of Poland?", "Slovakia 517 km"),
    ("Which neighbour of Brazil has the second largest population?", "Argentina"),
    ("Which neighbours of Austria have more than 30 million people?", "Germany 84,012,284; Italy 60,924,851"),
    ("How many of Germany's neighbours have fewer than 10 million inhabitants?", "4"),
    ("How many countries border Kenya?", "5"),
    ("How long is the border between Norway and Russia?", "Russia 191 km"),
    ("What share of Chile's exports goes to China?", "China 39%"),
    ("What share of Peru's population speaks Quechua?", "Quechua (official) 13.6%"),
    ("Which neighbours of France have a larger population than Spain?", "Germany 84,012,284; Italy 60,924,851"),
    ("How many neighbours of China have a larger area than Mongolia?", "3"),
    ("How long is the border between the US and Canada?", "Canada 8,891 km"),
    ("What share of Kenya's population is Muslim?", "Muslim 10.9%"),
    ("Does Switzerland border Liechtenstein?", "Yes."),
    ("Does Spain border Germany?", "No."),
    (
        "What are the neighbours of Laos?",
        "Burma 238 km; Cambodia 555 km; China 475 km; Thailand 1,845 km; Vietnam 2,161 km",
    ),
    ("How many neighbours does China have?", "14"),
]
SHARED = [
    ("Which countries border both France and Germany?", "Belgium, Luxembourg, Switzerland"),
    ("Which countries share a border with both India and China?", "Bhutan, Burma, Nepal, Pakistan"),
    ("Which countries that border Germany do not border France?", "Austria, Czechia, Denmark, Netherlands, Poland"),
    ("How many countries border both France and Germany?", "3"),
    ("哪些国家与德国接壤但不与法国接壤？", "奥地利、捷克、丹麦、荷兰、波兰"),
    ("Which of Spain and Italy does not border France?", ""),
    ("What languages are not spoken in Belgium?", ""),
    ("Which African countries do not have a coast?", ""),
    ("Who is not the president of France?", ""),
]


@pytest.mark.examples(5)
@pytest.mark.parametrize(("question", "short"), SHARED)
def test_what_several_have_together_and_what_some_have_not(bench: Workbench, question: str, short: str) -> None:
    view = research.run(question, workbench=bench)
    assert (view.short, view.outcome) == (short, "answered" if short else "no_evidence")


@pytest.mark.examples(5)
@pytest.mark.parametrize(("question", "short"), MEMBERS)
def test_a_member_of_a_list_is_told_from_the_others(bench: Workbench, question: str, short: str) -> None:
    view = research.run(question, workbench=bench)
    assert view.short == short
    assert {citation.status for citation in view.citations} == {"supported"}


@pytest.mark.parametrize(
    "question",
    [
        "What share of Kenya's exports goes to Germany?",
        "What share of Muslims in Nigeria are literate?",
        "How much copper does Chile export to China?",
        "Does Germany export more to France than to Poland?",
        "Is the border between Norway and Russia longer than 500 km?",
    ],
)
def test_what_a_list_does_not_say_is_refused(bench: Workbench, question: str) -> None:
    assert research.run(question, workbench=bench).outcome == "no_evidence"
