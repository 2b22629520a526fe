"""Answer what no line states but several give, as `measures.jsonl` lists it: shares, sums, differences, amounts, spans."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from decimal import Decimal

import msgspec

from research._util.amounts import Amount, code, plain, rounded, unlike, written
from research.models.extractive import wholes
from research.models.extractive.arithmetic import amount_of, amounts_of
from research.models.extractive.asked import parts_of
from research.models.extractive.evidence import Fact
from research.models.extractive.finding import Finder
from research.models.extractive.formulas import Formula, calculated_from, negated
from research.models.extractive.meaning import Made, made
from research.models.extractive.measured import measured_in
from research.models.extractive.phrasebook import Kind, Measure
from research.models.extractive.question import Question, Target
from research.models.extractive.verdict import Derived, Finding, Verdict

SURE = 0.7
"""Least probability of a measure that is calculated."""
DOUBT = 0.6
"""Probability that some measure is asked for, from which on a line alone does not answer."""
_PER = {"per": 1, "per_million": 1_000_000, "per_area": 1_000}
_DAILY = re.compile(r"/day\b")
_YEAR, _MONTHS = 365, 12

SIGNS: dict[Kind, str] = {
    "share": "÷",
    "part": "÷",
    "sum_over": "÷",
    "ratio": "÷",
    "per": "÷",
    "per_million": "÷",
    "per_area": "÷",
    "minus": "−",
    "rest": "−",
    "plus": "+",
    "product": "×",
    "rest_product": "×",
}
"""The sign of each kind's operation in the formula of the citation check, which recomputes these."""

Calculated = tuple[str, str]
"""A value with its unit, and the code that calculates it."""


def composed(text: str) -> Made | None:
    """Return what a question about one country wants calculated; None if it has several parts."""
    return made(text) if len(parts_of(text)) == 1 else None


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
    if result is None or not _as_asked(q.text, result[0]):
        return None
    value, source = result
    computed = finder.compute(source, "Calculate it from these figures.")
    if finder.actions:
        return Verdict(q, actions=tuple(finder.actions))
    return Verdict(q, findings=tuple(found), computed=computed, derived=Derived(_NAMES[measure.kind], value))


_MARKS: dict[str, re.Pattern[str]] = {
    "share": re.compile("%"),
    "points": re.compile("points"),
    "usd": re.compile(r"\$"),
    "area": re.compile("sq km"),
    "length": re.compile(r"(?<!sq )\bk?m\b"),
    "volume": re.compile("cubic|barrel|bbl"),
    "mass": re.compile(r"\bt(?:ons|onnes)\b|\bkt\b"),
    "power": re.compile(r"\b[kMG]?W\b"),
    "energy": re.compile(r"Wh\b"),
}


def _as_asked(text: str, value: str) -> bool:
    """Return whether a value has the unit that a question names, if it names one."""
    wanted = measured_in(text)
    return wanted is None or wanted not in _MARKS or _MARKS[wanted].search(value) is not None


_NAMES = {
    "share": "made_share",
    "part": "made_part",
    "sum_over": "made_over",
    "ratio": "made_times",
    "per": "ratio",
    "per_million": "ratio",
    "per_area": "ratio",
    "minus": "minus",
    "plus": "made_sum",
    "product": "portion",
    "rest_product": "rest",
    "gap_product": "made_gap",
    "rest": "outside",
    "inverse": "ratio",
    "years": "made_span",
    "months": "made_span",
}
"""The sentence for each kind; see `write.py`."""


