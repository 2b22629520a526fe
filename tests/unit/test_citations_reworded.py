"""Statements in other words than their source: true ones are never refuted, false ones never borne out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from research.citations.checking import check_claim
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
