"""Runs side by side: their numbers, aligned steps, common sources, and the lineage of forks.

May import agent, events, search, store and workbench."""

from __future__ import annotations

from research.compare.alignment import Row, Step, align, identical, steps
from research.compare.forks import CommonRounds, Inherited, common_rounds, compare_with_origin, inherited, lineage
from research.compare.numbers import (
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
from research.compare.run_verdict import Dispute, Less, Verdict, verdict
from research.compare.starting import MOST, compare, compare_saved

__all__ = [
    "MOST",
    "CommonRounds",
    "Difference",
    "Dispute",
    "Figures",
    "Inherited",
    "Less",
    "Page",
    "Request",
    "Row",
    "Step",
    "Verdict",
    "align",
    "common_rounds",
    "compare",
    "compare_saved",
    "compare_with_origin",
    "costs",
    "differences",
    "figures",
    "identical",
    "inherited",
    "lineage",
    "requests",
    "sources",
    "steps",
    "verdict",
]
