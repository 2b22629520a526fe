"""Several runs side by side: what they did, found and took, and how forks of one run have parted."""

from __future__ import annotations

from research.comparing.forks import Common, Taken, common, kin, taken, with_origin
from research.comparing.numbers import (
    Difference,
    Figures,
    Page,
    Request,
    costs,
    differences,
    figures,
    requests,
    sources,
)
from research.comparing.starting import MOST, compare, of_saved
from research.comparing.steps import Row, Step, align, steps

__all__ = [
    "MOST", "Common", "Difference", "Figures", "Page", "Request", "Row", "Step", "Taken", "align", "common", "compare",
    "costs", "differences", "figures", "kin", "of_saved", "requests", "sources", "steps", "taken", "with_origin",
]  # fmt: skip
