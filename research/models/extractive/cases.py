"""Of a rule with several cases, the one that a question is about: 满十年不满二十年的，年休假为十二天 for 12 years."""

from __future__ import annotations

import re

from research.quantities import Quantity, quantities

_CLAUSES = re.compile(r"[;；]")
_BEYOND = {"over": 1 + 1e-9, "under": 1 - 1e-9}
"""Factors that bring a limit within what lies beyond it."""


def case_of(line: str, question: str) -> str:
    """Return the clause of a rule whose limits a figure of the question is within; the whole line if it has no cases.

    Empty if the figure is within none of them, or of several: then no case is the answer.
    """
    asked = [figure for figure in quantities(question) if figure.kind == "number" and figure.unit]
    cases = dict[str, bool]()
    for clause in _CLAUSES.split(line):
        limits = [(figure, each) for each in quantities(clause) for figure in asked if each.unit == figure.unit]
        if limits := [(figure, each) for figure, each in limits if each.limit]:
            cases[clause.strip()] = all(_within(figure, limit) for figure, limit in limits)
    fitting = [case for case, fits in cases.items() if fits]
    return line if len(cases) < 2 else fitting[0] if len(fitting) == 1 else ""


def _within(figure: Quantity, limit: Quantity) -> bool:
    value = figure.value * _BEYOND.get(figure.hedge, 1)
    return {
        "over": value > limit.value,
        "least": value >= limit.value,
        "under": value < limit.value,
        "most": value <= limit.value,
    }[limit.hedge]
