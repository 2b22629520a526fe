"""Answer in which year a figure was highest or lowest, among the years that the source gives."""

from __future__ import annotations

import re

from research.models.extractive.arithmetic import amounts_of
from research.models.extractive.evidence import Fact
from research.models.extractive.finding import Finder
from research.models.extractive.fitting import MATCH, bare_label, fit
from research.models.extractive.meaning import ACCEPT, masked, read
from research.models.extractive.patterns import SUPERLATIVE
from research.models.extractive.places import mentions
from research.models.extractive.question import Target
from research.models.extractive.verdict import Finding, Verdict, Worked

_WHICH = re.compile(r"\b(?:in )?(?:which|what) (?:of these |of the )?years?\b|哪一?年", re.I)
_WORDS = re.compile(
    r"\b(?:at (?:its|their)|its|their|the|was|were|did|have|had|has|reach(?:ed)?|peak(?:ed)?|on record|in)\b", re.I
)


def asked(text: str) -> tuple[str, ...]:
    """Return the country if a question asks for the year of its highest or lowest figure; else empty."""
    lower = text.lower()
    names = tuple(dict.fromkeys(name for each in mentions(text) if len(each.names) == 1 for name in each.names))
    if len(names) != 1 or not _WHICH.search(lower) or not (SUPERLATIVE.search(lower) or "peak" in lower):
        return ()
    return names


def label_of(text: str) -> str:
    """Return the label that a question asks for, read without the words for the year; empty if it is not likely."""
    rest = SUPERLATIVE.sub(" ", _WORDS.sub(" ", _WHICH.sub(" ", masked(text, ""))))
    found = read(" ".join(rest.strip(" ?？").removeprefix("'s").split()))
    return found.label if found.sure >= ACCEPT else ""


def extreme_year(finder: Finder, names: tuple[str, ...]) -> Verdict | None:
    """Return the year with the highest or lowest figure, with the figures of all years; at least two are needed."""
    q = finder.question
    label = label_of(q.text)
    if not label:
        return Verdict(q, missing=(q.text,))
    target = Target(label, exact=True)
    subject = next(iter(finder.subjects(names, target.label)), None)
    if subject and not finder.actions:
        finder.find(subject, target, numeric=True)
    if finder.actions:
        return Verdict(q, actions=tuple(finder.actions))
    lines: dict[int, Fact] = {}
    for fact in finder.evidence.facts:
        if fact.subject == subject and fact.label_years and fact.quantity and fit(fact, target) >= MATCH:
            lines.setdefault(fact.label_years[-1], fact)
    if len(lines) < 2 or len({bare_label(fact.label) for fact in lines.values()}) > 1:
        return Verdict(q, missing=(q.text,), closest=tuple(lines.values()))
    facts = [lines[year] for year in sorted(lines)]
    mark = SUPERLATIVE.search(q.text.lower())
    most = mark is None or mark.group("most") is not None
    amounts = [each.value for each in amounts_of(facts)]
    best = max(amounts) if most else min(amounts)
    found = tuple(Finding(str(subject), target, fact) for fact in facts)
    chosen = [each for each, value in zip(found, amounts, strict=True) if value == best]
    others = [each for each in found if each not in chosen]
    values = ("most" if most else "least", str(len(chosen)))
    return Verdict(q, findings=found, worked=(Worked("series", (*chosen, *others), values),))
