"""Questions for yes or no: a line answers one only if the calculation that it asks for decides it."""

from __future__ import annotations

from research.models.extractive.asked import parts_of
from research.models.extractive.patterns import COMPARATIVE
from research.models.extractive.verdict import Verdict
from research.models.extractive.words import directions


def settled(found: Verdict) -> Verdict:
    """Return a verdict without its findings if the question asks for yes or no and nothing calculated decides it."""
    q = found.question
    if found.actions or not found.findings or found.ranked or found.holds is not None or not asks_whether(q.text):
        return found
    compared = q.operation == "compare" and COMPARATIVE.search(q.text.lower())
    if q.operation == "growth" or compared or (q.operation != "compare" and (found.computed or found.derived)):
        return found
    facts = tuple(dict.fromkeys(finding.fact for finding in found.findings))
    return Verdict(q, missing=(q.text,), closest=facts)


def asks_whether(question: str) -> bool:
    """Return whether a question asks for yes or no, and offers nothing else."""
    parts = parts_of(question)
    return len(parts) == 1 and parts[0].kind == "whether" and not parts[0].options


def moved(question: str, change: float) -> bool | None:
    """Return whether a figure moved in the direction that a question for yes or no names; None if it names none."""
    said = directions(question)
    if not asks_whether(question) or len(said) != 1:
        return None
    return change > 0 if said == {"rise"} else change < 0
