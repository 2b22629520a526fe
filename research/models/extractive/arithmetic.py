"""Figures of findings, and the Python code that calculates with them."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from research.models.extractive.evidence import Fact
from research.models.extractive.question import Question
from research.models.extractive.verdict import Finding

_MEMBER = re.compile(r"(?P<name>[^\W\d][^;,\d]*?)\s+(?P<figure>\d[\d,.]*)\s*(?:km|%)")


def members_of(lists: Sequence[Finding]) -> dict[str, float]:
    """Parse lists such as `Austria 801 km; Belgium 133 km`; return the names that are in all of them, with figures."""
    tables = [
        {m["name"].strip(): float(m["figure"].replace(",", "").rstrip(".")) for m in _MEMBER.finditer(f.fact.value)}
        for f in lists
    ]
    return {name: figure for name, figure in tables[0].items() if all(name in table for table in tables)}


def amount(finding: Finding) -> float:
    """Return the figure of a finding with its scale applied; 0 if it has none."""
    return finding.fact.quantity.value if finding.fact.quantity else 0.0


def number(fact: Fact, scale: str) -> str:
    """Return the figure as code, in the digits of the source if its scale is `scale`."""
    quantity = fact.quantity
    if quantity is None:
        return "0"
    return quantity.written if quantity.scale == scale else repr(quantity.value)


def _shared_scale(facts: Sequence[Fact]) -> str:
    scales = {fact.quantity.scale for fact in facts if fact.quantity}
    return scales.pop() if len(scales) == 1 else ""


def change(before: Fact, after: Fact) -> str:
    """Return code for the change between two figures: in percent and absolute, or in percentage points."""
    scale = _shared_scale([before, after])
    a, b = number(before, scale), number(after, scale)
    if after.quantity and after.quantity.unit == "%":
        return f"print(round({b} - {a}, 6))"
    return f"print(round(({b} / {a} - 1) * 100, 4))\nprint(round({b} - {a}, 6))"


def comparison(found: Sequence[Finding], question: Question) -> str:
    """Return code that picks the largest or smallest figure or adds them up; for two also difference and ratio."""
    scale = _shared_scale([finding.fact for finding in found])
    items = ", ".join(f"{json.dumps(f.subject, ensure_ascii=False)}: {number(f.fact, scale)}" for f in found)
    most = question.pick.most if question.pick else question.most
    lines = [f"values = {{{items}}}", f"print({'max' if most else 'min'}(values, key=lambda name: values[name]))"]
    if question.pick is None and question.operation == "sum":
        lines.append("print(sum(values.values()))")
    elif question.pick is None and len(found) == 2:
        a, b = (number(finding.fact, scale) for finding in found)
        lines.append(f"print(round({a} - {b}, 6))")
        if float(b) != 0 and float(a) != 0:
            lines.append(f"print(round({a} / {b}, 4))")
    return "\n".join(lines)
