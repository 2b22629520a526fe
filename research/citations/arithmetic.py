"""Figures that follow from those in the sources: sums, differences, ratios, shares, counts.

The claim must name the operation (`together`, `rose by`, `twice`, `%`), the operands must share a unit, and the result must
match within the written precision.  Operands are few and close together, so that altered figures rarely match by chance.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import combinations

from msgspec.structs import replace

from research.citations.measures import Quantity


def rounds_to(computed: Quantity, written: Quantity) -> bool:
    """Return whether a computed value, rounded as the claim writes it, is the claim's number."""
    scaled = replace(computed, unit="", kind="number")
    plain = replace(written, unit="", kind="number")
    if plain.states(scaled):
        return True
    # the output may use another unit, or no scale word
    digits = re.search(r"\d[\d,]*(?:\.\d+)?", written.written)
    if digits is None:
        return False
    bare = float(digits.group().replace(",", ""))
    places = len(digits.group().partition(".")[2])
    return abs(abs(computed.value) - bare) <= 0.5 * 10.0**-places + 1e-9


_SUM = re.compile(
    r"\b(?:total(?:led|ling|s)?|combined|together|sum|altogether|in all|both|jointly|between them|"
    r"all (?:the )?(?:two|three|four))\b|"
    r"合计|总共|总和|一共|总计|共计|共有|加起来|两者|双方",
    re.I,
)
_DIFFERENCE = re.compile(
    r"\b(?:more|less|fewer|differ\w*|gap|\w+er|remain\w*|by|margin|up|down|than|left|rest|others?|lead|"
    r"shortfall|gain\w*|lost|points)\b|"
    r"相差|差距|差额|多|少|高出|低于|增加|减少|上升|下降|增长|提高|缩短|领先|剩|其余|净增|之差|晚|早",
    re.I,
)
_RATIO = re.compile(r"\b(?:times|ratio|-?fold|twice|double|per|each|average|on average)\b|倍|平均|每|人均", re.I)
_MEAN = re.compile(r"\b(?:average|mean)\b|平均", re.I)
_CHANGE = re.compile(
    r"\b(?:rise|rose|risen|fall|fell|fallen|grew|grow\w*|increas\w*|decreas\w*|declin\w*|drop\w*|cut|jump\w*|"
    r"climb\w*|shr[aiu]nk|more|less|"
    r"higher|lower|gain\w*|lost|loss|up|down|reduc\w*|chang\w*|halv\w*|\w+er than)\b|增|减|升|降|跌|涨|高|低|多|少",
    re.I,
)
OPERANDS = 5
"""Maximum number of figures in a sum."""


_OPERATION = re.compile(
    r"\b(?:in total|a total of|combined|together|altogether|both|difference|gap|\w+er than|more than|less than|"
    r"average|mean|"
    r"times|twice|half|remaining|the rest|all (?:two|three|four|five))\b|合计|总共|共计|总计|一共|相差|差距|"
    r"平均|倍|其余",
    re.I,
)


def names_operation(text: str) -> bool:
    """Return whether a text names an operation, so that its result need not be in the source."""
    return _OPERATION.search(text) is not None


def operands_of(text: str, q: Quantity, given: Sequence[Quantity]) -> tuple[Quantity, ...]:
    """Return the figures that a figure follows from by an operation that the text names; empty if there are none."""
    plain = [g for g in given if g.kind == "number" and g.value and g.hedge != "over"]
    for operands, value, unit in _results(text, q, plain):
        if unit == q.unit or not q.unit or not unit:
            made = Quantity("number", "", value, 0.0, unit or q.unit, 0, 0)
            if value and (_equal(q, value) or ((q.weak or q.hedge) and q.states(made))):
                return operands
    return ()


def _results(text: str, q: Quantity, given: Sequence[Quantity]) -> Iterator[tuple[tuple[Quantity, ...], float, str]]:
    """Yield (operands, value, unit) for each operation that the text names."""
    # a unit may be given once: `12,000 euros, the second 7,500`
    same = {unit: [g for g in given if g.unit in (unit, "")] for unit in {g.unit for g in given}}
    for unit, group in same.items():
        if _SUM.search(text) or _MEAN.search(text):
            for n in range(2, min(len(group), OPERANDS) + 1):
                for start in range(len(group) - n + 1):
                    some = tuple(group[start : start + n])
                    total = sum(g.value for g in some)
                    if _SUM.search(text):
                        yield some, total, unit
                    if _MEAN.search(text):
                        yield some, total / n, unit
        for a, b in combinations(group, 2):
            if a.value == b.value:
                continue
            if _SUM.search(text):
                yield (a, b), a.value + b.value, unit
            if _DIFFERENCE.search(text):
                yield (a, b), abs(a.value - b.value), unit
            large, small = max(a.value, b.value, key=abs), min(a.value, b.value, key=abs)
            if _RATIO.search(text) and not q.unit:
                yield (a, b), large / small, ""
            if q.unit == "%" and unit != "%":
                yield (a, b), 100 * small / large, "%"
                if _CHANGE.search(text):
                    yield (a, b), 100 * abs(b.value / a.value - 1), "%"
                    yield (a, b), 100 * abs(a.value / b.value - 1), "%"


_ITEM = r"[^,，、;；:：.()]{1,40}?"
_LIST = re.compile(rf"(?:{_ITEM}(?:, |、|，))+{_ITEM}(?:,? and | or |和|及|与)")


def counts_items(q: Quantity, text: str) -> bool:
    """Return whether a small number counts the items of a list in a text (`timber, grain and coal`: 3)."""
    return q.weak and any(
        len(re.findall(r", (?!and\b|or\b)|、|，", m.group())) + 2 == q.value for m in _LIST.finditer(text)
    )


def _equal(q: Quantity, value: float) -> bool:
    return abs(abs(value) - abs(q.value)) <= q.half + 1e-9 * abs(q.value) and value != 0
