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
