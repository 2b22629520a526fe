"""The sections of an evolving report: which state no facts, and how many fit."""

from __future__ import annotations

import re

from research.text import clip, has_cjk

PLANS = frozenset("to verify|gaps|next step|tried|待验证|缺口|尚缺|下一步|已尝试".split("|"))
"""Headings of sections without facts: things missing, planned and tried."""
SECTION = re.compile(r"^#{1,6}[ \t]+(.*)$")


def cut_at_section(text: str, limit: int) -> str:
    """Return the beginning of a report, at most `limit` tokens: whole sections, or whole lines if sections lose over half.

    >>> cut_at_section("### One\\nfact fact\\n### Two\\n" + "fact " * 40, 8)
    '### One\\nfact fact'
    """
    kept: list[str] = []
    size, sections, before = 0.0, 0, 0.0
    for line in text.splitlines():
        if line.startswith("#"):
            sections, before = len(kept), size
        size += (len(line) + 1) / 4 + sum(map(has_cjk, line)) * (1 / 1.5 - 1 / 4)
        if size > limit:
            break
        kept.append(line)
    whole = kept[:sections] if before > limit / 2 else kept
    # A single line is cut to fit even if all Chinese.
    return "\n".join(whole).rstrip() or clip(text, limit * 3 // 2)


def without_plans(report: str) -> str:
    """Return the report without the sections that state no facts."""
    kept, planning = [], False
    for line in report.splitlines():
        if heading := SECTION.match(line):
            planning = heading[1].strip().rstrip(":：").casefold() in PLANS
        if not planning:
            kept.append(line)
    return "\n".join(kept)
