"""Measures that no line states but two lines give: densities, figures per head, the balance of trade, people without."""

from __future__ import annotations

import re
from decimal import Decimal

from msgspec import Struct

from research._util.amounts import Amount, code, written
from research.models.extractive.arithmetic import amounts_of, bare, hindrance, year_of
from research.models.extractive.evidence import Fact
from research.models.extractive.finding import Finder
from research.models.extractive.measured import measured_in
from research.models.extractive.patterns import COMPARATIVE, SUPERLATIVE
from research.models.extractive.phrasebook import entries
from research.models.extractive.question import Question, Target
from research.models.extractive.verdict import Derived, Verdict
from research.models.extractive.whole_labels import POPULATION
from research.text import tokens

AREA = "Area, total"
ACCESS = "Electricity access, electrification - total population"

_DENSITY = re.compile(
    r"\bpopulation density\b|\bdensely (?:populated|settled)\b|\b(?:people|inhabitants|persons|residents)\b.{0,24}\b"
    r"(?:per|each|every) (?:sq|square)\b|人口密度|每平方(?:公里|千米).{0,10}人"
)
_PER_AREA = re.compile(r"\b(?:per|each|every|for every) (?P<n>[\d,]+ )?(?:sq\.?|square) (?:km|kilomet)")
_PER_MANY = re.compile(
    r"\b(?:per|for every|to every) (?P<n>hundred|thousand|million|1[0,]*) "
    r"(?:people|persons|inhabitants|residents|citizens|heads)\b"
)
_MANY = {"hundred": 100, "thousand": 1_000, "million": 1_000_000}
_PER_HEAD = re.compile(
    r"\bper (?:capita|person|head|inhabitant|resident|citizen)\b|\b(?:each|every) (?:person|inhabitant|resident|"
    r"citizen)\b|"
    r"\b(?:does|do|for|by|to) (?:each|every|the average|an average|a typical|the typical) \w+|人均|每人|平均每个?人"
)
_BALANCE = re.compile(
    r"\btrade (?:balance|surplus|deficit|gap)\b|\bbalance of trade\b|\bexports minus (?:its )?imports\b|"
    r"\bexports?\b.{0,40}\b(?:exceed|outweigh|outstrip|surpass)\w*\b.{0,20}\bimports?\b|"
    r"\bimports?\b.{0,40}\b(?:exceed|outweigh|outstrip|surpass)\w*\b.{0,20}\bexports?\b|"
    r"出口.{0,6}比.{0,6}进口|进口.{0,6}比.{0,6}出口|"
    r"贸易(?:顺差|逆差|差额|平衡)"
)
_APART = re.compile(
    r"\bby how much\b|\bhow much (?:more|less)\b|\bdifference\b|\bgap\b|\bminus\b|\bnet of\b|\boutweigh|\bexceed|差|减|"
    r"比.{0,8}[多少高低]"
)
_WITHOUT = re.compile(
    r"\b(?:people|persons|inhabitants|residents|how many)\b.*\b(?:no|without|lack(?:s|ing)?) (?:any )?(?:access to )?"
    r"(?:electricity|electric (?:power|light))\b|没有(?:通|用上)?电|无电|(?:用不上|不通)电"
)
_NEGATED = re.compile(
    r"\b(?:cannot|can['’]?t|(?:do|does|is|are)(?: not|n['’]t)|not|without|lacks?|lacking|have no|has no|with no|"
    r"never|illiterate|"
    r"illiteracy|offline|non-smok\w+|unable to)\b|没有|不识字|不会|不上网|不吸烟|不抽烟|不通电|文盲"
)
_AFFIRMED = re.compile(r"\bwhether or not\b|\bif not\b|\bnot (?:counting|including|just|only)\b|\bwhy not\b")
_PORTION = re.compile(
    r"^(?:Literacy|Electricity access|Internet users, percent|Urbanization, urban|"
    r"Electricity generation sources|Land use|"
    r"Tobacco use|Obesity|Waste and recycling, percent)"
)
"""Matches labels of percentages; a negated question asks for the remainder."""
_IN_PERCENT = re.compile(
    r"%|\bper ?cent|\b(?:share|part|portion|proportion|fraction|slice)\b|\bout of\b|百分|比例|占|几成"
)
_SHARED = re.compile(
    r"\bhow many (?:people|persons|inhabitants|residents|citizens)\b.*\b(?:share|sharing|per|for (?:each|every)|"
    r"to (?:each|every|one|an?)|"
    r"behind (?:each|every))(?: (?:each|every|one|a single))? (?!person|people|inhabitant|resident|citizen|head|"
    r"capita|woman|man|sq|\d|hundred|"
    r"thousand|million|km|kilomet)"
)
_NATURAL = re.compile(
    r"\bnatural (?:increase|population (?:increase|growth))\b|\bbirths? (?:rate )?minus (?:the )?deaths?\b|"
    r"\b(?:difference|gap)\b.{0,300}\bbirth rates?\b.{0,300}\bdeath rates?\b|\b(?:difference|"
    r"gap)\b.{0,300}\bdeath rates?\b.{0,300}\bbirth rates?\b|自然增长率|出生率.{0,300}死亡率.{0,300}差"
)
_BUDGET = re.compile(
    r"\b(?:budget|fiscal|state|government) (?:deficit|surplus|balance|gap|shortfall)\b|\brevenues? (?:minus|"
    r"less) (?:the )?(?:expenditures?|spending)\b|"
    r"\b(?:difference|gap)\b.*\brevenues?\b.*\b(?:expenditures?|spending)\b|(?:预算|财政)(?:赤字|盈余|差额)"
)
_HEADS = re.compile(
    r"^how many (?:people in |inhabitants of |residents of |citizens of )?\{c\}s?(?: people| inhabitants|"
    r" citizens| residents)?"
    r" (?:are there |live |exist |does the world have )*(?:for|per|to) (?:every|each|one|a|an)?\s?(?:single )?"
    r"(?:person |inhabitant |resident |citizen |people )?(?:in |of |from )?\{c\}|"
    r"^for (?:every|each) (?:person in |inhabitant of )?\{c\},? how many (?:people in |inhabitants of )?\{c\}"
)
"""Matches `how many {c} are there for every person in {c}`."""
_MEAN = re.compile(r"\b(?:average|mean)\b(?! (?:elevation|age|height|of (?:its|their) age))|平均")
_LOOSE = frozenset([AREA, POPULATION])
_RELATIVE = re.compile(
    r"per capita|density|rate\b|ratio|per 100|percent|expectancy|\bage\b|index|elevation|GDP - composition|Debt|"
    r"Land use",
    re.I,
)
"""Measures that are relative already."""


