"""Figures of findings in base units: what may be calculated with them, and the Python code that does it."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from decimal import Decimal

import msgspec
from msgspec import Struct

from research._util.amounts import SCALES, Amount, code, rounded, unlike
from research._util.amounts import amount as read_amount
from research.models.extractive.evidence import Fact
from research.models.extractive.fitting import bare
from research.models.extractive.question import Question
from research.models.extractive.table_words import ABSOLUTE, DIFFERENCE
from research.models.extractive.verdict import Finding, Hindrance
from research.search.library.comparisons import adds_up

_MEMBER = re.compile(r"(?P<name>[^\W\d][^;,\d]{0,80}?)\s{1,9}(?P<figure>\d[\d,.]{0,40})\s{0,9}(?:km|%)")
_REMARK = re.compile(r"\([^()%]{0,300}\)")
"""Matches a remark, not the shares of the parts of an item."""

_ASIDE = re.compile(r"\((?:[^()]|\([^()]*\))*\)")
_DATED = re.compile(r"(?<!\s)\s*\((?=[^()]*\b\d{4}\b)[^()]*\)$")
_UNNAMED = re.compile(r"\s*(?:other|none|un[a-z]+|no|not)\b")
"""Matches an item that is the rest of a list: `other 3.1%`, `unspecified 9%`."""
_FIGURE = re.compile(
    rf"(?P<digits>\d[\d,]*(?:\.\d+)?)(?: (?P<scale>{'|'.join(SCALES)})\b)?\s?(?P<unit>%|(?:sq )?km\b)?"
)


class Item(Struct, frozen=True):
    """An item of a list with figures; the parts of a border with one country are one item."""

    figure: float
    text: str
    """As written: `Belgium 133 km`."""


def items_of(value: str) -> dict[str, Item]:
    """Return the items of a list such as `Austria 801 km; Russia (northeast) 4,133 km and Russia (northwest) 46 km` by name."""
    found: dict[str, Item] = {}
    for match in _MEMBER.finditer(_REMARK.sub(lambda aside: " " * len(aside[0]), value)):
        name = match["name"].strip().removeprefix("and ")
        item = Item(float(match["figure"].replace(",", "").rstrip(".")), value[slice(*match.span())].strip())
        if first := found.get(name):
            item = Item(first.figure + item.figure, f"{first.text} {item.text}")
        found[name] = item
    return found


def standing(value: str, rank: int, *, most: bool) -> str:
    """Return the item at a rank of a list with a figure each; empty if one has none, or the figures tie there.

    >>> standing("Christian 85.5% (Protestant 33.4%), Muslim 10.9%, other 1% (2019 est.)", 2, most=True)
    'Muslim 10.9%'
    """
    bare = _ASIDE.sub(lambda aside: "\0" * len(aside[0]), _DATED.sub("", value))
    found, units = list[tuple[Decimal, str]](), set[str]()
    for piece in re.finditer(r"(?:[^;,]|,(?=\d))+", bare):
        figures = list(_FIGURE.finditer(piece[0]))
        if not _UNNAMED.match(piece[0]):
            if len(figures) != 1:
                return ""
            units.add(figures[0]["unit"])
            digits, scale = figures[0]["digits"].replace(",", ""), SCALES.get(figures[0]["scale"] or "", 0)
            found.append((Decimal(digits).scaleb(scale), value[slice(*piece.span())].strip()))
    found.sort(key=lambda each: each[0], reverse=most)
    at = [figure for figure, _ in found][rank - 1 : rank + 1]
    return found[rank - 1][1] if len(found) > 1 == len(units) and at and len({*at}) == len(at) else ""


def members_of(lists: Sequence[Finding]) -> dict[str, float]:
    """Return the names that are in all of these lists, with the figures of the first."""
    first, *others = (items_of(each.fact.value) for each in lists)
    return {name: item.figure for name, item in first.items() if all(name in other for other in others)}


def amount_of(fact: Fact) -> Amount | None:
    """Return the amount that a line states; of a named height, the number after the name."""
    fact = fact.source or fact
    return None if fact.cut else read_amount(fact.value, last=fact.label.startswith("Elevation,"))


def amounts_of(facts: Sequence[Fact]) -> list[Amount]:
    """Return the amounts of lines; one without a unit has the unit of the others if theirs is the same.

    Raises `ValueError` for a line without a number.
    """
    found = [amount_of(fact) for fact in facts]
    if any(each is None for each in found):
        raise ValueError("a line without a number cannot be calculated with")
    amounts = [each for each in found if each]
    with_unit = [each for each in amounts if each.unit]
    if not with_unit or len({(each.base, each.power) for each in with_unit}) > 1:
        return amounts
    model = with_unit[0]
    if model.unit in "$€£¥" or model.percent:
        return amounts
    return [
        each
        if each.unit
        else msgspec.structs.replace(
            each, base=model.base, unit=model.unit, power=model.power, value=each.value.scaleb(model.power)
        )
        for each in amounts
    ]


def in_order(found: Sequence[Finding], *, most: bool) -> list[Finding]:
    """Return findings by their figures, the largest first if the `most` is asked for; equals in the order given."""
    amounts = amounts_of([finding.fact for finding in found])
    pairs = sorted(zip(found, amounts, strict=True), key=lambda pair: pair[1].value, reverse=most)
    return [finding for finding, _ in pairs]


def hindrance(facts: Sequence[Fact], *, measures: bool = True) -> Hindrance | None:
    """Return why figures cannot be compared or added: one figure only, other units, or other `measures` if these count."""
    if len(facts) < 2 or len({(fact.title, fact.line) for fact in facts}) < len(facts):
        return Hindrance("same")
    if any(amount_of(fact) is None or len(items_of(fact.value)) > 1 for fact in facts):
        return Hindrance("number")
    units = unlike(amounts_of(facts))
    if units:
        return Hindrance("units", *(unit or "1" for unit in units))
    labels = list(dict.fromkeys(bare(fact.label) for fact in facts if measures))
    return Hindrance("measures", *labels[:2]) if len(labels) > 1 else None


def addable(facts: Sequence[Fact]) -> bool:
    """Return whether the sum of figures over countries means something, as that of rates and ages does not."""
    return all(amount and adds_up(bare(fact.label), amount) for fact in facts for amount in [amount_of(fact)])


def year_of(fact: Fact) -> int | None:
    """Return the latest year that a line names; None if it names none."""
    return max(fact.years, default=None)


def change(before: Fact, after: Fact) -> str:
    """Return code for the change between two figures in base units: in percent and absolute, or in percentage points."""
    one, two = amounts_of([before, after])
    a, b = code(one.value), code(two.value)
    difference = f"print(round({b} - {_negative(a)}, 6))"
    if one.percent or one.value <= 0:
        return difference
    return f"print(round(({b} / {a} - 1) * 100, 4))\n{difference}"


def comparison(found: Sequence[Finding], question: Question) -> str:
    """Return code that adds figures up, or picks the largest or smallest, with the differences and ratios that are told."""
    amounts = amounts_of([finding.fact for finding in found])
    figures = [code(each.value) for each in amounts]
    items = ", ".join(
        f"{json.dumps(f.subject, ensure_ascii=False)}: {figure}" for f, figure in zip(found, figures, strict=True)
    )
    lines = [f"values = {{{items}}}"]
    if question.pick is None and question.operation in ("sum", "mean"):
        by = f" / {len(found)}" if question.operation == "mean" else ""
        return "\n".join([*lines, f"print(round(sum(values.values()){by}, 6))"])
    most = question.pick.most if question.pick else question.most
    lines.append(f"print({'max' if most else 'min'}(values, key=lambda name: values[name]))")
    for pair in weighed(found, question) if question.pick is None else ():
        of = amounts_of([finding.fact for finding in pair])
        a, b = (code(each.value) for each in of)
        lines.append(f"print(round({a} - {_negative(b)}, 6))")
        if has_ratio(of) and len(found) == 2:
            lines.append(f"print(round({a} / {b}, 4))")
    return "\n".join(lines)


def weighed(found: Sequence[Finding], question: Question) -> list[Sequence[Finding]]:
    """Return the pairs whose difference is told: of several, if it is asked for, the first with the next and the last."""
    if len(found) == 2 or not any(each.search(question.text) for each in (ABSOLUTE, DIFFERENCE)):
        return [found] if len(found) == 2 else []
    first, second, *rest = in_order(found, most=question.most)
    return [(first, second), *((first, last) for last in rest[-1:])]


def has_ratio(amounts: Sequence[Amount]) -> bool:
    """Return whether one amount can be said to be so many times the other: not 1 time."""
    sizes = sorted(each.value for each in amounts if each.value > 0 and each.unit != "°C")
    return len(sizes) == len(amounts) and rounded(sizes[-1] / sizes[0], 2) != 1


def _negative(figure: str) -> str:
    return f"({figure})" if figure.startswith("-") else figure
