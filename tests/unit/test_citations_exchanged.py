"""A claim that copies a sentence but changes a word gets no tick; one that only leaves words out gets one."""

from __future__ import annotations

import pytest

from research.citations import check
from research.types import Source

SOURCE = Source(
    1, "https://example.org/rook", "Ansel Rook",
    "Ansel Rook was a poet and schoolmaster. He wrote a history of the river Tolm in 1921. The chapel at Noë has 23 brick "
    "arches and was restored between 1908 and 1912. The bishop refused to bless it for two years. The pool opens for 3 hours "
    "a week. A strike over wages began in March 1926. The yard employed 2,900 people. Greta Lund led the school, which was "
    "founded in 1896. The programme costs 36 million crowns a year. The archive, of 40 boxes, was given to Stork Library.",
)  # fmt: skip
LIES = [
    "The chapel at Noë has 23 stone arches",
    "The pool opens for 3 hours a day",
    "The strike over wages employed 2,900 people",
    "A strike over wages began in May 1926 and the yard employed 2,900 people",
    "The yard employed 2,900 people at its own expense",
    "Ansel Rook refused to bless it for two years",
    "Greta Rook wrote a history of the river Tolm in 1921",
    "The chapel was restored between 1912 and 1908",
    "The archive, of 40 boxes, was given to Heron Library",
    "Ansel Rook wrote a history of the lake Tolm in 1921",
]
TRUE = [
    "Ansel Rook wrote a history of the river Tolm in 1921",
    "Rook wrote a history of the river Tolm",
    "The chapel at Noe has 23 brick arches",
    "The scheme costs 36 million crowns a year",
    "The yard employed about 2,900 people",
    "The archive was given to Stork Library",
]


@pytest.mark.parametrize("claim", LIES)
def test_a_claim_with_a_word_replaced_or_added_is_not_supported(claim: str) -> None:
    assert [c.status in ("unverified", "contradicted") for c in check(f"{claim} [1].", [SOURCE])] == [True]


@pytest.mark.parametrize("claim", TRUE)
def test_words_left_out_and_synonyms_are_supported(claim: str) -> None:
    assert [c.status for c in check(f"{claim} [1].", [SOURCE])] == ["supported"]


@pytest.mark.parametrize(
    ("source", "claim"),
    [
        (
            "The picker is paid 35 crowns a basket, and 5 crowns more in the rain.",
            "In the rain the picker is paid 40 crowns a basket",
        ),
        ("法院驳回了周敏关于精神损害赔偿的请求。", "周敏关于精神损害赔偿的请求没有得到法院支持"),
    ],
)
def test_what_the_source_may_mean_is_not_contradicted(source: str, claim: str) -> None:
    assert check(f"{claim} [1].", [Source(1, "https://example.org/a", "", source)])[0].status != "contradicted"


def test_sold_matches_sales() -> None:
    sales = Source(1, "https://example.org/sales", "", "Sales in the north in 1903 were 1200 euros.")
    assert check("We sold for 1,200 euros in the north in 1903 [1].", [sales])[0].status == "supported"
