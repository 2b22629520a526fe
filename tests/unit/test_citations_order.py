"""Which figure is the share and which the whole, which is larger and which compared, must be as a claim says it."""

from __future__ import annotations

import pytest

from research.citations import check
from research.types import HOLDS, Source

PAGE = """Coal, production: 12 million metric tons (2023 est.)
Coal, consumption: 9 million metric tons (2023 est.)
Coal, exports: 3 million metric tons (2023 est.)
Coal, imports: 500,000 metric tons (2022 est.)
Exports 2024: $60 billion (2024 est.)
Exports 2023: $50 billion (2023 est.)
Imports 2024: $45 billion (2024 est.)
Imports 2023: $40 billion (2023 est.)
GDP (official exchange rate): $300 billion (2023 est.)
Population, total: 55,000,000 (2024 est.)
Labor force: 24 million (2023 est.)
Unemployment rate: 5% (2023 est.)
Youth unemployment rate (ages 15-24), total: 27% (2023 est.)
Methane emissions, energy: 40 kt (2019 est.)
Methane emissions, agriculture: 100 kt (2019 est.)
Methane emissions, waste: 60 kt (2019 est.)
Methane emissions, other: 4 kt (2019 est.)
Literacy, male: 90%
Literacy, female: 80%
Airports: 7 (2024)
Heliports: 12 (2024)
Ports, total: 4 (2024)"""
SOURCES = [Source(1, "https://example.org/1", "Kenya · Economy", PAGE)]
MINED, SOLD = "Coal, production 12 million metric tons", "Coal, exports 3 million metric tons"
BURNT = "Coal, consumption 9 million metric tons"
POWER, FARMS = "Methane emissions, energy 40 kt", "Methane emissions, agriculture 100 kt"
WASTE, OTHER = "Methane emissions, waste 60 kt", "Methane emissions, other 4 kt"


def ticked(claim: str) -> bool:
    return bool({citation.status for citation in check(f"{claim} [1].", SOURCES)} & HOLDS)


@pytest.mark.parametrize(
    "claim",
    [
        f"Kenya: 25%, the share of {SOLD} in {MINED}",
        f"Kenya: 25%, the ratio of {SOLD} and {MINED}",
        f"Kenya: 4 times, the ratio of {MINED} to {SOLD}",
        f"Kenya: 49.02%, the ratio of {FARMS} and the sum of {POWER}, {FARMS}, {WASTE}, {OTHER}",
        f"Kenya: 160%, the ratio of the sum of {FARMS}, {WASTE} and {FARMS}",
        f"Kenya: 0.25 times, the ratio of {SOLD} to {MINED}",
        f"Kenya: {SOLD} minus {MINED} is −9 million metric tons",
        f"Kenya: 49.02%, the share of {FARMS} in the sum of {POWER}, {FARMS}, {WASTE}, {OTHER}",
        f"Kenya: 160%, the share of the sum of {FARMS}, {WASTE} in {FARMS}",
        "Kenya: 133.33%, the share of Exports $60 billion (2024 est.) in Imports $45 billion (2024 est.)",
        f"Kenya: 16.67%, the share of Coal, imports 500,000 metric tons (2022 est.) in {SOLD} (2023 est.)",
        "Kenya: Exports $60 billion (2024 est.) minus Imports $45 billion (2024 est.) is $15 billion",
        "Kenya: 19 in total, the sum of Airports 7 (2024) and Heliports 12 (2024)",
        "Kenya: Coal, production was 33% higher than Coal, consumption",
        "25% of the coal production of Kenya is exported",
        f"肯尼亚：{SOLD} (2023 est.)占{MINED} (2023 est.)的25%",
        f"肯尼亚：{MINED} (2023 est.)是{SOLD} (2023 est.)的4倍",
        f"肯尼亚：{FARMS}占{POWER}, {FARMS}, {WASTE}之和的50%",
    ],
)
def test_what_is_calculated_as_the_claim_says_is_ticked(claim: str) -> None:
    assert ticked(claim)


@pytest.mark.parametrize(
    "claim",
    [
        f"Kenya: {MINED} is 25% of {SOLD}",
        f"Kenya: 25%, the share of {MINED} in {SOLD}",
        f"Kenya: 25%, the ratio of {MINED} and {SOLD}",
        f"Kenya: 49.02%, the ratio of {POWER} and the sum of {POWER}, {FARMS}, {WASTE}, {OTHER}",
        f"Kenya: 62.5%, the ratio of the sum of {FARMS}, {WASTE} and {FARMS}",
        f"Kenya: 400%, the share of {SOLD} in {MINED}",
        f"Kenya: {SOLD} and {MINED}: exports are 4 times production",
        f"Kenya: 4 times, the ratio of {SOLD} to {MINED}",
        "Kenya: Imports ($45 billion) are 1.33 times Exports ($60 billion)",
        "Kenya: Imports ($45 billion) are 133.33% of Exports ($60 billion)",
        "Kenya: Exports of goods ($60 billion) are 133.33% of Imports ($45 billion) of oil",
        "Kenya: Exports ($60 billion) minus Imports ($40 billion) is $20 billion",
        "Kenya: 150%, the share of Exports $60 billion in Imports $40 billion",
        f"Kenya: {SOLD} minus {MINED} is 9 million metric tons",
        f"Kenya: {MINED} minus {SOLD} is 9 billion metric tons",
        f"Kenya: 15 million tons, the difference of {SOLD} and {MINED}, combined",
        "Kenya: Heliports: 12 and Ports, total: 4 together are 8",
        "Kenya: There are 5 more Airports (7) than Heliports (12)",
        "Kenya: Airports (7) exceed Heliports (12) by 5",
        "Kenya: Literacy, female (80%) is 10 percentage points higher than Literacy, male (90%)",
        "Kenya: Literacy, female (80%) minus Literacy, male (90%) is 10 percentage points",
        f"Kenya: Coal, production: 25% more than {SOLD}, {MINED}",
        f"Kenya: {BURNT} rose 33.3% to {MINED}",
        f"Kenya: {BURNT} is 75% more than {MINED}",
        f"Kenya: {POWER}, {FARMS} and {WASTE}: waste is 20% of them",
        f"Kenya: {POWER}, {FARMS}, {WASTE}: 400% of emissions come from energy",
        f"Kenya: 49.02%, the share of {POWER} in the sum of {POWER}, {FARMS}, {WASTE} and {OTHER}",
        f"Kenya: 15%, a share from {SOLD} of {BURNT} and {MINED}",
        "Kenya: Population, total (55,000,000) and GDP (official exchange rate) ($300 billion): $5,455 of exports per head",
        "Kenya: Of a Labor force of 24 million, 27% Youth unemployment rate are 6.48 million young people without work",
        f"肯尼亚：{MINED} (2023 est.)占{SOLD} (2023 est.)的25%",
        f"肯尼亚：{SOLD} (2023 est.)是{MINED} (2023 est.)的4倍",
        f"肯尼亚：{POWER}占{POWER}, {FARMS}, {WASTE}之和的50%",
    ],
)
def test_a_slip_in_the_order_the_operation_or_the_years_is_never_ticked(claim: str) -> None:
    assert not ticked(claim)
