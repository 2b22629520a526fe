"""Amounts that a percentage or a rate gives: `12 deaths/1,000 population` times the population, `3% of GDP` times GDP."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal

from msgspec import Struct

from research._util.amounts import code, written
from research.models.extractive.arithmetic import amount_of, bare
from research.models.extractive.evidence import Fact
from research.models.extractive.finding import Finder
from research.models.extractive.formulas import AREA, negated
from research.models.extractive.measured import Measure, measured_in
from research.models.extractive.question import Question, Target
from research.models.extractive.verdict import Derived, Finding, Verdict
from research.models.extractive.whole_labels import POPULATION, SEATS, wholes

_RATE = re.compile(r"(?P<noun>[a-z][a-z ]{0,80}?)(?:\(s\))?/(?P<per>1,?000|100,?000)\b", re.I)


class Portion(Struct, frozen=True):
    """An amount that is a part of a whole."""

    label: str
    """The percentage or rate."""
    wholes: tuple[str, ...]
    rest: bool = False
    """Whether the rest of the whole is asked for: those that do *not* live in towns."""


def asked(q: Question) -> Portion | None:
    """Return the amount that a question asks for if its label only has a percentage or a rate; None if it does not."""
    measure = measured_in(q.text)
    if len(q.names) != 1 or q.relation or q.pick or q.operation == "growth" or measure in (None, "share"):
        return None
    labels = [target.label for target in q.targets if target.label]
    for label in labels:
        whole = _wholes(label, measure)
        if whole and set(labels) <= {label, AREA, POPULATION, *whole}:
            return Portion(label, whole, negated(q.text.lower(), label))
    return None


def gives(text: str, label: str) -> bool:
    """Return whether a label has the percentage or rate of an amount that a question asks for."""
    measure = measured_in(text)
    return measure not in (None, "share") and bool(_wholes(label, measure))


def _wholes(label: str, measure: Measure | None) -> tuple[str, ...]:
    return wholes(label, "count" if measure == "total" else measure)


def derive(finder: Finder, portion: Portion, subject: str) -> Verdict | None:
    """Return the amount with the lines it is from, or the next step; None if a line is missing or has another form."""
    q = finder.question
    year = q.years[0] if q.years else None
    target = next(each for each in q.targets if each.label == portion.label)
    part = finder.find(subject, target, year, numeric=True)
    factors = [finder.find(subject, Target(label, exact=True), None, numeric=True) for label in portion.wholes]
    if finder.actions:
        return Verdict(q, actions=tuple(finder.actions))
    found: list[Finding] = [each for each in (part, *factors) if each]
    labels = [bare(each.fact.label).lower() for each in found]
    if labels != [label.lower() for label in (portion.label, *portion.wholes)]:
        finder.missing.clear()
        return None
    result = calculated(portion, [each.fact for each in found])
    if result is None:
        return None
    value, source = result
    computed = finder.compute(source, "Calculate it from these figures.")
    if finder.actions:
        return Verdict(q, actions=tuple(finder.actions))
    return Verdict(
        q, findings=tuple(found), computed=computed, derived=Derived("rest" if portion.rest else "portion", value)
    )


def calculated(portion: Portion, facts: Sequence[Fact]) -> tuple[str, str] | None:
    """Return the amount with its unit, and the code that calculates it; None if the first line has no percentage or rate."""
    product, factors = Decimal(1), []
    for fact in facts:
        number, per = factor(fact, rest=portion.rest and fact is facts[0])
        product *= number / per
        factors.append(code(number) if per == 1 else f"{code(number)} / {per}")
    whole, (_, per) = amount_of(facts[-1]), factor(facts[0])
    if whole is None or per == 1:
        return None
    if whole.unit:
        return written(product, [whole]), f"print(round({' * '.join(factors)}, 6))"
    rate = _RATE.search(facts[0].value)
    noun = rate["noun"].strip() if rate else "seats" if SEATS in facts[-1].label else "people"
    return f"{round(product):,} {noun}", f"print(round({' * '.join(factors)}))"


def factor(fact: Fact, *, rest: bool = False) -> tuple[Decimal, int]:
    """Return a figure and what it is per: 100 for a percentage, 1,000 for `deaths/1,000 population`, 1 for an amount."""
    amount, rate = amount_of(fact), _RATE.search(fact.value)
    if amount is None:
        return Decimal(0), 1
    if amount.percent:
        return (100 - amount.value if rest else amount.value), 100
    return amount.value, int(rate["per"].replace(",", "")) if rate else 1
