"""Claims that reverse, overstate, misattribute or calculate from a relation in their source, checked without an encoder."""

from __future__ import annotations

import pytest

from research.citations import check
from research.types import Source

SOURCE = Source(
    1, "https://example.org/mill", "The mill at Orrin",
    "Dalton Mills acquired Verity Looms in 2011. Verity Looms was sued by Crane Brothers. The fire was caused by a faulty lamp. "
    "Some of the weavers joined a union. A second mill may reopen. Nadia Holm runs the dye works, and Peter Voss keeps the "
    "books. Wool made up 40% of the yarn and cotton 25%. The tower was built after the bridge collapsed. The dye works are "
    "older than the tower. The mill is 1,240 metres from the river. The price of a bale rose from 1,200 to 1,450 crowns.",
)  # fmt: skip
CHINESE = Source(1, "https://example.org/zh", "", "海宁银行收购了东洲证券。部分股东反对。由于利率下降，利息收入减少。")

LIES = [
    "Verity Looms acquired Dalton Mills in 2011 [1].", "Crane Brothers was sued by Verity Looms [1].",
    "The faulty lamp was caused by a fire [1].", "All of the weavers joined a union [1].", "A second mill will reopen [1].",
    "Peter Voss runs the dye works [1].", "Cotton made up 40% of the yarn [1].",
    "The tower was built before the bridge collapsed [1].", "The tower is older than the dye works [1].",
    "The price of a bale rose from 1,450 to 1,200 crowns [1].",
]  # fmt: skip
TRUE = [
    "Verity Looms was acquired by Dalton Mills in 2011 [1].", "Crane Brothers sued Verity Looms [1].",
    "A faulty lamp caused the fire [1].", "Some of the weavers joined a union [1].", "A second mill might reopen [1].",
    "Wool and cotton together made up 65% of the yarn [1].", "The mill is about 1.24 km from the river [1].",
    "The price of a bale rose from 1,200 to 1,450 crowns [1].",
]  # fmt: skip


CALCULATED = {"Wool and cotton together made up 65% of the yarn [1].": "calculated"}


@pytest.mark.parametrize("lie", LIES)
def test_a_changed_relation_is_flagged(lie: str) -> None:
    assert [c.status in ("unverified", "contradicted") for c in check(lie, [SOURCE])] == [True]


@pytest.mark.parametrize("claim", TRUE)
def test_a_rephrased_relation_is_supported(claim: str) -> None:
    assert [c.status for c in check(claim, [SOURCE])] == [CALCULATED.get(claim, "supported")], check(claim, [SOURCE])


@pytest.mark.parametrize(
    "lie", ["东洲证券收购了海宁银行 [1]。", "所有股东反对 [1]。", "由于利息收入减少，利率下降 [1]。"]
)
def test_a_changed_relation_in_chinese_is_flagged(lie: str) -> None:
    assert [c.status in ("unverified", "contradicted") for c in check(lie, [CHINESE])] == [True]


def test_a_wrong_sum_is_flagged() -> None:
    assert check("Wool and cotton together made up 68% of the yarn [1].", [SOURCE])[0].status == "unverified"
