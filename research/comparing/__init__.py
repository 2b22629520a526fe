"""Several runs side by side: what they did, found and took.  Folds of their views; the store is not known here."""

from __future__ import annotations

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
    "MOST", "Difference", "Figures", "Page", "Request", "Row", "Step", "align", "compare", "costs", "differences",
    "figures", "of_saved", "requests", "sources", "steps",
]  # fmt: skip
