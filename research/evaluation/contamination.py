"""Contamination: tool results that copy the dataset, so that a run may have read the answer there."""

from __future__ import annotations

from typing import Final

from research.evaluation import answers
from research.evaluation.questions import Question
from research.events.view import RunView
from research.types import Observation

SHORTEST: Final = 12
"""Characters of the shortest question, and of the shortest canary, that can be recognised in a tool's result."""
NEAR: Final = 400
"""Characters after the question within which a copy has the answer."""


def can_leak(question: Question) -> bool:
    """Return whether a copy of the question could be recognised."""
    known = bool(question.answers) or question.value is not None
    return len(_plain(question.canary)) >= SHORTEST or (known and len(_plain(question.question)) >= SHORTEST)


def leaks(view: RunView, question: Question) -> tuple[str, ...]:
    """Return the addresses of sources that copy the dataset, or the names of tools that returned one.

    A copy contains the dataset's canary, or the question's own text with an expected answer near it.
    """
    if not can_leak(question):
        return ()
    found: dict[str, None] = {}
    for current in view.rounds:
        for call in current.calls:
            if call.observation is not None and _copies(call.observation.text, question):
                found |= dict.fromkeys(_places(call.observation, question))
    return tuple(found)


def _places(seen: Observation, question: Question) -> list[str]:
    """Return which sources of a result are the copy; the tool's name if no single source is."""
    sources = [each.url for each in seen.sources if _copies(f"{each.title} {each.quote}", question)]
    return sources or [seen.name]


def _copies(text: str, question: Question) -> bool:
    text, canary, wanted = _plain(text), _plain(question.canary), _plain(question.question)
    if len(canary) >= SHORTEST and canary in text:
        return True
    place = text.find(wanted) if len(wanted) >= SHORTEST else -1
    while place >= 0:
        if _answered(text[place + len(wanted) : place + len(wanted) + NEAR], question):
            return True
        place = text.find(wanted, place + 1)
    return False


def _answered(near: str, question: Question) -> bool:
    if any(answers.find(near, gold.casefold()) is not None for gold in question.answers):
        return True
    value = question.value
    return value is not None and any(
        abs(each - abs(value)) <= question.tolerance for each in answers.numbers(near, question.unit)
    )


def _plain(text: str) -> str:
    """Normalise a text for comparison: lower case, no quotation marks, single spaces."""
    return " ".join(text.casefold().replace("\n> ", "\n").split())
