"""Make a plan of a question, and read an approved one: the questions to answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from research.models.extractive import chinese
from research.models.extractive.asked import parts_of
from research.models.extractive.places import mentions
from research.models.extractive.question import Question, Target, parse
from research.text import has_cjk

if TYPE_CHECKING:
    from research.models.extractive.evidence import Evidence

_MOST = 8
"""Most items of a plan."""


def proposed(question: str) -> tuple[str, ...]:
    """Return the questions that a question consists of: one for each thing and measure, or its own parts."""
    q = parse(question)
    single = [(name, target) for name in q.names for target in q.targets if target.label]
    if q.relation is None and q.pick is None and 1 < len(single) <= _MOST and all(target.label for target in q.targets):
        ask = in_chinese if has_cjk(question) else _in_english
        items = [_understood(ask, q, name, target) for name, target in single]
        if all(items):
            return tuple(dict.fromkeys(items))
    return tuple(part.text for part in parts_of(question))


def _understood(ask: Callable[[Question, str, str], str], q: Question, name: str, target: Target) -> str:
    """Return the question for a measure of a thing, with as little of the label as is needed; empty if it is misread."""
    for label in (target.label.partition(",")[0], target.label):
        read = parse(item := ask(q, name, label))
        if read.names == (name,) and [each.label for each in read.targets] == [target.label]:
            return item
    return ""


def _in_english(q: Question, name: str, label: str) -> str:
    label = label if label[1:2].isupper() else label[:1].lower() + label[1:]
    years = "".join(f" in {year}" for year in q.years[:1]) if len(q.years) == 1 else ""
    return f"What is the {label} of {name}{years}?"


def in_chinese(q: Question, name: str, *labels: str) -> str:
    """Return the question for measures of a thing."""
    years = "、".join(f"{year}年" for year in q.years)
    return f"{name}{years}的{'和'.join(map(chinese.label, labels))}是多少？"


def to_answer(evidence: Evidence) -> tuple[str, ...]:
    """Return the questions of a conversation: the user's, those that a plan adds, or the plan's if it leaves some out."""
    if not evidence.planned:
        return _apart(evidence.question)
    known = proposed(evidence.question)
    if set(known) <= set(evidence.planned):
        return (evidence.question, *(each for each in evidence.planned if each not in (*known, evidence.question)))
    return evidence.planned


def _apart(question: str) -> tuple[str, ...]:
    """Return the parts of a question if each can be answered by itself: all name places, and not the same ones.

    >>> _apart("What is the capital of Chad, and how many people live in Niger?")
    ('What is the capital of Chad', 'How many people live in Niger?')
    """
    parts = [part.text[:1].upper() + part.text[1:] for part in parts_of(question)]
    places = {frozenset(name for mention in mentions(part) for name in mention.names) for part in parts}
    return tuple(parts) if len(places) > 1 and all(places) else (question,)
