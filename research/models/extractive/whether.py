"""Questions for yes or no: a line answers one only if the calculation that it asks for decides it."""

from __future__ import annotations

import re

from research.models.extractive import chinese
from research.models.extractive.asked import parts_of
from research.models.extractive.meaning import masked
from research.models.extractive.measured import counts_things, only_relative
from research.models.extractive.passages import keys
from research.models.extractive.patterns import COMPARATIVE, SUPERLATIVE
from research.models.extractive.places import mentions
from research.models.extractive.verdict import Verdict
from research.models.extractive.words import directions
from research.text import has_cjk

_COUNTRIES = re.compile(
    r"\b(?:which|what|list|name)\b(?: \w+){0,4}? (?:countries|nations|states)\b|哪[些几]个?国家", re.I
)
_COUNTED = re.compile(
    r"\bhow many\b(?: \w+){0,4}? (?:countries|nations|states|members)\b|[多几]少?个[^，。？?]{0,8}国家", re.I
)
_TOWARDS = re.compile(r"(?P<deed>\w+(?: \w+){0,2}) (?:from|to) (?:the )?\{c\}|[从向对]\{c\}")
"""Matches what others do to a country."""


def settled(found: Verdict) -> Verdict:
    """Return a verdict without its findings if they do not decide the question.

    That is so if it asks for a number of things and they are percentages or rates, for countries and they are about one, or
    for yes or no and nothing is calculated.
    """
    q = found.question
    if found.actions:
        return found
    rows = found.ranked.rows if found.ranked else ()
    facts = tuple(dict.fromkeys([*(each.fact for each in found.findings), *(row.fact for row in rows)]))
    refused = Verdict(q, missing=(q.text,), closest=facts)
    countries = found.ranked is not None and found.ranked.ranking.kind == "count"  # what is counted are not people
    amounts = facts and not (found.derived or found.limit or q.pick or countries)
    if amounts and counts_things(q.text) and all(only_relative(fact.value) for fact in facts):
        return refused  # where there are more doctors, no density says
    most = SUPERLATIVE.search(q.text.lower()) and counts_things(q.text)
    if found.quotes and (most or _COUNTED.search(q.text)):
        return refused  # a passage about one of them counts none
    if _COUNTRIES.search(q.text) and any(_of_others(q.text, fact.label) for fact in facts):
        return refused  # what others import from China is not what China imports
    if _lists_countries(q.text) and not (rows or any(_names(fact.value) for fact in facts)):
        return refused  # a line about one country does not say which of all they are
    if found.ranked or found.holds is not None or not asks_whether(q.text):
        return found
    if not found.findings:
        return found
    compared = q.operation == "compare" and COMPARATIVE.search(q.text.lower())
    if q.operation == "growth" or compared or (q.operation != "compare" and (found.computed or found.derived)):
        return found
    return refused


def _lists_countries(text: str) -> bool:
    """Return whether a question asks which of all countries there are, and names none."""
    return _COUNTRIES.search(text) is not None and not _names(text)


def _of_others(text: str, label: str) -> bool:
    """Return whether a question asks who does what a label says to the country that it names, or from it."""
    found = _TOWARDS.search(masked(text))
    return found is not None and (has_cjk(text) or bool(keys(found["deed"] or "") & keys(label)))


def _names(text: str) -> bool:
    """Return whether a text names a country, not only its language or people."""
    return any(each.written in each.names for each in mentions(text))


def asks_whether(question: str) -> bool:
    """Return whether a question asks for yes or no, and offers nothing else."""
    parts = parts_of(question)
    return len(parts) == 1 and parts[0].kind == "whether" and not parts[0].options


def outweighs(question: str, first: str, difference: str) -> bool | None:
    """Return whether one measure is more, or less, than another, as a question for yes or no says; None if it asks otherwise.

    `difference` is the `first` measure minus the other.
    """
    text = question.lower()
    compared = COMPARATIVE.search(text)
    if not asks_whether(question) or compared is None:
        return None
    word = chinese.label(first) if has_cjk(text) else first.lower().rstrip("s")
    turned = not 0 <= text.find(word) < compared.start()
    return difference.startswith(("-", "−")) == (turned == (compared["most"] is not None))


def moved(question: str, change: float) -> bool | None:
    """Return whether a figure moved in the direction that a question for yes or no names; None if it names none."""
    said = directions(question)
    if not asks_whether(question) or len(said) != 1:
        return None
    return change > 0 if said == {"rise"} else change < 0