class Formula(Struct, frozen=True):
    """A measure calculated from two labels of one subject."""

    kind: str
    """`ratio`, `density`, `difference`, `without` (the people outside a percentage) or `outside` (its remainder)."""
    one: str
    two: str
    per: int = 1
    """A ratio is given per so many units of the second."""


def asked(q: Question) -> Formula | None:
    """Return the formula for what the question asks of one thing; None if a line may state it."""
    text = q.text.lower()
    if len(q.names) != 1 or q.relation or q.pick or q.operation == "growth":
        return None
    labels = [target.label for target in q.targets if target.label]
    other = [label for label in labels if label not in (POPULATION, AREA)]
    percent = _IN_PERCENT.search(text) is not None
    if _WITHOUT.search(text) and ACCESS in labels and not percent:
        return Formula("without", POPULATION, ACCESS)
    if len(other) == 1 and negated(text, other[0]) and measured_in(text) != "count":
        return Formula("outside", other[0], other[0])
    if _NATURAL.search(text) and not set(labels) - {"Birth rate", "Death rate", "Population growth rate", *_LOOSE}:
        return Formula("difference", "Birth rate", "Death rate")
    if _BUDGET.search(text):
        return Formula("difference", "Budget, revenues", "Budget, expenditures")
    if _BALANCE.search(text) and "Current account balance" not in labels:
        return Formula("difference", "Exports", "Imports")
    if {"Exports", "Imports"} == set(other) and _APART.search(text):
        return Formula("difference", other[0], other[1])
    if _DENSITY.search(text) and not other:
        return Formula("density", POPULATION, AREA)
    if len(other) != 1 or _RELATIVE.search(other[0]):
        return None
    if _SHARED.search(text):
        return Formula("ratio", POPULATION, other[0])
    if match := _PER_AREA.search(text):
        return Formula("ratio", other[0], AREA, int((match["n"] or "1").replace(",", "")))
    if (match := _PER_MANY.search(text)) and not _listed_per(other[0]):
        return Formula("ratio", other[0], POPULATION, _MANY.get(match["n"]) or int(match["n"].replace(",", "")))
    return Formula("ratio", other[0], POPULATION) if _PER_HEAD.search(text) else None


def _listed_per(label: str) -> bool:
    """Return whether a line states a measure per 100 people, which need not be calculated."""
    head = label.partition(", ")[0]
    return any(each.label.startswith(f"{head}, ") and " per 100 " in each.label for each in entries())


def negated(text: str, label: str) -> bool:
    """Return whether a question in lower case asks for those outside a percentage: *who do not live in towns*."""
    return _PORTION.search(label) is not None and _NEGATED.search(_AFFIRMED.sub(" ", text)) is not None


def affirmed(text: str) -> str:
    """Return a question without its negations."""
    return " ".join(_NEGATED.sub(" ", text).split())


def heads_for_each(text: str) -> bool:
    """Return whether a question, with {c} for its countries, asks for the people of one per person of another."""
    return _HEADS.search(text) is not None


