"""The evolving report at the end of a run: below the answer, and without its plans."""

from __future__ import annotations

import re

from research.agent import prompts

PLANS = frozenset("to verify|gaps|next step|tried|待验证|缺口|尚缺|下一步|已尝试".split("|"))
"""Headings of the sections that state no facts: what is missing, planned and tried."""
_HEADING = re.compile(r"^#{1,6}[ \t]+(.*)$")


def with_answer(answer: str, report: str, language: str) -> str:
    """Return the facts of the report with the answer above them; empty if the answer contains them all."""
    facts = without_plans(report).strip()
    said = {"", *(line.strip() for line in answer.splitlines())}
    if all(line.strip() in said for line in facts.splitlines() if not _HEADING.match(line)):
        return ""
    return f"{answer}\n\n{prompts.text('report_heading', language)}\n\n{facts}"


def without_plans(report: str) -> str:
    """Return the report without the sections that state no facts."""
    kept, planning = [], False
    for line in report.splitlines():
        if heading := _HEADING.match(line):
            planning = heading[1].strip().rstrip(":：").casefold() in PLANS
        if not planning:
            kept.append(line)
    return "\n".join(kept)
