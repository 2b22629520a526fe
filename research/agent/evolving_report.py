"""The evolving report at the end of a run: below the answer, and without its plans."""

from __future__ import annotations

from research import prompts
from research.parsing.report_sections import SECTION, without_plans


def with_answer(answer: str, report: str, language: str) -> str:
    """Return the facts of the report with the answer above them; empty if the answer contains them all."""
    facts = without_plans(report).strip()
    said = {"", *(line.strip() for line in answer.splitlines())}
    if all(line.strip() in said for line in facts.splitlines() if not SECTION.match(line)):
        return ""
    return f"{answer}\n\n{prompts.text('report_heading', language)}\n\n{facts}"
