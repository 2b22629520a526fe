"""Answer what no line states but several give, as `measures.jsonl` lists it: shares, sums, differences, amounts, spans."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal

import msgspec

from research._util.amounts import Amount, code, plain, rounded, unlike, written
from research.models.extractive import chinese
from research.models.extractive.arithmetic import amount_of, amounts_of
from research.models.extractive.asked import parts_of
from research.models.extractive.evidence import Fact
from research.models.extractive.finding import Finder
from research.models.extractive.meaning import made, masked, vetoed
from research.models.extractive.measured import measured_in
from research.models.extractive.narrower import narrower
from research.models.extractive.patterns import HOW
from research.models.extractive.phrasebook import Measure, measures
from research.models.extractive.question import Question, Target
from research.models.extractive.stems import stem
from research.models.extractive.verdict import Derived, Finding, Verdict
from research.text import has_cjk

SURE = 0.7
"""Least probability of a measure that is calculated."""
POPULATION, AREA = "Population, total", "Area, total"
_NAMED = (
    (
        Measure("per", (POPULATION, AREA)),
        ("population density", "人口密度"),
        re.compile(
            r"\bpopulation density\b|\bdensely (?:populated|settled|peopled)\b|\b(?:people|persons|inhabitants|residents)\b"
            r"(?: live| are there)? (?:per|for (?:each|every)|(?:on|in) (?:each|every|an? average)) (?:sq|square)\b|"
            r"人口密度|每平方(?:公里|千米)",
            re.I,
        ),
    ),
    (
        Measure("minus", ("Exports", "Imports")),
        ("trade balance", "贸易差额"),
        re.compile(r"\btrade (?:balance|surplus|deficit)\b|\bbalance of trade\b|贸易(?:顺差|逆差|差额)", re.I),
    ),
)
"""Measures that have a name of their own, with their English and Chinese names and what matches them."""
_RATE = re.compile(r"(?P<noun>[a-z][a-z ]{0,80}?)(?:\(s\))?/(?P<per>1,?000|100,?000)\b", re.I)
_PER = {"per": 1, "per_million": 1_000_000, "per_area": 1_000}
_DAILY = re.compile(r"/day\b")
_YEAR, _MONTHS = 365, 12

Calculated = tuple[str, str]
"""A value with its unit, and the code that calculates it."""


def targets(measure: Measure, text: str) -> tuple[Target, ...]:
    """Return the lines that a measure is calculated from."""
    return tuple(Target(label, exact=True, asked=text) for label in dict.fromkeys(measure.labels))


def asked(q: Question) -> Measure | None:
    """Return the measure that a question asks of one country; None if it asks for something else."""
    return q.measure if len(q.names) == 1 and not q.relation and not q.pick else None


def derive(finder: Finder, measure: Measure, subject: str) -> Verdict | None:
    """Return the calculated measure with its lines, or the next step; None if a line is missing or does not fit."""
    q = finder.question
    year = q.years[0] if q.years else None
    found: list[Finding] = []
    for target in targets(measure, q.text):
        line = finder.find(subject, target, year, numeric=True)
        if line is None and year is not None and not finder.actions:
            line = finder.find(subject, target, None, numeric=True)
            line = line if line and not line.fact.label_years else None  # other years of a series are another figure
        found += [line] if line else []
    if finder.actions:
        return Verdict(q, actions=tuple(finder.actions))
    if len(found) < len(set(measure.labels)):
        return None
    finder.missing.clear()
    by_label = {each.target.label: each.fact for each in found}
    result = calculated(measure, [by_label[label] for label in measure.labels])
    if result is None:
        return None
    value, source = result
    computed = finder.compute(source, "Calculate it from these figures.")
    if finder.actions:
        return Verdict(q, actions=tuple(finder.actions))
    return Verdict(q, findings=tuple(found), computed=computed, derived=Derived(_name(measure), value))


def _name(measure: Measure) -> str:
    dense = measure.kind == "per" and measure.labels[0] == POPULATION and measure.labels[1].startswith("Area")
    return "density" if dense else _NAMES.get(measure.kind, "ratio")


_NAMES = {
    "share": "made_share",
    "part": "made_part",
    "sum_over": "made_over",
    "ratio": "made_times",
    "minus": "minus",
    "plus": "made_sum",
    "rest_product": "rest",
    "rest": "outside",
}
"""The sentence for each kind that has its own; see `write.py`."""


def calculated(measure: Measure, facts: Sequence[Fact]) -> Calculated | None:
    """Return the value and its code; None if the figures do not allow it."""
    kind, labels = measure.kind, measure.labels
    if any(amount_of(fact) is None for fact in facts):
        return None
    if kind in _PER:
        return _ratio(facts, _PER[kind], people=labels[0] == POPULATION, heads=labels[1] == POPULATION)
    if kind in ("product", "rest_product"):
        return _product(facts, rest=kind == "rest_product")
    if kind in ("years", "months"):
        return _span(facts, months=kind == "months")
    if kind == "inverse":
        return _inverse(facts[0])
    if kind == "gap_product":
        return _gap(facts)
    amounts = amounts_of(facts)
    if unlike(amounts):
        return None
    if kind == "ratio":
        return _divided(amounts[:1], amounts[1:], 1, "")
    if kind in ("share", "part", "sum_over"):
        many = len(amounts) - 1 if kind == "sum_over" else 1
        return _divided(amounts[:many], amounts[many:], 100, "%")
    if kind == "plus":
        return written(_sum(amounts), amounts), f"print(round({_added(amounts)}, 6))"
    if kind == "minus":
        one, two = amounts
        return written(
            one.value - two.value, amounts, points=True
        ), f"print(round({code(one.value)} - {_added([two])}, 6))"
    left = 100 - _sum(amounts)
    if not all(each.percent for each in amounts) or not 0 <= left <= 100:
        return None
    return f"{plain(left)}%", f"print(round(100 - {_added(amounts)}, 4))"


def _divided(parts: Sequence[Amount], whole: Sequence[Amount], times: int, unit: str) -> Calculated | None:
    top, bottom = _sum(parts), _sum(whole)
    if bottom <= 0 or (not unit and top <= 0):
        return None
    source = f"print(round({times} * {_added(parts)} / {_added(whole)}, 4))"
    return f"{plain(rounded(times * top / bottom, 2))}{unit}", source


def _sum(amounts: Sequence[Amount]) -> Decimal:
    return sum((each.value for each in amounts), Decimal(0))


def _added(amounts: Sequence[Amount]) -> str:
    joined = " + ".join(code(each.value) for each in amounts)
    return f"({joined})" if len(amounts) > 1 or joined.startswith("-") else joined


def _span(facts: Sequence[Fact], *, months: bool) -> Calculated | None:
    """Return how long a stock lasts at a yearly or daily rate."""
    stock, rate = (amount_of(fact) for fact in facts)
    assert stock and rate
    daily = _DAILY.search(rate.unit) is not None
    if rate.value <= 0 or _DAILY.sub("", rate.base).split(" ")[0] not in (stock.base.split(" ")[0], "bbl", "barrels"):
        return None
    times = _MONTHS if months else 1
    top = f"{times} * {code(stock.value)}" if months else code(stock.value)
    bottom = f"({code(rate.value)} * {_YEAR})" if daily else code(rate.value)
    value = times * stock.value / (rate.value * (_YEAR if daily else 1))
    unit = "months" if months else "years"
    return f"{plain(rounded(value, 1))} {unit}", f"print(round({top} / {bottom}, 4))"


def _inverse(fact: Fact) -> Calculated | None:
    """Return the people for each of what a rate counts per so many of them."""
    number, per = _factor(fact)
    if per == 1 or number <= 0:
        return None
    return f"{plain(rounded(per / number, 0))} people for each", f"print(round({per} / {code(number)}))"


def _product(facts: Sequence[Fact], *, rest: bool) -> Calculated | None:
    """Return an amount that a percentage or rate gives: `12 deaths/1,000 population` times the population."""
    product, factors = Decimal(1), []
    for fact in facts:
        number, per = _factor(fact, rest=rest and fact is facts[0])
        product *= number / per
        factors.append(code(number) if per == 1 else f"{code(number)} / {per}")
    whole, (_, per) = amount_of(facts[-1]), _factor(facts[0])
    if whole is None or per == 1:
        return None
    if whole.unit:
        return written(product, [whole]), f"print(round({' * '.join(factors)}, 6))"
    rate = _RATE.search(facts[0].value)
    noun = rate["noun"].strip() if rate else "seats" if "seats" in facts[-1].label else "people"
    return f"{round(product):,} {noun}", f"print(round({' * '.join(factors)}))"


def _factor(fact: Fact, *, rest: bool = False) -> tuple[Decimal, int]:
    """Return a figure and what it is per: 100 for a percentage, 1,000 for `deaths/1,000 population`, 1 for an amount."""
    amount, rate = amount_of(fact), _RATE.search(fact.value)
    if amount is None:
        return Decimal(0), 1
    if amount.percent:
        return (100 - amount.value if rest else amount.value), 100
    return amount.value, int(rate["per"].replace(",", "")) if rate else 1


def _ratio(facts: Sequence[Fact], per: int, *, people: bool, heads: bool) -> Calculated | None:
    """Return one amount per so many units of the other, in the units as written; None for a percentage or a rate."""
    one, two = (amounts_of([fact])[0] for fact in facts)
    if one.percent or two.percent or "/" in one.unit.replace("/day", "") or not two.value:
        return None
    top, bottom = one.value.scaleb(-one.power), two.value.scaleb(-two.power)
    amount = _short(top / bottom * per, one.unit or ("people" if people else ""))
    of = two.unit or ("person" if heads else "")
    below = f" per {per:,} {of or 'people'}" if per > 1 else f" per {of}" if of else " for each"
    return f"{amount}{below}", f"print(round({code(top)} / {code(bottom)} * {per}, 4))"


def _short(value: Decimal, unit: str) -> str:
    decimals = 1 if value >= 100 else 2 if value >= 1 else 2 - value.adjusted()
    text = f"{round(value, decimals):,f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return f"{unit}{text}" if unit in ("$", "€", "£") else f"{text} {unit}".rstrip()


def _gap(facts: Sequence[Fact]) -> Calculated | None:
    """Return the difference of two rates, times their whole."""
    (one, per), (two, other), (whole, _) = map(_factor, facts)
    if per != other or per == 1:
        return None
    value = (one - two) * whole / per
    return f"{round(value):,} people", f"print(round(({code(one)} - {code(two)}) / {per} * {code(whole)}))"


def measure_of(text: str) -> Measure | None:
    """Return the measure that a question about one country asks for; None if it asks for none with enough certainty."""
    if named := next((measure for measure, _, said in _NAMED if said.search(text)), None):
        if named.labels[-1] == AREA and re.search(r"\bland area\b", text):
            return Measure(named.kind, (POPULATION, "Area, land"))
        return named
    found = made(text) if len(parts_of(text)) == 1 else None
    sure = found and found.sure >= SURE and not vetoed(masked(text), found.measure.labels[0])
    return found.measure if found and sure else None


def called(text: str) -> tuple[tuple[str, str], str] | None:
    """Return the English and the Chinese name of the calculated measure that a question names, and the rest of its text."""
    return next(((names, said.sub(" ", text)) for _, names, said in _NAMED if said.search(text)), None)


def counted(text: str, targets: Sequence[Target], nearest: Sequence[str]) -> Measure | None:
    """Return the product that gives the number asked for where the label found is a share or a rate; None if none does.

    A label that is only the nearest one counts if the likeliest measure agrees with it, and the words ask for nothing else.
    """
    if len(targets) > 1 or not (targets or nearest) or measured_in(text) != "count":
        return None
    label = targets[0].label if targets else nearest[0]
    products = [each for each in measures().values() if each.kind == "product" and each.labels[0] == label]
    if not products or (not targets and (vetoed(masked(text), label) or made(text).measure != products[0])):
        return None
    return products[0]


def with_measure(q: Question, text: str, measure: Measure | None) -> Question | None:
    """Return the question with the measure that it asks for; None if it asks for none or of several things."""
    if measure is None or len(q.names) != 1 or len(q.years) > 1:
        return None
    if narrower(text, measure.labels[0], says=measure.says):
        return None
    measure = _in_order(measure, text)
    return msgspec.structs.replace(
        q,
        measure=measure,
        targets=targets(measure, text),
        operation="lookup",
        rank=False,
        relation=None,
        pick=None,
        doubtful=frozenset(),
    )


def _in_order(measure: Measure, text: str) -> Measure:
    """Return a difference the way round in which a text compares: *how much more does it export than import?*"""
    how = HOW.search(text.lower())
    if measure.kind != "minus" or how is None:
        return measure
    words = (chinese.label(each)[:2] if has_cjk(text) else stem(each.lower()) for each in measure.labels)
    one, two = (text.lower().find(word) for word in words)
    turned = min(one, two) >= 0 and (two < one) == bool(how["most"] or how["zh_most"])
    return msgspec.structs.replace(measure, labels=measure.labels[::-1]) if turned else measure