def asks_mean(text: str) -> bool:
    """Return whether a question about several countries asks for their mean, and not which has the most."""
    lower = text.lower()
    weighs = (
        COMPARATIVE.search(lower)
        or SUPERLATIVE.search(lower)
        or re.search(r"\bwh(?:ich|o|ere)\b|\bdiffer|哪|谁|差", lower)
    )
    return not weighs and _MEAN.search(re.sub(r"\bon average\b", " ", lower)) is not None


def derive(finder: Finder, formula: Formula, subject: str) -> Verdict | None:
    """Return the calculated measure with the lines it is from, or the next step; None if a line is missing."""
    q = finder.question
    year = q.years[0] if q.years else None
    found = [finder.find(subject, Target(label), year, numeric=True) for label in (formula.one, formula.two)]
    if finder.actions:
        return Verdict(q, actions=tuple(finder.actions))
    one, two = found
    if not one or not two:
        return None
    for finding, label in ((one, formula.one), (two, formula.two)):
        if set(tokens(label)) <= set(tokens(finding.fact.label)):
            continue
        if finding.fact.url in finder.evidence.visited:
            return None  # only a part of the measure is known, such as the emissions from coal
        finder.act("visit", {"url": finding.fact.url, "goal": label}, f"Read {finding.fact.title} for {label}.")
    if finder.actions:
        return Verdict(q, actions=tuple(finder.actions))
    facts = (one.fact, two.fact)
    if formula.kind == "outside":
        facts = (one.fact, one.fact)
    natural = formula.one == "Birth rate"
    if formula.kind == "difference" and not natural and (obstacle := hindrance(facts, measures=False)):
        return Verdict(q, findings=(one, two), hindrance=obstacle)
    calculated = calculated_from(formula, facts)
    if calculated is None:
        return None
    value, source = calculated
    computed = finder.compute(source, "Calculate it from the two figures.")
    if finder.actions:
        return Verdict(q, actions=tuple(finder.actions))
    findings = (one,) if formula.kind == "outside" else (one, two)
    traded = {formula.one, formula.two} == {"Exports", "Imports"}
    kind = "minus" if formula.kind == "difference" and not traded else formula.kind
    return Verdict(q, findings=findings, computed=computed, derived=Derived(kind, value, formula.per))


def calculated_from(formula: Formula, facts: tuple[Fact, Fact]) -> tuple[str, str] | None:
    """Return the value with its unit, and the code that calculates it; None if the units do not allow it."""
    one, two = (amounts_of([fact])[0] for fact in facts)
    if formula.kind == "difference" and formula.one == "Birth rate":
        return (
            f"{one.value - two.value} per 1,000 population",
            f"print(round({code(one.value)} - {code(two.value)}, 6))",
        )
    if formula.kind == "difference":
        return written(one.value - two.value, [one, two]), f"print(round({code(one.value)} - {code(two.value)}, 6))"
    if formula.kind == "outside":
        if not one.percent or not 0 <= one.value <= 100:
            return None
        return f"{100 - one.value}%", f"print(round(100 - {code(one.value)}, 4))"
    if formula.kind == "without":
        if not two.percent or one.percent:
            return None
        value = one.value * (100 - two.value) / 100
        return f"{value:,.0f}", f"print(round({code(one.value)} * (100 - {code(two.value)}) / 100))"
    if one.percent or two.percent or "/" in one.unit.replace("/day", "") or not two.value:
        return None
    # In the units as written: people per square kilometre, not per square metre.
    top, bottom = one.value.scaleb(-one.power), two.value.scaleb(-two.power)
    value = top / bottom * formula.per
    source = f"print(round({code(top)} / {code(bottom)} * {formula.per}, 4))"
    unit = one.unit or ("people" if formula.one == POPULATION else "")
    return f"{_short(value, unit)}{_per(formula, two)}", source


def _short(value: Decimal, unit: str) -> str:
    decimals = 1 if value >= 100 else 2 if value >= 1 else 2 - value.adjusted()
    text = f"{round(value, decimals):,f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return f"{unit}{text}" if unit in ("$", "€", "£") else f"{text} {unit}".rstrip()


def _per(formula: Formula, two: Amount) -> str:
    count = f"{formula.per:,} " if formula.per > 1 else ""
    if formula.one == POPULATION and formula.two not in _LOOSE:
        return " for each"
    return f" per {count}{two.unit or ('people' if count else 'person')}"


def years_differ(facts: tuple[Fact, ...]) -> bool:
    """Return whether the lines name different years."""
    return len({year for fact in facts if (year := year_of(fact))}) > 1


def inputs(facts: tuple[Fact, ...]) -> list[str]:
    """Return each figure with its measure and year: `Population, total 174,370,536 (2025 est.)`."""
    return [f"{bare(fact.label)} {fact.value.split(';')[0]}" for fact in facts]