def calculated(measure: Measure, facts: Sequence[Fact]) -> Calculated | None:
    """Return the value and its code; None if the figures do not allow it."""
    kind, labels = measure.kind, measure.labels
    if any(amount_of(fact) is None for fact in facts):
        return None
    if kind in _PER:
        return calculated_from(Formula("ratio", labels[0], labels[1], _PER[kind]), (facts[0], facts[1]))
    if kind in ("product", "rest_product"):
        return wholes.calculated(wholes.Portion(labels[0], labels[1:], kind == "rest_product"), facts)
    if kind in ("years", "months"):
        return _span(facts, months=kind == "months")
    if kind == "inverse":
        return _inverse(facts[0])
    if kind == "gap_product":
        return _gap(facts)
    amounts = amounts_of(facts)
    if unlike(amounts):
        return None
    return _ALIKE[kind](amounts)


def _share(amounts: Sequence[Amount]) -> Calculated | None:
    one, two = amounts
    return _percentage([one], [two])


def _part(amounts: Sequence[Amount]) -> Calculated | None:
    return _percentage(amounts[:1], amounts[1:])


def _sum_over(amounts: Sequence[Amount]) -> Calculated | None:
    return _percentage(amounts[:-1], amounts[-1:])


def _percentage(parts: Sequence[Amount], whole: Sequence[Amount]) -> Calculated | None:
    top, bottom = (sum((each.value for each in some), Decimal(0)) for some in (parts, whole))
    if bottom <= 0:
        return None
    source = f"print(round(100 * {_added(parts)} / {_added(whole)}, 4))"
    return f"{plain(rounded(100 * top / bottom, 2))}%", source


def _added(amounts: Sequence[Amount]) -> str:
    joined = " + ".join(code(each.value) for each in amounts)
    return f"({joined})" if len(amounts) > 1 else joined


def _times(amounts: Sequence[Amount]) -> Calculated | None:
    one, two = amounts
    if two.value <= 0 or one.value <= 0:
        return None
    return f"{plain(rounded(one.value / two.value, 2))}", f"print(round({code(one.value)} / {code(two.value)}, 4))"


def _minus(amounts: Sequence[Amount]) -> Calculated | None:
    one, two = amounts
    second = code(two.value) if two.value >= 0 else f"({code(two.value)})"
    return written(one.value - two.value, amounts, points=True), f"print(round({code(one.value)} - {second}, 6))"


def _plus(amounts: Sequence[Amount]) -> Calculated | None:
    total = sum((each.value for each in amounts), Decimal(0))
    return written(total, amounts), f"print(round({_added(amounts)}, 6))"


def _rest(amounts: Sequence[Amount]) -> Calculated | None:
    left = 100 - sum((each.value for each in amounts), Decimal(0))
    if not all(each.percent for each in amounts) or not 0 <= left <= 100:
        return None
    return f"{plain(left)}%", f"print(round(100 - {' - '.join(code(each.value) for each in amounts)}, 4))"


_ALIKE: dict[str, Callable[[Sequence[Amount]], Calculated | None]] = {
    "share": _share,
    "part": _part,
    "sum_over": _sum_over,
    "ratio": _times,
    "minus": _minus,
    "plus": _plus,
    "rest": _rest,
}
"""The calculations whose figures have one unit."""


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
    number, per = wholes.factor(fact)
    if per == 1 or number <= 0:
        return None
    return f"{plain(rounded(per / number, 0))} people for each", f"print(round({per} / {code(number)}))"


def _gap(facts: Sequence[Fact]) -> Calculated | None:
    """Return the difference of two rates, times their whole."""
    (one, per), (two, other), (whole, _) = map(wholes.factor, facts)
    if per != other or per == 1:
        return None
    value = (one - two) * whole / per
    return f"{round(value):,} people", f"print(round(({code(one)} - {code(two)}) / {per} * {code(whole)}))"


def with_measure(q: Question, text: str) -> Question | None:
    """Return the question with the measure that it asks for; None if it asks for none with enough certainty."""
    found = composed(text) if len(q.names) == 1 and len(q.years) < 2 else None
    if found is None or found.sure < SURE:
        return None
    measure = found.measure
    if measure.kind == "product" and negated(text.lower(), measure.labels[0]):
        measure = msgspec.structs.replace(measure, kind="rest_product")
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
