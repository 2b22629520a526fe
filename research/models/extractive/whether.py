"""Answer a question for yes or no from the line that was found, where the line decides it."""

from __future__ import annotations

from research._util.amounts import unlike
from research.answers import parts_of
from research.citations.lexicon import sides
from research.models.extractive.arithmetic import amounts_of
from research.models.extractive.patterns import NAME
from research.models.extractive.places import usual
from research.models.extractive.rankings import threshold
from research.models.extractive.verdict import Finding

_UP, _DOWN = (0, 0), (0, 1)
"""Ends of the scale from rising to falling in `sides`."""


def asks_whether(question: str) -> bool:
    """Return whether a question asks for yes or no, and offers nothing else."""
    parts = parts_of(question)
    return len(parts) == 1 and parts[0].kind == "whether" and not parts[0].options


def holds(question: str, finding: Finding) -> bool | None:
    """Return yes or no for a limit or a name in the question; None if the line does not decide it.

    A name that is not in the line decides nothing: the list may not be complete.
    """
    if not asks_whether(question):
        return None
    above, below = threshold(question.lower().rstrip("?？. "))
    limit = above or below
    if limit is not None:
        own = amounts_of([finding.fact])[0]
        if unlike([own, limit]) and limit.unit:
            return None
        return own.value > limit.value if above else own.value < limit.value
    others = [match.group() for match in NAME.finditer(question[1:]) if usual(match.group()) != finding.subject]
    return True if len(others) == 1 and others[0].lower() in finding.fact.value.lower() else None


def moved(question: str, change: float) -> bool | None:
    """Return whether a figure moved in the direction that a question for yes or no names; None if it names none."""
    said = sides(question) & {_UP, _DOWN}
    if not asks_whether(question) or len(said) != 1:
        return None
    return change > 0 if said == {_UP} else change < 0
