"""The evolving report at the end of a run: below the answer, and without its plans when facts are counted."""

from __future__ import annotations

import re

from research.agent import prompts

PLANS = frozenset("to verify|gaps|next step|tried|待验证|缺口|尚缺|下一步|已尝试".split("|"))
"""Headings of the sections that state no facts: what is missing, planned and tried."""
_HEADING = re.compile(r"^#{1,6}[ \t]+(.*)$")


def with_answer(answer: str, report: str, language: str) -> str:
    """Return the report with the answer above it; empty if the answer contains it all."""
    if not report or report in answer:
        return ""
    return f"{answer}\n\n{prompts.text('report_heading', language)}\n\n{report}"


def without_plans(report: str) -> str:
    """Return the report without the sections that state no facts."""
    kept, planning = [], False
    for line in report.splitlines():
        if heading := _HEADING.match(line):
            planning = heading[1].strip().rstrip(":：").casefold() in PLANS
        if not planning:
            kept.append(line)
    return "\n".join(kept)
