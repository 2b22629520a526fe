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


PLACE = Source(
    1, "https://example.org/hall", "",
    "The hall was designed by the engineer Tom Bell and built between 1871 and 1878 by masons from Karrow. In 1932 a storm "
    "broke its roof, and the keeper, Ada Linn, was rescued by the crew of the trawler Tide. The study was paid for by the "
    "growers. In 1990 the hall was bought in parts by Orr & Sons, who charged 7 crowns. The firm sold 30 boats in 1995.",
)  # fmt: skip
PLACE_ZH = Source(
    1, "https://example.org/zh", "", "1975年的洪水冲毁了石桥镇。剧院被华艺公司买下。鲢鱼很多，但鲤鱼已基本消失。"
)


@pytest.mark.parametrize(
    "claim",
    [
        "The crew of the Tide rescued Ada Linn [1].", "The growers paid for the study [1].", "Tom Bell designed the hall [1].",
        "石桥镇被1975年的洪水冲毁[1]。", "华艺公司买下了剧院[1]。",
    ],
)  # fmt: skip
def test_a_clause_in_the_other_voice_states_the_same(claim: str) -> None:
    source = PLACE_ZH if claim.endswith("。") else PLACE
    assert [c.status for c in check(claim, [source])] == ["supported"]


@pytest.mark.parametrize(
    "claim",
    [
        "The hall was designed by masons from Karrow [1].", "Ada Linn rescued the crew of the Tide [1].",
        "The growers designed the hall [1].", "Orr & Sons charged 30 crowns [1].", "鲢鱼已基本消失[1]。", "剧院买下了华艺公司[1]。",
    ],
)  # fmt: skip
def test_words_of_another_clause_state_nothing(claim: str) -> None:
    source = PLACE_ZH if claim.endswith("。") else PLACE
    assert [c.status in ("unverified", "contradicted") for c in check(claim, [source])] == [True]
