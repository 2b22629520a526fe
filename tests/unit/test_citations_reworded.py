"""Statements in other words than their source: true ones are never refuted, false ones never borne out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from research.citations.checking import check_claim
from research.models.extractive import ExtractiveModel
from research.types import HOLDS, Source

DOCUMENTS = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "data/claims_reworded.jsonl").read_text("utf-8").splitlines()
]
"""Invented documents, with what is `said` of each claim: `borne out`, `refuted`, or `open` where the rules leave it."""


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda each: each["title"])
def test_a_statement_in_other_words_is_never_judged_wrongly(document: dict[str, Any]) -> None:
    source = Source(1, "", document["title"], document["text"])
    for claim in document["claims"]:
        (found,) = check_claim(claim["text"], [source])
        said = "borne out" if found.status in HOLDS else "refuted" if found.status == "contradicted" else "open"
        right = {True: "borne out", False: "refuted"}.get(claim["truth"], "open")
        assert said in (claim["said"], right), (claim, found)


@pytest.mark.parametrize(
    ("claim", "own", "status"),
    [
        ("读者须登记；逾期不受理。", "读者应登记。逾期不受理。", "supported"),
        ("The fee for dogs is 5 euros.", "The fee for dogs is 2 euros.", "contradicted"),
        ("On 18 October 1934 the pier was opened.", "The pier was opened on 18 September 1934.", "contradicted"),
        ("The library has 4.86 million books.", "The library has 4.68 million books.", "contradicted"),
        ("Kessel built the pier in Oslo.", "The pier was built by Kessel in Oslo.", "supported"),
        ("The pier was built by Kessel in Oslo.", "Kessel built the pier in Oslo.", "supported"),
        ("The pier built Kessel in Oslo.", "The pier was built by Kessel in Oslo.", "unverified"),
        ("Ruth Alderney designed the pier.", "The pier was designed by the father of Ruth Alderney.", "unverified"),
        ("The pool opens on Mondays.", "The pool opens on Tuesdays.", "contradicted"),
        ("The mill has 61 horses and 23 carts.", "The mill has 23 horses and 61 carts.", "contradicted"),
        ("利润为2万元。", "收入为9万元；利润为2万元。", "supported"),
    ],
)
def test_the_order_of_words_changes_nothing_but_who_did_it_does(claim: str, own: str, status: str) -> None:
    (found,) = check_claim(claim, [Source(1, "", "Notes", own)])
    assert found.status == status, found


@pytest.mark.parametrize(
    ("claim", "status"),
    [
        ("韩国的首都是首尔。", "supported"),
        ("韩国的首都是釜山。", "contradicted"),
        ("韩国的首都是一座城市。", "unverified"),
    ],
)
def test_a_capital_named_in_chinese_is_compared_with_an_english_line(claim: str, status: str) -> None:
    line = Source(1, "library://factbook/south-korea/government", "South Korea · Government", "Capital, name: Seoul")
    (found,) = check_claim(claim, [line])
    assert found.status == status, found


FACTBOOK = [
    Source(
        1,
        "",
        "Kenya · Energy",
        "Electricity access, electrification - total population: 76% (2022 est.)\n"
        "Electricity access, electrification - urban areas: 98%\n"
        "Petroleum, total petroleum production: 30,000 bbl/day (2023 est.)",
    ),
    Source(
        2,
        "",
        "Kenya · Economy",
        "Exports 2024: $13.7 billion (2024 est.)\nExports 2023: $12.9 billion (2023 est.)\n"
        "Exports - partners: Uganda 12%, USA 9%, Netherlands 8% (2023)\nUnemployment rate 2024: 5.4% (2024 est.)\n"
        "Unemployment rate 2023: 5.6% (2023 est.)",
    ),
    Source(
        3,
        "",
        "Kenya · Geography",
        "Land boundaries, total: 3,457 km\nLand boundaries, border countries: Ethiopia 867 km; Tanzania 775 km\n"
        "Coastline: 536 km",
    ),
]


@pytest.mark.parametrize(
    ("claim", "status"),
    [
        ("About 76 % of Kenyans have access to electricity.", "supported"),
        ("About 98 % of Kenyans have access to electricity.", "contradicted"),
        ("76 % of Kenyan schools have access to electricity.", "unverified"),
        ("肯尼亚76%的人口用得上电。", "supported"),
        ("Kenya sold goods and services worth some $13.7 billion abroad in 2024.", "supported"),
        ("Kenya's foreign sales rose to $13.7 billion in 2024.", "supported"),
        ("Kenya's foreign sales fell to $13.7 billion in 2024.", "unverified"),
        ("Kenya's unemployment rate tripled to 5.4 percent in 2024.", "unverified"),
        ("Kenya produces 30,000 barrels of oil a year.", "unverified"),
        ("Uganda takes 12 percent of Kenya's exports.", "supported"),
        ("The border between Kenya and Tanzania is 867 km long.", "contradicted"),
        ("Kenya has just over 350 km of coastline.", "contradicted"),
        ("Kenya has just over 530 km of coastline.", "supported"),
    ],
)
def test_the_measure_of_a_statement_tells_which_labelled_figure_it_is_about(claim: str, status: str) -> None:
    found = {each.status for each in check_claim(claim, FACTBOOK, ExtractiveModel())}
    assert next((each for each in ("contradicted", "supported") if each in found), "unverified") == status


def verdict(claim: str, sources: list[Source]) -> str:
    """Return the verdict on a claim of the first source that decides it."""
    found = {each.status for each in check_claim(claim, sources, ExtractiveModel())}
    return next((each for each in ("contradicted", "supported", "calculated") if each in found), "unverified")


BORDERS = [
    Source(
        1, "", f"{name} · Geography", f"Land boundaries, total: {total} km\nLand boundaries, border countries: {each}"
    )
    for name, total, each in (
        ("Nepal", "3,159", "China 1,389 km; India 1,770 km"),
        ("China", "6,019", "Nepal 1,389 km; Mongolia 4,630 km"),
        ("Portugal", "1,224", "Spain 1,224 km"),
        ("United States", "8,891", "Canada 8,891 km"),
        ("Canada", "8,892", "US 8,891 km (includes 2,475 km with Alaska); Denmark (Greenland) 1.3 km"),
    )
]


@pytest.mark.parametrize(
    ("claim", "status"),
    [
        ("Nepal borders only China and India.", "supported"),
        ("Nepal's only neighbours are India and China.", "supported"),
        ("Nepal borders only India.", "contradicted"),
        ("Nepal borders only two countries.", "supported"),
        ("Only China borders Nepal.", "unverified"),
        ("Canada borders only the US.", "unverified"),  # a border of a territory
        ("Canada's only neighbour is the United States.", "unverified"),  # which its list calls otherwise
        ("Nepal does not border India.", "contradicted"),
        ("Nepal does not border Mongolia.", "unverified"),  # whose own list is not there
        ("Nepal does not border India or China.", "unverified"),
        ("Portugal borders only Spain.", "supported"),
        ("Nepal is bordered by two countries.", "supported"),
        ("尼泊尔只与中国和印度接壤。", "supported"),
        ("尼泊尔只与印度接壤。", "contradicted"),
        ("尼泊尔与印度不接壤。", "contradicted"),
    ],
)
def test_a_whole_list_of_neighbours_tells_who_is_the_only_one_and_who_is_none(claim: str, status: str) -> None:
    assert verdict(claim, BORDERS) == status


NORWAY = [
    Source(
        1,
        "",
        "Norway · People and Society",
        "Population, total: 5,509,733 (2024 est.)\nMajor urban areas - population: 1.086 million OSLO (capital) (2023)",
    ),
    Source(2, "", "Norway · Government", "Capital, name: Oslo"),
]


@pytest.mark.parametrize(
    ("claim", "status"),
    [
        ("Norway has 5.5 million people and its capital is Oslo.", "supported"),
        ("Norway has 5.5 million people and its capital is Bergen.", "contradicted"),
        ("Norway has 5.5 million people and its largest lake is Mjosa.", "unverified"),
        ("The capital of Norway is Oslo, and the country has about 5.5 million inhabitants.", "supported"),
        ("The capital of Norway is Bergen and it has 5.5 million inhabitants.", "contradicted"),
        ("The capital of Norway is Oslo and it has 700,000 inhabitants.", "unverified"),  # which may be Oslo
        ("Norway has 5.5 million people and Oslo is its capital.", "supported"),
        ("Norway has 5.5 million people and Bergen is its capital.", "contradicted"),
        ("挪威的首都是奥斯陆，人口约551万。", "supported"),
        ("挪威的首都是奥斯陆，人口约70万。", "unverified"),
        ("挪威人口约551万，其首都是卑尔根。", "contradicted"),
        ("挪威有550万人口，首都为奥斯陆。", "unverified"),  # which may be rounded
        ("Norway has 5.5 million people with Oslo as its capital.", "unverified"),  # not those of the city
    ],
)
def test_two_facts_of_one_sentence_are_judged_each(claim: str, status: str) -> None:
    assert verdict(claim, NORWAY) == status


NAMES = [
    Source(1, "", "Canada · Government", "Capital, name: Ottawa"),
    Source(2, "", "Canada · Economy", "Exchange rates, Currency: Canadian dollars (CAD) per US dollar"),
    Source(3, "", "Thailand · Economy", "Exchange rates, Currency: baht per US dollar"),
    Source(4, "", "Poland · Economy", "Exchange rates, Currency: zlotych (PLN) per US dollar"),
    Source(7, "", "Panama · Economy", "Exchange rates, Currency: balboas (PAB) per US dollar"),
    Source(8, "", "Ghana · Economy", "Exchange rates, Currency: cedis (GHC) per US dollar"),
    Source(9, "", "Vietnam · Economy", "Exchange rates, Currency: dong (VND) per US dollar"),
    Source(5, "", "Chile · Government", "Capital, name: Santiago; note - Valparaiso is the seat of the legislature"),
    Source(6, "", "Kenya · People and Society", "Languages: English (official), Kiswahili (official), Kikuyu 17%"),
]


@pytest.mark.parametrize(
    ("claim", "status"),
    [
        ("加拿大的首都是多伦多。", "contradicted"),
        ("The capital of Canada is not Ottawa.", "contradicted"),
        ("Toronto is not the capital of Canada.", "supported"),
        ("The capital of Canada is Rio de Janeiro.", "contradicted"),
        ("The capital of Chile is Santiago.", "supported"),
        ("The capital of Chile is Valparaiso.", "unverified"),
        ("The currency of Thailand is the baht.", "supported"),
        ("The currency of Thailand is the euro.", "contradicted"),
        ("The currency of Poland is the zloty.", "supported"),
        ("The currency of Poland is the euro.", "contradicted"),
        ("The currency of Canada is the US dollar.", "contradicted"),
        ("The currency of Panama is the US dollar.", "unverified"),  # which is used there, too
        ("The currency of Ghana is the euro.", "unverified"),  # its line has the code of a replaced one
        ("越南的货币是越南盾。", "supported"),
        ("越南的货币是印度尼西亚盾。", "unverified"),  # no currency has this name
        ("越南的货币是波兰盾。", "unverified"),
        ("波兰的货币是欧元。", "contradicted"),
        ("English is an official language of Kenya.", "supported"),
        ("English is not an official language of Kenya.", "contradicted"),
        ("The official languages of Kenya are Kiswahili and English.", "supported"),
        ("The official language of Kenya is English.", "unverified"),  # it is not the only one
        ("Kikuyu is an official language of Kenya.", "unverified"),
    ],
)
def test_a_name_is_refuted_by_another_of_its_kind(claim: str, status: str) -> None:
    assert verdict(claim, NAMES) == status
